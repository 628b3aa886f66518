"""The yardstick of planning: three exact methods agree, and the planner keeps to their optimum."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from caesura import plan
from caesura_lab.planning.instances import Instance

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench" / "plan"))

from caesura_lab.planning import bounds, exact, planners

GRID_S = 2.0**-4

FIGURE_1 = Instance(
    name="S0 Figure 1",
    jobs=((1, 2), (2, 1), (2, 2), (3, 2)),
    compress=((3, 4), (6, 7)),
    write=((4, 5),),
)


def drawn(seed: int, n_jobs: int, n_obstacles: int, grid_s: float) -> Instance:
    """As src/plan/instances.hpp: lengths up to 2 s, some of them zero, some obstacles touching."""
    chance = random.Random(seed)

    def length() -> float:
        if chance.random() < 0.1:
            return 0.0
        length_s = 2.0 * (1.0 - chance.random())
        return -(-length_s // grid_s) * grid_s if grid_s else length_s

    def obstacles() -> tuple:
        found, at_s = [], -1.0 if chance.random() < 0.25 else 0.0
        for _ in range(n_obstacles):
            begin_s = at_s + (0.0 if chance.random() < 0.25 else length())
            at_s = begin_s + length()
            found.append((begin_s, at_s))
        return tuple(found)

    jobs = tuple((length(), length()) for _ in range(n_jobs))
    return Instance(f"seed {seed}", jobs, obstacles(), obstacles())


def checked(instance: Instance, answer: exact.Answer) -> exact.Answer:
    """The answer's plan is one that the library's check accepts."""
    made = plan.Schedule(
        list(answer.compress_begin_s), list(answer.compress_end_s), list(answer.write_begin_s),
        [], answer.end_s,
    )  # fmt: skip
    plan.check(made, instance.jobs, instance.compress, instance.write, instance.resumable)
    return answer


SEEDS = range(60)


@pytest.mark.parametrize("resumable", [False, True])
def test_trying_everything_and_cp_sat_agree_on_a_grid(resumable):
    for seed in SEEDS:
        instance = replace(drawn(seed, 1 + seed % 5, seed % 4, GRID_S), resumable=resumable)
        best = checked(instance, exact.brute_force(instance))
        solved = checked(instance, exact.solve_cp(instance, tick_s=GRID_S))
        assert solved.is_proven, instance
        assert solved.end_s == best.end_s, instance


@pytest.mark.parametrize("resumable", [False, True])
def test_rounding_to_ticks_leaves_a_bound(resumable):
    for seed in SEEDS:
        instance = replace(drawn(seed, 2 + seed % 3, seed % 4, 0.0), resumable=resumable)
        best = exact.brute_force(instance)
        solved = exact.solve_cp(instance, tick_s=2.0**-20)
        roundings = len(instance.compress) + len(instance.write) + 2 * len(instance.jobs)
        assert best.end_s - 2.0**-20 * (2 * roundings) <= solved.bound_s <= best.end_s, instance
        assert solved.end_s >= best.end_s, instance


def test_the_papers_ilp_agrees():
    for seed in SEEDS:
        instance = drawn(seed, 1 + seed % 4, seed % 4, GRID_S)
        solved = exact.solve_ilp(instance)
        assert solved.end_s == pytest.approx(exact.brute_force(instance).end_s, abs=1e-5), instance


@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("grid_s", [0.0, GRID_S])
def test_no_algorithm_beats_the_optimum_and_the_bound_is_one(resumable, grid_s):
    gaps = []
    for seed in SEEDS:
        instance = replace(drawn(seed, 1 + seed % 5, seed % 5, grid_s), resumable=resumable)
        best = exact.brute_force(instance)
        assert instance.lower_bound_s() <= best.end_s, instance
        for algorithm in (*planners.ALGORITHMS, plan.DEFAULT):
            made = instance.schedule(algorithm)  # checked there
            assert made.end_s >= best.end_s, (algorithm, instance)
        gaps.append(made.end_s / best.end_s - 1 if best.end_s else 0.0)
    assert sorted(gaps)[len(gaps) // 2] == 0.0  # the default's; larger ones are in the benchmark


def test_the_example_of_the_paper():
    assert exact.brute_force(FIGURE_1).end_s == 12
    assert exact.solve_cp(FIGURE_1).end_s == 12
    assert exact.solve_ilp(FIGURE_1).end_s == pytest.approx(12, abs=1e-6)
    assert FIGURE_1.schedule("ext_johnson").end_s == 13
    assert FIGURE_1.schedule("ext_johnson_backfill").end_s == 12
    suspended = replace(FIGURE_1, resumable=True)
    assert exact.brute_force(suspended).end_s == exact.solve_cp(suspended).end_s == 11


# The first compression fills the first gap; written first, though, its long write would keep the
# short one from the gap in the write lane that only that one fits.
DIFFERENT = Instance(
    name="different orders",
    jobs=((4, 4), (1, 1)),
    compress=((4, 5),),
    write=((0, 6), (7, 8)),
)


def test_obstacles_can_make_different_orders_better():
    """Without obstacles one order for both lanes is enough (Johnson 1954); with them it is not."""
    assert exact.brute_force(DIFFERENT, same_order=True).end_s == 13
    for answer in (exact.brute_force(DIFFERENT), exact.solve_cp(DIFFERENT)):
        assert (answer.end_s, answer.compress_order, answer.write_order) == (12, (0, 1), (1, 0))
    assert exact.solve_ilp(DIFFERENT).end_s == pytest.approx(12, abs=1e-6)
    assert DIFFERENT.schedule().end_s == 12
    found = 0
    for seed in range(60):
        instance = drawn(seed, 4, 8, 0.25)
        both = exact.brute_force(instance)
        same = exact.brute_force(instance, same_order=True)
        assert both.end_s <= same.end_s
        if both.end_s < same.end_s:
            found += 1
            solved = exact.solve_cp(instance, tick_s=0.25)
            assert solved.end_s == both.end_s
            assert solved.compress_order != solved.write_order
    assert found >= 3


def test_one_order_is_enough_without_obstacles():
    for seed in range(40):
        free = drawn(seed, 4, 0, 0.25)
        both = exact.brute_force(free)
        assert both.end_s == exact.brute_force(free, same_order=True).end_s
        assert both.end_s == free.schedule("ext_johnson").end_s


@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("grid_s", [0.0, GRID_S])
def test_the_bound_that_knows_of_gaps_is_one(resumable, grid_s):
    closer = 0
    for seed in range(150):
        instance = replace(drawn(seed, 1 + seed % 4, seed % 6, grid_s), resumable=resumable)
        bound_s = bounds.bound_s(instance)
        assert instance.lower_bound_s() <= bound_s <= exact.brute_force(instance).end_s, instance
        closer += bound_s > instance.lower_bound_s() + 1e-6
    assert closer > 10
