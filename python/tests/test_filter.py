"""The HDF5 filter in h5py, h5dump and h5repack, and in an environment without our package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import caesura
import h5py
import numpy as np
import pytest
from caesura import _core, codec

SHAPE = (50, 60, 35)
CHUNKS = (32, 32, 32)  # none of which divides its extent
BOUND = 1e-3


def field(dtype=np.float32, shape=SHAPE) -> np.ndarray:
    random = np.random.default_rng(1)
    return np.cumsum(random.standard_normal(shape), axis=-1).astype(dtype)


def clean_environment(**more: str) -> dict[str, str]:
    """As a stranger's process has it: nothing of ours but the directory of the plugin."""
    ours = ("PYTHONPATH", "HDF5_PLUGIN_PATH", "CAESURA_PLUGIN_PATH", "PYTHONHOME")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {**kept, **more}


def tool(*command: object, **more: str) -> str:
    environment = clean_environment(HDF5_PLUGIN_PATH=caesura.plugin_path(), **more)
    answer = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, env=environment
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


needs_tools = pytest.mark.skipif(
    shutil.which("h5repack") is None, reason="h5dump and h5repack are not installed (hdf5-tools)"
)


def filters_of(dataset: h5py.Dataset) -> list[int]:
    plist = dataset.id.get_create_plist()
    return [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]


# ---------------------------------------------------------------------------------------- h5py


def test_h5py_is_of_hdf5_2():
    """What reads and writes through the filter here: another series than the library's own HDF5."""
    print(f"h5py {h5py.__version__} with HDF5 {h5py.version.hdf5_version}")
    assert h5py.version.hdf5_version_tuple >= (2, 0, 0)


@pytest.mark.parametrize("dtype", ["<f4", "<f8", ">f4", ">f8"])
@pytest.mark.parametrize("shape", [(3000,), (60, 70), (20, 30, 17), (9, 10, 11, 12)])
def test_h5py_writes_and_reads_floats_within_the_bound(tmp_path, dtype, shape):
    values = field(dtype, shape)
    chunks = tuple(max(1, 2 * n // 3) for n in shape)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=values, chunks=chunks, **caesura.filter_options(BOUND))
    with h5py.File(tmp_path / "a.h5") as file:
        dataset = file["x"]
        assert filters_of(dataset) == [_core.FILTER_ID]
        assert dataset.dtype == np.dtype(dtype)
        error = np.abs(dataset[...].astype(np.float64) - values).max()
        assert 0 < error <= BOUND
        part = tuple(slice(n // 2, n) for n in shape)
        assert np.array_equal(dataset[part], dataset[...][part])


def test_another_process_reads_chunks_that_are_cut_into_regions(tmp_path):
    values = field(shape=(64, 64, 64))
    values[:, :, 32:] = np.repeat(np.round(values[:, :, 32::8]), 8, axis=2)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        options = caesura.filter_options(BOUND, mode="regions")
        file.create_dataset("x", data=values, chunks=values.shape, **options)
        frame = file["x"].id.read_direct_chunk((0, 0, 0))[1]
    assert codec.info(frame).regions > 1
    script = (
        "import sys, h5py, numpy; h5py.h5pl.append(sys.argv[1].encode())\n"
        "numpy.save(sys.argv[3], h5py.File(sys.argv[2])['x'][...])"
    )
    tool(sys.executable, "-c", script, caesura.plugin_path(), tmp_path / "a.h5", tmp_path / "x.npy")
    error = np.abs(np.load(tmp_path / "x.npy").astype(np.float64) - values).max()
    assert 0 < error <= BOUND


@pytest.mark.parametrize("dtype", ["<i4", "u1", "?", "<c8", "S5", [("a", "<f4"), ("b", "<i2")]])
def test_h5py_keeps_other_types_bit_for_bit(tmp_path, dtype):
    random = np.random.default_rng(2)
    kind = np.dtype(dtype)
    values = np.frombuffer(random.integers(32, 40, 1200 * kind.itemsize, np.uint8), kind)
    values = values.reshape(30, 40)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=values, chunks=(16, 16), **caesura.filter_options(1.0))
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["x"][...].tobytes() == values.tobytes()


def test_what_one_types_by_hand(tmp_path):
    """The number alone is lossless; mode, kind, mantissa, exponent are a bound."""
    values = field()
    number = _core.FILTER_ID
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("exact", data=values, chunks=CHUNKS, compression=number)
        file.create_dataset(
            "lossy", data=values, chunks=CHUNKS, compression=number, compression_opts=(0, 1, 1, 3)
        )
        file.create_dataset("same", data=values, chunks=CHUNKS, **caesura.filter_options(1e-3))
        assert np.array_equal(file["exact"][...], values)
        assert 0 < np.abs(file["lossy"][...] - values).max() <= 1e-3
        stored = [file[name].id.get_create_plist().get_filter(0)[2] for name in ("lossy", "same")]
        assert stored[0] == stored[1]
        assert file["lossy"].id.get_storage_size() < file["exact"].id.get_storage_size()


def test_relative_bounds_are_of_each_chunk(tmp_path):
    values = field(np.float64, (64, 32))
    values[32:] *= 1000
    with h5py.File(tmp_path / "a.h5", "w") as file:
        options = caesura.filter_options(caesura.relative(1e-2))
        file.create_dataset("x", data=values, chunks=(32, 32), **options)
        error = np.abs(file["x"][...] - values)
    for rows in (slice(0, 32), slice(32, 64)):
        span = np.ptp(values[rows])
        assert 0.1 * 1e-2 * span < error[rows].max() <= 1e-2 * span


def test_wrong_parameters_are_errors_that_say_why(tmp_path):
    with pytest.raises(ValueError, match="auto, fast, strong, planes"):
        caesura.filter_options(1e-3, mode="best")
    with pytest.raises(ValueError, match="bound"):
        caesura.filter_options(-1)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        with pytest.raises((ValueError, RuntimeError), match="bound kind 9"):
            file.create_dataset(
                "x", (10, 10), "f4", chunks=(5, 5), compression=_core.FILTER_ID,
                compression_opts=(0, 9, 1, 3),
            )  # fmt: skip
        with pytest.raises((ValueError, RuntimeError), match="first filter"):
            options = caesura.filter_options(1e-3)
            file.create_dataset("y", (10, 10), "f4", chunks=(5, 5), shuffle=True, **options)
        options = caesura.filter_options(caesura.lossless())
        file.create_dataset("z", data=field(), chunks=CHUNKS, shuffle=True, **options)
        assert np.array_equal(file["z"][...], field())


def test_table_sets_lie_in_the_dataset(tmp_path):
    values = field()
    statistics = codec.TableStatistics()
    codec.compress(values, 1e-4, statistics=statistics)
    tables = statistics.train()
    assert tables.id != 0
    with h5py.File(tmp_path / "a.h5", "w") as file:
        options = caesura.filter_options(1e-4, tables=tables)
        file.create_dataset("x", data=values, chunks=CHUNKS, **options)
        assert codec.info(file["x"].id.read_direct_chunk((0, 0, 0))[1]).table_set_id == tables.id
    program = "import h5py, sys; h5py.h5pl.append(sys.argv[1].encode());"
    program += "print(repr(float(h5py.File(sys.argv[2])['x'][7, 8, 9])))"
    read = tool(sys.executable, "-c", program, caesura.plugin_path(), tmp_path / "a.h5")
    assert abs(float(read) - values[7, 8, 9]) <= 1e-4


def test_frames_of_a_chunks_valid_part_are_read(tmp_path):
    """What Caesura's writer stores at an array's edges: less than a chunk."""
    values = field(np.float32, (50, 30))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        dataset = file.create_dataset(
            "x", values.shape, "f4", chunks=(64, 32), maxshape=(64, 32),
            **caesura.filter_options(BOUND),
        )  # fmt: skip
        dataset.id.write_direct_chunk((0, 0), codec.compress(values, BOUND))
    with h5py.File(tmp_path / "a.h5", "a") as file:
        assert np.abs(file["x"][...] - values).max() <= BOUND
        file["x"].resize((64, 32))
        assert np.all(file["x"][50:] == 0) and np.all(file["x"][:, 30:] == 0)


def test_damaged_chunks_are_errors(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        dataset = file.create_dataset(
            "x", data=field(), chunks=SHAPE, **caesura.filter_options(BOUND)
        )
        good = dataset.id.read_direct_chunk((0, 0, 0))[1]
    for broken in (good[: len(good) // 2], good[:-1] + bytes([good[-1] ^ 8]), b"x", b"x" * 1000):
        with h5py.File(tmp_path / "a.h5", "a") as file:
            file["x"].id.write_direct_chunk((0, 0, 0), broken)
        with h5py.File(tmp_path / "a.h5") as file, pytest.raises(OSError, match=r"filter|read"):
            file["x"][...]


# ---------------------------------------------------------------------- how h5py comes to know it

IMPORTS = {
    "caesura first": "import caesura, h5py",
    "h5py first": "import h5py, caesura",
    "hdf5plugin between": "import caesura, hdf5plugin, h5py",
    "hdf5plugin first": "import hdf5plugin, h5py, caesura",
    "twice": "import caesura, h5py, importlib; importlib.reload(caesura)",
    "a part of it first": "import caesura; import h5py.h5pl",
    "asked for before": "import caesura, importlib.util as i; i.find_spec('h5py'); import h5py",
}


@pytest.mark.parametrize("order", IMPORTS)
def test_import_order_does_not_matter_and_hdf5plugin_works_beside(tmp_path, order):
    program = IMPORTS[order] + (
        "\nimport caesura, h5py, hdf5plugin, numpy, os, sys, inspect\n"
        "before = dict(os.environ)\n"
        "a = numpy.arange(4000, dtype='f4').reshape(40, 100)\n"
        "with h5py.File(sys.argv[1], 'w') as file:\n"
        "    file.create_dataset('ours', data=a, chunks=(7, 9), **caesura.filter_options(0.1))\n"
        "    file.create_dataset('sz3', data=a, chunks=(20, 50), **hdf5plugin.SZ3(absolute=0.1))\n"
        "    file.create_dataset('blosc', data=a, chunks=(7, 9), **hdf5plugin.Blosc())\n"
        "with h5py.File(sys.argv[1]) as file:\n"
        "    assert all(abs(file[n][...] - a).max() <= 0.1 for n in file), 'bound'\n"
        "paths = [h5py.h5pl.get(i) for i in range(h5py.h5pl.size())]\n"
        "assert paths.count(caesura.plugin_path().encode()) == 1, paths\n"
        "assert not [f for f in sys.meta_path if type(f).__module__.startswith('caesura')]\n"
        "assert 'HDF5_PLUGIN_PATH' not in os.environ\n"
        "assert h5py.__spec__.loader.get_filename('h5py') == h5py.__file__\n"
        "assert inspect.getsource(h5py)\n"
    )
    package = str(Path(caesura.__file__).parent.parent)
    answer = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "a.h5")],
        env=clean_environment(PYTHONPATH=package),
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr


def test_importing_caesura_does_not_import_h5py():
    program = "import caesura, sys; assert not {'h5py', 'numpy'} & set(sys.modules)"
    package = str(Path(caesura.__file__).parent.parent)
    environment = clean_environment(PYTHONPATH=package)
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


def test_the_plugin_is_alone_in_its_directory():
    assert [path.name for path in Path(caesura.plugin_path()).iterdir()] == ["libh5caesura.so"]


# ----------------------------------------------------------------------- HDF5's own command line


@pytest.fixture
def plain(tmp_path) -> tuple[Path, dict[str, np.ndarray]]:
    """A file without any filter."""
    arrays = {
        "f4": field(),
        "f8": field(np.float64, (40, 50)),
        "be": field(">f4", (3000,)),
        "i4": (100 * field()).astype(np.int32),
        "text": np.array([b"some", b"words", b""] * 50),
    }
    path = tmp_path / "plain.h5"
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            file.create_dataset(name, data=values)
    return path, arrays


def check(path: Path, arrays: dict[str, np.ndarray], bound: float, filtered: bool) -> None:
    with h5py.File(path) as file:
        for name, values in arrays.items():
            dataset = file[name]
            assert filters_of(dataset) == ([_core.FILTER_ID] if filtered else []), name
            if values.dtype.kind == "f":
                error = np.abs(dataset[...].astype(np.float64) - values).max()
                assert error <= bound and (error > 0) == (bound > 0), name
            else:
                assert np.array_equal(dataset[...], values), name


@needs_tools
@pytest.mark.parametrize(("words", "bound"), [("0", 0.0), ("4,0,1,1,3", 1e-3), ("3,1,1,2", 2.0)])
def test_h5repack_adds_the_filter_and_removes_it(tmp_path, plain, words, bound):
    path, arrays = plain
    added, removed = tmp_path / "added.h5", tmp_path / "removed.h5"
    tool("h5repack", "-f", f"UD={_core.FILTER_ID},0,{words}", path, added)
    check(added, arrays, bound, filtered=True)
    again = tmp_path / "rechunked.h5"  # set_local runs again, on final values
    tool("h5repack", "-l", "f4:CHUNK=11x13x35", "-l", "f8:CHUNK=40x50", added, again)
    check(again, arrays, 2 * bound, filtered=True)
    tool("h5repack", "-f", "NONE", added, removed)
    check(removed, arrays, bound, filtered=False)


@needs_tools
def test_h5dump_shows_the_values_and_the_parameters(tmp_path):
    values = field()
    path, raw = tmp_path / "a.h5", tmp_path / "raw"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=values, chunks=CHUNKS, **caesura.filter_options(BOUND))
    tool("h5dump", "-d", "/x", "-b", "LE", "-o", raw, path)
    assert np.abs(np.fromfile(raw, np.float32).reshape(SHAPE) - values).max() <= BOUND
    part = tool("h5dump", "-d", "/x", "-s", "40,50,30", "-c", "1,1,1", "-y", path)
    shown = re.search(r"DATA \{\s*(\S+)\s*\}", part)
    assert shown and abs(float(shown.group(1)) - values[40, 50, 30]) <= 1.1 * BOUND  # six digits
    header = tool("h5dump", "-pH", path)
    assert f"FILTER_ID {_core.FILTER_ID}" in header and "caesura" in header


def test_an_environment_without_our_package_reads_with_the_plugin_alone(tmp_path):
    python = os.environ.get("CAESURA_READERS_PYTHON")
    if not python:
        pytest.skip("CAESURA_READERS_PYTHON names no Python of foreign readers (make test does)")
    values = field()
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=values, chunks=CHUNKS, **caesura.filter_options(BOUND))
    np.save(tmp_path / "x.npy", values)
    program = (
        "import importlib.util, sys, h5py, numpy\n"
        "assert importlib.util.find_spec('caesura') is None\n"
        "x = h5py.File(sys.argv[1])['x']\n"
        "assert abs(x[...] - numpy.load(sys.argv[2])).max() <= 1e-3\n"
        "with h5py.File(sys.argv[3], 'w') as out:\n"
        f"    out.create_dataset('y', data=x[...], compression={_core.FILTER_ID})\n"
        "    assert numpy.array_equal(out['y'][...], x[...])\n"
    )
    tool(python, "-c", program, tmp_path / "a.h5", tmp_path / "x.npy", tmp_path / "b.h5")
