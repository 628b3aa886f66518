"""The writer from Python: what numpy hands over is what h5py reads, and mistakes are named."""

from __future__ import annotations

import gc
import json
import os
import re
import resource
import subprocess
import sys
import threading
from dataclasses import fields
from pathlib import Path

import caesura
import numpy as np
import pytest

SHAPE = (48, 40, 36)
BOUND = 1e-3


def wave(shape=SHAPE, phase=0.0, dtype=np.float32):
    axes = np.meshgrid(*[np.linspace(0, 3, n) for n in shape], indexing="ij")
    return np.sin(sum((k + 1) * axis for k, axis in enumerate(axes)) + phase).astype(dtype)


def write(path, arrays, **options):
    with caesura.Writer(path, **options) as writer:
        field = writer.define_field("rho", arrays[0].dtype, arrays[0].shape)
        for n, array in enumerate(arrays):
            with writer.iteration(n) as iteration:
                iteration.begin_dump(time=0.5 * n).put(field, array, offset=(0,) * array.ndim)
    return writer


def test_a_report_has_every_member_of_the_librarys(tmp_path):
    header = (Path(__file__).parents[2] / "include" / "caesura" / "writer.hpp").read_text()
    body = re.search(r"struct WriterReport \{(.*?)\n\};", re.sub("//.*", "", header), re.DOTALL)
    declared = re.findall(r"(?:uint64_t|double)\s+([^;]+);", body.group(1))
    names = [part.split("=")[0].strip() for line in declared for part in line.split(",")]
    assert len(names) > 40
    assert [field.name for field in fields(caesura.WriterReport)] == names
    report = write(tmp_path / "run.h5", [wave()], absolute=BOUND).report()
    assert all(isinstance(getattr(report, f.name), {"int": int, "float": float}[f.type])
               for f in fields(report))  # fmt: skip
    assert report.superseded_bytes == report.helped_blocks == 0


def test_every_dump_is_read_back_within_its_bound(tmp_path):
    arrays = [wave(phase=n) for n in range(4)]
    writer = write(tmp_path / "run.h5", arrays, absolute=BOUND)
    assert writer.committed == 3
    with caesura.open(tmp_path / "run.h5") as file:
        for n, array in enumerate(arrays):
            stored = file[f"/data/{n}/meshes/rho"]
            assert stored.dtype == np.float32
            assert np.max(np.abs(stored[...].astype(np.float64) - array)) <= BOUND
            assert file[f"/data/{n}"].attrs["time"] == 0.5 * n


@pytest.mark.parametrize("codec", ["none", "caesura", "caesura:fast", "zstd", "sz3", "zfp"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_codecs_keep_their_promise(tmp_path, codec, dtype):
    array = wave(dtype=dtype)
    lossy = codec in ("caesura", "caesura:fast", "sz3", "zfp")
    write(tmp_path / "run.h5", [array], codec=codec, absolute=BOUND if lossy else None)
    with caesura.open(tmp_path / "run.h5") as file:
        stored = file["/data/0/meshes/rho"][...]
    if lossy:
        assert np.max(np.abs(stored.astype(np.float64) - array)) <= BOUND
    else:
        assert np.array_equal(stored, array)


def test_bounds_of_other_kinds_hold(tmp_path):
    array = wave() + 2
    range_ = float(array.max() - array.min())
    with caesura.Writer(tmp_path / "run.h5", bound=caesura.pointwise_relative(1e-3)) as writer:
        each = writer.define_field("each", np.float32, SHAPE)
        mean = writer.define_field("mean", np.float32, SHAPE, bound=caesura.psnr(60))
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(time=0.0)
            dump.put(each, array)
            dump.put(mean, array)
    with caesura.open(tmp_path / "run.h5") as file:
        stored = {
            name: file[f"/data/0/meshes/{name}"][...].astype(float) for name in ("each", "mean")
        }
    error = {name: np.abs(values - array) for name, values in stored.items()}
    assert error["each"].max() > 0 and np.all(error["each"] <= 1e-3 * np.abs(array))
    assert 60 <= 20 * np.log10(range_ / np.sqrt(np.mean(error["mean"] ** 2))) < 80
    with pytest.raises(ValueError, match="caesura"):
        caesura.Writer(tmp_path / "x.h5", codec="sz3").define_field(
            "each", np.float32, SHAPE, bound=caesura.pointwise_relative(1e-3)
        )
    with pytest.raises(ValueError, match="not several"):
        caesura.Writer(tmp_path / "y.h5", absolute=1.0, bound=2.0)


def test_a_bound_of_the_field_wins_over_that_of_the_writer(tmp_path):
    array = wave()
    with caesura.Writer(tmp_path / "run.h5", absolute=0.1) as writer:
        fine = writer.define_field("fine", np.float32, SHAPE, absolute=1e-5)
        exact = writer.define_field("exact", np.float32, SHAPE, lossless=True)
        share = writer.define_field("share", np.float32, SHAPE, relative=1e-2)
        plain = writer.define_field("plain", np.float32, SHAPE)
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(time=0.0)
            for field in (fine, exact, share, plain):
                dump.put(field, array)
    with caesura.open(tmp_path / "run.h5") as file:
        meshes = file["/data/0/meshes"]
        error = {name: np.max(np.abs(meshes[name][...].astype(float) - array)) for name in meshes}
        assert error["exact"] == 0
        assert error["fine"] <= 1e-5
        assert error["share"] <= 1e-2 * (array.max() - array.min())
        assert 1e-5 < error["plain"] <= 0.1
        attributes = meshes["share"].attrs
        assert attributes["caesura_bound_kind"] in ("relative", b"relative")
        assert attributes["caesura_bound_requested"] == 1e-2
        assert attributes["caesura_bound"] == pytest.approx(
            1e-2 * float(array.max() - array.min()), rel=1e-6
        )


def test_arrays_that_are_not_contiguous_are_copied(tmp_path):
    big = wave((48, 40, 72))
    for name, array in {
        "strided": big[:, :, ::2],
        "transposed": np.ascontiguousarray(wave().T).T,
        "readonly": wave(),
    }.items():
        array.setflags(write=False)
        write(tmp_path / f"{name}.h5", [array], codec="none")
        with caesura.open(tmp_path / f"{name}.h5") as file:
            assert np.array_equal(file["/data/0/meshes/rho"][...], array), name


def test_a_copy_is_taken_unless_borrowed(tmp_path):
    array = wave()
    original = array.copy()
    with caesura.Writer(tmp_path / "run.h5", codec="none") as writer:
        field = writer.define_field("rho", np.float32, SHAPE)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0.0).put(field, array)
            array[...] = -1.0
    with caesura.open(tmp_path / "run.h5") as file:
        assert np.array_equal(file["/data/0/meshes/rho"][...], original)


def test_a_borrowed_array_is_kept_alive_by_the_writer(tmp_path):
    expected = wave()
    with caesura.Writer(tmp_path / "run.h5", codec="none") as writer:
        field = writer.define_field("rho", np.float32, SHAPE)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0.0).put(field, wave(), borrow=True)
        gc.collect()
        with writer.iteration(1):
            pass
    assert writer.released(0)
    with caesura.open(tmp_path / "run.h5") as file:
        assert np.array_equal(file["/data/0/meshes/rho"][...], expected)


def test_parts_tile_a_field(tmp_path):
    array = wave()
    with caesura.Writer(tmp_path / "run.h5", codec="none") as writer:
        field = writer.define_field("rho", np.float32, SHAPE)
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(time=0.0)
            for begin, end in ((0, 7), (7, 30), (30, 48)):
                dump.put(field, array[begin:end], offset=(begin, 0, 0))
    with caesura.open(tmp_path / "run.h5") as file:
        assert np.array_equal(file["/data/0/meshes/rho"][...], array)


def test_nan_and_infinities_survive(tmp_path):
    array = wave()
    array[3, 4, 5], array[0, 0, 0], array[9, 9, 9] = np.nan, np.inf, -np.inf
    write(tmp_path / "run.h5", [array], absolute=BOUND)
    with caesura.open(tmp_path / "run.h5") as file:
        stored = file["/data/0/meshes/rho"][...]
    assert np.isnan(stored[3, 4, 5])
    assert stored[0, 0, 0] == np.inf
    assert stored[9, 9, 9] == -np.inf
    finite = np.isfinite(array)
    assert np.max(np.abs(stored[finite].astype(float) - array[finite])) <= BOUND


def test_wrong_arrays_are_value_errors_that_name_the_field(tmp_path):
    with caesura.Writer(tmp_path / "run.h5") as writer:
        field = writer.define_field("rho", np.float32, SHAPE)
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(time=0.0)
            with pytest.raises(ValueError, match="rho"):
                dump.put(field, wave(dtype=np.float64))
            with pytest.raises(ValueError, match="rho"):
                dump.put(field, wave(), offset=(-1, 0, 0))
            with pytest.raises(ValueError, match="axes"):
                dump.put(field, wave()[0], offset=(0, 0, 0))
            with pytest.raises(ValueError, match="lane"), iteration.busy("gpu"):
                pass
            dump.put(field, wave())  # none of this stands in the way of what is right
    assert writer.committed == 0


def test_a_box_that_leaves_the_field_is_refused_by_put_and_again_by_end(tmp_path):
    with caesura.Writer(tmp_path / "run.h5") as writer:
        field = writer.define_field("rho", np.float32, SHAPE)
        iteration = writer.begin_iteration(0)
        with pytest.raises(ValueError, match="rho"):
            iteration.begin_dump(time=0.0).put(field, wave(), offset=(1, 0, 0))
        with pytest.raises(ValueError, match="rho"):
            iteration.end()


def test_wrong_definitions_are_value_errors(tmp_path):
    with caesura.Writer(tmp_path / "run.h5") as writer:
        with pytest.raises(ValueError, match="'ratio' is float128"):
            writer.define_field("ratio", np.longdouble, SHAPE)
        with pytest.raises(ValueError, match="flat"):
            writer.define_field("flat", np.float32, (0, 4))
        with pytest.raises(ValueError, match="colour"):
            writer.define_field("paint", np.float32, SHAPE, colour="red")
        with pytest.raises(ValueError, match="not several"):
            writer.define_field("both", np.float32, SHAPE, absolute=1.0, relative=0.1)
        with pytest.raises(ValueError, match="tight"):
            writer.define_field("tight", np.float32, SHAPE, absolute=-1.0)
        with pytest.raises(ValueError, match="unit_dimension"):
            writer.define_field("units", np.float32, SHAPE, unit_dimension=[1, 2])


def test_a_full_disk_is_an_error_and_the_report_says_what_was_lost(tmp_path):
    path = tmp_path / "run.h5"
    writer = caesura.Writer(path, durable=False)
    rho = writer.define_field("rho", np.float32, (128, 1024))
    noise = np.random.default_rng(7).standard_normal((128, 1024)).astype(np.float32)
    with writer.iteration(0) as iteration:
        iteration.begin_dump(time=0.0).put(rho, noise)
    writer.finish_by(1e6)
    assert writer.report().lost_dumps == writer.report().lost_bytes == 0
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_blocks * 512, before[1]))
    try:
        with writer.iteration(1) as iteration:
            iteration.begin_dump(time=1.0).put(rho, noise)
        with pytest.raises(OSError, match=r"run\.h5"):
            writer.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert writer.committed == 0
    assert (writer.report().lost_dumps, writer.report().lost_bytes) == (1, noise.nbytes)


def test_an_impossible_path_is_an_os_error(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        caesura.Writer(tmp_path / "nowhere" / "run.h5")


def test_a_codec_that_is_not_installed_says_what_to_do(tmp_path):
    writer = caesura.Writer(tmp_path / "run.h5", codec="filter:64999", cd_values=[1])
    with pytest.raises(RuntimeError, match="64999"):
        field = writer.define_field("rho", np.float32, SHAPE)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0.0).put(field, wave())


def test_an_unknown_algorithm_names_the_known_ones(tmp_path):
    with pytest.raises(ValueError, match="ext_johnson_backfill"):
        caesura.Writer(tmp_path / "run.h5", algorithm="guess")


@pytest.mark.parametrize(
    "space",
    [
        {"reserve": "slots"},
        {"reserve": "slots", "slot_speed_weight": 0.9},
        {"reserve": "slots", "slot_space": 1.0, "reserve_factor": 0.1},
        {"reserve_sigmas": 0.0, "stripe_bytes": 1 << 16},
    ],
)
def test_how_space_is_kept_changes_no_value(tmp_path, space):
    arrays = [wave(phase=n) for n in range(4)]
    writer = write(
        tmp_path / "run.h5", arrays, absolute=BOUND, algorithm="insertion_backfill", **space
    )
    with caesura.open(tmp_path / "run.h5") as file:
        for n, array in enumerate(arrays):
            stored = file[f"/data/{n}/meshes/rho"][...].astype(np.float64)
            assert np.max(np.abs(stored - array)) <= BOUND
    if "reserve_factor" in space:
        assert writer.report().overflow_blocks > 0


def test_options_of_space_that_make_no_sense_are_named(tmp_path):
    with pytest.raises(ValueError, match="regions, slots"):
        caesura.Writer(tmp_path / "run.h5", reserve="holes")
    with pytest.raises(ValueError, match="slot_space"):
        caesura.Writer(tmp_path / "run.h5", slot_space=0.5)
    with pytest.raises(TypeError, match="slot_spice"):
        caesura.Writer(tmp_path / "run.h5", slot_spice=1.25)


def test_an_iteration_cannot_be_used_after_its_end(tmp_path):
    with caesura.Writer(tmp_path / "run.h5") as writer:
        with writer.iteration(0) as iteration:
            pass
        with pytest.raises(ValueError, match="ended"):
            iteration.begin_dump(time=0.0)


def test_a_closed_writer_lets_go_of_its_file_and_still_answers(tmp_path):
    import h5py

    path = tmp_path / "run.h5"
    with caesura.Writer(path) as writer:
        field = writer.define_field("rho", np.float32, SHAPE)
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(time=0.0)
            dump.put(field, wave())
    # All of writer, iteration and dump are still alive here, and the file is free nevertheless.
    with h5py.File(path, "r+") as file:
        file.attrs["note"] = "added by someone else"
    assert caesura.recover(path)["was_clean"]
    assert writer.committed == 0
    assert writer.released(0)
    assert writer.report().dumps == 1
    writer.close()  # says again what it said before: nothing
    for call in (
        lambda: writer.begin_iteration(1),
        lambda: writer.define_field("more", np.float32, SHAPE),
        lambda: dump.put(field, wave()),
    ):
        with pytest.raises(ValueError, match="closed"):
            call()


def test_an_exception_leaves_the_dumps_before_it(tmp_path):
    with pytest.raises(ZeroDivisionError), caesura.Writer(tmp_path / "run.h5") as writer:
        field = writer.define_field("rho", np.float32, SHAPE)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0.0).put(field, wave())
        with writer.iteration(1):
            _ = 1 / 0
    with caesura.open(tmp_path / "run.h5") as file:
        assert np.array_equal(file["/data/0/meshes/rho"][...], wave())


def test_a_writer_dropped_without_close_keeps_what_was_committed(tmp_path):
    path = tmp_path / "run.h5"
    writer = caesura.Writer(path)
    field = writer.define_field("rho", np.float32, SHAPE)
    for n in range(3):
        with writer.iteration(n) as iteration:
            iteration.begin_dump(time=0.0).put(field, wave(phase=n))
    while writer.committed is None:  # the dumps are on their way; go on computing
        n += 1
        with writer.iteration(n) as iteration:
            pass
    committed = writer.committed
    del iteration, writer
    gc.collect()
    report = caesura.recover(path)
    assert report["committed_dumps"] >= committed + 1
    with caesura.open(path) as file:
        for n in range(report["committed_dumps"]):
            assert np.array_equal(file[f"/data/{n}/meshes/rho"][...], wave(phase=n))


def test_messages_reach_python_and_bad_listeners_do_no_harm(tmp_path, recwarn):
    heard = []

    def listen(message):
        heard.append(message)
        raise RuntimeError("a listener's own mistake")

    array = wave()
    # A budget far below one field: the library has to say that it went beyond.
    with caesura.Writer(tmp_path / "run.h5", memory_bytes=1 << 16, on_message=listen) as writer:
        field = writer.define_field("rho", np.float32, SHAPE)
        for n in range(3):
            with writer.iteration(n) as iteration:
                iteration.begin_dump(time=0.0).put(field, array)
    assert all(isinstance(message, str) for message in heard)
    with caesura.open(tmp_path / "run.h5") as file:
        assert len(file["/data"]) == 3


def test_python_runs_while_the_writer_waits(tmp_path):
    # close() compresses and writes without the GIL: another thread must get on meanwhile.
    writer = caesura.Writer(tmp_path / "run.h5", absolute=1e-6)
    field = writer.define_field("rho", np.float32, (128, 128, 128))
    with writer.iteration(0) as iteration:
        iteration.begin_dump(time=0.0).put(field, wave((128, 128, 128)))
    ticks, done = [0], threading.Event()

    def count():
        while not done.is_set():
            ticks[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = ticks[0]
    writer.close()
    during = ticks[0] - before
    done.set()
    thread.join()
    assert during > 0


def test_report_adds_up(tmp_path):
    arrays = [wave(phase=n) for n in range(3)]
    writer = write(tmp_path / "run.h5", arrays, absolute=BOUND, verify=True)
    report = writer.report()
    assert report.raw_bytes == sum(array.nbytes for array in arrays)
    assert 0 < report.stored_bytes < report.raw_bytes
    assert report.ratio == report.raw_bytes / report.stored_bytes
    assert report.dumps == 3
    assert report.blocks >= 3
    assert 0 < report.max_error_over_bound <= 1


def test_trace_shows_what_was_done(tmp_path):
    from caesura.trace import read_traces

    with caesura.Writer(
        tmp_path / "run.h5", absolute=BOUND, trace=tmp_path / "trace-%r.json"
    ) as writer:
        field = writer.define_field("rho", np.float32, SHAPE)
        for n in range(4):
            with writer.iteration(n) as iteration:
                with iteration.busy("compress"):
                    np.linalg.norm(wave())
                with iteration.busy("write"):
                    np.linalg.norm(wave())
                iteration.begin_dump(time=n).put(field, wave(phase=n))
    json.loads((tmp_path / "trace-0.json").read_text())
    trace = read_traces([tmp_path / "trace-0.json"])
    kinds = [event.kind for event in trace.events]
    assert kinds.count("iteration") == 4
    assert {"compress", "write", "obstacle", "put", "end", "commit"} <= set(kinds)
    obstacles = {event.name for event in trace.events if event.kind == "obstacle"}
    assert obstacles == {"compress", "write"}


def test_h5py_in_the_same_process_keeps_its_own_filters(tmp_path):
    # Two HDF5 libraries live in one process: each must keep its plugins, whoever comes first.
    # Without HDF5_PLUGIN_PATH, under which hdf5plugin does not connect its plugins (nothing of
    # ours: it needs no caesura to fail).
    environment = {key: value for key, value in os.environ.items() if key != "HDF5_PLUGIN_PATH"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    for order in ("ours theirs ours theirs", "theirs ours theirs ours"):
        answer = subprocess.run(
            [sys.executable, "-c", BOTH, str(tmp_path), order],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        assert answer.returncode == 0, answer.stderr


BOTH = """
import sys
import numpy as np
array = np.sin(np.arange(48 * 40 * 36) * 1e-3).reshape(48, 40, 36).astype(np.float32)

def ours(path):
    import caesura
    with caesura.Writer(path, absolute=1e-3) as writer:
        field = writer.define_field("rho", np.float32, array.shape)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0.0).put(field, array)
    return "/data/0/meshes/rho"

def theirs(path):
    import h5py, hdf5plugin
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=array, compression=hdf5plugin.SZ3(absolute=1e-3))
    return "x"

for number, who in enumerate(sys.argv[2].split()):
    path = f"{sys.argv[1]}/{number}.h5"
    name = {"ours": ours, "theirs": theirs}[who](path)
    import caesura
    with caesura.open(path) as file:
        assert 0 < np.max(np.abs(file[name][...].astype(float) - array)) <= 1e-3, who
"""


def test_lists_and_dlpack_arrays_are_taken(tmp_path):
    class Foreign:
        """Something that speaks DLPack and is no numpy array."""

        def __init__(self, array):
            self._array = array

        def __dlpack__(self, **options):
            return self._array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self._array.__dlpack_device__()

    array = wave()
    with caesura.Writer(tmp_path / "run.h5", codec="none") as writer:
        field = writer.define_field("rho", np.float32, SHAPE)
        line = writer.define_field("line", np.float64, (3,))
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(time=0.0)
            dump.put(field, Foreign(array))
            dump.put(line, [1.0, 2.0, 3.0])
    with caesura.open(tmp_path / "run.h5") as file:
        assert np.array_equal(file["/data/0/meshes/rho"][...], array)
        assert list(file["/data/0/meshes/line"][...]) == [1.0, 2.0, 3.0]


def test_nothing_is_leaked(tmp_path):
    # nanobind says at exit what was never freed; objects are dropped in an awkward order here.
    program = f"""
import numpy as np, caesura
writer = caesura.Writer({str(tmp_path / "run.h5")!r}, on_message=print)
field = writer.define_field("rho", np.float32, (8, 8))
iteration = writer.begin_iteration(0)
mark = iteration.busy("compress")
dump = iteration.begin_dump(time=0.0)
dump.put(field, np.zeros((8, 8), np.float32), borrow=True)
iteration.end()
writer.close()
del writer
del dump, iteration, mark
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""


@pytest.mark.parametrize(
    "how",
    [{"planning": False}, {"idle_priority": False}, {"algorithm": "generation_list_backfill"}],
)
def test_how_the_lanes_run_changes_no_value(tmp_path, how):
    arrays = [wave(phase=n) for n in range(4)]
    write(tmp_path / "run.h5", arrays, absolute=BOUND, **how)
    with caesura.open(tmp_path / "run.h5") as file:
        for n, array in enumerate(arrays):
            stored = file[f"/data/{n}/meshes/rho"][...].astype(np.float64)
            assert np.max(np.abs(stored - array)) <= BOUND


def test_a_cooperative_writer_compresses_where_it_is_let(tmp_path):
    array = wave()
    with caesura.Writer(tmp_path / "run.h5", absolute=BOUND, cooperative=True) as writer:
        field = writer.define_field("rho", array.dtype, array.shape)
        with writer.iteration(0, label="step") as iteration:
            iteration.begin_dump(time=0.0).put(field, array)
        with writer.iteration(1, label="regrid") as iteration:
            assert iteration.compress_for(60.0) > 0.0
            assert iteration.compress_for(60.0) == 0.0  # nothing is left
            assert iteration.wait_until(lambda: True, 60.0)
            assert not iteration.wait_until(lambda: False, 1e-4)
            with pytest.raises(ZeroDivisionError):
                iteration.wait_until(lambda: 1 // 0, 60.0)
    report = writer.report()
    assert report.planned_dumps == 1
    with caesura.open(tmp_path / "run.h5") as file:
        stored = file["/data/0/meshes/rho"][...].astype(np.float64)
        assert np.max(np.abs(stored - array)) <= BOUND


def test_finish_by_commits_and_the_writer_goes_on(tmp_path):
    with caesura.Writer(tmp_path / "run.h5", max_delay=5.0) as writer:
        rho = writer.define_field("rho", np.float32, wave().shape, absolute=BOUND)
        for n in range(2):
            with writer.iteration(n) as iteration:
                iteration.begin_dump(time=float(n)).put(rho, wave(phase=n))
            writer.finish_by(1e6)
            assert writer.committed == n
        assert writer.report().longest_to_committed_s > 0.0
    with pytest.raises(ValueError, match="max_delay_s"):
        caesura.Writer(tmp_path / "other.h5", max_delay=-1.0)
