#!/usr/bin/env python3
"""S0's Table 1 again, with the optimum as the yardstick: section "table_1" of out/bench/plan.json.

Every algorithm on every published instance, for both kinds of compress lane: how long the iteration
becomes, how far the last write ends above the best known (instances/best.json), how long planning
takes. Prints the tables in Markdown, as docs/evidence/planning.md shows them.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import best
from caesura import plan
from caesura_lab.planning import planners
from caesura_lab.planning.instances import Instance

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "codec"))

from sections import Sections, save_picture
from table_pictures import draw_gaps, draw_plans

# S0 Table 1, seconds.
PAPER = {
    "ext_johnson": 4.363,
    "ext_johnson_backfill": 4.058,
    "generation_list": 4.665,
    "generation_list_backfill": 4.470,
    "one_list_greedy": 4.541,
    "two_lists_greedy": 4.274,
}
STAGES = ("beginning", "middle", "end")
AT_1_MS = "default, 1 ms"
BEST = "best known"
QUICK_S, REPEATS = 2e-3, 5


@dataclass(frozen=True)
class Row:
    """One algorithm on one instance."""

    family: str
    kind: str
    instance: str
    algorithm: str
    makespan_s: float
    iteration_s: float
    best_s: float  # the end of the best known plan of this kind
    alone_s: float  # the iteration without a dump
    bound_s: float
    proven: bool
    plan_s: float

    @property
    def gap(self) -> float:
        """How much later than the best known plan this one ends."""
        return self.makespan_s / self.best_s - 1.0

    @property
    def iteration_gap(self) -> float:
        """How much longer the iteration is than with the best known plan: S0's objective."""
        return self.iteration_s / max(self.alone_s, self.best_s) - 1.0


def methods() -> dict[str, tuple[str, dict]]:
    """Title -> algorithm and options."""
    found = {name: (name, {}) for name in planners.ALGORITHMS if name != plan.DEFAULT_ALGORITHM}
    found[AT_1_MS] = (plan.DEFAULT, {"search_steps": plan.SEARCH_STEPS_PER_MS})
    found["default"] = (plan.DEFAULT, {})
    return found


def timed(instance: Instance, algorithm: str, options: dict) -> tuple[plan.Schedule, float]:
    """A checked plan and the time of making it, the median of five where that is short."""
    made = instance.schedule(algorithm, **options)
    if made.plan_s > QUICK_S:
        return made, made.plan_s
    times = [instance.schedule(algorithm, **options).plan_s for _ in range(REPEATS)]
    return made, statistics.median(times)


def measure() -> list[Row]:
    """All rows. Where an algorithm beats the file's best, that is the best; say so."""
    known = best.read()
    rows, beaten = [], 0
    for family, instances in best.families().items():
        for published in instances:
            for kind, resumable in best.KINDS.items():
                entry = known[published.name][kind]
                item = replace(published, resumable=resumable)
                made = {
                    title: timed(item, name, options)
                    for title, (name, options) in methods().items()
                }
                least_s = min(m.end_s for m, _ in made.values())
                beaten += least_s < best.best_s(entry)
                best_s = min(best.best_s(entry), least_s)
                proven = "optimum_s" in entry
                if proven and least_s < best.best_s(entry):
                    raise SystemExit(f"{item.name}, {kind}: {least_s} s beats the proven optimum")
                ends = {title: (m.end_s, plan_s) for title, (m, plan_s) in made.items()}
                ends[BEST] = (best_s, 0.0)
                rows += [
                    Row(family, kind, item.name, title, end_s, max(end_s, item.iteration_s),
                        best_s, item.iteration_s, best.bound_s(entry), proven, plan_s)
                    for title, (end_s, plan_s) in ends.items()
                ]  # fmt: skip
    if beaten:
        print(f"{beaten} problems are better solved here than in best.json: run best.py again")
    return rows


def summary(rows: Iterable[Row]) -> dict:
    """Of one algorithm."""
    rows = list(rows)
    gaps = [row.gap for row in rows]
    return {
        "instances": len(rows),
        "iteration_s": statistics.fmean(row.iteration_s for row in rows),
        "makespan_s": statistics.fmean(row.makespan_s for row in rows),
        "iteration_gap_mean": statistics.fmean(row.iteration_gap for row in rows),
        "iteration_gap_worst": max(row.iteration_gap for row in rows),
        "gap_mean": statistics.fmean(gaps),
        "gap_worst": max(gaps),
        "at_best": sum(gap < 1e-6 for gap in gaps) / len(gaps),
        "plan_us": 1e6 * statistics.median(row.plan_s for row in rows),
    }


def tables(rows: list[Row]) -> dict:
    """kind -> family (or "nyx": the three stages) -> algorithm -> summary."""
    result: dict = {}
    groups = {"nyx": STAGES, **{family: (family,) for family in {row.family for row in rows}}}
    for kind in best.KINDS:
        result[kind] = {}
        for group, families in groups.items():
            chosen = [row for row in rows if row.kind == kind and row.family in families]
            result[kind][group] = {
                title: summary(row for row in chosen if row.algorithm == title)
                for title in dict.fromkeys(row.algorithm for row in chosen)
            }
    return result


def rule_loss(rows: list[Row]) -> dict:
    """What S0's rule (a compression is never suspended) costs, of best plans and of defaults."""
    result = {}
    for title in (BEST, "default", "ext_johnson_backfill"):
        ends = {
            kind: {row.instance: row for row in rows
                   if row.kind == kind and row.algorithm == title and row.family in STAGES}
            for kind in best.KINDS
        }  # fmt: skip
        pairs = [(ends["excluded"][name], row) for name, row in ends["resumable"].items()]
        later = [a.makespan_s / b.makespan_s - 1.0 for a, b in pairs]
        result[title] = {
            "makespan_mean": statistics.fmean(later),
            "makespan_worst": max(later),
            "iteration_mean": statistics.fmean(a.iteration_s / b.iteration_s - 1 for a, b in pairs),
        }
    return result


def quality(rows: list[Row]) -> dict:
    """How much is known of the best plans themselves."""
    result = {}
    for kind in best.KINDS:
        chosen = [r for r in rows if r.kind == kind and r.algorithm == BEST and r.family in STAGES]
        above = [row.best_s / row.bound_s - 1.0 for row in chosen]
        result[kind] = {
            "instances": len(chosen),
            "proven": sum(row.proven for row in chosen),
            "above_bound_mean": statistics.fmean(above),
            "above_bound_worst": max(above),
        }
    return result


def percent(share: float) -> str:
    """Two digits behind the point are enough for per cents below ten."""
    return f"{100 * share:.2f} %" if share < 0.0995 else f"{100 * share:.1f} %"


def duration(us: float) -> str:
    """Microseconds as people read them."""
    return "" if us == 0 else f"{us:.3g} µs" if us < 999 else f"{us / 1000:.3g} ms"


def show(figures: dict) -> None:
    """The tables as Markdown."""
    for kind in best.KINDS:
        print(
            f"\n{kind}: mean over {figures['tables'][kind]['nyx'][BEST]['instances']} instances\n"
        )
        print("| algorithm | iteration | to ExtJohnson+BF | S0's Table 1 | to ExtJohnson+BF | "
              "above the best known: iteration, mean | worst | last write, mean | worst | "
              "planning takes |")  # fmt: skip
        print("|---|---|---|---|---|---|---|---|---|---|")
        sums_of = figures["tables"][kind]["nyx"]
        base_s = sums_of["ext_johnson_backfill"]["iteration_s"]
        for title, sums in sums_of.items():
            paper = ("", "")
            if title in PAPER:
                over = PAPER[title] / PAPER["ext_johnson_backfill"] - 1.0
                paper = (f"{PAPER[title]:.3f} s", f"{100 * over:+.1f} %")
            cells = [
                title, f"{sums['iteration_s']:.3f} s",
                f"{100 * (sums['iteration_s'] / base_s - 1.0):+.1f} %", *paper,
                *(percent(sums[key]) for key in ("iteration_gap_mean", "iteration_gap_worst",
                                                 "gap_mean", "gap_worst")),
                duration(sums["plan_us"]),
            ]  # fmt: skip
            print("| " + " | ".join(cells) + " |")
        print(f"\n{kind}, by family: iteration, mean gap, worst gap\n")
        families = [f for f in figures["tables"][kind] if f != "nyx"]
        families.sort(key=lambda f: (*STAGES, "miniapp").index(f))
        print("| algorithm | " + " | ".join(families) + " |")
        print("|---|" + "---|" * len(families))
        for title in figures["tables"][kind]["nyx"]:
            cells = []
            for family in families:
                sums = figures["tables"][kind][family][title]
                cells.append(f"{sums['iteration_s']:.3f} s, {percent(sums['gap_mean'])}, "
                             f"{percent(sums['gap_worst'])}")  # fmt: skip
            print(f"| {title} | " + " | ".join(cells) + " |")
    print("\nS0's rule against resumable compressions, how much later the last write ends:")
    for title, loss in figures["rule_loss"].items():
        mean, worst = percent(loss["makespan_mean"]), percent(loss["makespan_worst"])
        print(f"  {title}: {mean} mean, {worst} worst; the iteration "
              f"{percent(loss['iteration_mean'])}")  # fmt: skip
    for kind, known in figures["quality"].items():
        print(f"best known, {kind}: {known['proven']} of {known['instances']} proven, "
              f"{percent(known['above_bound_mean'])} above the bound on average, "
              f"{percent(known['above_bound_worst'])} at worst")  # fmt: skip


def main() -> int:
    """Measure, print, keep."""
    rows = measure()
    figures = {
        "paper_s": PAPER,
        "tables": tables(rows),
        "rule_loss": rule_loss(rows),
        "quality": quality(rows),
        "rows": [
            {"family": r.family, "kind": r.kind, "instance": r.instance, "algorithm": r.algorithm,
             "makespan_s": r.makespan_s, "iteration_s": r.iteration_s, "best_s": r.best_s,
             "plan_us": 1e6 * r.plan_s}
            for r in rows
        ],
    }  # fmt: skip
    show(figures)
    print(f"\nfigures: {Sections('plan').merge('table_1', figures)}")
    draw(rows)
    return 0


def draw(rows: list[Row]) -> None:
    """Both pictures."""
    gaps: dict = {}
    for row in rows:
        if row.family in STAGES and row.algorithm != BEST:
            gaps.setdefault(row.kind, {}).setdefault(row.algorithm, []).append(row.gap)
    print(f"picture: {save_picture('plan_gaps', draw_gaps(gaps, PAPER))}")
    typical = {
        row.instance: row.gap
        for row in rows
        if (row.family, row.kind, row.algorithm) == ("end", "excluded", "ext_johnson_backfill")
    }
    print(f"picture: {save_picture('plan_gantt', draw_plans('end', typical))}")


if __name__ == "__main__":
    sys.exit(main())
