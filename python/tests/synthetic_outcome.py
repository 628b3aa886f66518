"""A demonstration's outcome without running it: plausible times, consistent sizes."""

from __future__ import annotations

import random
from pathlib import Path

from caesura.demo.campaign import Outcome
from caesura.demo.checking import Checked
from caesura.demo.runner import Run
from caesura.demo.scenario import LOSSY, MODES, OURS, Scenario

FACTORS = {
    "compute": 1.0,
    "sync": 1.41,
    "filter": 1.74,
    "async": 1.36,
    "plugin": 1.09,
    "caesura": 1.052,
    "unplanned": 1.061,
    "normal": 1.094,
}
RATIOS = {
    "sync": 1.0,
    "filter": 15.9,
    "async": 1.0,
    "plugin": 15.9,
    **dict.fromkeys(("caesura", "unplanned", "normal"), 18.2),
}

MACHINE = {
    "cpu": "Example CPU @ 2.50GHz",
    "cores": 2,
    "memory_bytes": 25_000_000_000,
    "kernel": "Linux 6.1.0",
    "compiler": "g++ 12.2.0",
    "build_type": "RelWithDebInfo",
    "mpi": "mpirun (Open MPI) 4.1.4",
    "commit": "0123abc",
}


def make_outcome(scenario: Scenario, seed: int = 3) -> Outcome:
    rng = random.Random(seed)
    outcome = Outcome()
    values = scenario.raw_bytes // 4
    for repeat in range(scenario.repeats):
        base_s = 38.0 * rng.gauss(1.0, 0.005)
        for mode in (m for m in MODES if repeat < scenario.repeats_of(m)):
            wall_s = base_s * FACTORS[mode] * rng.gauss(1.0, 0.008)
            stored = int(scenario.raw_bytes / RATIOS[mode]) if mode in RATIOS else 0
            timing = {
                "mode": mode,
                "wall_s": wall_s,
                "close_s": 0.2,
                "host_s": 9.0,
                "device_s": 22.0,
                "comm_s": 2.0,
                "file_bytes": stored,
                "committed_dumps": scenario.dumps if mode in OURS else 0,
                "report": {
                    "dumps": scenario.dumps,
                    "overflow_bytes": 1_200_000,
                    "reserved_bytes": int(stored * 1.04),
                    "plan_s": 0.004 * scenario.dumps,
                    "peak_memory_bytes": 640_000_000,
                    "write_interference_s": 0.06,
                },
            }
            outcome.runs[mode].append(Run(mode, repeat, timing, Path("x.h5"), [], wall_s))
            outcome.stored_bytes[mode].append(stored)
            if mode != "compute":
                outcome.checks[mode].append(make_check(mode, scenario, values))
    return outcome


def make_check(mode: str, scenario: Scenario, values: int) -> Checked:
    share = 0.9987 if mode in LOSSY else 0.0
    checked = Checked(values=values, datasets=6 * scenario.dumps, max_error_over_bound=share)
    checked.blocks_with_checksum = 48 * scenario.dumps if mode in OURS else 0
    checked.per_field = {
        name: {"bound": bound if share else 0.0, "max_error": share * bound}
        for name, bound in scenario.bounds.items()
    }
    return checked
