#!/usr/bin/env python3
"""Tables in Markdown for docs/evidence/codec.md, from out/bench/codec.json.

A row is a set of blocks at one bound; a cell is "ratio, compress / decompress MB/s", geometric
means. `*` marks a codec that broke the bound in at least one block of the row.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import fields
from picture import geometric_mean

Rows = list[dict]
ORDER = (
    "Caesura auto",
    "Caesura strong",
    "Caesura fast",
    "Caesura planes",
    "SZ3",
    "SZ3 3.3.2",
    "SZ3 Lorenzo",
    "SPERR",
    "SZ2",
    "LERC",
    "ZFP",
)


def _sets() -> list[tuple[str, Callable[[dict], bool], tuple[str, ...]]]:
    """(title, which rows, bounds)."""
    relative = tuple(f"r1e-{p}" for p in (2, 3, 4, 5))
    sets = [
        ("Nyx 128³, z = 50", lambda r: r["source"] == "nyx_128_z050", (*relative, "paper")),
    ]
    for z in ("150", "010", "004", "002.5"):
        title = f"Nyx 64³, z = {z.lstrip('0')}"
        sets.append((title, lambda r, z=z: r["source"] == f"nyx_64_z{z}", ("r1e-3", "paper")))
    return [
        *sets,
        ("FBPIC 64×64×256", lambda r: r["source"].startswith("lwfa"), relative),
        (
            "mini-app 128³, late dump",
            lambda r: r["source"] == "miniapp_d048",
            ("r1e-3", "paper"),
        ),
        (
            "synthetic cosmology, 256³ whole",
            lambda r: r["origin"] == "synthetic" and r["part"] == "whole",
            ("paper",),
        ),
        (
            "synthetic cosmology, 128³ of it",
            lambda r: r["source"] == "synthetic_t2" and r["part"] == "block",
            ("paper",),
        ),
        ("synthetic laser", lambda r: r["field"] == "laser_plasma" and r["part"] == "block",
         ("r1e-3",)),
        ("synthetic turbulence", lambda r: r["field"] == "turbulence" and r["part"] == "block",
         ("r1e-3",)),
    ]  # fmt: skip


def cell(rows: Rows) -> str:
    """One codec over one set."""
    if not rows:
        return "–"
    ratio, there, back = (
        geometric_mean([r[key] for r in rows])
        for key in ("ratio", "compress_mb_per_s", "decompress_mb_per_s")
    )
    star = "*" if any(r["violations"] for r in rows) else ""
    return f"{ratio:.3g}{star} {there:.0f}/{back:.0f}"


def table(rows: Rows, dtype: str = "float32") -> list[str]:
    """The sets that were measured."""
    mine = [r for r in rows if r["dtype"] == dtype and "bytes" in r]
    codecs = [c for c in ORDER if any(r["codec"] == c for r in mine)]
    lines = ["| | " + " | ".join(codecs) + " |", "|---" + "|---" * len(codecs) + "|"]
    for title, chosen, bounds in _sets():
        for bound in bounds:
            of = [r for r in mine if r["bound"] == bound and chosen(r)]
            if of:
                label = "papers' bounds" if bound == "paper" else bound[1:]
                cells = [cell([r for r in of if r["codec"] == c]) for c in codecs]
                lines.append(f"| {title}, {label} | " + " | ".join(cells) + " |")
    return lines


def exact_table(rows: Rows) -> list[str]:
    """Codecs that know no bound, on the real float32 blocks."""
    mine = [r for r in rows if r["kind"] in ("lossless", "copy") and "bytes" in r]
    mine = [r for r in mine if r["dtype"] == "float32" and r["origin"] == "real"]
    lines = ["| exact codec | ratio, compress / decompress MB/s |", "|---|---|"]
    for name in dict.fromkeys(r["codec"] for r in mine):
        lines.append(f"| {name} | {cell([r for r in mine if r['codec'] == name])} |")
    return lines


def verdicts(document: dict, rows: Rows) -> list[str]:
    """Bounds kept, NaN kept, by codec."""
    lines = ["| codec | version | cases that broke the bound | worst error / bound | NaN, Inf |",
             "|---|---|--:|--:|---|"]  # fmt: skip
    for name, codec in document["codecs"].items():
        of = [r for r in rows if r["codec"] == name and "bytes" in r]
        if codec["kind"] not in ("ours", "bounded") or not of:
            continue
        broken = sum(1 for r in of if r["violations"])
        worst = max(r["max_error_over_bound"] for r in of)
        lines.append(f"| {name} | {codec['version']} | {broken} of {len(of)} | {worst:.6f} "
                     f"| {document['specials'].get(name, '–')} |")  # fmt: skip
    return lines


def main() -> int:
    """Print all three."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", nargs="?", type=Path, default=fields.OUT / "codec.json")
    options = parser.parse_args()
    document = json.loads(options.results.read_text())
    rows = document["rows"]
    print("\n".join([*table(rows), "", *exact_table(rows), "", *verdicts(document, rows)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
