"""What a check is asked, what it answers, and how checks are gathered."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

# NOTE: better known before the run; MUST_SET: it will fail, or hardly use what is there.
OK, ABSENT, NOTE, MUST_SET = "ok", "not there", "note", "set"
_TIMEOUT_S = 60  # a program on a file system that hangs


@dataclass(frozen=True)
class Ask:
    """About which use of the machine."""

    directory: Path  # where dumps go
    ranks: int | None = None  # on this machine; None: not known
    threads: int = 1  # of the application, a rank
    root: Path = Path("/")  # where /proc, /sys and /dev lie


@dataclass(frozen=True)
class Finding:
    """The answer of one check."""

    state: str
    found: str
    do: str = ""  # what to do, in words; there if state is MUST_SET
    variables: dict[str, str] = field(default_factory=dict)  # that a job must have
    commands: tuple[str, ...] = ()  # before the application starts, in a job
    name: str = ""
    why: str = ""

    def of(self, check: Check) -> Finding:
        return replace(self, name=check.name, why=check.why)


@dataclass(frozen=True)
class Check:
    name: str
    why: str
    function: Callable[[Ask], Finding]


CHECKS: list[Check] = []


def check(name: str, why: str) -> Callable[[Callable[[Ask], Finding]], Callable[[Ask], Finding]]:
    """Registers a function as the check of that name."""

    def register(function: Callable[[Ask], Finding]) -> Callable[[Ask], Finding]:
        CHECKS.append(Check(name, why, function))
        return function

    return register


def ask_program(*command: str) -> str | None:
    """What a program prints, standard error behind standard output; None: it is not on the PATH.
    Raises RuntimeError with its words if it fails, or hangs."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"`{' '.join(command)}` has not ended within {_TIMEOUT_S} s") from None
    said = (done.stdout + done.stderr).strip()
    if done.returncode != 0:
        raise RuntimeError(f"`{' '.join(command)}` failed: {said[-300:] or done.returncode}")
    return said


def ranks_of_job() -> int | None:
    """Ranks on this machine, as the batch system or mpirun says in the environment."""
    for name in ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE",
                 "SLURM_TASKS_PER_NODE"):  # fmt: skip
        if number := re.match(r"[1-9]\d*", os.environ.get(name, "")):
            return int(number[0])
    # PBS names each host once for each of its ranks.
    try:
        hosts = Path(os.environ.get("PBS_NODEFILE", "")).read_text().split()
    except OSError:
        return None
    own = socket.gethostname().partition(".")[0]
    return sum(host.partition(".")[0] == own for host in hosts) or None


def threads_of_job() -> int:
    """OMP_NUM_THREADS; of nested levels the outermost."""
    number = re.match(r"[1-9]\d*", os.environ.get("OMP_NUM_THREADS", ""))
    return int(number[0]) if number else 1


def size(n: float) -> str:
    """Three figures and a unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if n < 999.5:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} TB"
