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
from caesura_lab.demo.scenario import Scenario
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


@dataclass(frozen=True)
class Cost:
    """Of one mode; shares of computing alone."""

    overhead: Estimate
    calls: float  # opening, handing over, closing
    loss: Estimate  # of the application's own steps
    cpu_loss: Estimate | None  # the same in CPU time, where cycles are paired
    points: list[float]  # overheads by single differences, or single runs
    single_runs: list[float]  # overheads of whole runs, each by its wall time alone


class Measures:
    def __init__(self, scenario: Scenario, outcome: Outcome) -> None:
        self._scenario = scenario
        self._outcome = outcome

    # ------------------------------------------------------------------------ without output

    @cached_property
    def _base_runs(self) -> list[Finished]:
        """Those with cycles in which nothing was handed over."""
        paired = [self._outcome.of(mode, *HALVES) for mode in ("compute", "caesura")]
        return [*self._outcome.of("compute"), *paired[0], *paired[1]]

    def _cycles(self, runs: Sequence[Finished], what: str = "step_s") -> list[Cycles]:
        found = []
        for one in runs:
            cycles = cycles_of(one.run.timing, self._scenario.dump_every, what)
            if one.turn.mode == "compute":  # nothing is written, whatever is handed over
                cycles = Cycles(cycles.step_s, [False] * len(cycles.step_s))
            found.append(cycles)
        return found

    @cached_property
    def _without_s(self) -> list[float]:
        return cycle_without_s(self._cycles(self._base_runs))

    @cached_property
    def base_s(self) -> float:
        """All steps of the scenario without output: cycles, and the steps before the first dump."""
        first = self._scenario.dump_every
        before = [math.fsum(one.run.timing["step_s"][:first]) for one in self._base_runs]
        return fmean(before) + math.fsum(self._without_s)

    @cached_property
    def run_spread(self) -> tuple[float, int]:
        """How far runs lie apart, as a standard deviation in shares of one; how many they are."""
        return spread_of_runs(self._cycles(self._base_runs), self._without_s)

    # ---------------------------------------------------------------------------- with output

    def cost(self, mode: str) -> Cost | None:
        """None where no run of the mode has finished."""
        whole = self._outcome.of(mode)
        if mode == "compute":
            return self._control()
        if not whole and not self._outcome.of(mode, *HALVES):
            return None
        calls = self._calls(mode) / self.base_s
        singles = [self._own_steps_s(one) / self.base_s - 1.0 for one in whole]
        paired = self._paired(mode)
        if paired:
            loss = self._loss(paired)
            cpu_loss = self._loss(self._paired(mode, "step_cpu_s"))
            points = [one * self._scenario.dumps / self.base_s for one in paired]
        elif singles:
            loss = Estimate(fmean(singles), run_margin(*self.run_spread, len(singles)))
            cpu_loss, points = None, singles
        else:
            return None
        runs = [one.run.timing["wall_s"] / self.base_s - 1.0 for one in whole]
        return Cost(loss.plus(calls), calls, loss, cpu_loss, [p + calls for p in points], runs)

    def _control(self) -> Cost | None:
        """Nothing is written: what the estimate of a loss says of none."""
        paired = self._paired("compute")
        if not paired:
            return None
        loss = self._loss(paired)
        cpu_loss = self._loss(self._paired("compute", "step_cpu_s"))
        points = [one * self._scenario.dumps / self.base_s for one in paired]
        return Cost(loss, 0.0, loss, cpu_loss, points, [])

    def _loss(self, seconds: list[float]) -> Estimate:
        """From seconds a cycle."""
        return trimmed_mean(seconds).scaled(self._scenario.dumps / self.base_s)

    def _paired(self, mode: str, what: str = "step_s") -> list[float]:
        """Differences of all pairs of which both runs have finished."""
        halves = [{one.turn.number: one for one in self._outcome.of(mode, half)} for half in HALVES]
        found: list[float] = []
        for number in sorted(halves[0].keys() & halves[1].keys()):
            runs = [half[number].run.timing for half in halves]
            both = [cycles_of(timing, self._scenario.dump_every, what) for timing in runs]
            found += differences(*both)
        return found

    def _calls(self, mode: str) -> float:
        """Seconds in calls of one file with all dumps: of whole runs, else made up from halves."""
        runs = self._outcome.of(mode) or self._outcome.of(mode, *HALVES)
        return median(self._calls_of(one.run.timing) for one in runs)

    def _calls_of(self, timing: dict[str, Any]) -> float:
        handed = sum(timing["handed_over"])
        calls_s = math.fsum(timing["calls_s"]) * self._scenario.dumps / max(1, handed)
        return timing["open_s"] + calls_s + timing["close_s"]

    def _own_steps_s(self, one: Finished) -> float:
        return math.fsum(one.run.timing["step_s"])
