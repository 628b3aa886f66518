"""Run the points of a scenario: every mode on the same noise, several seeds, all cores.

Invariants: an overhead compares a mode with `compute` of the same seed; the numbers do not depend
on how many threads there are.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from caesura_lab import _core
from caesura_lab.simulation.scenario import Scenario, for_core

MODES: list[str] = list(_core.simulation_modes)
_MEANS = (
    "wall_s", "closing_s", "wait_s", "delay_s", "dump_s", "slowest_dump_s", "plan_error",
    "raw_bytes", "compressed_bytes", "written_bytes", "writes", "foreign_writes",
)  # fmt: skip


@dataclass
class Point:
    """One combination of the sweep: what was set, and what each mode did."""

    chosen: dict[str, Any]
    modes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def overhead(self, mode: str) -> float:
        return self.modes[mode]["overhead"]

    def as_dict(self) -> dict[str, Any]:
        return {"set": self.chosen, "modes": self.modes}


def run(
    settings: dict[str, Any],
    mode: str,
    seed: int,
    timeline_rank: int | None = None,
    progress: Callable[[float], bool] | None = None,
) -> dict[str, Any]:
    """One run of one mode. Raises ValueError for settings that cannot be."""
    core = for_core(settings) | {"seed": seed}
    if timeline_rank is not None:
        core["timeline_rank"] = timeline_rank
    return _core.simulate(core, mode, progress)


def run_scenario(
    scenario: Scenario,
    modes: list[str] | None = None,
    repeats: int | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> list[Point]:
    """All points, modes and seeds. `progress` is told the share that is done, by several threads.

    Raises ValueError for a scenario that cannot be, naming the setting.
    """
    chosen_modes = modes or scenario.modes or MODES
    for mode in chosen_modes:
        if mode not in MODES:
            raise ValueError(f"mode is {mode!r}; use one of {', '.join(MODES)}")
    chosen_modes = [mode for mode in MODES if mode in chosen_modes or mode == "compute"]
    seeds = [scenario.seed + i for i in range(repeats or scenario.repeats)]
    points = scenario.points()
    tasks = [
        (number, mode, seed)
        for number in range(len(points))
        for mode in chosen_modes
        for seed in seeds
    ]
    shares: dict[tuple[int, str, int], float] = {}
    lock = threading.Lock()
    stopped = threading.Event()

    def one(task: tuple[int, str, int]) -> dict[str, Any]:
        def note(share: float) -> bool:
            with lock:
                shares[task] = share
                progress(sum(shares.values()) / len(tasks))
            return not stopped.is_set()

        number, mode, seed = task
        begin_s = time.monotonic()
        outcome = run(points[number][1], mode, seed, None, note)
        note(1.0)
        return outcome | {"simulated_in_s": time.monotonic() - begin_s}

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        futures = {task: pool.submit(one, task) for task in tasks}
        try:
            outcomes = {task: future.result() for task, future in futures.items()}
        except BaseException:
            stopped.set()
            pool.shutdown(cancel_futures=True)
            raise
    return [
        Point(
            chosen,
            {
                mode: _summary(
                    [outcomes[number, mode, seed] for seed in seeds],
                    [outcomes[number, "compute", seed] for seed in seeds],
                )
                for mode in chosen_modes
            },
        )
        for number, (chosen, _) in enumerate(points)
    ]


def _summary(outcomes: list[dict[str, Any]], alone: list[dict[str, Any]]) -> dict[str, Any]:
    overheads = [
        outcome["wall_s"] / bare["wall_s"] - 1.0
        for outcome, bare in zip(outcomes, alone, strict=True)
    ]
    summary: dict[str, Any] = {
        "overhead": statistics.median(overheads),
        "overhead_low": min(overheads),
        "overhead_high": max(overheads),
    }
    for key in _MEANS:
        summary[key] = statistics.fmean(outcome[key] for outcome in outcomes)
    summary["events"] = sum(outcome["events"] for outcome in outcomes)
    summary["plans"] = sum(outcome["plans"] for outcome in outcomes)
    summary["simulated_in_s"] = sum(outcome["simulated_in_s"] for outcome in outcomes)
    return summary
