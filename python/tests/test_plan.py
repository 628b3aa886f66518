"""The planner through Python gives the paper's own example."""

from __future__ import annotations

import pytest
from caesura import plan

# S0 Figure 1: main obstacles [3,4], [6,7]; background obstacle [4,5].
JOBS = [(1, 2), (2, 1), (2, 2), (3, 2)]
COMPRESS = [(3, 4), (6, 7)]
WRITE = [(4, 5)]


def overlaps(begin_s, length_s, intervals):
    return any(begin_s < high and low < begin_s + length_s for low, high in intervals)


@pytest.mark.parametrize(
    "algorithm",
    [
        "ext_johnson",
        "ext_johnson_backfill",
        "generation_list",
        "generation_list_backfill",
        "insertion",
        "insertion_backfill",
    ],
)
def test_no_task_meets_an_obstacle_and_writes_follow_compression(algorithm):
    result = plan.schedule(JOBS, COMPRESS, WRITE, algorithm)
    for (compress_s, write_s), at_s, write_at_s in zip(
        JOBS, result.compress_begin_s, result.write_begin_s, strict=True
    ):
        assert not overlaps(at_s, compress_s, COMPRESS)
        assert not overlaps(write_at_s, write_s, WRITE)
        assert write_at_s >= at_s + compress_s
    ends = [b + job[1] for b, job in zip(result.write_begin_s, JOBS, strict=True)]
    assert result.end_s == max(ends)


def test_backfilling_moves_job_two_forward_without_delaying_another():
    plain = plan.schedule(JOBS, COMPRESS, WRITE, "ext_johnson")
    filled = plan.schedule(JOBS, COMPRESS, WRITE, "ext_johnson_backfill")
    assert filled.compress_begin_s[1] < plain.compress_begin_s[1]
    assert filled.compress_begin_s[3] == plain.compress_begin_s[3]
    assert filled.end_s <= plain.end_s


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="-1"):
        plan.schedule([(1, 1), (-1, 1)])
    with pytest.raises(ValueError, match="use one of"):
        plan.schedule(JOBS, algorithm="guess")
    assert plan.schedule([]).end_s == 0
