"""verify and info: a sound file passes, one flipped bit is found and named, bounds are held."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import caesura
import command_line
import h5py
import hdf5plugin
import numpy as np
import pytest

SHAPE = (128, 64, 64)
BOUND = 1e-2


def run(*arguments, code=0, **how):
    answer = command_line.caesura(*arguments, **how)
    assert answer.returncode == code, answer.stdout + answer.stderr
    assert "Traceback" not in answer.stderr
    return answer


def field(n):
    rng = np.random.default_rng(n)
    return np.cumsum(rng.normal(scale=0.01, size=SHAPE), axis=2).astype(np.float32)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A file of three dumps of two fields in many blocks, and its values as raw files."""
    folder = tmp_path_factory.mktemp("verify")
    raw = folder / "raw"
    raw.mkdir()
    with caesura.Writer(folder / "run.h5", absolute=BOUND, chunk_bytes=1 << 17) as writer:
        rho = writer.define_field("rho", np.float32, SHAPE)
        exact = writer.define_field("exact", np.float32, SHAPE, lossless=True, codec="zstd")
        for n in range(3):
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=n)
                dump.put(rho, field(n))
                dump.put(exact, field(n + 10))
            field(n).tofile(raw / f"rho_{n}.bin")
            field(n + 10).tofile(raw / f"exact_{n}.bin")
    return folder


@pytest.fixture
def damaged(written, tmp_path):
    """A copy with one bit flipped in the middle of one block's stored bytes."""
    from caesura import _core

    path = tmp_path / "damaged.h5"
    shutil.copy(written / "run.h5", path)
    dataset = _core.OpenFile(str(path)).info()["datasets"][2]
    chunk = dataset["chunks"][len(dataset["chunks"]) // 2]
    with path.open("r+b") as file:
        file.seek(chunk["address"] + chunk["bytes"] // 2)
        byte = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([byte ^ 0x10]))
    return path, dataset["path"]


def test_a_sound_file_passes(written):
    answer = json.loads(run("verify", written / "run.h5", "--json", started=True).stdout)
    assert answer["ok"]
    (file,) = answer["files"]
    assert file["datasets"] == 6
    assert file["blocks"] > 30
    assert file["blocks_without_checksum"] == 0
    assert file["raw_bytes"] == 6 * 4 * np.prod(SHAPE)


def test_values_are_held_against_raw_files_and_hdf5(written, tmp_path):
    reference = tmp_path / "reference.h5"
    with h5py.File(reference, "w") as file:
        for n in range(3):
            file[f"/data/{n}/meshes/rho"] = field(n)
            file[f"/data/{n}/meshes/exact"] = field(n + 10)
    for against in (written / "raw", reference):
        answer = run("verify", written / "run.h5", "--against", against, "--json")
        fields = json.loads(answer.stdout)["files"][0]["fields"]
        assert fields["rho"]["values"] == 3 * np.prod(SHAPE)
        assert 0 < fields["rho"]["max_error_over_bound"] <= 1
        assert fields["exact"]["max_error"] == 0
    assert "rho" in run("verify", written / "run.h5", "--against", reference).stdout


def test_a_value_beyond_its_bound_is_found(written, tmp_path):
    shutil.copytree(written / "raw", tmp_path / "raw")
    values = np.memmap(tmp_path / "raw" / "rho_1.bin", np.float32, "r+", shape=SHAPE)
    values[5, 6, 7] += 10 * BOUND
    values.flush()
    answer = run("verify", written / "run.h5", "--against", tmp_path / "raw", "--json", code=1)
    (finding,) = json.loads(answer.stdout)["files"][0]["findings"]
    assert "/data/1/meshes/rho" in finding
    assert "[5, 6, 7]" in finding


def test_a_missing_reference_is_a_finding_not_a_pass(written, tmp_path):
    shutil.copytree(written / "raw", tmp_path / "raw")
    (tmp_path / "raw" / "exact_2.bin").unlink()
    answer = run("verify", written / "run.h5", "--against", tmp_path / "raw", code=1)
    assert "exact_2.bin" in answer.stdout


def test_one_flipped_bit_is_found_and_named(damaged):
    path, dataset = damaged
    answer = run("verify", path, "--json", code=1)
    findings = json.loads(answer.stdout)["files"][0]["findings"]
    assert len(findings) == 1
    assert dataset in findings[0]
    assert ": damaged" in run("verify", path, code=1).stdout


def test_files_of_other_writers_are_decoded_without_checksums(tmp_path):
    path = tmp_path / "theirs.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=field(0), chunks=(16, 16, 16), compression=hdf5plugin.Zstd())
    (file,) = json.loads(run("verify", path, "--json").stdout)["files"]
    assert file["blocks"] == file["blocks_without_checksum"] == 8 * 4 * 4


def test_what_cannot_be_read_is_said_in_one_sentence(tmp_path):
    (tmp_path / "text.h5").write_text(
        "this is no HDF5 file, but it is long enough to look at\n" * 99
    )
    for command in ("info", "verify", "recover"):
        for name in ("nothing.h5", "text.h5"):
            answer = run(command, tmp_path / name, code=3)
            assert name in answer.stderr
            assert answer.stdout == ""
            document = json.loads(run(command, tmp_path / name, "--json", code=3).stdout)
            assert name in document["error"]


def test_info_tells_what_the_file_holds(written):
    listing = json.loads(run("info", written / "run.h5", "--json").stdout)
    assert listing["iterations"] == [0, 1, 2]
    assert listing["raw_bytes"] == 6 * 4 * np.prod(SHAPE)
    assert listing["ratio"] == listing["raw_bytes"] / listing["stored_bytes"] > 1
    assert not listing["needs_recover"]
    assert listing["file_bytes"] == (written / "run.h5").stat().st_size
    dataset = listing["datasets"][0]
    assert dataset["shape"] == list(SHAPE)
    assert sum(chunk["bytes"] for chunk in dataset["chunks"]) == dataset["stored_bytes"]
    shown = run("info", written / "run.h5").stdout
    assert "128×64×64" in shown
    assert "0.01" in shown
    assert "lossless" in shown


def test_info_says_the_bound_of_each_block_in_units(tmp_path):
    path = tmp_path / "blocks.h5"
    values = np.cumsum(np.random.default_rng(3).normal(size=(4, 64, 256)), axis=2)
    values[1] *= 1e3
    values[2] = 7.0  # all values are one: exact
    wanted = [1e-2 * float(np.ptp(block)) for block in values]
    with h5py.File(path, "w") as file:
        for name, bound in (
            ("of_range", caesura.relative(1e-2)),
            ("of_each", caesura.pointwise_relative(1e-3)),
            ("exact", caesura.lossless()),
        ):
            options = caesura.filter_options(bound)
            file.create_dataset(name, data=values, chunks=(1, 64, 256), **options)
        file.create_dataset("other", data=values, chunks=(1, 64, 256), compression="gzip")
        file["of_range"].id.write_direct_chunk((3, 0, 0), values[3].tobytes(), filter_mask=1)
    listing = json.loads(run("info", path, "--json", "--blocks").stdout)
    by_path = {dataset["path"]: dataset for dataset in listing["datasets"]}
    blocks = [chunk["arrays"] for chunk in by_path["/of_range"]["chunks"]]
    for block, bound, kind in zip(
        blocks, [*wanted[:2], 0, 0], ["absolute", "absolute", "lossless", "lossless"], strict=True
    ):
        (array,) = block
        assert array == {"component": None, "kind": kind, "bound": pytest.approx(bound)}
    assert by_path["/of_range"]["bounds"] == [
        {"kind": "absolute", "min": pytest.approx(wanted[0]), "max": pytest.approx(wanted[1]),
         "arrays": 2},
        {"kind": "lossless", "min": 0, "max": 0, "arrays": 2},
    ]  # fmt: skip
    assert [(one["kind"], one["max"]) for one in by_path["/of_each"]["bounds"]] == [
        ("pointwise_relative", 1e-3)
    ]
    assert [one["kind"] for one in by_path["/exact"]["bounds"]] == ["lossless"]
    assert by_path["/other"]["bounds"] == []
    assert (
        "arrays" not in json.loads(run("info", path, "--json").stdout)["datasets"][0]["chunks"][0]
    )
    shown = run("info", path, "--blocks").stdout
    assert f"exact to {wanted[1]:.4g}" in shown
    assert f"{wanted[0]:g}" in shown


def test_info_leaves_blocks_out_that_it_cannot_read(written, tmp_path):
    path = tmp_path / "run.h5"
    shutil.copy(written / "run.h5", path)

    def bounds_of_rho():
        listing = json.loads(run("info", path, "--json").stdout)
        (found,) = (one for one in listing["datasets"] if one["path"] == "/data/1/meshes/rho")
        return found["chunks"], [
            (one["kind"], one["max"], one["arrays"]) for one in found["bounds"]
        ]

    chunks, bounds = bounds_of_rho()
    held_to = pytest.approx(BOUND, rel=1e-6)
    assert bounds == [("absolute", held_to, len(chunks))]
    with path.open("r+b") as file:
        for chunk in chunks[1:]:
            file.seek(chunk["address"])
            file.write(bytes(16))
    assert bounds_of_rho()[1] == [("absolute", held_to, 1)]


def test_recover_of_a_sound_file_changes_nothing(written, tmp_path):
    path = tmp_path / "run.h5"
    shutil.copy(written / "run.h5", path)
    before = path.read_bytes()
    report = json.loads(run("recover", path, "--json").stdout)
    assert report["was_clean"]
    assert report["committed_dumps"] == 3
    assert path.read_bytes() == before
    assert "nothing to do" in run("recover", path).stdout


def test_recover_says_of_a_file_without_a_commit_that_it_is_empty(tmp_path):
    path = tmp_path / "run.h5"
    code = f"import caesura, os; writer = caesura.Writer({str(path)!r}); os._exit(0)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert not h5py.is_hdf5(path)
    assert "is empty" in run("recover", path).stdout


def test_report_writes_page_and_picture(traces, tmp_path):
    page, picture = tmp_path / "page.html", tmp_path / "picture.svg"
    answer = run("report", *traces, "--html", page, "--svg", picture, "--json")
    assert [row["rank"] for row in json.loads(answer.stdout)["ranks"]] == [0, 1]
    assert page.read_text().startswith("<!doctype html>")
    assert picture.read_text().startswith("<svg")


def test_report_of_a_broken_trace_is_refused(tmp_path):
    (tmp_path / "t.json").write_text("{")
    assert "t.json" in run("report", tmp_path / "t.json", code=3).stderr


def test_help_names_the_exit_codes():
    for command in ("info", "verify", "recover", "report", "demo"):
        assert "Exit codes" in run(command, "--help").stdout
    assert run("verify", code=2).stderr != ""


def test_missing_values_are_exact_and_counted_in_no_error(tmp_path):
    """Goal: a declared fill value that the bound has rounded is found; the data beside it are not
    blamed."""
    kept, exact = tmp_path / "kept.h5", tmp_path / "exact.h5"
    values = field(0)
    values[:9] = -999.0
    for path, land in ((kept, -999.0 + BOUND / 2), (exact, -999.0)):
        with h5py.File(path, "w") as file:
            stored = values + np.float32(BOUND / 2)
            stored[:9] = land
            data = file.create_dataset("t", data=stored, chunks=(32, 64, 64))
            data.attrs["_FillValue"] = np.float32(-999.0)
            data.attrs["caesura_bound"] = BOUND
    with h5py.File(tmp_path / "reference.h5", "w") as file:
        file["t"] = values
    run("verify", exact, "--against", tmp_path / "reference.h5")
    answer = run("verify", kept, "--against", tmp_path / "reference.h5", code=1)
    assert f"/t: {9 * 64 * 64} missing, NaN or infinite values are not what they" in answer.stdout


def others(path, make):
    with h5py.File(path, "w", libver="earliest") as file:
        make(file)
    return path


def netcdf(file):
    file["lat"] = np.arange(3.0)
    file["lat"].make_scale("lat")
    data = file.create_dataset("t", (2, 3), "f4", chunks=(1, 3), maxshape=(None, 3))
    data[0] = 1
    data.dims[1].attach_scale(file["lat"])


PLAIN = {
    "contiguous": (lambda f: update(f, {"a": field(0), "words": "text", "g/n": 3}),
                   "3 datasets (3 contiguous), 1 group"),
    "empty": (lambda f: None, "0 datasets, 0 groups, 0 attributes"),
    "groups": (lambda f: f.create_group("a/b").attrs.update({"x": 1}),
               "0 datasets, 2 groups, 1 attribute"),
    "filtered": (lambda f: f.create_dataset("a", data=field(0), **hdf5plugin.Zstd()),
                 "1 dataset (1 chunked)"),
    "integers": (lambda f: f.create_dataset("i", data=np.arange(9000), compression="gzip"),
                 "1 dataset (1 chunked)"),
    "netcdf": (netcdf, "2 datasets (1 chunked, 1 contiguous)"),
    "dangling": (lambda f: update(f, {"a": np.arange(3.0), "b": h5py.SoftLink("/none")}),
                 "1 link that leads nowhere"),
    "compact": (lambda f: f.create_dataset("c", data=np.arange(3), chunks=None),
                "1 dataset (1 contiguous)"),
}  # fmt: skip


def update(file, items):
    for name, value in items.items():
        file[name] = value


@pytest.mark.parametrize("name", PLAIN)
def test_a_healthy_file_of_others_is_called_what_it_is(name, tmp_path):
    """Goal: info says what the file is, and verify finds nothing wrong with it."""
    make, words = PLAIN[name]
    path = others(tmp_path / "others.h5", make)
    assert words in run("info", path).stdout
    listing = json.loads(run("info", path, "--json").stdout)
    assert listing["kind"] == "hdf5"
    answer = run("verify", path)
    assert "others.h5: ok" in answer.stdout
    assert words in answer.stdout


def test_a_file_that_only_a_newer_hdf5_reads_is_described(tmp_path):
    """Goal: where our own listing cannot follow, h5py's is taken."""
    path = tmp_path / "latest.h5"
    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("a", data=field(0), chunks=(16, 64, 64), compression="gzip")
    assert "1 dataset (1 chunked)" in run("info", path).stdout
    assert "latest.h5: ok" in run("verify", path).stdout


def test_a_filter_or_a_file_that_is_not_here_is_named(tmp_path):
    """Goal: what cannot be read here is no damage: verify names what is missing and ends with 3."""
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((8, 8))
        plist.set_filter(400, h5py.h5z.FLAG_OPTIONAL, (1, 2))
        space = h5py.h5s.create_simple((16, 16))
        data = h5py.h5d.create(file.id, b"a", h5py.h5t.NATIVE_FLOAT, space, plist)
        data.write_direct_chunk((0, 0), b"abc", 0)
    assert "/a needs the HDF5 filter 400, which is not here" in run("info", path).stdout
    answer = run("verify", path, code=3)
    assert "needs the HDF5 filter 400" in answer.stdout
    assert "damaged" not in answer.stdout
    said = run("tune", path, "-q", "psnr=80", code=3).stderr
    assert "/a needs the HDF5 filter 400, which is not here" in said
    path = tmp_path / "virtual.h5"
    layout = h5py.VirtualLayout((4,), "f4")
    layout[...] = h5py.VirtualSource("gone.h5", "a", shape=(4,))
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("v", layout)
    assert "/v needs the file gone.h5" in run("info", path).stdout
    assert "needs the file gone.h5" in run("verify", path, code=3).stdout


def test_a_file_that_is_cut_off_is_damaged_and_an_empty_one_is_said_to_be(tmp_path):
    """Goal: the sentence says what is wrong, in bytes."""
    whole = others(tmp_path / "whole.h5", lambda f: update(f, {"a": field(0)})).read_bytes()
    cut = tmp_path / "cut.h5"
    cut.write_bytes(whole[: len(whole) // 2])
    said = f"with {len(whole) // 2} bytes where its superblock says {len(whole)}"
    assert said in run("verify", cut, code=1).stdout
    assert said in run("info", cut, code=3).stderr
    (tmp_path / "none.h5").touch()
    for command in ("info", "verify"):
        assert "is empty: 0 bytes" in run(command, tmp_path / "none.h5", code=3).stderr


def test_blocks_that_nobody_wrote_are_no_damage(tmp_path):
    """Goal: HDF5 fills them in; verify counts them and finds nothing."""
    path = tmp_path / "part.h5"
    with h5py.File(path, "w") as file:
        data = file.create_dataset("t", (4, 32, 32), "f8", chunks=(1, 32, 32), fillvalue=-999.0)
        for n in (0, 1, 3):
            data[n] = n
    answer = run("verify", path)
    assert "1 of 4 blocks were never written" in answer.stdout
    assert json.loads(run("verify", path, "--json").stdout)["files"][0]["never_written"] == 1


def test_a_block_that_was_written_and_is_not_in_the_index_is_lost(tmp_path):
    """Goal: of a field in parts, what nobody put is healthy; what was put and is gone is damage."""
    path = tmp_path / "part.h5"
    with caesura.Writer(path, chunk_bytes=1 << 17) as writer:
        part = writer.define_field(
            "part", np.float32, SHAPE, partial=True, codec="zstd", lossless=True
        )
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0).put(part, field(0)[:96])
    answer = run("verify", path)
    assert "blocks were never written" in answer.stdout
    with h5py.File(path, "r+") as file:  # the dataset anew, but for its last block
        old = file["/data/0/meshes/part"]
        blocks = [old.id.get_chunk_info(n) for n in range(old.id.get_num_chunks())]
        stored = [old.id.read_direct_chunk(one.chunk_offset) for one in blocks]
        plist, space, kind = old.id.get_create_plist(), old.id.get_space(), old.id.get_type()
        attributes = dict(old.attrs)
        del file["/data/0/meshes/part"]
        new = h5py.h5d.create(file["/data/0/meshes"].id, b"part", kind, space, plist)
        for one, (mask, values) in list(zip(blocks, stored, strict=True))[:-1]:
            new.write_direct_chunk(one.chunk_offset, values, mask)
        h5py.Dataset(new).attrs.update(attributes)
    answer = run("verify", path, code=1)
    assert "/data/0/meshes/part has lost 1 of 12 blocks" in answer.stdout
    assert f"first at {list(blocks[-1].chunk_offset)}" in answer.stdout


def test_other_commands_say_what_a_file_of_others_is(tmp_path):
    """Goal: recover, watch and report speak of plain HDF5 as of what it is."""
    path = others(tmp_path / "plain.h5", lambda f: update(f, {"a": field(0), "g/b": np.arange(3)}))
    words = "is plain HDF5, 2 datasets (2 contiguous), 1 group, 0 attributes: it has no dumps"
    assert words in run("watch", path, "--once").stderr
    assert words in run("report", path, "--html", tmp_path / "page.html").stderr
    said = run("recover", path, code=3).stderr
    assert "is HDF5 that Caesura did not write: there is nothing to recover" in said
    cut = tmp_path / "cut.h5"
    cut.write_bytes(path.read_bytes()[:100_000])
    for command in (("watch", cut, "--once"), ("report", cut), ("recover", cut)):
        assert "it is cut off, with 100000 bytes" in run(*command, code=3).stderr
