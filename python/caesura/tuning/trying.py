"""Fields through a codec and back: how small, how good, how fast."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from caesura.bounds import Bound, absolute, lossless
from caesura.boxes import boxes
from caesura.prediction import BlockCodec
from caesura.tuning.goals import Goal
from caesura.tuning.qualities import About
from caesura.tuning.sources import Dump, Survey

BLOCK_BYTES = 8 << 20  # as a Writer aims at


@dataclass(frozen=True)
class OfDump:
    """What became of one dump."""

    label: str
    file: str
    in_units: float  # the bound; pointwise_relative: of each value
    raw_bytes: int
    stored_bytes: int
    quality: float


@dataclass(frozen=True)
class Point:
    """One codec at one bound."""

    codec: str
    bound: Bound
    quality: float  # of the worst dump
    dumps: tuple[OfDump, ...]
    mb_per_s: float  # compressing, one core
    whole: bool = False  # all values of all dumps were looked at

    @property
    def ratio(self) -> float:
        return sum(one.raw_bytes for one in self.dumps) / sum(
            one.stored_bytes for one in self.dumps
        )


@dataclass
class Subject:
    """One dump that is tried."""

    dump: Dump
    survey: Survey
    about: About
    arrays: list[np.ndarray] | None = None  # in memory; None: read whole each time

    def values(self) -> Iterator[np.ndarray]:
        yield from self.arrays if self.arrays is not None else [self.dump.whole()]

    @property
    def measured_about(self) -> About:
        """What is read anew each time must not be kept for its spectrum."""
        return self.about if self.arrays is not None else replace(self.about, spectra={})

    def limit(self, bound: Bound) -> Bound:
        """In this dump's units, as a Writer passes it to the codec."""
        return absolute(bound.value * self.survey.span) if bound.kind == "relative" else bound


def through(
    values: np.ndarray, codec: str, limit: Bound, block_bytes: int = BLOCK_BYTES
) -> tuple[np.ndarray, int, float]:
    """Decoded values, stored bytes, CPU seconds of compressing: block by block, as a Writer."""
    cut = list(boxes(values.shape, values.itemsize, block_bytes))
    made: dict[tuple[int, ...], BlockCodec] = {}
    for box in cut:  # filters are looked for by one thread
        shape = values[box].shape
        made.setdefault(shape, BlockCodec(codec, values.dtype, shape, limit))
    decoded = np.empty_like(values)

    def one(box: tuple[slice, ...]) -> tuple[int, float]:
        block_codec = made[values[box].shape]
        block = block_codec.encode(values[box])
        decoded[box] = block_codec.decode(block)
        return block.stored_bytes, block.cpu_s

    if len(cut) > 1 and all(each.reentrant for each in made.values()):
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            results = list(pool.map(one, cut))
    else:
        results = [one(box) for box in cut]
    return decoded, sum(size for size, _ in results), sum(seconds for _, seconds in results)


def attempt(
    subjects: Sequence[Subject],
    codec: str,
    bound: Bound,
    goal: Goal,
    watch: Callable[[int], None] = lambda _: None,
    give_up: bool = False,
) -> Point:
    """One codec at one bound. give_up: end with the first dump that misses the goal."""
    dumps, seconds = [], 0.0
    for subject in subjects:
        limit, measure = subject.limit(bound), subject.measured_about.measure()
        raw = stored = 0
        for values in subject.values():
            decoded, size, cpu_s = through(values, codec, limit)
            measure.add(values, decoded)
            raw, stored, seconds = raw + values.nbytes, stored + size, seconds + cpu_s
            watch(values.nbytes)
        dump, found = subject.dump, measure.value()
        if math.isnan(found):
            found = _nothing_to_keep(dump, raw, goal)
        dumps.append(OfDump(dump.label, str(dump.file), limit.value, raw, stored, found))
        if give_up and not goal.met_by(dumps[-1].quality):
            break
    quality = goal.worst(one.quality for one in dumps)
    speed = sum(one.raw_bytes for one in dumps) / max(seconds, 1e-9) / 1e6
    return Point(codec, bound, quality, tuple(dumps), speed)


def _nothing_to_keep(dump: Dump, seen_bytes: int, goal: Goal) -> float:
    """The quality of a sample in which there is nothing that could be lost: the whole will say.
    Raises ValueError where this is the whole."""
    if seen_bytes < dump.raw_bytes:
        return goal.quality.exact
    raise ValueError(
        f"{dump.file}: {dump.path} has no {goal.quality.lacking}, so none of them can be kept; "
        "ask for another quality, as psnr=80"
    )


def without_loss(subjects: Sequence[Subject], codec: str) -> float:
    """The ratio."""
    raw = stored = 0
    for subject in subjects:
        for values in subject.values():
            raw += values.nbytes
            stored += through(values, codec, lossless())[1]
    return raw / stored
