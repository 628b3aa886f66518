"""Integer fields: h5py with our filter, the Reader and the command line give what was put."""

import subprocess
import sys

import caesura
import h5py
import numpy as np
import pytest
from caesura import codec
from caesura.verifying import verify

TYPES = [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
SHAPE = (24, 40, 64)


def values_of(dtype: np.dtype, dump: int) -> np.ndarray:
    """Identifiers with the ends of the type's range among them."""
    ends = np.iinfo(dtype)
    values = np.arange(np.prod(SHAPE), dtype=np.uint64).astype(dtype).reshape(SHAPE) + dtype.type(
        dump
    )
    values[0, 0, :4] = [ends.min, ends.max, 0, 1]
    values[-1, -1, -2:] = [ends.max, ends.min]
    return values


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "run.h5"
    smooth = np.sin(np.arange(np.prod(SHAPE)) / 50).astype(np.float32).reshape(SHAPE)
    with caesura.Writer(path, absolute=1e-3) as writer:
        fields = [writer.define_field(dtype.name, dtype, SHAPE) for dtype in TYPES]
        rho = writer.define_field("rho", np.float32, SHAPE)
        for n in range(2):
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=n)
                for field in fields:
                    dump.put(field, values_of(field.dtype, n))
                dump.put(rho, smooth)
    return path


def test_h5py_and_the_reader_give_them_in_their_own_type(written):
    reader = caesura.Reader(written)
    with caesura.open(written) as file:
        for n in range(2):
            for dtype in TYPES:
                expected = values_of(dtype, n)
                stored = file[f"/data/{n}/meshes/{dtype.name}"]
                assert stored.dtype == dtype
                assert np.array_equal(stored[...], expected)
                read = reader[dtype.name, n]
                assert read.dtype == dtype and read.codec == "caesura"
                assert np.array_equal(read[3:20, ::2, 5], expected[3:20, ::2, 5])
        assert file["/data/0/meshes/rho"].attrs["caesura_bound"] == 1e-3


def test_a_process_that_knows_the_plugin_alone_reads_them(written):
    code = (
        "import sys, h5py, numpy; values = h5py.File(sys.argv[1])['/data/1/meshes/uint64'][...];"
        "numpy.save(sys.argv[2], values)"
    )
    out = written.with_suffix(".npy")
    subprocess.run(
        [sys.executable, "-c", code, str(written), str(out)],
        check=True,
        env={"HDF5_PLUGIN_PATH": caesura.plugin_path()},
        timeout=60,
    )
    assert np.array_equal(np.load(out), values_of(np.dtype(np.uint64), 1))


def test_verification_and_comparison_see_them(written, tmp_path):
    assert verify(written).findings == []
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        for dtype in TYPES:
            file[f"/data/0/meshes/{dtype.name}"] = values_of(dtype, 0)
        damaged = file["/data/0/meshes/uint64"]
        damaged[2, 3, 4] += np.uint64(1)
    with h5py.File(other) as file:
        paths = [path for path, _ in caesura.comparing.datasets(file)]
        assert len(paths) == len(TYPES)
        with caesura.open(written) as ours:
            for path in paths:
                result = caesura.comparing.FieldResult(path, 0.0)
                whole = tuple(slice(0, extent) for extent in SHAPE)
                caesura.comparing.compare_block(result, file[path][...], ours[path][...], whole)
                assert result.violations == (1 if path.endswith("uint64") else 0), path
                if result.violations:
                    assert result.first_violation == "[2, 3, 4]: 5317 became 5316"


def test_partial_fields_have_fill_values_beyond_what_a_double_holds(tmp_path):
    path = tmp_path / "run.h5"
    nobody = np.uint64(2**64 - 1)
    owner = np.arange(32 * 32, dtype=np.uint64).reshape(32, 32) + np.uint64(2**53 + 1)
    with caesura.Writer(path) as writer:
        field = writer.define_field("owner", "uint64", (64, 64), partial=True, fill_value=nobody)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0).put(field, owner, offset=(7, 9))
    expected = np.full((64, 64), nobody)
    expected[7:39, 9:41] = owner
    with caesura.open(path) as file:
        stored = file["/data/0/meshes/owner"]
        assert stored.fillvalue == nobody
        assert np.array_equal(stored[...], expected)


def test_verification_wants_no_block_that_no_box_touched(tmp_path):
    path = tmp_path / "run.h5"
    with caesura.Writer(path) as writer:
        for dtype in ("float32", "uint64"):
            field = writer.define_field(dtype, dtype, (512, 512, 64), partial=True)
            with writer.iteration(dtype == "uint64") as iteration:
                iteration.begin_dump(time=0).put(field, np.ones((8, 8, 8), dtype))
    verification = verify(path)
    assert verification.findings == [] and verification.blocks == 2


def test_what_cannot_be_names_field_and_type(tmp_path):
    with caesura.Writer(tmp_path / "run.h5", absolute=1e-3) as writer:
        with pytest.raises(ValueError, match="field 'id': an error bound for int64"):
            writer.define_field("id", np.int64, SHAPE, absolute=0.5)
        with pytest.raises(ValueError, match="field 'id': fill_value 300 is no uint8"):
            writer.define_field("id", np.uint8, SHAPE, fill_value=300)
        for wrong in (">i4", "S4", "complex256", "M8[s]"):
            with pytest.raises(ValueError, match=r"field 'id' is .*uint64"):
                writer.define_field("id", wrong, SHAPE)
        field = writer.define_field("id", np.int64, SHAPE, lossless=True)
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(time=0)
            with pytest.raises(ValueError, match="is int64, the array uint64"):
                dump.put(field, np.zeros(SHAPE, np.uint64))
            dump.put(field, np.zeros(SHAPE, np.int64))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_the_codec_module_gives_them_back_smaller_than_as_bytes(dtype):
    values = values_of(dtype, 0)
    data = codec.compress(values, 1e-3)  # the bound is of floats
    assert np.array_equal(codec.decompress(data), values)
    about = codec.info(data)
    assert about.dtype == dtype and about.shape == SHAPE and about.mode == "exact"
    assert codec.estimate(values, 1e-3) == pytest.approx(len(data), rel=0.2)
    swapped = values.astype(dtype.newbyteorder(">"))
    again = codec.decompress(codec.compress(swapped, 0.5))
    assert again.dtype == swapped.dtype and np.array_equal(again, values)
    assert len(data) < 0.5 * values.nbytes
