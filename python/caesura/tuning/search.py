"""For each codec the bound that keeps a field good enough at the best ratio, and the best codec.

 1. Every codec is tried on a sample, from loose bounds to tight ones, half a decade each, until the
    goal is met twice in a row; then the bound is bisected on a logarithmic scale. Of all bounds
    that met the goal the one with the best ratio is taken: nearly always the loosest, but where a
    codec changes its ways a tighter one may take less.
 2. The codec with the best ratio is taken.
 3. Its bound, rounded down to three figures, is held against all values of all dumps; it is moved
    until it meets the goal there. The quality and the ratio of the answer are measured on all
    values. The ratio without loss is measured on all values too, because a sample may show the
    calm part of a field alone. The answer's ratio exceeds it.

Assumed in 1 and 3: quality falls as the bound is loosened. Noise may hide a bound that is looser
still; that the one given meets the goal does not rest on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from caesura.bounds import Bound
from caesura.tuning import sources
from caesura.tuning.goals import Goal
from caesura.tuning.qualities import About
from caesura.tuning.sources import Dump
from caesura.tuning.trying import BLOCK_BYTES, Point, Subject, attempt, without_loss

KINDS = ("relative", "absolute", "pointwise_relative")
CODECS = ("caesura", "caesura:fast", "caesura:strong", "caesura:planes")
WITHOUT_LOSS = ("none", "zstd", "blosc2")
SAMPLE_BYTES = 32 << 20

_STEP = math.sqrt(10.0)  # of the bounds that the curve is drawn from
_CLOSE = 1.02  # of a bisected bound on the sample
_CLOSE_ON_ALL = 1.05
_ALIKE = 1.02  # ratios; the codec that was named first is taken
_SAMPLED_DUMPS = 3
_LOOSEST = 0.5  # of the range
_TIGHTEST = {2: 1e-5, 4: 1e-9, 8: 1e-17}  # by bytes of a value: below its precision
_TRIALS_ON_ALL = 16
_LEVELS, _STRETCHED = 256.0, 16.0  # docs/reference/missing_values.md

Watch = Callable[[str, int, int | None], None]  # what is done, bytes done, all bytes


@dataclass
class Answer:
    """What the search found."""

    goal: Goal
    kind: str
    dumps: list[Dump]
    surveys: list[sources.Survey]
    sampled_bytes: int
    constant: list[Dump] = field(default_factory=list)  # left out
    curves: dict[str, list[Point]] = field(default_factory=dict)  # by codec, loosest bound first
    found: dict[str, Point | None] = field(default_factory=dict)  # on the sample
    chosen: Point | None = None  # on all values; None: no bound does that is smaller than lossless
    lossless_on_sample: float = 1.0  # ratio of the first codec
    lossless_ratio: float = 1.0  # on all values, where a codec met the goal on the sample
    trials: int = 0
    stretched: str = ""  # said where few values stretch a range, so that most keep few bits

    @property
    def raw_bytes(self) -> int:
        return sum(dump.raw_bytes for dump in self.dumps)

    @property
    def complete(self) -> bool:
        """Was the sample all there is?"""
        return self.sampled_bytes == self.raw_bytes


@dataclass(frozen=True)
class Asked:
    """What the search is to do."""

    goal: Goal
    kind: str = "relative"
    codecs: Sequence[str] = CODECS
    waves: tuple[int, int] | None = None
    sample_bytes: int = SAMPLE_BYTES


def tune(dumps: Sequence[Dump], asked: Asked, watch: Watch = lambda *_: None) -> Answer:
    """Raises ValueError (nothing to be chosen, a codec), OSError (a file, memory)."""
    try:
        return _Search(list(dumps), asked, watch).run()
    except MemoryError:
        largest = max(dump.raw_bytes for dump in dumps)
        raise OSError(
            f"memory is out: the largest dump has {largest} bytes, of which two copies are held, "
            "for a spectrum about ten; take a machine with more, or a part of the field"
        ) from None


class _Search:
    def __init__(self, dumps: list[Dump], asked: Asked, watch: Watch) -> None:
        self._asked, self._goal, self._watch = asked, asked.goal, watch
        quality = asked.goal.quality
        total, done = sum(dump.raw_bytes for dump in dumps), 0
        surveys = []
        for dump in dumps:

            def tell(count: int) -> None:
                nonlocal done
                done += count
                watch("looking through the field", done, total)

            surveys.append(sources.survey(dump, quality.needs_finite, quality.title, tell))
        dumps = [
            replace(dump, missing=(*dump.missing, *seen.suspects))
            for dump, seen in zip(dumps, surveys, strict=True)
        ]
        dumps, surveys, constant = sources.that_vary(dumps, surveys)
        self._subjects = [
            Subject(dump, survey, About(quality.name, survey.span, max(dump.axes), asked.waves))
            for dump, survey in zip(dumps, surveys, strict=True)
        ]
        self._sample = self._take_sample()
        sampled = sum(a.nbytes for subject in self._sample for a in subject.arrays or [])
        self._answer = Answer(asked.goal, asked.kind, dumps, surveys, sampled, constant)
        if self._answer.complete:
            self._subjects = self._sample
        self._done = 0
        longest = min(subject.about.longest for subject in self._subjects)
        if asked.waves and asked.waves[1] > longest // 2:
            raise ValueError(
                f"wave number {asked.waves[1]} is not in the field: its longest axis has {longest} "
                f"values, which have wave numbers up to {longest // 2}"
            )
        self._span = max(survey.span for survey in surveys)
        self._tightest = min(_TIGHTEST[dump.dtype.itemsize] for dump in dumps)

    def _take_sample(self) -> list[Subject]:
        """The first, the middle and the last dump, or all where they fit."""
        subjects, budget = self._subjects, self._asked.sample_bytes
        if sum(one.dump.raw_bytes for one in subjects) <= budget:
            return [replace(one, arrays=[one.dump.whole()]) for one in subjects]
        count, last = min(len(subjects), _SAMPLED_DUMPS), len(subjects) - 1
        numbers = {round(i * last / max(1, count - 1)) for i in range(count)}
        share = max(budget // count, BLOCK_BYTES)
        return [
            replace(subjects[i], arrays=subjects[i].dump.pieces(share, BLOCK_BYTES))
            for i in sorted(numbers)
        ]

    def run(self) -> Answer:
        answer, codec = self._answer, self._asked.codecs[0]
        self._watch(f"{codec} without loss", 0, None)
        answer.lossless_on_sample = without_loss(self._sample, codec)
        answer.lossless_ratio = answer.lossless_on_sample
        for codec in self._asked.codecs:
            answer.curves[codec], bracket = self._curve(codec)
            answer.found[codec] = self._bisect(codec, *bracket) if bracket else None
        ranked = self._ranked()
        if ranked and not answer.complete:
            self._watch("all values without loss", 0, None)
            answer.lossless_ratio = without_loss(self._subjects, self._asked.codecs[0])
        settled = next(filter(None, map(self._settle, ranked)), None)
        if settled is not None and settled.ratio > answer.lossless_ratio:
            answer.chosen = settled
            answer.stretched = next(
                filter(None, (_stretched(one, settled.bound) for one in self._sample)), ""
            )
        return answer

    def _bound(self, share: float) -> Bound:
        scale = self._span if self._asked.kind == "absolute" else 1.0
        return Bound(self._asked.kind, share * scale)

    def _try(self, codec: str, bound: Bound) -> Point:
        self._answer.trials += 1

        def tell(count: int) -> None:
            self._done += count
            self._watch(f"{codec} at {bound.kind} {bound.value:.3g}", self._done, None)

        return attempt(self._sample, codec, bound, self._goal, tell)

    def _curve(self, codec: str) -> tuple[list[Point], tuple[Point | None, Point] | None]:
        """The points, and the two between which the goal comes to be met; None: it never is."""
        points: list[Point] = []
        share, met = _LOOSEST, 0
        while share >= self._tightest and met < 2:
            points.append(self._try(codec, self._bound(share)))
            met = met + 1 if self._goal.met_by(points[-1].quality) else 0
            share /= _STEP
        if met == 0:
            return points, None
        good = points[len(points) - met]
        before = points[len(points) - met - 1] if len(points) > met else None
        return points, (before, good)

    def _bisect(self, codec: str, bad: Point | None, good: Point) -> Point:
        """The best ratio of what meets the goal. bad: None if the loosest bound meets it."""
        met = [one for one in self._answer.curves[codec] if self._goal.met_by(one.quality)]
        while bad is not None and bad.bound.value / good.bound.value > _CLOSE:
            middle = math.sqrt(bad.bound.value * good.bound.value)
            point = self._try(codec, Bound(good.bound.kind, middle))
            if self._goal.met_by(point.quality):
                good = point
                met.append(point)
            else:
                bad = point
        return max(met, key=lambda one: one.ratio)

    def _ranked(self) -> list[Point]:
        """Of the sample, the best ratio first; among those alike the one named first."""
        left = [one for one in self._answer.found.values() if one is not None]
        ranked = []
        while left:
            best = max(point.ratio for point in left)
            chosen = next(point for point in left if point.ratio * _ALIKE >= best)
            left.remove(chosen)
            ranked.append(chosen)
        return ranked

    def _settle(self, start: Point) -> Point | None:
        """A bound that meets the goal on all values of all dumps, and the best ratio of those."""
        complete = self._answer.complete
        value, step = _rounded(start.bound.value), 1.02 if complete else 1.25
        loosest = _rounded(self._bound(_LOOSEST).value)
        tightest = self._bound(self._tightest).value
        met: list[Point] = []
        good, bad = 0.0, math.inf
        for _ in range(_TRIALS_ON_ALL):
            point = self._on_all(start.codec, Bound(start.bound.kind, value))
            if self._goal.met_by(point.quality):
                good = value
                met.append(point)
                higher = math.sqrt(good * bad) if math.isfinite(bad) else good * step
                value = min(_rounded(higher), loosest)
            else:
                bad = value
                value = _rounded(math.sqrt(good * bad) if good else bad / step)
                step = min(step * step, 10.0)
            # A sample of everything has been bisected already.
            if good and (complete or value <= good or bad / good <= _CLOSE_ON_ALL):
                break
            if value < tightest:
                break
        return max(met, key=lambda one: one.ratio, default=None)

    def _on_all(self, codec: str, bound: Bound) -> Point:
        self._answer.trials += 1
        total, done = self._answer.raw_bytes, 0

        def tell(count: int) -> None:
            nonlocal done
            done += count
            self._watch(f"all values, {bound.kind} {bound.value:.3g}", done, total)

        point = attempt(self._subjects, codec, bound, self._goal, tell, give_up=True)
        # What misses the goal will again: it is asked first.
        missed = len(point.dumps) - 1
        if not self._goal.met_by(point.quality) and missed > 0:
            self._subjects.insert(0, self._subjects.pop(missed))
        return replace(point, whole=True)


def _stretched(subject: Subject, bound: Bound) -> str:
    """As the Writer says it; empty: the bound leaves nine tenths of the values 8 bits, or it is the
    bound that is loose and not the range that is wide."""
    if bound.kind != "relative":
        return ""
    seen, limit = subject.survey, bound.value * subject.survey.span
    values = np.concatenate([one[np.isfinite(one)].ravel() for one in subject.values()])
    low, high = np.quantile(values.astype(np.float64), (0.05, 0.95))
    if high - low >= _LEVELS * limit or (high - low) * _STRETCHED >= seen.span:
        return ""
    far = seen.largest if seen.largest - high > low - seen.smallest else seen.smallest
    return (
        f"{subject.dump.path}: the value {far:g} stretches the range. Nine tenths of the values "
        f"lie between {low:g} and {high:g}, and a bound of {limit:.3g} leaves them fewer than 8 "
        f"bits. If it marks missing values, say --missing {far:g}; else ask for --kind absolute."
    )


def _rounded(value: float) -> float:
    """Down to three figures: what is pasted is what was measured."""
    exponent = math.floor(math.log10(value)) - 2
    text = f"{math.floor(value / 10.0**exponent + 1e-9)}e{exponent}"
    return float(text)
