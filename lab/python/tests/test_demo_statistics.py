"""What the demonstration says of noisy times whose truth is known."""

from __future__ import annotations

import math
import random
import subprocess
from statistics import median

import pytest
from caesura_lab.demo.runner import find_build
from caesura_lab.demo.scenario import FULL, QUICK, Scenario
from caesura_lab.demo.statistics import (
    CONFIDENCE,
    Cycles,
    Estimate,
    Speeds,
    cycles_of,
    differences,
    factor,
    student,
    trimmed_mean,
)
from synthetic_outcome import Machine, Noise

# Machines from quiet to one that others compile on.
MACHINES = {
    "quiet": Noise(step=0.005, run=0.005),
    "varying by 5 %": Noise(step=0.01, run=0.05),
    "drifting": Noise(step=0.01, run=0.02, drift=0.01),
    "with bursts": Noise(step=0.02, run=0.05, bursts=0.08),
    "busy": Noise(step=0.05, run=0.05, drift=0.005, bursts=0.05),
}
TRIALS = 400


@pytest.fixture(scope="module")
def seed() -> int:
    value = random.SystemRandom().randrange(2**32)
    print(f"seed {value}")
    return value


def one_repeat(noise: Noise, loss: float, seed: int, scenario: Scenario = FULL) -> Estimate:
    """What the default demonstration finds of a loss, as a share of a cycle of about 1 s."""
    machine, found = Machine(noise, seed), []
    for _ in range(scenario.pairs):
        pair = [machine.timing(scenario, "caesura", half, 0.02, loss)
                for half in ("half", "other-half")]  # fmt: skip
        found += differences(*(cycles_of(timing, scenario.dump_every) for timing in pair))
    return trimmed_mean(found)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("loss", [0.0, 0.01, 0.03])
def test_the_truth_lies_in_the_interval_as_often_as_is_said(name, loss, seed):
    """Goal: 19 of 20, on every machine and for every loss; the rest of the room is chance."""
    estimates = [one_repeat(MACHINES[name], loss, seed + n) for n in range(TRIALS)]
    held = sum(estimate.low <= loss <= estimate.high for estimate in estimates) / TRIALS
    allowed = 4.0 * math.sqrt(CONFIDENCE * (1.0 - CONFIDENCE) / TRIALS)
    assert held >= CONFIDENCE - allowed - 0.01, (seed, held)


@pytest.mark.parametrize("name", MACHINES)
def test_no_bias_on_any_machine(name, seed):
    """Goal: physics, drift and the speed of runs do not pass for a loss, nor hide one."""
    found = [one_repeat(MACHINES[name], 0.02, seed + n).value for n in range(TRIALS)]
    spread = 1.2533 * _deviation(found) / math.sqrt(TRIALS)  # standard error of a median
    assert abs(median(found) - 0.02) < 5.0 * spread + 1e-4, (seed, median(found))


def test_one_repeat_tells_one_per_cent_from_three_where_runs_vary_by_five(seed):
    """Goal: the noise that made the old headline worthless, 5 % between runs, is paired away."""
    noise = MACHINES["varying by 5 %"]
    told = 0
    for n in range(TRIALS):
        low, high = (
            one_repeat(noise, loss, seed + 2 * n + k) for k, loss in enumerate((0.01, 0.03))
        )
        told += low.value < high.value and low.value < 0.02 < high.value
    assert told / TRIALS > 0.95, (seed, told)


def test_a_burst_of_others_work_does_not_decide():
    """Goal: one difference far off moves the estimate by less than the interval."""
    calm = [0.01, 0.012, 0.008, 0.011, 0.009, 0.013, 0.007, 0.01]
    hit = [*calm[:-1], 0.5]
    before, after = trimmed_mean(calm), trimmed_mean(hit)
    assert abs(after.value - before.value) < after.margin < 0.01


def test_physics_speed_and_steady_drift_cancel_exactly():
    """Goal: without noise a difference is the loss, to rounding, even if one run is five times as
    slow: what steps compute may grow as a square, and every fourth may take more."""
    handed = [n.bit_count() % 2 == 1 for n in range(8)]
    own = [1.0 + 0.1 * n * n + 0.07 * n + (0.3 if n % 4 == 0 else 0.0) for n in range(8)]
    mean = math.fsum(own) / 8

    def run(first: bool, speed: float) -> Cycles:
        given = [h == first for h in handed]
        return Cycles([speed * (own[n] + 0.25 * mean * given[n]) for n in range(8)], given)

    assert differences(run(True, 1.0), run(False, 5.0)) == pytest.approx([0.25] * 4)


def test_a_single_run_is_held_against_its_neighbours_in_time():
    """Goal: a machine that becomes four times as fast meanwhile is no gain of the run at its end;
    and the margin admits what the comparison is worth."""
    speeds = Speeds([1.0, 3.0, 5.0, 7.0], [4.0, 4.1, 1.0, 1.02])
    assert speeds.at(6.0) == pytest.approx(1.01)
    assert speeds.at(9.0) == pytest.approx(1.02)
    assert speeds.at(0.0) == pytest.approx(4.0)
    steady = Speeds([1.0, 3.0, 5.0, 7.0], [1.0, 1.01, 0.99, 1.0])
    assert steady.margin(1) < 0.05
    assert speeds.margin(1) == math.inf
    assert steady.margin(4) == pytest.approx(steady.margin(1) / 2)
    assert Speeds([1.0], [1.0]).margin(1) == math.inf


def test_halves_of_the_mini_app_are_those_of_the_scenario():
    """Goal: the program and the evaluation share one sequence, told by the program itself."""
    assert FULL.handed_over("half") == [1, 2, 4, 7]
    assert FULL.handed_over("other-half") == [0, 3, 5, 6]
    for scenario in (FULL, QUICK, Scenario(steps=25, dump_every=3)):
        halves = scenario.handed_over("half"), scenario.handed_over("other-half")
        assert sorted(halves[0] + halves[1]) == scenario.handed_over("all")
        for first in range(0, scenario.dumps - 1, 2):
            assert len({first, first + 1} & set(halves[0])) == 1
    program = find_build() / "miniapps" / "cosmology" / "cosmology"
    if program.exists():
        text = subprocess.run([program, "--help"], capture_output=True, text=True).stdout
        assert "dumps 1, 2, 4, 7, 8, 11" in text
        assert "dumps 0, 3, 5, 6, 9, 10" in text


def test_cycles_are_the_steps_until_the_next_dump():
    timing = {"step_s": [9.0, 1.0, 2.0, 3.0, 4.0], "handed_over": [False, True, False, True, False]}
    assert cycles_of(timing, 2) == Cycles([5.0, 4.0], [True, True])
    timing["handed_over"] = [True, False, True, False, False]
    assert cycles_of(timing, 1) == Cycles([1.0, 2.0, 3.0, 4.0], [True, False, True, False])


def test_runs_that_are_no_pair_are_refused():
    same = Cycles([1.0, 1.0], [True, True])
    with pytest.raises(ValueError, match="one with, one without"):
        differences(same, same)


def test_interval_agrees_with_students_where_nothing_is_cut():
    """Goal: four values, none trimmed; the quantile is the table's."""
    estimate = trimmed_mean([1.0, 2.0, 3.0, 6.0])
    error = _deviation([1.0, 2.0, 3.0, 6.0]) / 2.0
    assert estimate.value == 3.0
    assert estimate.margin == pytest.approx(3.182 * error)
    assert student(10**6) == pytest.approx(1.96, abs=1e-3)
    assert not trimmed_mean([1.0]).is_known


@pytest.mark.parametrize(
    ("theirs", "ours", "times", "at_least"),
    [
        (Estimate(0.9, 0.05), Estimate(0.03, 0.01), 30.0, 0.85 / 0.04),
        (Estimate(0.9, 0.05), Estimate(-0.04, 0.05), None, 0.85 / 0.01),  # the third demo's noise
        (Estimate(0.9, 0.05), Estimate(0.01, 0.02), None, 0.85 / 0.03),
        (Estimate(0.05, 0.05), Estimate(0.01, 0.02), None, None),
        (Estimate(0.9, 0.05), Estimate(-0.04, 0.01), None, None),  # below none at all: no figure
        (Estimate(0.9), Estimate(0.03, 0.01), None, None),
        (Estimate(0.9, 0.05), Estimate(0.03), None, None),
    ],
)
def test_a_factor_is_made_only_of_figures_that_can_be_told_apart(theirs, ours, times, at_least):
    found = factor(theirs, ours)
    assert found.times == (pytest.approx(times) if times else None)
    assert found.at_least == (pytest.approx(at_least) if at_least else None)
    if found.times is not None:
        assert found.at_least <= found.times <= found.at_most


def test_a_factor_never_claims_more_than_holds(seed):
    """Goal: over many noisy repeats, "at least n times" is wrong in at most one of twenty."""
    truth, theirs = 0.03, Estimate(0.9, 0.02)
    wrong = 0
    for n in range(TRIALS):
        ours = one_repeat(MACHINES["busy"], truth, seed + n)
        found = factor(theirs, ours)
        wrong += found.at_least is not None and found.at_least > theirs.value / truth
    assert wrong / TRIALS <= 0.05, (seed, wrong)


def _deviation(values: list[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
