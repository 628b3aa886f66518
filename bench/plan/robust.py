#!/usr/bin/env python3
"""Plans where reality is not as expected: section "robust" of out/bench/plan.json.

S0's noise (§5.4.1): ends of obstacles 1 % of the iteration, ratios 10 %, compression and write
throughput 5 % each. Each plan runs in the same worlds, by the rules of the lanes (plan.execute):
no task begins that is not expected to be done before the next obstacle, and one that is not done
holds the application up. How long the iteration then is, over the application's own.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
from dataclasses import replace

import best
import table  # puts bench/codec on the path
from caesura import plan
from caesura_lab.planning.instances import Instance
from sections import Sections

EVERY, WORLDS = 8, 40
COMPRESS_SPREAD, OBSTACLE_SPREAD = 0.05, 0.01
WRITE_SPREAD = math.hypot(0.10, 0.05)  # of ratio and throughput
World = tuple[list, list, list]


def moved(obstacles: tuple, spread_s: float, chance: random.Random) -> list[tuple[float, float]]:
    """Each end where it happens to be, in order."""
    found, after_s = [], -math.inf
    for begin_s, end_s in obstacles:
        begin_s = max(after_s, chance.gauss(begin_s, spread_s))
        after_s = max(begin_s, chance.gauss(end_s, spread_s))
        found.append((begin_s, after_s))
    return found


def world(item: Instance, chance: random.Random) -> World:
    """What happens instead of what is expected."""
    jobs = [
        (c * max(0.1, chance.gauss(1.0, COMPRESS_SPREAD)),
         w * max(0.1, chance.gauss(1.0, WRITE_SPREAD)))
        for c, w in item.jobs
    ]  # fmt: skip
    spread_s = OBSTACLE_SPREAD * item.iteration_s
    return jobs, moved(item.compress, spread_s, chance), moved(item.write, spread_s, chance)


def plans(item: Instance) -> dict[str, plan.Schedule]:
    """What is compared."""
    expected = (item.jobs, item.compress, item.write)
    spreads = [(COMPRESS_SPREAD * c, WRITE_SPREAD * w) for c, w in item.jobs]
    names = ("generation_list", "ext_johnson_backfill", plan.DEFAULT)
    made = {name: item.schedule(name) for name in names}
    made["default, robust"] = plan.schedule(
        *expected, resumable=item.resumable, robust=True, spreads=spreads,
        obstacle_spread_s=OBSTACLE_SPREAD * item.iteration_s,
    )  # fmt: skip
    return made


def measure() -> dict:
    """kind -> plan -> what the dump adds to the iteration: planned, and as it happened."""
    families = best.families()
    result: dict = {"worlds": WORLDS}
    for kind, resumable in best.KINDS.items():
        rows: dict[str, list[tuple[float, float, float]]] = {}
        for item in (i for stage in table.STAGES for i in families[stage][::EVERY]):
            item = replace(item, resumable=resumable)
            chance = random.Random(item.name)
            worlds = [world(item, chance) for _ in range(WORLDS)]
            expected = (item.jobs, item.compress, item.write)
            for name, made in plans(item).items():
                lasts = []
                for real in worlds:
                    end_s, delay_s = plan.execute(made, expected, real, resumable)
                    lasts.append(max(item.iteration_s + delay_s, end_s) / item.iteration_s - 1.0)
                lasts.sort()
                planned = max(item.iteration_s, made.end_s) / item.iteration_s - 1.0
                late = lasts[round(0.95 * (len(lasts) - 1))]
                rows.setdefault(name, []).append((planned, statistics.fmean(lasts), late))
        result[kind] = {
            name: dict(zip(("planned", "mean", "p95"), map(statistics.fmean, zip(*of, strict=True)),
                           strict=True))
            for name, of in rows.items()
        }  # fmt: skip
        result["instances"] = len(next(iter(rows.values())))
    return result


def main() -> int:
    """Measure, print, keep."""
    figures = measure()
    print(f"what a dump adds to the iteration, mean of {figures['instances']} instances in "
          f"{WORLDS} worlds each\n")  # fmt: skip
    print("| plan | excluded: planned | as it happens | 95th percentile | resumable: planned | "
          "as it happens | 95th percentile |\n|---|---|---|---|---|---|---|")  # fmt: skip
    for name in figures["excluded"]:
        cells = (
            table.percent(figures[kind][name][key])
            for kind in best.KINDS
            for key in ("planned", "mean", "p95")
        )
        print(f"| {name} | " + " | ".join(cells) + " |")
    print(f"\nfigures: {Sections('plan').merge('robust', figures)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
