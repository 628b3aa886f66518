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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from caesura_lab.demo.runner import Programs, Runner
from caesura_lab.demo.scenario import Scenario

_ENDLESS = 1e13  # bytes/s: all else of the emulated file system stays
_SMALL_GRID = 32
_COPY_BYTES, _COPIES = 20 << 20, 10
_LIBRARIES = ("sync", "filter")  # the demo's modes


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


def calibrate(programs: Programs, scenario: Scenario, folder: Path, repeat: int) -> None:
    """Half a minute. The folder must lie where the measured runs' files lie; results stay in it."""
    folder.mkdir(parents=True, exist_ok=True)
    for grid in (_SMALL_GRID, scenario.grid):
        place = folder / str(grid)
        place.mkdir(exist_ok=True)
        alone = _alone(scenario, grid)
        for mode in _LIBRARIES:
            run = Runner(programs, alone, place).run(mode, repeat, None, lambda seconds: None)
            if run.output is not None:
                run.output.unlink()
            print(
                f"  calibrating {mode}, {grid}^3: {run.timing['output_s'] / alone.dumps:.3f} s "
                f"a dump, {run.timing['close_s']:.3f} s to close",
                file=sys.stderr,
            )
    speed = {"bytes_per_s": _copying(scenario.ranks, folder)}
    (folder / f"copy-{repeat}.json").write_text(json.dumps(speed) + "\n", encoding="utf-8")


def calibration_of(scenario: Scenario, folder: Path) -> Calibration:
    """Medians of what calibrate() left in the folder."""
    libraries = {}
    for mode in _LIBRARIES:
        small, large = (
            _median_dump(_alone(scenario, grid), mode, folder / str(grid))
            for grid in (_SMALL_GRID, scenario.grid)
        )
        s_per_byte = max(1e-15, (large[1] - small[1]) / (large[0] - small[0]))
        dump_s = max(0.0, small[1] - small[0] * s_per_byte)
        libraries[mode] = Library(1.0 / s_per_byte, dump_s, large[2])
    copies = [json.loads(path.read_text())["bytes_per_s"] for path in folder.glob("copy-*.json")]
    return Calibration(libraries, statistics.median(copies))


def _alone(scenario: Scenario, grid: int) -> Scenario:
    endless = _ENDLESS if scenario.bandwidth > 0 else 0.0
    return replace(scenario, bandwidth=endless, device_s=0.0, grid=grid, particles=grid)


def _median_dump(scenario: Scenario, mode: str, folder: Path) -> tuple[float, float, float]:
    """A rank's raw bytes, its seconds of a dump, and those of closing."""
    timings: list[dict[str, Any]] = [
        json.loads(path.read_text()) for path in folder.glob(f"{mode}-*.timing.json")
    ]
    dump_s = statistics.median(timing["output_s"] for timing in timings) / scenario.dumps
    close_s = statistics.median(timing["close_s"] for timing in timings)
    return scenario.dump_bytes / scenario.ranks, dump_s, close_s


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
