"""Every planner there is, by its name: those of caesura.plan, and those of the papers that Caesura
does not choose, to compare with.

docs/how/planning.md says what they are, docs/evidence/planning.md how good.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from caesura import plan
from caesura.plan import DEFAULT, DEFAULT_ALGORITHM, Interval, Schedule

from caesura_lab import _core

__all__ = ["ALGORITHMS", "DEFAULT", "DEFAULT_ALGORITHM", "schedule"]

ALGORITHMS: tuple[str, ...] = _core.ALGORITHMS


def schedule(
    jobs: Iterable[Interval],
    compress_obstacles: Iterable[Interval] = (),
    write_obstacles: Iterable[Interval] = (),
    algorithm: str = DEFAULT,
    resumable: bool = False,
    **options: Any,
) -> Schedule:
    """caesura.plan.schedule() among all of ALGORITHMS.

    options: what only the product's planners look at. Raises as that does.
    """
    jobs = list(jobs)
    if algorithm == DEFAULT or algorithm in plan.ALGORITHMS:
        return plan.schedule(
            jobs, compress_obstacles, write_obstacles, algorithm, resumable, **options
        )
    made = _core.schedule(
        jobs,
        compress_obstacles=list(compress_obstacles),
        write_obstacles=list(write_obstacles),
        algorithm=algorithm,
        resumable=resumable,
    )
    ends = [begin_s + job[1] for begin_s, job in zip(made["write_begin_s"], jobs, strict=True)]
    return Schedule(write_end_s=ends, **made)
