"""Files are read without us: h5py, h5dump, openPMD-api and openPMD-viewer get every value.

Caesura writes here; reading happens in another Python environment ($CAESURA_READERS_PYTHON, else
.venv-readers of the checkout), in which Caesura is not installed.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import caesura
import numpy as np
import pytest
from elsewhere import NONE, READERS_PYTHON, run_elsewhere

SCRIPT = Path(__file__).with_name("read_with_others.py")
# Chunks do not divide it: the edges are ragged. The nightly run has larger ones.
NIGHTLY = "CAESURA_NIGHTLY" in os.environ
SHAPE, CHUNK_BYTES = ((151, 101, 91), 1 << 20) if NIGHTLY else ((101, 71, 61), 1 << 18)
ITERATIONS = (0, 10, 25)

pytestmark = pytest.mark.skipif(not READERS_PYTHON.exists(), reason=NONE)


def values_of(field: str, iteration: int, dtype: type) -> np.ndarray:
    rng = np.random.default_rng([iteration, *map(ord, field)])
    axes = np.meshgrid(*[np.linspace(0, 4, n) for n in SHAPE], indexing="ij")
    smooth = np.sin(axes[0] + 0.1 * iteration) * np.cos(2 * axes[1]) + 0.3 * np.sin(5 * axes[2])
    return (smooth + 1e-3 * rng.normal(size=SHAPE)).astype(dtype)


# field: type, options of define_field, bound to hold
FIELDS = {
    "density": (np.float32, {"absolute": 1e-3}, 1e-3),  # the default codec, our own
    "pressure": (np.float64, {"absolute": 1e-4}, 1e-4),
    "entropy": (np.float32, {"codec": "sz3", "absolute": 1e-3}, 1e-3),
    "energy": (np.float64, {"codec": "sz3", "absolute": 1e-5}, 1e-5),
    "velocity/x": (np.float32, {"codec": "zfp", "absolute": 1e-2}, 1e-2),
    "velocity/y": (np.float32, {"codec": "zstd", "lossless": True}, 0.0),
    "velocity/z": (np.float32, {"codec": "none", "lossless": True}, 0.0),
    "spotted": (np.float32, {"codec": "sz3", "absolute": 1e-3}, 1e-3),
    "dotted": (np.float32, {"absolute": 1e-3}, 1e-3),
}
SPOTTED = ("spotted", "dotted")


def spots(values: np.ndarray) -> np.ndarray:
    """NaN and infinities in one corner: those blocks go another way through the codec."""
    values[3, 4, 5], values[7, 8, 9], values[10, 11, 12] = np.nan, np.inf, -np.inf
    return values


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> tuple[Path, Path]:
    """The file, alone in its directory (openPMD-viewer takes directories), and what it holds."""
    path = tmp_path_factory.mktemp("file") / "run.h5"
    expected: dict[str, np.ndarray] = {}
    with caesura.Writer(path, chunk_bytes=CHUNK_BYTES) as writer:
        handles = {
            name: writer.define_field(name, dtype, SHAPE, **options)
            for name, (dtype, options, _) in FIELDS.items()
        }
        for n in ITERATIONS:
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=0.5 * n, dt=0.5)
                for name, (dtype, _, _) in FIELDS.items():
                    values = values_of(name, n, dtype)
                    expected[f"{n}/{name}"] = spots(values) if name in SPOTTED else values
                    dump.put(handles[name], expected[f"{n}/{name}"])
    with caesura.open(path) as file:
        chunks = file["data/0/meshes/density"].chunks
    assert any(n % chunk for n, chunk in zip(SHAPE, chunks, strict=True)), chunks
    for name, (_, _, bound) in FIELDS.items():
        expected[f"bound/{name}"] = np.float64(bound)
    truth = tmp_path_factory.mktemp("truth") / "expected.npz"
    np.savez(truth, **expected)
    return path, truth


def read_with(reader: str, path: Path, truth: Path, isolated: bool) -> dict[str, float]:
    """Runs a foreign reader; `isolated` takes away even the path to hdf5plugin's filters.

    What it always gets to know is the directory of our plugin, as docs/how/filter.md says.
    """
    plugins = None
    if not isolated:
        asked = run_elsewhere(
            "-c", "import hdf5plugin; print(hdf5plugin.PLUGIN_PATH)", plugins=None
        )
        plugins = os.pathsep.join([asked.strip(), caesura.plugin_path()])
    answer = run_elsewhere(SCRIPT, reader, path, truth, plugins=plugins)
    return json.loads(answer.splitlines()[-1])


@pytest.mark.parametrize(
    ("reader", "isolated"),
    [("h5py", True), ("h5dump", False), ("openpmd-api", False), ("openpmd-viewer", True)],
)
def test_other_readers_get_every_value(written, reader, isolated):
    if reader == "h5dump" and shutil.which("h5dump") is None:
        pytest.skip("h5dump is not installed (hdf5-tools)")
    errors = read_with(reader, *written, isolated)
    assert set(errors) == set(FIELDS)
    for name, (_, _, bound) in FIELDS.items():
        assert errors[name] <= bound
        assert (errors[name] > 0) == (bound > 0), name  # lossy fields really were lossy


def test_a_wrong_value_would_be_noticed(written, tmp_path):
    path, truth = written
    expected = dict(np.load(truth))
    expected["10/density"][1, 2, 3] += 0.1
    np.savez(tmp_path / "wrong.npz", **expected)
    with pytest.raises(AssertionError, match="10/density"):
        read_with("h5py", path, tmp_path / "wrong.npz", isolated=True)
