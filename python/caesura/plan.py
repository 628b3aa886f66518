"""The planner as a function: when each compression and each write runs around obstacles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from caesura import _core

Interval = tuple[float, float]


@dataclass(frozen=True)
class Schedule:
    """Begins of every task in s from the begin of the iteration, and the end of the last write."""

    compress_begin_s: list[float]
    write_begin_s: list[float]
    end_s: float


def schedule(
    jobs: Iterable[tuple[float, float]],
    compress_obstacles: Iterable[Interval] = (),
    write_obstacles: Iterable[Interval] = (),
    algorithm: str = "default",
) -> Schedule:
    """Order (compress_s, write_s) jobs so that the last write ends early; see caesura/plan.hpp.

    Raises ValueError for durations below zero and obstacles that are unsorted or overlap.
    """
    return Schedule(
        **_core.schedule(list(jobs), list(compress_obstacles), list(write_obstacles), algorithm)
    )
