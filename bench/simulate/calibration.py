"""What output costs besides bytes over bandwidth, measured by small runs under other conditions.

Invariants: the device takes no time, nor does storing, only the page cache does; the times of the
runs that are to be simulated are not looked at.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import statistics
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from caesura.demo.runner import Programs, Run, Runner
from caesura.demo.scenario import Scenario

_ENDLESS = 1e13  # bytes/s: all else of the emulated file system stays
_SMALL_GRID = 32
_COPY_BYTES, _COPIES = 20 << 20, 10


@dataclass(frozen=True)
class Library:
    """A blocking library on one rank, all ranks at once: T(dump) = dump_s + raw / bytes_per_s."""

    bytes_per_s: float  # raw bytes; with a filter, compressing included
    dump_s: float
    close_s: float


@dataclass(frozen=True)
class Calibration:
    libraries: dict[str, Library]  # of modes sync and filter
    copy_bytes_per_s: float  # into the page cache, as many processes at once as there are ranks

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> Calibration:
    """What save() wrote."""
    saved = json.loads(path.read_text())
    libraries = {mode: Library(**of) for mode, of in saved["libraries"].items()}
    return Calibration(libraries, saved["copy_bytes_per_s"])


def calibrate(programs: Programs, scenario: Scenario, folder: Path, repeats: int) -> Calibration:
    """A minute or less. The folder must lie where the measured runs' files lay."""
    folder.mkdir(parents=True, exist_ok=True)
    libraries = {
        mode: _library(programs, scenario, mode, folder, repeats) for mode in ("sync", "filter")
    }
    return Calibration(libraries, _copying(scenario.ranks, folder))


def _library(
    programs: Programs, scenario: Scenario, mode: str, folder: Path, repeats: int
) -> Library:
    """Two meshes give the time of a dump that has no bytes, and the bytes a second beyond it."""
    endless = _ENDLESS if scenario.bandwidth > 0 else 0.0
    alone = replace(scenario, bandwidth=endless, device_s=0.0)
    points, closing = [], []
    for grid in (_SMALL_GRID, scenario.grid):
        one = replace(alone, grid=grid, particles=grid)
        runs = [_run(programs, one, mode, repeat, folder) for repeat in range(repeats)]
        dump_s = statistics.median(run.timing["output_s"] for run in runs) / one.dumps
        points.append((one.dump_bytes / one.ranks, dump_s))
        closing.append(statistics.median(run.timing["close_s"] for run in runs))
    (small, small_s), (large, large_s) = points
    s_per_byte = max(1e-15, (large_s - small_s) / (large - small))
    return Library(1.0 / s_per_byte, max(0.0, small_s - small * s_per_byte), closing[-1])


def _run(programs: Programs, scenario: Scenario, mode: str, repeat: int, folder: Path) -> Run:
    run = Runner(programs, scenario, folder).run(mode, repeat, None, lambda seconds: None)
    if run.output is not None:
        run.output.unlink()
    print(
        f"  calibrating {mode}, {scenario.grid}^3: {run.timing['output_s'] / scenario.dumps:.3f} s "
        f"a dump, {run.timing['close_s']:.3f} s to close",
        file=sys.stderr,
    )
    return run


def _copying(processes: int, folder: Path) -> float:
    """Bytes per s of one of several processes that write at once, into files of their own."""
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        return statistics.median(
            pool.map(_copy, [str(folder / f"copy-{i}") for i in range(processes)], chunksize=1)
        )


def _copy(path: str) -> float:
    data = os.urandom(_COPY_BYTES)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        begin_s = time.monotonic()
        for number in range(_COPIES):
            os.pwrite(file, data, number * _COPY_BYTES)
        return _COPIES * _COPY_BYTES / (time.monotonic() - begin_s)
    finally:
        os.close(file)
        os.unlink(path)
