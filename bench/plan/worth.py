#!/usr/bin/env python3
"""What time for planning buys, and at which load planning pays: sections "budget" and "load".

budget: the search's distance from the best known over what it may cost, on each eighth published
instance. load: what the dump adds to the iteration, by how busy the busier lane is, on instances
generated for that (generate.py); beside it what is left when nothing is planned.
"""

from __future__ import annotations

import json
import statistics
import sys
from dataclasses import replace

import best
import generate
import table
from caesura import plan
from caesura_lab.planning import planners
from sections import Sections, save_picture
from worth_pictures import draw_budget, draw_load

BUDGETS_MS = (0, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
EVERY, SEEDS = 8, 2
LOADS = (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2)
PER_LOAD = 8  # of each stage
COMPARED = ("generation_list", "generation_list_backfill", "ext_johnson_backfill", plan.DEFAULT)


def budgets(points: dict[str, list[tuple[float, float]]]) -> dict:
    """kind -> for each budget the mean and worst gap, and the time it took."""
    known = best.read()
    result: dict = {}
    for kind, resumable in best.KINDS.items():
        chosen = [
            replace(item, resumable=resumable)
            for stage in table.STAGES
            for item in best.families()[stage][::EVERY]
        ]
        rows = []
        for budget_ms in BUDGETS_MS:
            steps = round(budget_ms * plan.SEARCH_STEPS_PER_MS)
            gaps, times = [], []
            for item in chosen:
                best_s = best.best_s(known[item.name][kind])
                for seed in range(SEEDS):
                    made = item.schedule("search", search_steps=steps, seed=seed)
                    gaps.append(max(0.0, made.end_s / best_s - 1.0))
                    times.append(made.plan_s)
            rows.append({
                "budget_ms": budget_ms, "steps": steps, "gap_mean": statistics.fmean(gaps),
                "gap_worst": max(gaps), "taken_ms": 1e3 * statistics.median(times),
            })  # fmt: skip
        result[kind] = {"instances": len(chosen), "seeds": SEEDS, "search": rows}
        result[kind]["others"] = points[kind]
    return result


def others(tables: dict) -> dict:
    """kind -> algorithm -> time and mean gap, from table.py."""
    return {
        kind: {
            title: {"taken_ms": 1e-3 * sums["plan_us"], "gap_mean": sums["gap_mean"]}
            for title, sums in tables[kind]["nyx"].items()
            if title in planners.ALGORITHMS
        }
        for kind in best.KINDS
    }


def loads() -> dict:
    """kind -> algorithm -> for each load what the dump adds to the iteration, mean."""
    fields = json.loads((generate.HERE / "ratios.json").read_text())
    result: dict = {"loads": LOADS, "instances": PER_LOAD * len(table.STAGES)}
    for kind, resumable in best.KINDS.items():
        result[kind] = {name: [] for name in COMPARED}
        for load in LOADS:
            items = [
                replace(generate.instance(stage, number, fields[stage], load), resumable=resumable)
                for stage in table.STAGES
                for number in range(PER_LOAD)
            ]
            for name in COMPARED:
                added = [
                    max(item.schedule(name).end_s, item.iteration_s) / item.iteration_s - 1.0
                    for item in items
                ]
                result[kind][name].append(statistics.fmean(added))
    return result


def show(figures: dict, load: dict) -> None:
    """Both as Markdown."""
    print("\n| budget | time | excluded: mean gap | worst | resumable: mean gap | worst |")
    print("|---|---|---|---|---|---|")
    for a, b in zip(figures["excluded"]["search"], figures["resumable"]["search"], strict=True):
        print(f"| {a['budget_ms']:g} ms | {a['taken_ms']:.2g} ms | "
              + " | ".join(table.percent(row[key]) for row in (a, b)
                           for key in ("gap_mean", "gap_worst")) + " |")  # fmt: skip
    for kind in best.KINDS:
        print(f"\n{kind}: added to the iteration by load")
        print("| load | " + " | ".join(COMPARED) + " |\n|---|" + "---|" * len(COMPARED))
        for index, busy in enumerate(LOADS):
            cells = (table.percent(load[kind][name][index]) for name in COMPARED)
            print(f"| {100 * busy:.0f} % | " + " | ".join(cells) + " |")


def main() -> int:
    """Measure, print, draw, keep."""
    sections = Sections("plan")
    known = sections.read().get("table_1")
    if known is None:
        print("run table.py first", file=sys.stderr)
        return 1
    points = others(known["tables"])
    figures = budgets(points)
    load = loads()
    show(figures, load)
    sections.merge("budget", figures)
    print(f"\nfigures: {sections.merge('load', load)}")
    print(f"picture: {save_picture('plan_budget', draw_budget(figures))}")
    print(f"picture: {save_picture('plan_load', draw_load(load, COMPARED))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
