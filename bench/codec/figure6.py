#!/usr/bin/env python3
"""S0 Figure 6: what is lost when tables of an earlier dump are used, by the dump's age.

The mini-app's dumps in three stretches of its run (early, middle, late); tables are trained on the
first dump of a stretch and used for the next twelve. Loss = size with the old tables over the size
with tables trained on that very dump, minus 1. Both entropy stages, with and without the check that
notices drift. Writes out/bench/figure6.json and .svg, and prints the table.
"""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import dumps
import fields
import numpy as np
import svg
from conditions import conditions
from rich.progress import Progress

MODES = ("strong", "fast")
ENTROPIES = ("rans", "huffman")
KINDS = (("paper", "absolute"), ("r1e-3", "relative"))
FIELDS = ("baryon_density", "dark_matter_density", "temperature", "velocity_x")
PANELS = {"rans": "rANS", "huffman": "Huffman"}
CURVES = {  # column of codec_aging -> what it means
    "reused": "drift check on",
    "unchecked": "no drift check",
    "builtin": "built-in tables, or a tree of each block",
}
GOALS = {1: 0.01, 10: 0.02}  # loss at these ages, drift check on


def program(entropy: str) -> Path:
    """What codes a field's dumps: our codec, or S0's coder in the lab."""
    build = Path(os.environ.get("CAESURA_BUILD", fields.ROOT / "build"))
    if entropy == "huffman":
        return build / "lab" / "huffman" / "huffman_aging"
    return build / "bench" / "codec" / "codec_aging"


def series(
    stretch: str,
    field: str,
    mode: str,
    entropy: str,
    label: str,
    kind: str,
    ages: int = fields.AGES,
) -> list[dict]:
    """One run of a coder's program."""
    bound = fields.PAPER_BOUNDS[field] if label == "paper" else float(label[1:])
    words = [fields.dump_dir(), field, fields.STRETCHES[stretch], ages]
    words += [mode, kind, bound]
    answer = subprocess.run(
        [str(program(entropy)), *map(str, words)], capture_output=True, text=True, check=False
    )
    if answer.returncode != 0:
        raise RuntimeError(f"{stretch} {field} {mode} {entropy} {label}: {answer.stderr.strip()}")
    rows = []
    for line in csv.DictReader(io.StringIO(answer.stdout)):
        row = {key: int(value) for key, value in line.items()}
        where = {"stretch": stretch, "field": field, "mode": mode, "entropy": entropy}
        rows.append(where | {"bound": label} | row)
    return rows


def loss(rows: list[dict], column: str, age: int) -> np.ndarray:
    """By how much each series' dump of this age is larger than with its own tables."""
    return np.array([r[column] / r["fresh"] - 1 for r in rows if r["age"] == age and r[column] > 0])


def curves(rows: list[dict]) -> dict[tuple[str, str], list[np.ndarray]]:
    """(entropy stage, column) -> losses per age."""
    found = {}
    for entropy in ENTROPIES:
        of = [r for r in rows if r["entropy"] == entropy]
        for column in CURVES:
            if any(r[column] > 0 for r in of):
                found[entropy, column] = [loss(of, column, a) for a in range(fields.AGES + 1)]
    return found


def panel(title: str, entropy: str, found: dict, left: float, top_value: float) -> str:
    """Mean loss and the 90th percentile by age."""
    x = svg.Axis(0, fields.AGES, left, left + 360, log=False)
    y = svg.Axis(0, top_value, 420, 92, log=False)
    parts = [svg.words(left, 80, title, "panel")]
    for value in y.ticks():
        parts.append(svg.line(left, y(value), left + 360, y(value), "grid"))
        parts.append(svg.words(left - 8, y(value) + 4, f"{value:g} %", "tick", "end"))
    for age in range(fields.AGES + 1):
        parts.append(svg.words(x(age), 438, str(age), "tick", "middle"))
    parts.append(svg.tag("rect", x=left, y=92, width=360, height=328, class_="frame"))
    parts.append(svg.words(left + 180, 458, "age of the tables in dumps", "tick", "middle"))
    families = {"reused": "ours", "unchecked": "sz", "builtin": "other"}
    shown = [(c, f) for (e, c), f in found.items() if e == entropy]
    ends = [y(min(100 * float(np.mean(f[-1])), top_value)) for _, f in shown]
    for (column, losses), name_y in zip(shown, svg.spread_out(ends, 15, 100, 412), strict=True):
        family = families[column]
        middle = [min(100 * float(np.mean(v)), top_value) for v in losses]
        high = [min(100 * float(np.quantile(v, 0.9)), top_value) for v in losses]
        parts.append(
            svg.polyline([(x(a), y(v)) for a, v in enumerate(high)], f"line dashed {family}")
        )
        parts.append(svg.polyline([(x(a), y(v)) for a, v in enumerate(middle)], f"line {family}"))
        parts.append(svg.words(left + 368, name_y + 4, CURVES[column], f"name {family}"))
    for age, limit in GOALS.items():
        parts.append(svg.mark(x(age), y(100 * limit), "triangle", "bad", f"goal at age {age}"))
    return "".join(parts)


def picture(found: dict, document: dict) -> str:
    """A panel per entropy stage."""
    highest = max(float(np.quantile(v, 0.9)) for f in found.values() for v in f)
    top = min(30.0, max(3.0, 110 * highest))
    note = (
        "Loss of compression against tables of the very dump; lines: mean, dashed: 90th percentile"
        f" of {document['series']} series; triangles: goals. {document['conditions']['date'][:10]}"
    )
    head = svg.words(24, 30, "Tables of an earlier dump, by age", "heading")
    return svg.document(
        1060.0 if any(e == "huffman" for e, _ in found) else 620.0,
        480.0,
        head + svg.words(24, 50, note, "soft"),
        *(
            panel(PANELS[entropy], entropy, found, left, top)
            for entropy, left in zip(PANELS, (64.0, 584.0), strict=True)
            if any(e == entropy for e, _ in found)
        ),
    )


def table(found: dict, rows: list[dict]) -> list[str]:
    """Markdown: mean loss (90th percentile) per age, and how often a block took its own tables."""
    ages = [0, 1, 2, 4, 6, 8, 10, 12]
    lines = ["| | " + " | ".join(f"age {a}" for a in ages) + " |", "|---" * (len(ages) + 1) + "|"]
    for (entropy, column), losses in found.items():
        cells = [f"{losses[a].mean():.2%} ({np.quantile(losses[a], 0.9):.2%})" for a in ages]
        lines.append(f"| {entropy}, {CURVES[column]} | " + " | ".join(cells) + " |")
    for entropy in ENTROPIES:
        own = [r for r in rows if r["entropy"] == entropy]
        if not own:
            continue
        shares = [np.mean([r["inlined"] for r in own if r["age"] == a]) for a in ages]
        lines.append(f"| {entropy}, blocks with tables of their own | "
                     + " | ".join(f"{s:.0%}" for s in shares) + " |")  # fmt: skip
    return lines


def main() -> int:
    """Run all series."""
    absent = [str(program(entropy)) for entropy in ENTROPIES if not program(entropy).exists()]
    lacking = dumps.make() or (f"{absent[0]} is not built" if absent else "")
    if lacking:
        print(f"not measured: {lacking}")
        return 1
    tasks = [
        (stretch, field, mode, entropy, label, kind)
        for stretch in fields.STRETCHES
        for field in FIELDS
        for mode in MODES
        for entropy in ENTROPIES
        for label, kind in KINDS
    ]
    rows: list[dict] = []
    with Progress(disable=not sys.stdout.isatty()) as progress:
        for task in progress.track(tasks, description="series"):
            rows += series(*task)
    found = curves(rows)
    document = {"conditions": conditions(), "series": len(tasks) // len(ENTROPIES), "rows": rows}
    (fields.OUT / "figure6.json").write_text(json.dumps(document, indent=1) + "\n")
    (fields.OUT / "figure6.svg").write_text(picture(found, document))
    print("\n".join(table(found, rows)))
    for age, limit in GOALS.items():
        got = float(found["rans", "reused"][age].mean())
        print(f"goal at age {age}: at most {limit:.0%}; rANS with drift check: {got:.2%}")
    if ("rans", "unchecked") not in found:
        print("no curve without drift check: the codec has no switch for it")
    print(fields.OUT / "figure6.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
