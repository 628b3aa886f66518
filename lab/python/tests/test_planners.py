"""Every planner by its name gives legal plans of the paper's own example."""

from __future__ import annotations

import pytest
from caesura import plan
from caesura_lab.planning import planners

# S0 Figure 1: main obstacles [3,4], [6,7]; background obstacle [4,5].
JOBS = [(1, 2), (2, 1), (2, 2), (3, 2)]
COMPRESS = [(3, 4), (6, 7)]
WRITE = [(4, 5)]


def test_those_of_the_product_are_among_them():
    assert set(plan.ALGORITHMS) < set(planners.ALGORITHMS)
    assert len(planners.ALGORITHMS) == 9


@pytest.mark.parametrize("algorithm", [*planners.ALGORITHMS, planners.DEFAULT])
@pytest.mark.parametrize("resumable", [False, True])
def test_every_plan_is_legal_and_none_beats_the_bound(algorithm, resumable):
    result = planners.schedule(JOBS, COMPRESS, WRITE, algorithm, resumable, search_steps=10_000)
    plan.check(result, JOBS, COMPRESS, WRITE, resumable)
    assert result.end_s >= plan.lower_bound(JOBS, COMPRESS, WRITE)
    assert result.write_end_s == [
        begin_s + job[1] for begin_s, job in zip(result.write_begin_s, JOBS, strict=True)
    ]
    assert result.plan_s > 0


def test_backfilling_moves_job_two_forward_without_delaying_another():
    plain = planners.schedule(JOBS, COMPRESS, WRITE, "ext_johnson")
    filled = planners.schedule(JOBS, COMPRESS, WRITE, "ext_johnson_backfill")
    assert filled.compress_begin_s[1] < plain.compress_begin_s[1]
    assert filled.compress_begin_s[3] == plain.compress_begin_s[3]
    assert filled.end_s <= plain.end_s


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="-1"):
        planners.schedule([(1, 1), (-1, 1)], algorithm="two_lists_greedy")
    with pytest.raises(ValueError, match=r"use one of .*two_lists_greedy"):
        planners.schedule(JOBS, algorithm="guess")
    with pytest.raises(ValueError, match="'two_lists_greedy'"):
        plan.schedule(JOBS, algorithm="two_lists_greedy")
