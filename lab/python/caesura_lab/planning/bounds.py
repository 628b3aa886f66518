"""A lower bound that knows how badly tasks fill gaps: slower than the library's, and closer.

The library's bound (src/plan/lower_bound.cpp) lets tasks be cut at obstacles. Where they cannot be,
a gap holds whole tasks only: at most the largest sum of some of their durations that fits. With
gaps of two or three tasks' length that is where most of the time goes.

Counted in whole ticks as in exact.py: durations rounded down, gaps up.
"""

from __future__ import annotations

import functools
import math

from caesura_lab.planning.exact import TICK_S
from caesura_lab.planning.instances import Instance


class Lane:
    """The idle intervals of a lane, and how much whole tasks can use of each."""

    def __init__(self, obstacles: tuple, durations: list[int], tick_s: float, cut: bool) -> None:
        """`cut`: an obstacle suspends a task, so that all of a gap is of use."""
        self.cut = cut
        self.durations = durations
        self.gaps: list[tuple[int, int]] = []
        at = 0
        for begin_s, end_s in obstacles:
            begin, end = math.ceil(begin_s / tick_s), math.floor(end_s / tick_s)
            if begin >= end or end <= 0:
                continue
            if begin > at:
                self.gaps.append((at, begin))
            at = max(at, end)
        self.last = at  # idle from here on
        self.filled = functools.lru_cache(maxsize=None)(self._filled)

    def _filled(self, length: int) -> int:
        """The largest sum of some durations that is at most `length`."""
        if self.cut:
            return length
        sums, mask = 1, (1 << (length + 1)) - 1  # bit s: some tasks last s together
        for duration in self.durations:
            sums |= (sums << duration) & mask
        return sums.bit_length() - 1

    def done(self, begin: int, work: int) -> int:
        """No schedule has done so much work since `begin` before this."""
        if work == 0:
            return begin
        for low, high in self.gaps:
            low = max(low, begin)
            if low >= high:
                continue
            used = self.filled(high - low)
            if work <= used:  # what is done here may come first and without a break
                return low + work
            work -= used
        return max(begin, self.last) + work


def bound_s(instance: Instance, tick_s: float = TICK_S) -> float:
    """No schedule ends before: the library's bound, but for the gaps, and for some of the jobs too.

    What some of the jobs need, all of them need. The longest ones, however many, say most: they fit
    few gaps, which short ones would be taken to fill up again and again.
    """
    jobs = [(math.floor(c / tick_s), math.floor(w / tick_s)) for c, w in instance.jobs]
    best = 0
    for lane in (0, 1):
        longest = sorted(jobs, key=lambda job: job[lane], reverse=True)
        for count in range(1, len(jobs) + 1):
            if count < len(jobs) and longest[count][lane] == longest[count - 1][lane]:
                continue  # one more of the same length says more
            best = max(best, _bound(longest[:count], instance, tick_s))
    return max(best * tick_s, instance.lower_bound_s())


def _bound(jobs: list[tuple[int, int]], instance: Instance, tick_s: float) -> int:
    """When the i-th compression of these ends, n - i + 1 of their writes are to come."""
    compress, write = sorted(c for c, _ in jobs), sorted(w for _, w in jobs)
    compress_lane = Lane(instance.compress, compress, tick_s, instance.resumable)
    write_lane = Lane(instance.write, write, tick_s, False)
    best, compressed, to_come = 0, 0, sum(write)
    for i, duration in enumerate(compress):
        compressed += duration
        ready = compress_lane.done(0, compressed)
        best = max(best, write_lane.done(ready, to_come))
        to_come -= write[len(write) - 1 - i]
    return best
