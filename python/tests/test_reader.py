"""The Reader from Python: numpy's own indexing of what h5py reads, on one rank and on several."""

from __future__ import annotations

import importlib.util
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import caesura
import h5py
import numpy as np
import pytest
from mpi_parts import run_ranks

HERE = Path(__file__).resolve().parent
SHAPE = (60, 160, 101)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("reader") / "run.h5"
    random = np.random.default_rng(22)
    with caesura.Writer(path, absolute=1e-3, chunk_bytes=1 << 20) as writer:
        rho = writer.define_field("rho", np.float32, SHAPE)
        ex = writer.define_field("E/x", np.float64, SHAPE, grid_spacing=[0.5, 0.25, 2.0])
        for n in (0, 5, 7):
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=0.5 * n)
                dump.put(rho, random.normal(size=SHAPE).astype(np.float32), offset=(0, 0, 0))
                dump.put(ex, random.normal(size=SHAPE), offset=(0, 0, 0))
    return path


def whole(path, name, n):
    with caesura.open(path) as file:
        return file[f"/data/{n}/meshes/{name}"][...]


def random_key(random, shape):
    """Integers, slices of any step and direction, and an ellipsis."""
    key = []
    for n in shape:
        kind = random.integers(4)
        if kind == 0:
            key.append(int(random.integers(-n, n)))
        elif kind == 1:
            key.append(slice(None))
        else:
            ends = [int(random.integers(-n - 2, n + 3)) for _ in range(2)]
            key.append(slice(*ends, int(random.choice([1, 1, 2, 3, -1, -2]))))
    if random.integers(2):
        at = int(random.integers(len(key)))
        key[at:] = [...] if random.integers(2) else key[at:]
    return tuple(key)


def test_it_is_a_mapping_of_names_to_dumps(path):
    reader = caesura.Reader(path)
    assert sorted(reader) == ["E/x", "rho"]
    assert reader.iterations == [0, 5, 7]
    assert reader.dumps[7]["time"] == 3.5
    assert list(reader["rho"]) == [0, 5, 7]
    field = reader["E/x", 5]
    assert field.path == "/data/5/meshes/E/x"
    assert (field.shape, field.dtype, field.bound) == (SHAPE, np.float64, ("absolute", 1e-3))
    assert field.attrs["gridSpacing"] == [0.5, 0.25, 2.0]
    assert reader["/data/5/meshes/E/x"].iteration == 5
    with pytest.raises(KeyError, match="it has E/x, rho"):
        reader["phi"]
    with pytest.raises(ValueError, match="no dump of iteration 6; there are 0, 5, 7"):
        reader["rho", 6]


@pytest.mark.parametrize("threads", [1, 2, 0])
def test_random_keys_are_what_numpy_makes_of_all_values(path, threads):
    random = np.random.default_rng(threads)
    reader = caesura.Reader(path, threads=threads)
    for name in reader:
        expected = whole(path, name, 7)
        for _ in range(60):
            key = random_key(random, SHAPE)
            got = reader[name, 7][key]
            assert np.array_equal(got, expected[key]), key
            out = np.full(expected[key].shape, -1, expected.dtype, order=random.choice(["C", "F"]))
            if expected[key].ndim > 0:
                reader.read(name, 7, key, out=out)
                assert np.array_equal(out, expected[key]), key


def test_values_go_into_a_part_of_an_array_and_leave_the_rest_alone(path):
    reader = caesura.Reader(path)
    array = np.full((12, 40), -1.0, np.float32)
    reader.read("rho", 5, (3, slice(4, 12), slice(2, 10)), out=array[2:10, 3:35:4])
    expected = np.full_like(array, -1.0)
    expected[2:10, 3:35:4] = whole(path, "rho", 5)[3, 4:12, 2:10]
    assert np.array_equal(array, expected)
    with pytest.raises(ValueError, match="out is"):
        reader.read("rho", 5, (0, 0), out=np.empty(16, np.float32))
    with pytest.raises(ValueError, match="out is"):
        reader.read("rho", 5, (0, 0), out=np.empty(17))


def test_wrong_keys_are_errors_that_name_the_dataset(path):
    field = caesura.Reader(path)["rho", 0]
    with pytest.raises(IndexError, match="/data/0/meshes/rho: index 60 of axis 0, which has 60"):
        field[60]
    with pytest.raises(IndexError, match="4 indices for 3 axes"):
        field[0, 0, 0, 0]
    with pytest.raises(TypeError, match="index of type list"):
        field[[1, 2]]


def test_read_takes_the_last_dump(path):
    assert np.array_equal(caesura.read(path, "rho"), whole(path, "rho", 7))
    assert np.array_equal(caesura.read(path, "rho", 0, np.s_[1:3]), whole(path, "rho", 0)[1:3])


def test_threads_and_copies_in_other_processes_read_the_same(path):
    reader = caesura.Reader(path, threads=1)
    expected = whole(path, "rho", 0)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda i: reader["rho", 0][i], range(SHAPE[0])))
    assert np.array_equal(np.stack(parts), expected)
    again = pickle.loads(pickle.dumps(reader))
    assert np.array_equal(again["rho", 0][...], expected)


def test_types_that_h5py_stores_come_back(tmp_path):
    path = tmp_path / "types.h5"
    random = np.random.default_rng(3)
    arrays = {
        name: random.integers(0, 100, (9, 8)).astype(name)
        for name in ("int8", "int64", "uint16", "uint64", ">i4", "float16", ">f8")
    }
    arrays["flags"] = random.integers(0, 2, (9, 8)).astype(bool)
    arrays["complex64"] = (random.normal(size=(9, 8)) + 1j).astype(np.complex64)
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(
                name.strip(">"), data=array, chunks=(4, 5), compression="gzip", shuffle=True
            )
        file["words"] = "text"
    reader = caesura.Reader(path)
    assert reader.unreadable == ["/words"]
    for name, array in arrays.items():
        field = reader[name.strip(">"), 0]
        assert np.array_equal(field[...], array), name
        assert np.array_equal(field[2:7, ::-2], array[2:7, ::-2]), name
    assert reader["complex64", 0].dtype == np.complex64


def test_damage_is_a_corrupt_error_that_names_the_chunk(path, tmp_path):
    broken = tmp_path / "broken.h5"
    content = bytearray(Path(path).read_bytes())
    listing = caesura._core.OpenFile(str(path)).info()
    dataset = next(one for one in listing["datasets"] if one["path"] == "/data/5/meshes/rho")
    chunk = dataset["chunks"][2]
    content[chunk["address"] + chunk["bytes"] // 2] ^= 0xFF
    broken.write_bytes(content)
    reader = caesura.Reader(broken)
    with pytest.raises(caesura.CorruptError, match="/data/5/meshes/rho chunk 2"):
        reader["rho", 5][...]
    assert reader["rho", 0][...].shape == SHAPE


def test_a_reader_beside_a_writer_sees_what_is_committed(tmp_path):
    path = tmp_path / "run.h5"
    values = np.ones((8, 8), np.float32)
    with caesura.Writer(path) as writer:
        rho = writer.define_field("rho", np.float32, values.shape)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0.0).put(rho, values, offset=(0, 0))
        writer.finish_by(60.0)
        reader = caesura.Reader(path)
        assert reader.iterations == [0]
        with writer.iteration(1) as iteration:
            iteration.begin_dump(time=1.0).put(rho, 2 * values, offset=(0, 0))
    assert reader.iterations == [0]
    assert np.array_equal(reader["rho", 0][...], values)
    assert reader.refresh()
    assert reader.iterations == [0, 1]
    assert np.array_equal(reader.read("rho"), 2 * values)


@pytest.mark.skipif(
    shutil.which("mpirun") is None or importlib.util.find_spec("mpi4py") is None,
    reason="needs mpirun and mpi4py",
)
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_ranks_read_together_what_each_reads_alone(path, ranks):
    run_ranks(ranks, HERE / "mpi_reader_program.py", path)
