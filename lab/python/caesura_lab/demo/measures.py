"""From finished runs to what each mode costs: overhead, time in calls, loss, and the noise.

Invariant: everything is seconds of the whole scenario, all dumps in one file, until it is shared by
what the same steps take without output; so a mode's figures add up whichever runs they come from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median
from typing import Any

from caesura_lab.demo.campaign import Outcome
from caesura_lab.demo.scenario import PAIRED, Scenario
from caesura_lab.demo.state import Finished
from caesura_lab.demo.statistics import (
    Cycles,
    Estimate,
    cycle_without_s,
    cycles_of,
    differences,
    run_margin,
    spread_of_runs,
    trimmed_mean,
)
from caesura_lab.demo.turns import HALVES

# Modes whose calls compute and do not wait, so that their CPU time says what they cost.
CODED = ("plugin", "caesura", "unplanned", "normal")
# Modes in which the application waits for its output, and nothing goes on beside it.
_WAITING = ("sync", "filter")


@dataclass(frozen=True)
class CpuCost:
    """What output takes of the application's own thread, in CPU time, which other programs hardly
    touch; shares of the CPU time of its steps plus the time that kernels are modelled to take."""

    calls: float
    loss: Estimate
    workers: float  # of compress threads while the application computes: lost, if cores are shared

    @property
    def overhead(self) -> Estimate:
        return self.loss.plus(self.calls)


@dataclass(frozen=True)
class Cost:
    """Of one mode; shares of computing alone."""

    overhead: Estimate
    calls: float  # opening, handing over, closing
    loss: Estimate | None  # of the application's own steps; None where it waits for its output
    cpu: CpuCost | None  # of modes whose calls compute and do not wait
    points: list[float]  # overheads by single differences, single dumps or single runs
    single_runs: list[float]  # overheads of whole runs, each by its wall time alone


@dataclass(frozen=True)
class Base:
    """Steps without output: all of the scenario's in seconds, the spread of runs, how many."""

    total_s: float
    spread: float
    runs: int


class Measures:
    def __init__(self, scenario: Scenario, outcome: Outcome) -> None:
        self._scenario = scenario
        self._outcome = outcome

    # ------------------------------------------------------------------------ without output

    @cached_property
    def _base_runs(self) -> list[Finished]:
        """Those with cycles in which nothing was handed over. Without any those of modes that do
        nothing beside the application, so that their steps are as without output."""
        paired = [one for mode in PAIRED for one in self._outcome.of(mode, *HALVES)]
        return paired or [one for mode in _WAITING for one in self._outcome.of(mode)]

    def _cycles(self, runs: Sequence[Finished], what: str) -> list[Cycles]:
        found = []
        for one in runs:
            cycles = cycles_of(one.run.timing, self._scenario.dump_every, what)
            if one.turn.mode in ("compute", *_WAITING):  # nothing goes on in the background
                cycles = Cycles(cycles.step_s, [False] * len(cycles.step_s))
            found.append(cycles)
        return found

    @cached_property
    def _bases(self) -> dict[str, Base]:
        """By what is measured of a step."""
        return {what: self._base(what) for what in ("step_s", "step_cpu_s")}

    def _base(self, what: str) -> Base:
        cycles = self._cycles(self._base_runs, what)
        without_s = cycle_without_s(cycles)
        first = self._scenario.dump_every
        before = [math.fsum(one.run.timing[what][:first]) for one in self._base_runs]
        return Base(fmean(before) + math.fsum(without_s), *spread_of_runs(cycles, without_s))

    @property
    def base_s(self) -> float:
        """All steps of the scenario without output: cycles, and the steps before the first dump."""
        return self._bases["step_s"].total_s

    @property
    def run_spread(self) -> tuple[float, int]:
        """How far runs lie apart, as a standard deviation in shares of one; how many they are."""
        base = self._bases["step_s"]
        return base.spread, base.runs

    # ---------------------------------------------------------------------------- with output

    def cost(self, mode: str) -> Cost | None:
        """None where too few runs have finished. Of compute, the control, in which nothing is
        written: what the estimate of a loss says of none."""
        writes = mode != "compute"
        whole = self._outcome.of(mode)
        if mode in _WAITING and whole:
            return self._waiting(whole)
        loss_s, points_s = self._loss(mode, "step_s")
        if not self._base_runs or (writes and not points_s):
            return None
        calls = self._calls(mode) / self.base_s if writes else 0.0
        loss = loss_s.scaled(1.0 / self.base_s)
        runs = [one.run.timing["wall_s"] / self.base_s - 1.0 for one in whole]
        cpu = self._cpu(mode) if mode in CODED or not writes else None
        points = [point / self.base_s + calls for point in points_s]
        return Cost(loss.plus(calls), calls, loss, cpu, points, runs)

    def _waiting(self, whole: list[Finished]) -> Cost:
        """Nothing goes on beside the application, so that each run is its own base, however fast
        the machine was then; what its dumps take says how well their mean is known."""
        points, runs = [], []
        for one in whole:
            timing = one.run.timing
            own_s = math.fsum(timing["step_s"])
            each = zip(timing["calls_s"], timing["handed_over"], strict=True)
            end = (timing["open_s"] + timing["close_s"]) / own_s
            points += [self._scenario.dumps * s / own_s + end for s, handed in each if handed]
            runs.append(timing["wall_s"] / self.base_s - 1.0)
        overhead = trimmed_mean(points)
        return Cost(overhead, overhead.value, None, None, points, runs)

    def _cpu(self, mode: str) -> CpuCost:
        """Idle time of emulated kernels is no CPU time, but a step is not shorter for that."""
        kernels_s = self._scenario.steps * self._scenario.device_s
        share = 1.0 / (self._bases["step_cpu_s"].total_s + kernels_s)
        loss_s, _ = self._loss(mode, "step_cpu_s")
        if mode == "compute":
            return CpuCost(0.0, loss_s.scaled(share), 0.0)
        runs = [one.run.timing for one in self._writing_runs(mode)]
        calls_s = median(
            timing["open_close_cpu_s"] + self._for_all(timing, timing["calls_cpu_s"])
            for timing in runs
        )
        workers_s = median(
            self._for_all(timing, [timing["report"]["compress_interference_s"]]) for timing in runs
        )
        return CpuCost(calls_s * share, loss_s.scaled(share), workers_s * share)

    def _loss(self, mode: str, what: str) -> tuple[Estimate, list[float]]:
        """Seconds of all steps of the scenario, and the single figures behind them."""
        paired = self._paired(mode, what)
        if paired:
            dumps = self._scenario.dumps
            return trimmed_mean(paired).scaled(dumps), [one * dumps for one in paired]
        if not self._outcome.of(mode):
            return Estimate(0.0), []
        base = self._bases[what]
        singles = [math.fsum(one.run.timing[what]) - base.total_s for one in self._outcome.of(mode)]
        margin = run_margin(base.spread, base.runs, len(singles)) * base.total_s
        return Estimate(fmean(singles), margin), singles

    def _paired(self, mode: str, what: str) -> list[float]:
        """Differences of all pairs of which both runs have finished."""
        halves = [{one.turn.number: one for one in self._outcome.of(mode, half)} for half in HALVES]
        found: list[float] = []
        for number in sorted(halves[0].keys() & halves[1].keys()):
            runs = [half[number].run.timing for half in halves]
            both = [cycles_of(timing, self._scenario.dump_every, what) for timing in runs]
            found += differences(*both)
        return found

    def _writing_runs(self, mode: str) -> list[Finished]:
        """Whole runs, else halves."""
        return self._outcome.of(mode) or self._outcome.of(mode, *HALVES)

    def _for_all(self, timing: dict[str, Any], seconds: Sequence[float]) -> float:
        """What a run with a part of the dumps would have taken for all."""
        return math.fsum(seconds) * self._scenario.dumps / max(1, sum(timing["handed_over"]))

    def _calls(self, mode: str) -> float:
        """Seconds in calls of one file with all dumps."""
        timings = [one.run.timing for one in self._writing_runs(mode)]
        return median(
            timing["open_s"] + self._for_all(timing, timing["calls_s"]) + timing["close_s"]
            for timing in timings
        )
