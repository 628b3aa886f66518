"""Several ranks write one file through mpi4py (needs mpi4py and mpirun)."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import caesura
import numpy as np
import pytest
from mpi_parts import run_ranks

HERE = Path(__file__).resolve().parent
BOUND = 1e-4

pytestmark = pytest.mark.skipif(
    shutil.which("mpirun") is None or importlib.util.find_spec("mpi4py") is None,
    reason="needs mpirun and mpi4py",
)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks_write_one_file(tmp_path, ranks):
    path = tmp_path / "run.h5"
    answer = run_ranks(ranks, HERE / "mpi_writer_program.py", path, BOUND)
    report = json.loads(answer.stdout.splitlines()[-1])
    assert report["committed"] == [3] * ranks
    shape = (100, 30, 20)
    assert report["raw_bytes"] >= 4 * 4 * np.prod(shape)
    grid = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    with caesura.open(path) as file:
        for n in range(4):
            expected = np.sin(grid * 1e-3 + n, dtype=np.float32)
            stored = file[f"/data/{n}/meshes/rho"][...].astype(np.float64)
            assert np.max(np.abs(stored - expected)) <= BOUND


def test_communicator_carries_bytes_of_any_length(tmp_path):
    run_ranks(3, HERE / "mpi_communicator_program.py")


def test_a_failing_communicator_is_an_os_error_with_its_reason(tmp_path):
    class Broken:
        rank, size = 0, 2

        def __getattr__(self, name):
            def fail(*_):
                raise ConnectionError("the cable was pulled")

            return fail

    with pytest.raises(OSError, match="cable was pulled"):
        caesura.Writer(tmp_path / "run.h5", comm=Broken())


def test_something_that_is_no_communicator_is_refused(tmp_path):
    with pytest.raises(ValueError, match="mpi4py"):
        caesura.Writer(tmp_path / "run.h5", comm=object())
