"""A demonstration's outcome without running it: noisy times of known truth, made of a seed."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from pathlib import Path

from caesura_lab.demo.campaign import Outcome
from caesura_lab.demo.checking import Checked
from caesura_lab.demo.runner import Run
from caesura_lab.demo.scenario import FULL, LOSSY, OURS, Scenario
from caesura_lab.demo.state import Finished
from caesura_lab.demo.turns import Turn, all_turns

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


def own_s(step: int) -> float:
    """What a step takes: more with clustering, and every fourth sorts."""
    return 1.0 + 0.02 * step + (0.05 if step % 4 == 0 else 0.0)


def mean_s(scenario: Scenario) -> float:
    """Of the steps after a dump."""
    after = range(scenario.dump_every, scenario.steps)
    return math.fsum(own_s(step) for step in after) / len(after)


# Seconds a dump: what handing it over takes. Shares of a step: what is lost while it is handled.
CALLS = {"sync": 0.95, "filter": 0.6, "async": 0.03, "plugin": 0.03, "caesura": 0.018,
         "unplanned": 0.018, "normal": 0.018}  # fmt: skip
LOSS = {"async": 0.1, "plugin": 0.05, "caesura": 0.004, "unplanned": 0.01, "normal": 0.08}


@dataclass(frozen=True)
class Noise:
    """How a machine disturbs: each step, each run, drifting, and in bursts of somebody's work."""

    step: float = 0.01
    run: float = 0.01
    drift: float = 0.0  # of the speed from one step to the next, a random walk
    bursts: float = 0.0  # share of the steps that meet one
    burst_size: float = 0.3  # mean share that a step then lasts longer


class Machine:
    """Makes runs; its state drifts from one to the next."""

    def __init__(self, noise: Noise, seed: int) -> None:
        self._noise = noise
        self._rng = random.Random(seed)
        self._drift = 0.0

    def timing(
        self, scenario: Scenario, mode: str, hand_over: str, calls: float, loss: float
    ) -> dict:
        """As the mini-app writes it."""
        noise, rng = self._noise, self._rng
        numbers = scenario.handed_over(hand_over)
        dumps = {scenario.dump_every * (n + 1) - 1 for n in numbers}
        speed = 1.0 + rng.gauss(0.0, noise.run)
        step_s, cpu_s, calls_s, handed = [], [], [], []
        busy = 0
        for step in range(scenario.steps):
            self._drift += rng.gauss(0.0, noise.drift)
            own = own_s(step)
            factor = speed * (1.0 + self._drift) * math.exp(rng.gauss(0.0, noise.step))
            if rng.random() < noise.bursts:
                factor *= 1.0 + rng.expovariate(1.0 / noise.burst_size)
            lost = loss * mean_s(scenario) * speed * (1.0 + self._drift) if busy > 0 else 0.0
            step_s.append(own * factor + lost)
            cpu_s.append(0.4 * own + (0.4 * loss * mean_s(scenario) if busy > 0 else 0.0))
            handed.append(step in dumps)
            calls_s.append(calls if step in dumps else 0.0)
            busy = scenario.dump_every if step in dumps else busy - 1
        wall_s = math.fsum(step_s) + math.fsum(calls_s) + 0.02
        return {
            "mode": mode,
            "wall_s": wall_s,
            "open_s": 0.01,
            "close_s": 0.01,
            "step_s": step_s,
            "step_cpu_s": cpu_s,
            "calls_s": calls_s,
            "calls_cpu_s": [0.5 * seconds for seconds in calls_s],
            "open_close_cpu_s": 0.01,
            "handed_over": handed,
            "copy_s": 0.04,
            "committed_dumps": len(numbers) if mode in OURS else 0,
            "report": {
                "dumps": len(numbers),
                "overflow_bytes": 1_200_000,
                "reserved_bytes": 40_000_000,
                "plan_s": 0.004 * len(numbers),
                "peak_memory_bytes": 640_000_000,
                "write_interference_s": 0.06,
                "compress_interference_s": 0.05 * len(numbers) / scenario.dumps,
            },
        }


def make_outcome(
    scenario: Scenario = FULL,
    seed: int = 3,
    noise: Noise | None = None,
    loss: dict[str, float] = LOSS,
) -> Outcome:
    machine = Machine(noise or Noise(), seed)
    outcome = Outcome()
    for turn in all_turns(scenario):
        calls = CALLS.get(turn.mode, 0.0)
        timing = machine.timing(
            scenario, turn.mode, turn.hand_over, calls, loss.get(turn.mode, 0.0)
        )
        outcome.finished.append(make_finished(scenario, turn, timing))
    return outcome


def make_finished(scenario: Scenario, turn: Turn, timing: dict) -> Finished:
    share = len(scenario.handed_over(turn.hand_over)) / scenario.dumps
    raw_bytes = int(scenario.raw_bytes * share)
    writes = turn.mode != "compute"
    output = Path("x.h5") if writes else None
    run = Run(turn.mode, turn.number, timing, output, [], timing["wall_s"], "", 0.1)
    if not writes:
        return Finished(turn, run, 0)
    checked = make_check(turn.mode, scenario, raw_bytes // 4)
    return Finished(turn, run, int(raw_bytes / RATIOS[turn.mode]), checked)


def make_check(mode: str, scenario: Scenario, values: int) -> Checked:
    share = 0.9987 if mode in LOSSY else 0.0
    checked = Checked(values=values, datasets=6 * scenario.dumps, max_error_over_bound=share)
    checked.blocks_with_checksum = 48 * scenario.dumps if mode in OURS else 0
    checked.per_field = {
        name: {"bound": bound if share else 0.0, "max_error": share * bound}
        for name, bound in scenario.bounds.items()
    }
    return checked
