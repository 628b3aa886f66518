"""The published planning instances: the generator makes them, and bests are what they claim."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from caesura import plan

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench" / "plan"))

import best
import generate
from caesura_lab.planning import bounds, exact

FAMILIES = best.families()
KNOWN = best.read()
PROBLEMS = [
    (replace(item, resumable=resumable), KNOWN[item.name][kind])
    for instances in FAMILIES.values()
    for item in instances
    for kind, resumable in best.KINDS.items()
]


def test_there_are_enough_and_each_is_named_once():
    for stage in generate.STAGES:
        assert len(FAMILIES[stage]) == 67
        assert {len(item.jobs) for item in FAMILIES[stage]} == {32}
    names = [item.name for instances in FAMILIES.values() for item in instances]
    assert len(set(names)) == len(names)
    assert set(KNOWN) == set(names)


def test_the_generator_makes_them_again():
    for stage, made in generate.generate().items():
        for ours, published in zip(made, FAMILIES[stage], strict=True):
            assert ours.name == published.name
            # Logarithms and exponentials may differ by a place from machine to machine.
            for a, b in zip(ours.jobs, published.jobs, strict=True):
                assert a == pytest.approx(b, abs=2 * generate.TICK_S)


def test_all_times_are_whole_ticks():
    for instances in FAMILIES.values():
        for item in instances:
            for pair in (*item.jobs, *item.compress, *item.write, (item.iteration_s, 0.0)):
                for seconds in pair:
                    assert (seconds / generate.TICK_S).is_integer()


def test_the_best_plans_are_plans_and_end_when_they_claim():
    for item, entry in PROBLEMS:
        found = exact.answer_of(item, tuple(entry["compress"]), tuple(entry["write"]), 0.0)
        assert found.end_s == best.best_s(entry), item.name
        made = plan.Schedule(
            list(found.compress_begin_s), list(found.compress_end_s), list(found.write_begin_s),
            [], found.end_s,
        )  # fmt: skip
        plan.check(made, item.jobs, item.compress, item.write, item.resumable)


def test_nothing_beats_a_proven_optimum_and_bounds_lie_below():
    for item, entry in PROBLEMS[::7]:
        least_s = best.bound_s(entry)
        assert item.lower_bound_s() <= least_s <= best.best_s(entry)
        assert bounds.bound_s(item) <= best.best_s(entry)
        for algorithm in ("ext_johnson_backfill", "one_list_greedy", plan.DEFAULT):
            steps = plan.SEARCH_STEPS_PER_MS
            assert item.schedule(algorithm, search_steps=steps).end_s >= least_s
