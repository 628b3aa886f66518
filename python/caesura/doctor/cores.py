"""Cores, who may use them, and an MPI that waits by asking again and again."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

from caesura.doctor.finding import ABSENT, MUST_SET, NOTE, OK, Ask, Finding, ask_program, check
from caesura.doctor.libraries import OPEN_MPI, launcher

# Of a process that a launcher started as a rank: Open MPI's, MPICH's, Slurm's.
RANK_VARIABLES = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")
_YIELD = "OMPI_MCA_mpi_yield_when_idle"


def cgroup_files(root: Path, controller: str, name: str) -> Iterator[Path]:
    """A limit's file in each cgroup that holds this process, the innermost first; version 2 and 1.

    A container sees its own cgroup as the root, under whatever name it has outside."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / (controllers and controller)
        inner = Path(path.lstrip("/"))
        for place in (inner, *inner.parents):
            if ".." not in place.parts and (top / place / name).is_file():
                yield top / place / name


def cpu_limit(root: Path) -> float:
    """Cores' worth of time that cgroups allow; inf: no limit."""
    limit = math.inf
    for file in cgroup_files(root, "cpu", "cpu.max"):
        quota, period = file.read_text().split()
        if quota != "max":
            limit = min(limit, int(quota) / int(period))
    for file in cgroup_files(root, "cpu", "cpu.cfs_quota_us"):
        quota, period = (int(file.with_name(name).read_text())
                         for name in (file.name, "cpu.cfs_period_us"))  # fmt: skip
        if quota > 0:
            limit = min(limit, quota / period)
    return limit


def ancestors() -> Iterator[int]:
    """Processes of this user that started this one, the nearest first."""
    process = os.getppid()
    while process > 1 and os.stat(f"/proc/{process}").st_uid == os.getuid():
        yield process
        # Behind the name, which may hold anything: state, parent.
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def of_all_ranks() -> set[int]:
    """Hardware threads that the ranks here share.

    A rank that is bound sees its own; what started it was not bound. Slurm's starter is root's, but
    Slurm says how many there are, and which they are does not matter."""
    mine = os.sched_getaffinity(0)
    if not any(name in os.environ for name in RANK_VARIABLES):
        return mine
    for process in ancestors():
        if mine < os.sched_getaffinity(process):
            return os.sched_getaffinity(process)
    of_slurm = os.environ.get("SLURM_CPUS_ON_NODE", "")
    if of_slurm.isdecimal() and int(of_slurm) > len(mine):
        return set(range(int(of_slurm)))
    return mine


def usable(ask: Ask) -> int:
    """Hardware threads that the ranks here can really use."""
    return max(1, math.floor(min(len(of_all_ranks()), cpu_limit(ask.root))))


def whole_cores(ask: Ask) -> int:
    """The same with each core counted once: mpirun and batch systems bind ranks to such."""
    folder = ask.root / "sys/devices/system/cpu"
    files = (folder / f"cpu{n}/topology/thread_siblings_list" for n in of_all_ranks())
    try:
        seen = len({file.read_text() for file in files})
    except OSError:
        return usable(ask)
    return min(seen, usable(ask))


def as_ranges(cores: set[int]) -> str:
    """0-3,8."""
    parts: list[list[int]] = []
    for core in sorted(cores):
        if parts and core == parts[-1][1] + 1:
            parts[-1][1] = core
        else:
            parts.append([core, core])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in parts)


@check("cores", "compress threads inherit a rank's cores: on one alone they wait for the rank")
def cores(ask: Ask) -> Finding:
    there = os.cpu_count() or 1
    mask = os.sched_getaffinity(0)
    limit = cpu_limit(ask.root)
    cgroup = "no cgroup limit" if limit == math.inf else f"cgroup limit: {limit:.3g} cores"
    found = f"{there} here; this process may use {len(mask)} ({as_ranges(mask)}); {cgroup}"
    if whole_cores(ask) < usable(ask):
        found += f"; with hardware threads: {whole_cores(ask)} whole cores"
    if len(mask) == 1 and there > 1:
        do = "Bind ranks to more cores: mpirun --map-by slot:PE=2, srun --cpus-per-task=2."
        return Finding(MUST_SET, found, do)
    if limit < len(mask):
        do = f"Count with {usable(ask)}: above the limit all threads of the cgroup stand still."
        return Finding(NOTE, found, do)
    return Finding(OK, found)


@check("ranks", "more threads than cores: each waits for the others")
def ranks(ask: Ask) -> Finding:
    have = usable(ask)
    if ask.ranks is None:
        return Finding(ABSENT, "not known outside of a job; --ranks says how many")
    found = f"ranks x threads: {ask.ranks} x {ask.threads}, cores: {have}"
    if ask.ranks * ask.threads > have:
        most = max(1, have // ask.ranks)
        do = f"Start at most {max(1, have // ask.threads)} ranks here"
        do += f", or set OMP_NUM_THREADS={most}." if most < ask.threads else "."
        return Finding(MUST_SET, found, do)
    return Finding(OK, found)


def _yields() -> bool | None:
    """Whether Open MPI gives a core away while it waits; None: it does not say."""
    said = ask_program("ompi_info", "--parsable", "--param", "mpi", "all", "--level", "9")
    for line in (said or "").splitlines():
        if ":mpi_yield_when_idle:value:" in line:
            return line.rpartition(":")[2] in ("1", "true")
    value = os.environ.get(_YIELD)
    return None if value is None else value in ("1", "true")


@check("waiting MPI", "a rank that waits spinning starves a compress thread on the same core")
def waiting(ask: Ask) -> Finding:
    family, _ = launcher()
    if not family:
        return Finding(ABSENT, "no MPI")
    yields = _yields() if family == OPEN_MPI else None
    how = {True: "yields", False: "spins", None: "is not known to yield, so it spins"}[yields]
    found = f"{family} {how} while it waits"
    if ask.ranks is None:
        return Finding(OK, f"{found}; whether that matters depends on --ranks")
    needed, have = ask.ranks * (ask.threads + 1), usable(ask)
    if needed <= have:
        if not yields:
            return Finding(OK, f"{found}, and compress threads have cores of their own")
        do = "Let it spin (OMPI_MCA_mpi_yield_when_idle=0): each rank has a core to spare."
        return Finding(NOTE, found, do)
    if yields:
        found += ", so compress threads without cores of their own get on"
        return Finding(OK, found, variables={_YIELD: "1"})
    found += f"; cores with one more for each rank: {needed}, there: {have}"
    if family == OPEN_MPI:
        do = "export OMPI_MCA_mpi_yield_when_idle=1, or start fewer ranks with two cores each."
        return Finding(MUST_SET, found, do, {_YIELD: "1"})
    do = f"Start at most {max(1, have // (ask.threads + 1))} ranks here, with a core more each."
    return Finding(MUST_SET, found, do)
