"""Pictures of table.py: how far from the best known algorithms end, plans of one instance."""

from __future__ import annotations

import statistics
from dataclasses import replace

import best
from caesura import plan
from caesura_lab.planning import exact
from caesura_lab.report.gantt import picture
from svg import Axis, document, line, mark, words

WIDTH, ROW, TOP = 980.0, 30.0, 96.0
PANELS = ((190.0, 540.0), (600.0, 950.0))
TITLES = {
    "excluded": "an obstacle excludes a compression (S0)",
    "resumable": "an obstacle suspends a compression",
}
SHOWN = ("generation_list", "ext_johnson", "ext_johnson_backfill", "one_list_greedy")


def draw_gaps(gaps: dict[str, dict[str, list[float]]], paper: dict[str, float]) -> str:
    """gaps[kind][algorithm]: how much later than the best known, one for each instance."""
    names = list(next(iter(gaps.values())))
    bottom = TOP + ROW * len(names)
    count = len(gaps["excluded"][names[0]])
    parts = [
        words(24, 30, "How much later than the best known plan the last write ends", "heading"),
        words(24, 50, f"{count} instances of 32 blocks: mean (disc), 10th to 90th percentile "
              "(line), worst (diamond)", "soft"),
    ]  # fmt: skip
    highest = max(max(values) for kind in gaps.values() for values in kind.values())
    for (left, right), (kind, title) in zip(PANELS, TITLES.items(), strict=True):
        x = Axis(0, 1.03 * highest, left, right, log=False)
        parts.append(words(left, TOP - 18, title, "panel"))
        for value in x.ticks():
            parts.append(line(x(value), TOP - 8, x(value), bottom, "grid"))
            parts.append(words(x(value), bottom + 16, f"{100 * value:g} %", "tick", "middle"))
        for index, name in enumerate(names):
            y = TOP + ROW * (index + 0.5)
            values = sorted(gaps[kind][name])
            low, high = (values[round(q * (len(values) - 1))] for q in (0.1, 0.9))
            class_ = "ours" if name.startswith("default") else "sz" if name in paper else "other"
            mean = statistics.fmean(values)
            parts.append(line(x(low), y, x(high), y, f"spread {class_}"))
            parts.append(mark(x(values[-1]), y, "diamond", class_, f"{100 * values[-1]:.1f} %"))
            parts.append(mark(x(mean), y, "disc", class_, f"{100 * mean:.2f} %"))
            if left == PANELS[0][0]:
                parts.append(words(left - 12, y + 4, name, f"name {class_}", "end"))
    return document(WIDTH, bottom + 34, *parts)


def draw_plans(family: str, gaps: dict[str, float]) -> str:
    """The plans of an instance: where ExtJohnson+BF is off as it is at the median.

    Of those whose best plan ends after the iteration: plans decide there.
    """
    known = best.read()
    items = [
        item
        for item in best.families()[family]
        if best.best_s(known[item.name]["resumable"]) > item.iteration_s
    ]
    item = sorted(items, key=lambda item: gaps[item.name])[len(items) // 2]
    plans = []
    for kind, resumable in best.KINDS.items():
        entry = known[item.name][kind]
        chosen = replace(item, resumable=resumable)
        found = exact.answer_of(chosen, tuple(entry["compress"]), tuple(entry["write"]), 0.0)
        ends = [b + job[1] for b, job in zip(found.write_begin_s, item.jobs, strict=True)]
        made = plan.Schedule(
            list(found.compress_begin_s), list(found.compress_end_s), list(found.write_begin_s),
            ends, found.end_s,
        )  # fmt: skip
        if not resumable:
            plans += [(name, item.schedule(name)) for name in (*SHOWN, plan.DEFAULT)]
        plans.append((f"best known, {kind}", made))
    return picture(item, plans)
