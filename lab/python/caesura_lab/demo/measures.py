"""From finished runs to what each mode costs: overhead, time in calls, loss, and the noise.

Invariant: everything is seconds of the whole scenario, all dumps in one file, until it is shared by
what the same steps take without output; so a mode's figures add up whichever runs they come from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median, stdev
from typing import Any

from caesura_lab.demo.campaign import Outcome
from caesura_lab.demo.scenario import PAIRED, Scenario
from caesura_lab.demo.state import Finished
from caesura_lab.demo.statistics import (
    Cycles,
    Estimate,
    Speeds,
    cycles_of,
    differences,
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
    """The scenario without output: seconds of a cycle; how many of them all steps take; and how
    fast the machine was when."""

    cycle_s: float
    cycles: float
    speeds: Speeds
    spread: float  # of runs, a standard deviation in shares

    @property
    def total_s(self) -> float:
        return self.cycle_s * self.cycles


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

    def _cycles(self, one: Finished, what: str) -> Cycles:
        cycles = cycles_of(one.run.timing, self._scenario.dump_every, what)
        if one.turn.mode in ("compute", *_WAITING):  # nothing goes on in the background
            cycles = Cycles(cycles.step_s, [False] * len(cycles.step_s))
        return cycles

    @cached_property
    def _bases(self) -> dict[str, Base]:
        """By what is measured of a step."""
        return {what: self._base(what) for what in ("step_s", "step_cpu_s")}

    def _base(self, what: str) -> Base:
        """Each run in shares of its own cycle first, so that a slow one does not count for more."""
        runs = [(one, self._cycles(one, what)) for one in self._base_runs]
        own_s = [cycles.without_s for _, cycles in runs]
        first = self._scenario.dump_every
        before = [math.fsum(one.run.timing[what][:first]) / c.without_s for one, c in runs]
        shape: dict[int, list[float]] = {}
        for _, cycles in runs:
            each = zip(cycles.step_s, cycles.handed_over, strict=True)
            for number, (seconds, handed) in enumerate(each):
                if not handed:
                    shape.setdefault(number, []).append(seconds / cycles.without_s)
        lengths = [fmean(shares) for shares in shape.values()]
        cycles = median(before) + fmean(lengths) * self._scenario.dumps
        spread = stdev(own_s) / fmean(own_s) if len(own_s) > 1 else math.inf
        return Base(median(own_s), cycles, self._speeds(own_s), spread)

    def _speeds(self, own_s: list[float]) -> Speeds:
        """The two runs of a pair are one place in the row."""
        met: dict[tuple[str, int], list[tuple[int, float]]] = {}
        for one, seconds in zip(self._base_runs, own_s, strict=True):
            place = self._outcome.finished.index(one)
            met.setdefault((one.turn.mode, one.turn.number), []).append((place, seconds))
        rows = sorted((fmean(p for p, _ in m), fmean(s for _, s in m)) for m in met.values())
        return Speeds([place for place, _ in rows], [seconds for _, seconds in rows])

    @property
    def base_s(self) -> float:
        """All steps of the scenario without output."""
        return self._bases["step_s"].total_s

    @property
    def run_spread(self) -> tuple[float, int]:
        """How far runs lie apart, as a standard deviation in shares of one; how many they are."""
        return self._bases["step_s"].spread, len(self._base_runs)

    # ---------------------------------------------------------------------------- with output

    def cost(self, mode: str) -> Cost | None:
        """None where too few runs have finished. Of compute, the control, in which nothing is
        written: what the estimate of a loss says of none."""
        writes = mode != "compute"
        whole = self._outcome.of(mode)
        if mode in _WAITING and whole:
            return self._waiting(whole)
        if not self._base_runs:
            return None
        loss, points = self._loss(mode, "step_s")
        if writes and not points:
            return None
        calls = self._calls(mode) if writes else 0.0
        runs = [one.run.timing["wall_s"] / self.base_s - 1.0 for one in whole]
        cpu = self._cpu(mode) if mode in CODED or not writes else None
        return Cost(loss.plus(calls), calls, loss, cpu, [p + calls for p in points], runs)

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
            runs.append(timing["wall_s"] / own_s - 1.0)
        overhead = trimmed_mean(points)
        return Cost(overhead, overhead.value, None, None, points, runs)

    def _cpu(self, mode: str) -> CpuCost:
        """Idle time of emulated kernels is no CPU time, but a step is not shorter for that."""
        own_s = self._bases["step_cpu_s"].total_s
        all_s = own_s + self._scenario.steps * self._scenario.device_s
        loss = self._loss(mode, "step_cpu_s")[0].scaled(own_s / all_s)
        if mode == "compute":
            return CpuCost(0.0, loss, 0.0)
        runs = [one.run.timing for one in self._outcome.of(mode, "all", *HALVES)]
        calls_s = median(
            timing["open_close_cpu_s"] + self._for_all(timing, timing["calls_cpu_s"])
            for timing in runs
        )
        workers_s = median(
            self._for_all(timing, [timing["report"]["compress_interference_s"]]) for timing in runs
        )
        return CpuCost(calls_s / all_s, loss, workers_s / all_s)

    def _loss(self, mode: str, what: str) -> tuple[Estimate, list[float]]:
        """Of all steps of the scenario, in shares; and the single figures behind it."""
        base = self._bases[what]
        if paired := self._paired(mode, what):
            share = self._scenario.dumps / base.cycles
            return trimmed_mean(paired).scaled(share), [one * share for one in paired]
        singles = []
        for one in self._outcome.of(mode):
            own_s = math.fsum(one.run.timing[what])
            place = self._outcome.finished.index(one)
            singles.append(own_s / (base.cycles * base.speeds.at(place)) - 1.0)
        if not singles:
            return Estimate(0.0), []
        return Estimate(fmean(singles), base.speeds.margin(len(singles))), singles

    def _paired(self, mode: str, what: str) -> list[float]:
        """Differences of all pairs of which both runs have finished."""
        halves = [{one.turn.number: one for one in self._outcome.of(mode, half)} for half in HALVES]
        found: list[float] = []
        for number in sorted(halves[0].keys() & halves[1].keys()):
            runs = [half[number].run.timing for half in halves]
            both = [cycles_of(timing, self._scenario.dump_every, what) for timing in runs]
            found += differences(*both)
        return found

    def _for_all(self, timing: dict[str, Any], seconds: Sequence[float]) -> float:
        """What a run with a part of the dumps would have taken for all."""
        return math.fsum(seconds) * self._scenario.dumps / max(1, sum(timing["handed_over"]))

    @property
    def copy_floor(self) -> float:
        """What handing all dumps over costs at least, in shares of the steps of the same runs: a
        copy into touched memory. Of all runs, whatever they wrote."""
        return median(
            one.run.timing["copy_s"] * self._scenario.dumps / math.fsum(one.run.timing["step_s"])
            for one in self._outcome.finished
        )

    def _calls(self, mode: str) -> float:
        """Of one file with all dumps, in shares of the steps of the same run."""
        timings = [one.run.timing for one in self._outcome.of(mode, "all", *HALVES)]
        return median(
            (t["open_s"] + self._for_all(t, t["calls_s"]) + t["close_s"]) / math.fsum(t["step_s"])
            for t in timings
        )
