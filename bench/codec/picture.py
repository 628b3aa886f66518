#!/usr/bin/env python3
"""Ratio against speed, a picture per bound: out/bench/codec_BOUND.svg from out/bench/codec.json.

A mark is a codec: geometric mean over the blocks; the cross spans a geometric standard deviation
to either side. Up and to the right is better. Exact codecs stand in every picture, for scale.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import fields
import numpy as np
import svg

WIDTH, HEIGHT = 1200.0, 560.0
TOP, BOTTOM, PANEL_WIDTH = 92.0, 500.0, 370.0
LEFTS = (64.0, 660.0)
SHAPES = {"ours": "disc", "sz": "diamond", "other": "square", "exact": "triangle"}


@dataclass
class Point:
    """A codec in one panel."""

    name: str
    family: str
    speed: float
    ratio: float
    speeds: tuple[float, float]  # a geometric standard deviation below and above
    ratios: tuple[float, float]
    broken: int  # blocks whose bound it did not keep
    blocks: int


def family(name: str, kind: str) -> str:
    """Which colour and shape."""
    if kind in ("ours", "lossless"):
        return {"ours": "ours", "lossless": "exact"}[kind]
    return "sz" if name.startswith("SZ") else "other"


def geometric_mean(values: list[float]) -> float:
    """The mean for ratios and speeds."""
    return float(np.exp(np.mean(np.log(values))))


def point(name: str, rows: list[dict], key: str) -> Point:
    """What one codec reached over all blocks."""
    speeds, ratios = [r[key] for r in rows], [r["ratio"] for r in rows]

    def spread(values: list[float]) -> tuple[float, float]:
        mean, factor = geometric_mean(values), float(np.exp(np.std(np.log(values))))
        return mean / factor, mean * factor

    broken = sum(1 for r in rows if r["violations"])
    return Point(
        name,
        family(name, rows[0]["kind"]),
        geometric_mean(speeds),
        geometric_mean(ratios),
        spread(speeds),
        spread(ratios),
        broken,
        len(rows),
    )


def points(rows: list[dict], bound: str, key: str) -> list[Point]:
    """Every codec at one bound; exact codecs from whatever bound they were run at."""
    found = []
    for name in dict.fromkeys(r["codec"] for r in rows):
        of = [r for r in rows if r["codec"] == name and "bytes" in r and r["kind"] != "copy"]
        of = [r for r in of if r["bound"] == bound or r["kind"] == "lossless"]
        if of:
            found.append(point(name, of, key))
    return found


def _nice(low: float, high: float) -> tuple[float, float]:
    """Limits of a log axis: a little air, and never less than a factor of ten in all."""
    middle = math.sqrt(low * high)
    return min(low / 1.2, middle / 3.2), max(high * 1.2, middle * 3.2)


def panel(found: list[Point], left: float, title: str, copy_speed: float | None) -> str:
    """One diagram: marks, crosses, names at the right edge led to their marks."""
    fastest = max([p.speeds[1] for p in found] + ([copy_speed] if copy_speed else []))
    x = svg.Axis(
        *_nice(min(p.speeds[0] for p in found), fastest),
        left,
        left + PANEL_WIDTH,
    )
    y = svg.Axis(
        *_nice(min(p.ratios[0] for p in found), max(p.ratios[1] for p in found)), BOTTOM, TOP
    )
    parts = [svg.words(left, TOP - 12, title, "panel")]
    for value in x.ticks():
        parts.append(svg.line(x(value), TOP, x(value), BOTTOM, "grid"))
        parts.append(svg.words(x(value), BOTTOM + 16, f"{value:g}", "tick", "middle"))
    for value in y.ticks():
        parts.append(svg.line(left, y(value), left + PANEL_WIDTH, y(value), "grid"))
        parts.append(svg.words(left - 8, y(value) + 4, f"{value:g}", "tick", "end"))
    frame = svg.tag("rect", x=left, y=TOP, width=PANEL_WIDTH, height=BOTTOM - TOP, class_="frame")
    parts.append(frame)
    parts.append(svg.words(left + PANEL_WIDTH / 2, BOTTOM + 34, "MB/s", "tick", "middle"))
    if copy_speed and x.low < math.log(copy_speed) < x.high:
        parts.append(svg.line(x(copy_speed), TOP, x(copy_speed), BOTTOM, "goal"))
        parts.append(svg.words(x(copy_speed) - 4, BOTTOM - 8, "memcpy", "tick", "end"))
    places = svg.spread_out([y(p.ratio) for p in found], 15, TOP + 6, BOTTOM - 4)
    for p, name_y in zip(found, places, strict=True):
        px, py = x(p.speed), y(p.ratio)
        parts.append(svg.line(px, py, left + PANEL_WIDTH + 6, name_y, f"lead {p.family}"))
        parts.append(svg.line(x(p.speeds[0]), py, x(p.speeds[1]), py, f"spread {p.family}"))
        parts.append(svg.line(px, y(p.ratios[0]), px, y(p.ratios[1]), f"spread {p.family}"))
        text = f"{p.name}: ratio {p.ratio:.2f}, {p.speed:.0f} MB/s over {p.blocks} blocks"
        parts.append(svg.mark(px, py, SHAPES[p.family], p.family, text))
        label = p.name + (f" (bound broken {p.broken}×)" if p.broken else "")
        parts.append(svg.words(left + PANEL_WIDTH + 9, name_y + 4, label, f"name {p.family}"))
    return "".join(parts)


def picture(document: dict, rows: list[dict], bound: str) -> str:
    """Both panels."""
    copies = [r for r in rows if r["kind"] == "copy"]
    parts = []
    for left, (title, key) in zip(
        LEFTS,
        (("compress", "compress_mb_per_s"), ("decompress", "decompress_mb_per_s")),
        strict=True,
    ):
        copy = geometric_mean([r[key] for r in copies]) if copies else None
        parts.append(panel(points(rows, bound, key), left, f"{title}: ratio over speed", copy))
    blocks = {r["block"] for r in rows if r["bound"] == bound}
    raw = {r["block"]: r["raw_bytes"] for r in rows}
    sizes = sorted({raw[b] / 1e6 for b in blocks})
    machine = document["conditions"]["processor"]["model"]
    what = "the papers' absolute bounds" if bound == "paper" else f"{bound[1:]} of the value range"
    size = f"{sizes[0]:.0f}" if len(sizes) == 1 else f"{sizes[0]:.0f}–{sizes[-1]:.0f}"
    note = (
        f"{len(blocks)} blocks of {size} MB; one thread of {machine}; "
        f"{document['conditions']['date'][:10]}, commit {document['conditions']['commit'][:9]}"
    )
    head = svg.words(24, 34, f"Error bound: {what}", "heading") + svg.words(24, 54, note, "soft")
    return svg.document(WIDTH, HEIGHT, head, *parts)


def choose(rows: list[dict], origins: set[str], dtype: str) -> list[dict]:
    """Blocks of these origins; all there are if there is none of them."""
    of = [r for r in rows if r["dtype"] == dtype]
    return [r for r in of if r["origin"] in origins] or of


def main() -> int:
    """A file per bound."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", nargs="?", type=Path, default=fields.OUT / "codec.json")
    parser.add_argument("--origin", default="real", help="real,miniapp,synthetic")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--into", type=Path, default=fields.OUT)
    options = parser.parse_args()
    document = json.loads(options.results.read_text())
    rows = choose(document["rows"], set(options.origin.split(",")), options.dtype)
    labels = [f"r1e-{p}" for p in range(1, 10)] + ["paper"]
    options.into.mkdir(parents=True, exist_ok=True)
    for bound in labels:
        if any(r["bound"] == bound for r in rows):
            path = options.into / f"codec_{bound}.svg"
            path.write_text(picture(document, rows, bound))
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
