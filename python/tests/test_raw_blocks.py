"""Blocks that do not shrink are raw: no chunk of a file is longer, and any HDF5 reads them."""

import subprocess
import sys

import caesura
import h5py
import numpy as np
import pytest
from caesura.verifying import verify

SHAPE = (16, 24, 32)
TYPES = ["int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64"]


def noise(dtype: np.dtype, dump: int) -> np.ndarray:
    """All bits are random, but that floating point is finite."""
    count = int(np.prod(SHAPE)) * dtype.itemsize
    values = np.frombuffer(np.random.default_rng(dump).bytes(count), dtype).reshape(SHAPE)
    return np.where(np.isfinite(values), values, dtype.type(1))


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "run.h5"
    with caesura.Writer(path) as writer:
        fields = [writer.define_field(name, np.dtype(name), SHAPE) for name in TYPES]
        for n in range(2):
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=n)
                for field in fields:
                    dump.put(field, noise(field.dtype, n))
    assert writer.report().raw_blocks == 2 * len(TYPES)
    return path


def test_no_chunk_is_longer_than_raw_and_all_are_masked(written):
    with h5py.File(written) as file:
        for name in TYPES:
            stored = file[f"/data/1/meshes/{name}"]
            raw = int(np.prod(stored.chunks)) * stored.dtype.itemsize
            for number in range(stored.id.get_num_chunks()):
                info = stored.id.get_chunk_info(number)
                assert (info.size, info.filter_mask) == (raw, 1), name


def test_a_process_without_any_plugin_reads_them(written):
    code = (
        "import sys, h5py, numpy\n"
        "with h5py.File(sys.argv[1]) as file:\n"
        "    numpy.savez(sys.argv[2], **{n: d[...] for n, d in file['/data/1/meshes'].items()})"
    )
    out = written.with_suffix(".npz")
    subprocess.run(
        [sys.executable, "-c", code, str(written), str(out)], check=True, env={}, timeout=60
    )
    with np.load(out) as read:
        for name in TYPES:
            assert np.array_equal(read[name], noise(np.dtype(name), 1)), name


def test_the_reader_and_verify_know_them(written):
    reader = caesura.Reader(written)
    for n in range(2):
        for name in TYPES:
            expected = noise(np.dtype(name), n)
            assert np.array_equal(reader[name, n][3:11, ::2, 5], expected[3:11, ::2, 5]), name
    assert verify(written).findings == []
