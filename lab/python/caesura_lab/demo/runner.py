"""Runs the mini-app in one mode under mpirun, with the emulated file system around it.

Invariants: every mode gets the same arguments, the same environment and a cold, private bucket; no
file of an earlier run is in the way; a run whose results are complete counts, whatever mpirun says
of its end, which then stands in Run.note.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caesura_lab.demo.scenario import OURS, DemoError, Scenario

# mpirun refuses root and more ranks than cores unless told; containers forbid cross-memory attach.
# The ranks take leave of mpirun at their end and wait for its answer, 2 s at most (PMIx). If
# mpirun gets no core for so long, or waits for a disk that 2 GB were just written to, it says
# afterwards that they exited improperly and returns 1. Whether a run is complete is seen from its
# results and its file instead. All modes alike.
_MPI_DEFAULTS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_orte_allowed_exit_without_sync": "1",
}
_POLL_S = 0.1


@dataclass(frozen=True)
class Programs:
    """What the build made and the demonstration needs."""

    build: Path
    simulation: Path
    preload: Path
    pfs_stat: Path


@dataclass(frozen=True)
class Run:
    """One finished run: its timing file, and what it left."""

    mode: str
    repeat: int
    timing: dict[str, Any]
    output: Path | None
    traces: list[Path]
    elapsed_s: float
    note: str = ""  # what was odd about its end
    others_cores: float = 0.0  # cores that other programs kept busy meanwhile


class RunFailed(DemoError):
    """A run without results; the message has its last lines and its command."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason  # in one line


def find_build() -> Path:
    """$CAESURA_BUILD, else build/ of the checkout this package lies in or of the current folder."""
    named = os.environ.get("CAESURA_BUILD") or os.environ.get("CAESURA_BUILD_DIR")
    if named:
        return Path(named)
    here = Path(__file__).resolve()
    for place in (Path.cwd(), *here.parents):
        if (place / "build" / "CMakeCache.txt").exists():
            return place / "build"
    return Path.cwd() / "build"


def find_programs(build: Path, emulated_file_system: bool) -> Programs:
    """DemoError naming what is missing and how to make it."""
    programs = Programs(
        build,
        build / "miniapps" / "cosmology" / "cosmology",
        build / "bench" / "pfs" / "libpfs.so",
        build / "bench" / "pfs" / "pfs_stat",
    )
    needed = [programs.simulation, *([programs.preload] if emulated_file_system else [])]
    for path in needed:
        if not path.exists():
            raise DemoError(
                f"{path} is missing; build with CAESURA_MPI=ON (`make build`), "
                "or name another build tree with --build"
            )
    if shutil.which("mpirun") is None:
        raise DemoError("mpirun is not installed; install an MPI, e.g. openmpi-bin")
    return programs


def plugin_path() -> str:
    """Where the filters are: the user's own setting, then hdf5plugin's."""
    import hdf5plugin

    earlier = os.environ.get("HDF5_PLUGIN_PATH")
    ours = str(hdf5plugin.PLUGIN_PATH)
    return f"{earlier}:{ours}" if earlier and ours not in earlier.split(":") else ours


class Runner:
    def __init__(self, programs: Programs, scenario: Scenario, folder: Path) -> None:
        self._programs = programs
        self._scenario = scenario
        self._folder = folder
        self._bucket = f"caesura-demo-{os.getpid()}"

    def command(self, mode: str, repeat: int, raw: Path | None) -> list[str]:
        """mpirun with the mini-app; `env` sets what only the ranks may see."""
        stem = self.stem(mode, repeat)
        command = ["mpirun", "-n", str(self._scenario.ranks), "env", *self._shim()]
        command += [str(self._programs.simulation), *self._scenario.arguments(mode)]
        command += ["--mode", self._scenario.program_mode(mode)]
        command += ["--quiet", "--timing-json", str(stem.with_suffix(".timing.json"))]
        if mode != "compute":
            command += ["--output", str(stem.with_suffix(".h5"))]
        if mode in OURS:
            command += ["--trace", f"{stem}.trace-%r.json"]
        if raw is not None:
            command += ["--raw-dir", str(raw)]
        return command

    def stem(self, mode: str, repeat: int) -> Path:
        which = self._scenario.hand_over
        return self._folder / (f"{mode}-{repeat}" if which == "all" else f"{mode}-{which}-{repeat}")

    def outputs(self, mode: str, repeat: int) -> list[Path]:
        """The files that a run has to leave; the first of them is Run.output."""
        return [self.stem(mode, repeat).with_suffix(".h5")] if mode != "compute" else []

    def _shim(self) -> list[str]:
        if self._scenario.bandwidth <= 0:
            return []
        return [
            f"LD_PRELOAD={self._programs.preload}",
            f"PFS_ROOT={self._folder}",
            f"PFS_BANDWIDTH={self._scenario.bandwidth:.0f}",
            f"PFS_LATENCY={self._scenario.latency_s:g}",
            f"PFS_BUCKET={self._bucket}",
            f"PFS_FSYNC={self._scenario.fsync}",
        ]

    def run(self, mode: str, repeat: int, raw: Path | None, tick: Callable[[float], None]) -> Run:
        """`tick` is told the seconds since the begin, several times a second."""
        stem = self.stem(mode, repeat)
        outputs = self.outputs(mode, repeat)
        self._remove_leftovers(stem, outputs)
        if raw is not None:
            raw.mkdir(parents=True, exist_ok=True)
        command = self.command(mode, repeat, raw)
        log = stem.with_suffix(".log")
        environment = {**_MPI_DEFAULTS, **os.environ, "HDF5_PLUGIN_PATH": plugin_path()}
        # A waiting rank that yields its core to an idle-priority worker gets it back a scheduler
        # tick later, at every message. With a core of its own it had better spin.
        own_core = self._scenario.ranks <= len(os.sched_getaffinity(0))
        environment["OMPI_MCA_mpi_yield_when_idle"] = "0" if own_core else "1"
        begin_s, busy_s, children_s = time.monotonic(), machine_busy_s(), children_cpu_s()
        with log.open("wb") as sink:
            process = subprocess.Popen(
                command, stdout=sink, stderr=subprocess.STDOUT, env=environment
            )
            try:
                while process.poll() is None:
                    time.sleep(_POLL_S)
                    tick(time.monotonic() - begin_s)
            except BaseException:
                process.terminate()
                process.wait()
                raise
            finally:
                self._remove_bucket()
        elapsed_s = time.monotonic() - begin_s
        own_s = children_cpu_s() - children_s
        others = max(0.0, (machine_busy_s() - busy_s - own_s) / elapsed_s)
        timing = read_timing(stem.with_suffix(".timing.json"))
        code = process.returncode
        missing = [path.name for path in outputs if not path.exists()]
        if timing is None or missing:
            reason = _reason(code, log)
            if code == 0 and missing:  # it did not say so itself
                reason += f"; {', '.join(missing)} missing"
            raise RunFailed(reason, _failure(mode, repeat, code, log, command))
        traces = sorted(self._folder.glob(f"{stem.name}.trace-*.json"))
        note = f"all results are there, but it {_reason(code, log)}" if code != 0 else ""
        output = outputs[0] if outputs else None
        return Run(mode, repeat, timing, output, traces, elapsed_s, note, others)

    def _remove_leftovers(self, stem: Path, outputs: list[Path]) -> None:
        for path in {*self._folder.glob(f"{stem.name}.*"), *outputs}:
            path.unlink(missing_ok=True)

    def _remove_bucket(self) -> None:
        """Each run gets an idle link: the bucket lives in shared memory until it is removed."""
        if self._programs.pfs_stat.exists():
            subprocess.run(
                [str(self._programs.pfs_stat), "--remove"],
                env={**os.environ, "PFS_BUCKET": self._bucket},
                capture_output=True,
                check=False,
            )


def read_timing(path: Path) -> dict[str, Any] | None:
    """None where there is none, or only a part: it is the last thing that a run writes."""
    try:
        timing = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return timing if isinstance(timing, dict) and "wall_s" in timing else None


def machine_busy_s() -> float:
    """CPU seconds that all programs of the machine have used since it started; 0 if unknown."""
    try:
        words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    except OSError:
        return 0.0
    user, nice, system, _idle, _waiting, irq, softirq, steal = (int(word) for word in words)
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def children_cpu_s() -> float:
    """CPU seconds of programs that this one has started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _reason(code: int, log: Path) -> str:
    """How a run ended, in one line: what the program said last, else what mpirun says."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    said = [line for line in lines if line.strip("-*= ")]
    own = [line for line in said if line.startswith(("cosmology:", "pfs:", "terminate called"))]
    words = own[-1] if own else " ".join(said)
    words = words if len(words) <= 200 else words[:199] + "…"
    return f"ended with code {code}" + (f": {words}" if words else " and printed nothing")


def _failure(mode: str, repeat: int, code: int, log: Path, command: list[str]) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    tail = "\n  ".join(lines[-12:]) or "(it printed nothing)"
    return (
        f"the simulation in mode {mode}, repeat {repeat + 1}, ended with code {code}:\n  {tail}\n"
        f"The whole output is in {log}; the command was:\n  {' '.join(command)}"
    )
