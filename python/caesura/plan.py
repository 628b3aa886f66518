"""The planner as a function: when each compression and each write runs around obstacles.

Plain numbers in and out: jobs are (compress_s, write_s), obstacles (begin_s, end_s), all times in
seconds from the begin of the iteration. docs/how/planning.md says what the
algorithms are, docs/evidence/planning.md how good; caesura/plan.hpp is the same in C++.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from caesura import _core

Interval = tuple[float, float]

# The name of the best there is, whichever of ALGORITHMS that may be.
DEFAULT = "default"
ALGORITHMS: tuple[str, ...] = _core.ALGORITHMS
DEFAULT_ALGORITHM: str = _core.DEFAULT_ALGORITHM  # which of them it is
SEARCH_STEPS: int = _core.SEARCH_STEPS  # what `search` may cost unless told otherwise
SEARCH_STEPS_PER_MS: int = _core.SEARCH_STEPS_PER_MS


@dataclass(frozen=True)
class Schedule:
    """Begin and end of every task in s, in the order of the jobs."""

    compress_begin_s: list[float]
    compress_end_s: list[float]  # with what suspends a resumable compression
    write_begin_s: list[float]
    write_end_s: list[float]
    end_s: float  # of the last write; 0 without jobs
    plan_s: float = field(default=0.0, compare=False)  # how long making it took

    def _placed(self) -> dict[str, Any]:
        """What the module asks of a schedule."""
        return {
            "compress_begin_s": self.compress_begin_s,
            "compress_end_s": self.compress_end_s,
            "write_begin_s": self.write_begin_s,
            "end_s": self.end_s,
        }


def schedule(
    jobs: Iterable[Interval],
    compress_obstacles: Iterable[Interval] = (),
    write_obstacles: Iterable[Interval] = (),
    algorithm: str = DEFAULT,
    resumable: bool = False,
    search_steps: int | None = None,
    seed: int = 0,
    *,
    robust: bool = False,
    spreads: Iterable[Interval] = (),
    obstacle_spread_s: float = 0.0,
) -> Schedule:
    """Order (compress_s, write_s) jobs so that the last write ends early.

    algorithm: "default" or one of ALGORITHMS. resumable: an obstacle of the compress lane suspends
    a compression instead of excluding it, as it is for workers at idle priority. search_steps and
    seed: what the algorithm `search` may cost (SEARCH_STEPS; counted, so that a plan can be made
    again), and where its random numbers start. robust: the search shortens the mean end over worlds
    drawn from `spreads`, a pair of standard deviations for each job, and `obstacle_spread_s`, that
    of each begin and end of an obstacle. Other threads run meanwhile.

    Raises ValueError for durations below zero, obstacles that are unsorted or overlap, and unknown
    algorithms, naming index and value.
    """
    jobs = list(jobs)
    made = _core.schedule(
        jobs,
        compress_obstacles=list(compress_obstacles),
        write_obstacles=list(write_obstacles),
        algorithm=algorithm,
        resumable=resumable,
        search_steps=search_steps,
        seed=seed,
        robust=robust,
        spreads=list(spreads),
        obstacle_spread_s=obstacle_spread_s,
    )
    ends = [begin_s + job[1] for begin_s, job in zip(made["write_begin_s"], jobs, strict=True)]
    return Schedule(write_end_s=ends, **made)


def check(
    made: Schedule,
    jobs: Iterable[Interval],
    compress_obstacles: Iterable[Interval] = (),
    write_obstacles: Iterable[Interval] = (),
    resumable: bool = False,
) -> None:
    """Is the schedule legal? Raises ValueError naming the two parties and their times if not."""
    _core.check(
        **made._placed(),
        jobs=list(jobs),
        compress_obstacles=list(compress_obstacles),
        write_obstacles=list(write_obstacles),
        resumable=resumable,
    )


def execute(
    made: Schedule,
    expected: tuple[Iterable[Interval], Iterable[Interval], Iterable[Interval]],
    real: tuple[Iterable[Interval], Iterable[Interval], Iterable[Interval]],
    resumable: bool = False,
) -> tuple[float, float]:
    """What becomes of a plan where reality is not as expected; see execute() in caesura/plan.hpp.

    expected, real: jobs, obstacles of the compress lane, of the write lane. Returns when the last
    write ends, and by how much tasks hold the application up.
    """
    jobs, compress_obstacles, write_obstacles = map(list, expected)
    real_jobs, real_compress_obstacles, real_write_obstacles = map(list, real)
    return _core.execute(
        **made._placed(),
        expected=jobs,
        compress_obstacles=compress_obstacles,
        write_obstacles=write_obstacles,
        real=real_jobs,
        real_compress_obstacles=real_compress_obstacles,
        real_write_obstacles=real_write_obstacles,
        resumable=resumable,
    )


def lower_bound(
    jobs: Iterable[Interval],
    compress_obstacles: Iterable[Interval] = (),
    write_obstacles: Iterable[Interval] = (),
) -> float:
    """No schedule, resumable or not, ends before this many seconds."""
    return _core.lower_bound(list(jobs), list(compress_obstacles), list(write_obstacles))
