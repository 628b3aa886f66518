"""What output costs, from steps with and without it, and how well that is known.

The question is a few per cent of a time that varies by several. docs/evidence/demo.md says why
the answer is sound; in short:

  a cycle    is one dump's time: the calls that hand it over, and the steps until the next dump
  calls      are measured inside the run: they are lost to the application, and noise of the machine
             hardly touches them
  loss       is what the application's own steps take longer while a dump is handled. Two runs of a
             pair share the dumps out: what is a cycle with output in one is a cycle without in the
             other. Two neighbouring cycles of both runs, four cycles, make one *difference*: with
             less without, in shares of their runs' cycles without. What a step computes, how fast
             each run is and a steady drift cancel in it, so that differences scatter around the
             loss, as likely above as below.
  interval   of the trimmed mean of the differences, by Yuen: one difference in five is left out at
             either end, so that a burst of somebody else's work does not decide

A run by itself (modes that are not paired) is held against the pairs before and after it; how much
that is worth is what it says of the pairs themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

CONFIDENCE = 0.95
_TRIM = 0.2  # of the differences, at either end
# Two-sided, for CONFIDENCE, by degrees of freedom; beyond the last the normal distribution's.
_STUDENT = (
    math.inf, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


@dataclass(frozen=True)
class Estimate:
    """A value, and how far from it the truth may be in 19 of 20 cases; inf: not known."""

    value: float
    margin: float = math.inf

    @property
    def low(self) -> float:
        return self.value - self.margin

    @property
    def high(self) -> float:
        return self.value + self.margin

    @property
    def is_known(self) -> bool:
        return math.isfinite(self.margin)

    def scaled(self, factor: float) -> Estimate:
        return Estimate(self.value * factor, self.margin * abs(factor))

    def plus(self, exact: float) -> Estimate:
        return Estimate(self.value + exact, self.margin)


def student(freedom: int) -> float:
    """How many standard errors the interval reaches to either side."""
    if freedom < 1:
        return math.inf
    return _STUDENT[freedom] if freedom < len(_STUDENT) else 1.96 + 2.5 / freedom


def trimmed_mean(values: Sequence[float]) -> Estimate:
    """Mean without the outermost, and its margin from winsorized values (Yuen 1974)."""
    ordered = sorted(values)
    n = len(ordered)
    if n == 0:
        return Estimate(0.0)
    cut = int(_TRIM * n)
    middle = ordered[cut : n - cut]
    if n < 2:
        return Estimate(fmean(middle))
    winsorized = [middle[0]] * cut + middle + [middle[-1]] * cut
    kept = len(middle)
    error = stdev(winsorized) * math.sqrt((n - 1) / (kept * (kept - 1)))
    return Estimate(fmean(middle), student(kept - 1) * error)


# ------------------------------------------------------------------------------- cycles of a run


@dataclass(frozen=True)
class Cycles:
    """Of one run, by the number of the dump: what the steps until the next dump took, and whether
    that dump was handed over."""

    step_s: list[float]
    handed_over: list[bool]

    @property
    def without_s(self) -> float:
        """Mean of those without output: how fast the machine was."""
        pairs = zip(self.step_s, self.handed_over, strict=True)
        return fmean(seconds for seconds, handed in pairs if not handed)


def cycles_of(timing: dict[str, Any], dump_every: int, what: str = "step_s") -> Cycles:
    """`what`: step_s, or step_cpu_s."""
    steps = timing[what]
    ends = range(dump_every - 1, len(steps) - 1, dump_every)
    return Cycles(
        [math.fsum(steps[end + 1 : end + 1 + dump_every]) for end in ends],
        [bool(timing["handed_over"][end]) for end in ends],
    )


def differences(half: Cycles, other: Cycles) -> list[float]:
    """Of two complementary runs: with less without, from each two neighbouring cycles of both, in
    shares of a cycle without output."""
    found = []
    for first in range(0, len(half.step_s) - 1, 2):
        total = 0.0
        for run in (half, other):
            one, two = run.step_s[first : first + 2]
            if run.handed_over[first] == run.handed_over[first + 1]:
                raise ValueError(f"cycles {first} and {first + 1} are not one with, one without")
            more_s = one - two if run.handed_over[first] else two - one
            total += more_s / run.without_s
        found.append(total / 2)
    return found


# --------------------------------------------------------------------------------- runs in a row


@dataclass(frozen=True)
class Speeds:
    """Seconds of a cycle without output, by when they were measured: places in the row of all
    runs, ascending."""

    places: list[float]
    cycle_s: list[float]

    def at(self, place: float, but: int = -1) -> float:
        """Between the last before and the first after; `but` is not looked at."""
        known = [n for n in range(len(self.places)) if n != but]
        before = [n for n in known if self.places[n] <= place][-1:]
        after = [n for n in known if self.places[n] > place][:1]
        return fmean(self.cycle_s[n] for n in (*before, *after))

    def margin(self, runs: int) -> float:
        """Of the mean of `runs` runs against what at() says, in shares: from what it says of each
        of these, which lie farther from their neighbours than a run in between. Not known where
        it is wrong by as much as the cycle itself."""
        count = len(self.places)
        if count < 2 or runs < 1:
            return math.inf
        wrong = [own / self.at(self.places[n], n) - 1.0 for n, own in enumerate(self.cycle_s)]
        error = math.sqrt(fmean(w * w for w in wrong))
        margin = student(count - 1) * error / math.sqrt(runs)
        return margin if margin < 1.0 else math.inf


# ---------------------------------------------------------------------------------------- factors


@dataclass(frozen=True)
class Factor:
    """How many times smaller ours is. `times` only where both figures stand out of the noise."""

    times: float | None
    at_least: float | None  # None: the two cannot be told apart
    at_most: float | None = None


def factor(theirs: Estimate, ours: Estimate) -> Factor:
    """Both figures at the unfavourable ends of their intervals bound it."""
    if not (theirs.is_known and ours.is_known) or theirs.low <= max(ours.high, 0.0):
        return Factor(None, None)
    if ours.high <= 0.0:  # faster than without any output: the noise is larger than it says
        return Factor(None, None)
    at_least = theirs.low / ours.high
    if ours.low <= 0.0:
        return Factor(None, at_least)
    return Factor(theirs.value / ours.value, at_least, theirs.high / ours.low)
