"""The planner through Python gives the paper's own example."""

from __future__ import annotations

import dataclasses
import threading

import pytest
from caesura import plan

# S0 Figure 1: main obstacles [3,4], [6,7]; background obstacle [4,5].
JOBS = [(1, 2), (2, 1), (2, 2), (3, 2)]
COMPRESS = [(3, 4), (6, 7)]
WRITE = [(4, 5)]


def overlaps(begin_s, length_s, intervals):
    return any(begin_s < high and low < begin_s + length_s for low, high in intervals)


@pytest.mark.parametrize("algorithm", [*plan.ALGORITHMS, plan.DEFAULT])
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


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="-1"):
        plan.schedule([(1, 1), (-1, 1)])
    with pytest.raises(ValueError, match="use one of"):
        plan.schedule(JOBS, algorithm="guess")
    assert plan.schedule([]).end_s == 0


@pytest.mark.parametrize("algorithm", [*plan.ALGORITHMS, plan.DEFAULT])
@pytest.mark.parametrize("resumable", [False, True])
def test_every_plan_is_legal_and_none_beats_the_bound(algorithm, resumable):
    result = plan.schedule(JOBS, COMPRESS, WRITE, algorithm, resumable)
    plan.check(result, JOBS, COMPRESS, WRITE, resumable)
    assert result.end_s >= plan.lower_bound(JOBS, COMPRESS, WRITE)
    assert result.write_end_s == [
        begin_s + job[1] for begin_s, job in zip(result.write_begin_s, JOBS, strict=True)
    ]
    assert result.plan_s > 0


def test_a_resumable_compression_goes_on_after_what_suspends_it():
    made = plan.schedule([(4, 1)], COMPRESS, WRITE, resumable=True)
    assert (made.compress_begin_s, made.compress_end_s) == ([0], [5])
    excluded = plan.schedule([(4, 1)], COMPRESS, WRITE)
    assert (excluded.compress_begin_s, excluded.compress_end_s) == ([7], [11])


def test_the_check_finds_what_is_not_legal():
    made = plan.schedule(JOBS, COMPRESS, WRITE)
    with pytest.raises(ValueError, match=r"overlaps|before its compression"):
        begins = [0.0, *made.write_begin_s[1:]]
        plan.check(dataclasses.replace(made, write_begin_s=begins), JOBS, COMPRESS, WRITE)
    with pytest.raises(ValueError, match="ends"):
        plan.check(dataclasses.replace(made, end_s=made.end_s + 1), JOBS, COMPRESS, WRITE)
    with pytest.raises(ValueError, match="obstacle"):
        plan.check(plan.schedule(JOBS, (), WRITE), JOBS, [(0, 10)], WRITE)


def test_the_same_seed_and_steps_give_the_same_plan():
    jobs = [(1 + j % 7, 1 + (5 * j) % 11) for j in range(24)]
    obstacles = [(t, t + 1.5) for t in range(3, 90, 6)]
    made = [plan.schedule(jobs, obstacles, (), seed=3, search_steps=50_000) for _ in range(2)]
    assert made[0] == made[1]
    more = plan.schedule(jobs, obstacles, (), seed=3, search_steps=500_000)
    none = plan.schedule(jobs, obstacles, (), seed=3, search_steps=0)
    assert more.end_s <= made[0].end_s <= none.end_s


def test_other_threads_run_while_a_plan_is_searched():
    jobs = [(1 + (j * j) % 7, 1 + (5 * j) % 11) for j in range(64)]
    obstacles = [(t, t + 1.5) for t in range(3, 300, 6)]
    done = threading.Event()

    def search():
        plan.schedule(jobs, obstacles, obstacles, search_steps=20 * plan.SEARCH_STEPS)
        done.set()

    searching = threading.Thread(target=search)
    searching.start()
    turns = 0
    while not done.is_set():
        turns += 1
    searching.join()
    assert turns > 1000  # it would be a handful if the search held the interpreter


def test_a_reality_as_expected_gives_the_plan():
    for resumable in (False, True):
        made = plan.schedule(JOBS, COMPRESS, WRITE, resumable=resumable)
        world = (JOBS, COMPRESS, WRITE)
        assert plan.execute(made, world, world, resumable) == (made.end_s, 0.0)


def test_a_write_that_takes_longer_holds_the_application_up():
    made = plan.schedule([(1, 3)], [], WRITE)
    expected, real = ([(1, 3)], [], WRITE), ([(1, 3.5)], [], WRITE)
    assert plan.execute(made, expected, real) == (4.5, 0.5)


def test_a_robust_plan_needs_spreads_and_is_a_plan():
    spreads = [(0.1 * c, 0.1 * w) for c, w in JOBS]
    made = plan.schedule(JOBS, COMPRESS, WRITE, robust=True, spreads=spreads, obstacle_spread_s=0.1)
    plan.check(made, JOBS, COMPRESS, WRITE)
    with pytest.raises(ValueError, match="a pair for each job"):
        plan.schedule(JOBS, robust=True, spreads=spreads[:2])
