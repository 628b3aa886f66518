"""A file for each dump is read without us, as openPMD's file-based encoding.

openPMD-api gets the pattern, the viewer the directory, and the validator each file.
"""

from __future__ import annotations

import json
from pathlib import Path

import caesura
import numpy as np
import pytest
from elsewhere import NONE, READERS_PYTHON, run_elsewhere

SCRIPT = Path(__file__).with_name("read_with_others.py")
SHAPE = (20, 30)
ITERATIONS = (0, 10, 250)

pytestmark = pytest.mark.skipif(not READERS_PYTHON.exists(), reason=NONE)


def write(place: Path, dumps_per_file: int) -> tuple[Path, Path]:
    """The pattern, in a directory of its own, and what its files hold."""
    files, truth = place / "files", place / "expected.npz"
    files.mkdir()
    expected: dict[str, np.ndarray] = {"bound/rho": np.float64(0.0), "bound/v/x": np.float64(0.0)}
    pattern = files / "run_%06T.h5"
    with caesura.Writer(pattern, dumps_per_file=dumps_per_file) as writer:
        rho = writer.define_field("rho", np.float64, SHAPE)
        velocity = writer.define_field("v/x", np.float32, SHAPE)
        for n in ITERATIONS:
            rng = np.random.default_rng(n)
            expected[f"{n}/rho"] = rng.normal(size=SHAPE)
            expected[f"{n}/v/x"] = rng.normal(size=SHAPE).astype(np.float32)
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=0.5 * n)
                dump.put(rho, expected[f"{n}/rho"])
                dump.put(velocity, expected[f"{n}/v/x"])
    np.savez(truth, **expected)
    return pattern, truth


def read_with(reader: str, path: Path, truth: Path) -> dict[str, float]:
    asked = run_elsewhere("-c", "import hdf5plugin; print(hdf5plugin.PLUGIN_PATH)", plugins=None)
    plugins = f"{asked.strip()}:{caesura.plugin_path()}"
    return json.loads(run_elsewhere(SCRIPT, reader, path, truth, plugins=plugins).splitlines()[-1])


@pytest.mark.parametrize("reader", ["openpmd-api", "openpmd-viewer"])
def test_other_readers_get_every_dump_of_the_series(tmp_path, reader):
    pattern, truth = write(tmp_path, 1)
    assert read_with(reader, pattern, truth) == {"rho": 0.0, "v/x": 0.0}


def test_files_with_several_dumps_are_read_one_by_one(tmp_path):
    pattern, truth = write(tmp_path, 2)
    assert [path.name for path in sorted(pattern.parent.iterdir())] == [
        "run_000000.h5",
        "run_000250.h5",
    ]
    # openPMD-api reads one iteration of a file by a pattern, and all of a file by its name.
    whole = dict(np.load(truth))
    first = {key: whole[key] for key in whole if not key.startswith("250/")}
    np.savez(tmp_path / "first.npz", **first)
    read_with("openpmd-api", pattern.with_name("run_000000.h5"), tmp_path / "first.npz")


@pytest.mark.parametrize("dumps_per_file", [1, 2])
def test_the_validator_finds_nothing_wrong_with_any_file(tmp_path, dumps_per_file):
    pattern, _ = write(tmp_path, dumps_per_file)
    for path in sorted(pattern.parent.iterdir()):
        check = ("-m", "openpmd_validator.check_h5", "-i", path)
        answer = run_elsewhere(*check, plugins=caesura.plugin_path())
        assert "Result: 0 Errors" in answer, answer
