"""Starting ranks in tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# As root, with more ranks than cores, in containers without cross-memory attach.
DEFAULTS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


def run_ranks(ranks: int, program: Path, *arguments: object) -> subprocess.CompletedProcess:
    """mpirun with this Python; a failure or a hang of two minutes fails the test."""
    command = ["mpirun", "-n", str(ranks), sys.executable, str(program), *map(str, arguments)]
    environment = {**DEFAULTS, **os.environ}
    path = os.pathsep.join([str(program.parent), *sys.path])
    environment["PYTHONPATH"] = path
    answer = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=120
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer
