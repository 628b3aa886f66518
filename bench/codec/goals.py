#!/usr/bin/env python3
"""The goals for the codec, row by row, beside what was measured. Reads out/bench/*.json.

Speeds are judged on real float32 blocks of 8 to 17 MB, ratios on all real float32 fields; where
there is no real data, on whatever there is, and the head line says so. codec_avx2.json is
measure.py --target avx2.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import fields
import numpy as np
from rich.console import Console
from rich.table import Table

Rows = list[dict]
REFERENCES = ("SZ3 3.3.2", "SZ3")  # the goals were set against the first
GOAL_GHZ = 2.95  # of the core that the goals were set on


@dataclass
class Goal:
    """One row of the table."""

    name: str
    goal: str
    measured: str
    met: bool | None  # None: not measured


def mean(values: list[float]) -> float:
    """Geometric."""
    return float(np.exp(np.mean(np.log(values)))) if values else float("nan")


def of(rows: Rows, codec: str) -> Rows:
    """One codec's rows that did not fail."""
    return [r for r in rows if r["codec"] == codec and "bytes" in r]


def pairs(rows: Rows, codec: str, other: str) -> list[tuple[dict, dict]]:
    """The same block at the same bound by two codecs."""
    theirs = {(r["block"], r["bound"]): r for r in of(rows, other)}
    mine = of(rows, codec)
    return [(r, theirs[r["block"], r["bound"]]) for r in mine if (r["block"], r["bound"]) in theirs]


def gigabytes(value: float) -> str:
    """MB/s in GB/s."""
    return f"{value / 1000:.2f}"


def at_goal_clock(row: dict, key: str) -> float | None:
    """MB/s that the measured cycles give on the core that the goals were set on."""
    cycles = row.get(key.replace("_mb_per_s", "_cycles"))
    size = np.dtype(row["dtype"]).itemsize
    return 1000 * GOAL_GHZ * size / cycles if cycles else None


def speed_goal(rows: Rows, name: str, codec: str, key: str, least: float) -> Goal:
    """The mean over the blocks at the slowest bound; beside it what the measured cycles would give
    at the goals' clock."""
    goal = f"≥ {least:g} GB/s at every bound"
    by_bound = {b: [r for r in of(rows, codec) if r["bound"] == b] for b in bounds(rows)}
    measured = {b: mean([r[key] for r in some]) for b, some in by_bound.items() if some}
    if not measured:
        return Goal(name, goal, "not measured", None)
    text = " / ".join(gigabytes(v) for v in measured.values())
    clocked = {b: [at_goal_clock(r, key) for r in some] for b, some in by_bound.items() if some}
    if all(all(some) for some in clocked.values()):
        at_clock = " / ".join(gigabytes(mean(some)) for some in clocked.values())
        text += f"; at {GOAL_GHZ} GHz {at_clock}"
    text += f" ({' / '.join(measured)})"
    return Goal(name, goal, text, min(measured.values()) >= 1000 * least)


def bounds(rows: Rows) -> list[str]:
    """In the order in which they were measured."""
    return list(dict.fromkeys(r["bound"] for r in rows))


def fast_above_100(rows: Rows) -> Goal:
    """Nearly all codes are 0."""
    some = [r for r in of(rows, "Caesura fast") if r["ratio"] >= 100]
    goal = "≥ 9 GB/s above ratio 100"
    if not some:
        return Goal("fast, compress, ratio ≥ 100", goal, "no such block", None)
    speeds = [r["compress_mb_per_s"] for r in some]
    text = f"{gigabytes(mean(speeds))} ({gigabytes(min(speeds))} to {gigabytes(max(speeds))})"
    clocked = [at_goal_clock(r, "compress_mb_per_s") for r in some]
    if all(clocked):
        text += f"; at {GOAL_GHZ} GHz {gigabytes(mean(clocked))}"
    return Goal("fast, compress, ratio ≥ 100", goal, text, mean(speeds) >= 9000)


def ratio_goals(rows: Rows, codec: str, reference: str) -> list[Goal]:
    """Ratio over SZ3's default: mean, share below 1, worst; and its speed."""
    both = pairs(rows, codec, reference)
    name = f"{codec.removeprefix('Caesura ')} over {reference}"
    if not both:
        return [Goal(f"{name}: ratio", "≥ 1.10", "not measured", None)]
    gains = [a["ratio"] / b["ratio"] for a, b in both]
    low = [(a["ratio"] / b["ratio"], a) for a, b in both if b["ratio"] < 100]
    under = [g for g, _ in low if g < 1]
    worst, where = min(low, key=lambda pair: pair[0])
    share = len(under) / len(low)
    faster = mean([a["compress_mb_per_s"] / b["compress_mb_per_s"] for a, b in both])
    back = mean([a["decompress_mb_per_s"] / b["decompress_mb_per_s"] for a, b in both])
    cases = f"{len(low)} cases with ratio < 100"
    return [
        Goal(
            f"{name}: ratio",
            "≥ 1.10 geometric mean",
            f"{mean(gains):.3f} over {len(gains)} cases ({min(gains):.3f} to {max(gains):.3f})",
            mean(gains) >= 1.10,
        ),
        Goal(f"{name}: below 1.00", "≤ 2 %", f"{100 * share:.1f} % of {cases}", share <= 0.02),
        Goal(
            f"{name}: worst",
            "≥ 0.97",
            f"{worst:.3f} ({where['block']}, {where['bound']})",
            worst >= 0.97,
        ),
        Goal(
            f"{name}: speed",
            "≥ 15 × geometric mean",
            f"{faster:.1f} × compress, {back:.1f} × decompress",
            faster >= 15,
        ),
    ]


def prediction_goals(rows: Rows) -> list[Goal]:
    """Predicted against real size where the ratio is below 60; seconds per 8 MB block."""
    mine = [r for r in rows if r.get("estimated_bytes") and r["ratio"] < 60]
    goals = []
    for codec in dict.fromkeys(r["codec"] for r in mine):
        some = of(mine, codec)
        error = np.array([abs(r["estimated_bytes"] / r["bytes"] - 1) for r in some])
        total = abs(sum(r["estimated_bytes"] for r in some) / sum(r["bytes"] for r in some) - 1)
        median, p90, p99 = (float(np.quantile(error, q)) for q in (0.5, 0.9, 0.99))
        text = f"{median:.2%}, {p90:.2%}, {p99:.2%}, {total:.2%} of {len(some)} cases"
        met = median <= 0.005 and p90 <= 0.02 and p99 <= 0.08 and total <= 0.005
        name = f"size prediction, {codec.removeprefix('Caesura ')}"
        goal = "median ≤ 0.5 %, p90 ≤ 2 %, p99 ≤ 8 %, bytes ≤ 0.5 %"
        goals.append(Goal(name, goal, text, met))
        times = [r["estimate_s"] * 8.388608e6 / r["raw_bytes"] for r in some if large(r)]
        if times:
            limit = 150 if codec == "Caesura auto" else 50
            micro = 1e6 * float(np.median(times))
            goals.append(
                Goal(f"{name}: time", f"≤ {limit} µs per 8 MB", f"{micro:.0f} µs", micro <= limit)
            )
    return goals


def capped_goals(rows: Rows, capped: Rows) -> list[Goal]:
    """Speed with AVX2 alone over the speed with everything."""
    goals = []
    for mode in ("fast", "strong", "auto"):
        here = {(r["block"], r["bound"]): r for r in of(rows, f"Caesura {mode}") if large(r)}
        there = [r for r in of(capped, f"Caesura {mode}") if (r["block"], r["bound"]) in here]
        if not there:
            goals.append(Goal(f"{mode} with AVX2 forced", "≥ 60 %", "not measured", None))
            continue
        share = mean(
            [
                r["compress_mb_per_s"] / here[r["block"], r["bound"]]["compress_mb_per_s"]
                for r in there
            ]
        )
        same = all(r["bytes"] == here[r["block"], r["bound"]]["bytes"] for r in there)
        text = f"{share:.0%} of the compress speed; sizes {'equal' if same else 'DIFFER'}"
        goals.append(Goal(f"{mode} with AVX2 forced", "≥ 60 %", text, share >= 0.6 and same))
    return goals


def bound_goal(rows: Rows) -> Goal:
    """Every case's largest error."""
    mine = [r for r in rows if r["kind"] == "ours" and "bytes" in r]
    broken = sum(r["violations"] for r in mine)
    values = sum(r["raw_bytes"] // np.dtype(r["dtype"]).itemsize for r in mine)
    text = f"{broken} of {values:.3g} values" if mine else "not measured"
    return Goal("bound kept", "0 violations", text, broken == 0 if mine else None)


def large(row: dict) -> bool:
    """A block of the size the product writes."""
    return 8e6 <= row["raw_bytes"] <= 17e6


def load(path: Path) -> Rows:
    """Rows of a result file, or none."""
    return json.loads(path.read_text())["rows"] if path.exists() else []


def goals(rows: Rows, capped: Rows) -> tuple[str, list[Goal]]:
    """What the figures are from, and every row."""
    judged = [r for r in rows if r["dtype"] == "float32"]
    real = [r for r in judged if r["origin"] == "real"]
    source = "real fields" if real else "no real data: synthetic fields"
    judged = real or judged
    blocks = [r for r in judged if large(r)]
    table = [
        speed_goal(blocks, "fast, compress", "Caesura fast", "compress_mb_per_s", 5),
        fast_above_100([r for r in judged if r["raw_bytes"] > 4e6]),
        speed_goal(blocks, "strong, compress", "Caesura strong", "compress_mb_per_s", 4),
        speed_goal(blocks, "strong, decompress", "Caesura strong", "decompress_mb_per_s", 4),
        speed_goal(blocks, "planes, decompress", "Caesura planes", "decompress_mb_per_s", 8),
    ]
    for codec in ("Caesura auto", "Caesura strong"):
        for reference in REFERENCES:
            table += ratio_goals(judged, codec, reference)
    table += prediction_goals(judged)
    table += capped_goals(judged, capped)
    table.append(bound_goal(rows))
    return f"{source}: {len({r['block'] for r in judged})} blocks, {len(blocks)} results", table


def main() -> int:
    """Print the table; the exit status does not judge."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", nargs="?", type=Path, default=fields.OUT / "codec.json")
    parser.add_argument("--capped", type=Path, default=fields.OUT / "codec_avx2.json")
    options = parser.parse_args()
    rows = load(options.results)
    if not rows:
        print(f"no results in {options.results}: run bench/codec/measure.py first")
        return 1
    head, table = goals(rows, load(options.capped))
    shown = Table(title=head, title_justify="left")
    for column in ("", "goal", "measured", "met"):
        shown.add_column(column, overflow="fold")
    for goal in table:
        met = {None: "–", True: "yes", False: "NO"}[goal.met]
        shown.add_row(goal.name, goal.goal, goal.measured, met)
    Console(width=None if sys.stdout.isatty() else 150).print(shown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
