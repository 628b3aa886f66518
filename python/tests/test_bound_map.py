"""Bounds that differ from place to place: every value keeps what the map asks of it, and the file
says so."""

from __future__ import annotations

import importlib.util
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import bound_map_program as program
import caesura
import h5py
import numpy as np
import pytest
from caesura import _core
from caesura.bound_maps import BoundMap, largest_change, map_in
from mpi_parts import run_ranks

HERE = Path(__file__).resolve().parent
SHAPE = (96, 64, 64)


def run(*arguments, code=0):
    command = [sys.executable, "-m", "caesura", *map(str, arguments)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == code, answer.stdout + answer.stderr
    return answer


def blocks_of(path, dataset=0):
    """Place and stored bytes of every block."""
    from caesura.verifying import chunk_slices

    store = _core.OpenFile(str(path))
    info = store.info()["datasets"][dataset]
    for index, chunk in enumerate(info["chunks"]):
        where = chunk_slices(chunk["chunk"], info["shape"], info["chunk"])
        yield where, store.read_chunk(dataset, index)


def field(seed):
    rng = np.random.default_rng(seed)
    values = np.cumsum(rng.normal(scale=0.03, size=SHAPE), axis=2)
    values += np.where(rng.random(SHAPE) > 0.9995, 4.0, 0.0)
    values[rng.integers(0, SHAPE[0]), 3, 3] = np.nan
    return values


def random_map(rng):
    def bound():
        return 0.0 if rng.random() < 0.2 else float(10.0 ** -rng.integers(1, 6))

    made = BoundMap()
    for _ in range(rng.integers(0, 3)):
        offset = [int(rng.integers(0, n)) for n in SHAPE]
        extent = [int(rng.integers(1, n - at + 1)) for at, n in zip(offset, SHAPE, strict=True)]
        made.in_box(offset, extent, bound())
    for _ in range(rng.integers(0, 3)):
        lowest = float(rng.normal())
        made.of_values(lowest, math.inf if rng.random() < 0.3 else lowest + 0.5, bound())
    for _ in range(rng.integers(0, 2)):
        made.where_steep(float(rng.uniform(0.5, 4)), bound())
    return made


def expect_bounds_kept(path, name, original, mapped):
    with caesura.open(path) as file:
        stored = file[name][...]
        for where in file[name].iter_chunks():
            before, after = original[where], stored[where]
            bounds = mapped.at(before, where)
            finite = np.isfinite(before)
            with np.errstate(invalid="ignore"):
                off = np.abs(before.astype(np.float64) - after.astype(np.float64))
            assert np.all(off[finite] <= bounds[finite])
            assert np.array_equal(before[~finite], after[~finite], equal_nan=True)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_every_value_keeps_what_a_random_map_asks_of_it(tmp_path, seed, kind):
    rng = np.random.default_rng(seed)
    path = tmp_path / "run.h5"
    values = field(seed).astype(kind)
    own = {"absolute": 0.05} if seed % 3 else {"relative": 1e-3}
    if seed == 5:
        own = {"lossless": True}
    with caesura.Writer(path, chunk_bytes=1 << 20) as writer:
        own["codec"] = "caesura:regions" if seed % 2 else "caesura"
        rho = writer.define_field("rho", kind, SHAPE, bound_map=random_map(rng), **own)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0.0).put(rho, values)
    values.tofile(tmp_path / "rho_0.bin")
    with h5py.File(path, "r") as file:
        attributes = dict(file["/data/0/meshes/rho"].attrs)
    mapped = map_in(attributes)
    if mapped is None:  # a map of no rules is none
        assert "caesura_bound_map" not in attributes
        return
    expect_bounds_kept(path, "/data/0/meshes/rho", values, mapped)
    answer = json.loads(run("verify", path, "--against", tmp_path, "--json").stdout)
    found = answer["files"][0]["fields"]["rho"]
    assert found["violations"] == 0
    assert found["max_error_over_bound"] <= 1


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_blocks_of_several_ranks_keep_the_map(tmp_path, ranks):
    if ranks > 1 and (shutil.which("mpirun") is None or not importlib.util.find_spec("mpi4py")):
        pytest.skip("needs mpirun and mpi4py")
    path = tmp_path / "run.h5"
    if ranks == 1:
        subprocess.run([sys.executable, HERE / "bound_map_program.py", path], check=True)
    else:
        run_ranks(ranks, HERE / "bound_map_program.py", path, "mpi")
    for n in range(2):
        with h5py.File(path, "r") as file:
            mapped = map_in(file[f"/data/{n}/meshes/rho"].attrs)
        expect_bounds_kept(path, f"/data/{n}/meshes/rho", program.values(n), mapped)


def test_a_block_is_tight_only_in_the_layers_that_need_it(tmp_path):
    path = tmp_path / "run.h5"
    values = field(1).astype(np.float32)
    tight = BoundMap().in_box((20, 0, 0), (2, 5, 5), 1e-5)
    sizes = {}
    for name, own, rules in (("mapped", 1e-1, tight), ("loose", 1e-1, None), ("all", 1e-5, None)):
        with caesura.Writer(path, chunk_bytes=8 << 20) as writer:
            rho = writer.define_field("rho", np.float32, SHAPE, absolute=own, bound_map=rules)
            with writer.iteration(0) as iteration:
                iteration.begin_dump(time=0.0).put(rho, values)
        sizes[name] = sum(len(stored) for _, stored in blocks_of(path))
        if rules is not None:
            ((_, stored),) = blocks_of(path)
            parts = _core.codec_parts(stored)
            assert [part["bound"] for part in parts] == [
                ("absolute", 1e-1), ("absolute", 1e-5), ("absolute", 1e-1)
            ]  # fmt: skip
            dataset = json.loads(run("info", path, "--json", "--blocks").stdout)["datasets"][0]
            (chunk,) = dataset["chunks"]
            said = [array["bound"] for array in chunk["arrays"]]
            assert np.allclose(said, [1e-1, 1e-5, 1e-1], rtol=1e-6) and max(said) <= 1e-1
            (bounds,) = dataset["bounds"]
            assert (bounds["kind"], bounds["arrays"]) == ("absolute", 3)
    assert sizes["mapped"] < sizes["loose"] + 0.5 * (sizes["all"] - sizes["loose"])


def test_stock_h5py_reads_the_file_and_its_map(tmp_path):
    path = tmp_path / "run.h5"
    values = field(2).astype(np.float32)
    rules = BoundMap().in_box((0, 0, 0), (30, 64, 64), 1e-4).of_values(-math.inf, 0, 0)
    with caesura.Writer(path, chunk_bytes=1 << 20) as writer:
        rho = writer.define_field("rho", np.float32, SHAPE, absolute=1e-2, bound_map=rules)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0.0).put(rho, values)
    script = """
import sys, json, h5py, numpy
h5py.h5pl.append(sys.argv[2].encode())
with h5py.File(sys.argv[1], "r") as file:
    rho = file["/data/0/meshes/rho"]
    print(json.dumps([json.loads(rho.attrs["caesura_bound_map"]), rho.attrs["caesura_bound"]]))
    numpy.save(sys.argv[3], rho[...])
assert "caesura" not in sys.modules
"""
    plugin = caesura.plugin_path()
    answer = subprocess.run(
        [sys.executable, "-c", script, path, plugin, tmp_path / "stored.npy"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    said, loosest = json.loads(answer.stdout)
    assert said == {
        "elsewhere": 1e-2,
        "boxes": [{"offset": [0, 0, 0], "extent": [30, 64, 64], "bound": 1e-4}],
        "values": [{"lowest": None, "highest": 0, "bound": 0}],
        "steep": [],
    }
    assert loosest == 1e-2
    with caesura.open(path) as file:
        assert np.array_equal(
            np.load(tmp_path / "stored.npy"), file["/data/0/meshes/rho"][...], equal_nan=True
        )
    assert "up to 0.01, by a map" in run("info", path).stdout


def test_verify_names_a_value_that_the_map_does_not_allow(tmp_path):
    path = tmp_path / "run.h5"
    values = field(3).astype(np.float32)
    rules = BoundMap().in_box((10, 0, 0), (5, 64, 64), 1e-5)
    with caesura.Writer(path) as writer:
        rho = writer.define_field("rho", np.float32, SHAPE, absolute=1e-2, bound_map=rules)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0.0).put(rho, values)
    other = values.copy()
    other[12, 7, 9] += 1e-3  # within the field's own bound, and not within the map's
    other.tofile(tmp_path / "rho_0.bin")
    answer = run("verify", path, "--against", tmp_path, code=1)
    assert "1 of" in answer.stdout.replace("\n", " ")
    assert "[12, 7, 9]" in answer.stdout.replace("\n", " ")


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (BoundMap().in_box((0, 0, 60), (96, 64, 5), 1e-3), r"box 0 .*axis 2"),
        (BoundMap().in_box((0, 0), (96, 64), 1e-3), "3 axes"),
        (BoundMap().of_values(2, 1, 1e-3), "from 2 to 1"),
        (BoundMap().of_values(0, 1, math.nan), "bound is nan"),
        (BoundMap().where_steep(-1, 1e-3), "change is -1"),
    ],
)
def test_a_bad_map_is_refused_with_field_and_value(tmp_path, rules, words):
    with caesura.Writer(tmp_path / "run.h5", absolute=1e-2) as writer:
        with pytest.raises(ValueError, match=f"field 'rho'.*{words}"):
            writer.define_field("rho", np.float32, SHAPE, bound_map=rules)
        with pytest.raises(ValueError, match="absolute, relative or lossless"):
            writer.define_field(
                "rho", np.float32, SHAPE, bound=caesura.psnr(60),
                bound_map=BoundMap().of_values(0, 1, 1e-3),
            )  # fmt: skip
        with pytest.raises(RuntimeError, match='needs codec "caesura"'):
            writer.define_field(
                "rho", np.float32, SHAPE, codec="zstd", bound_map=BoundMap().of_values(0, 1, 1e-3)
            )


def test_change_is_to_the_farthest_neighbour():
    values = np.array([[0.0, 1.0, np.nan], [5.0, 0.0, np.inf]])
    assert largest_change(values).tolist() == [[5.0, 1.0, 0.0], [5.0, math.inf, math.inf]]
