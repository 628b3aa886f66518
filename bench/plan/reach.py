#!/usr/bin/env python3
"""How far exact methods reach: section "reach" of out/bench/plan.json. Some minutes; by hand.

The first n blocks of published instances, their obstacles kept: how often S0's ILP (HiGHS) and the
CP-SAT model prove an optimum within the limit, and how far the search's default is from it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import best
import table
from caesura_lab.planning import bounds, exact
from caesura_lab.planning.instances import Instance
from sections import Sections

SIZES = (4, 6, 8, 10, 12, 16, 24, 32)
EVERY = 17  # four instances of each stage


def attempt(
    solve: Callable[[Instance, float], exact.Answer], instance: Instance, limit_s: float
) -> tuple[exact.Answer | None, float]:
    """The answer, if there is one, and how long it took."""
    begin_s = time.monotonic()
    try:
        answer = solve(instance, limit_s)
    except RuntimeError:  # no plan at all within the limit
        answer = None
    return answer, time.monotonic() - begin_s


def by_cp(instance: Instance, limit_s: float) -> exact.Answer:
    """CP-SAT with all we know."""
    return exact.solve_cp(instance, limit_s, bound_s=bounds.bound_s(instance))


def measure(limit_s: float) -> dict:
    """method -> for each size how many were proven, median seconds, the default's gap to proven."""
    methods = {
        "ILP, excluded": (exact.solve_ilp, False),
        "CP-SAT, excluded": (by_cp, False),
        "CP-SAT, resumable": (by_cp, True),
    }
    families = best.families()
    result: dict = {"limit_s": limit_s}
    for title, (solve, resumable) in methods.items():
        result[title] = []
        for size in SIZES:
            items = [
                replace(item, jobs=item.jobs[:size], resumable=resumable)
                for stage in table.STAGES
                for item in families[stage][::EVERY]
            ]
            proven, times, gaps = 0, [], []
            for item in items:
                answer, taken_s = attempt(solve, item, limit_s)
                times.append(taken_s)
                # The ILP's own tolerance is wider than CP-SAT's.
                if answer is not None and answer.end_s <= answer.bound_s * (1 + 1e-6):
                    proven += 1
                    gaps.append(item.schedule().end_s / answer.end_s - 1.0)
            row = {
                "blocks": size, "instances": len(items), "proven": proven,
                "median_s": statistics.median(times),
                "default_gap_mean": statistics.fmean(gaps) if gaps else None,
                "default_gap_worst": max(gaps) if gaps else None,
            }  # fmt: skip
            result[title].append(row)
            print(f"{title}, {size} blocks: {proven} of {len(items)} proven, median "
                  f"{row['median_s']:.3g} s; default above them {row['default_gap_mean']}, worst "
                  f"{row['default_gap_worst']}", flush=True)  # fmt: skip
            if proven == 0:
                break  # larger ones are no easier
    return result


def main() -> int:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit-s", type=float, default=5.0, help="for each problem")
    options = parser.parse_args()
    figures = measure(options.limit_s)
    print(f"figures: {Sections('plan').merge('reach', figures)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
