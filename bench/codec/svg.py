"""Small pieces of SVG for the pictures of this directory: elements, a log axis, labels apart.

Invariants: every picture carries its own style and is legible on light and on dark pages; marks
differ in shape as well as in colour, and carry their name beside them.
"""

from __future__ import annotations

import math
from xml.sax.saxutils import escape, quoteattr

STYLE = """
svg { --page:#ffffff; --ink:#1c2430; --soft:#5b6675; --rule:#c9d0d9; --grid:#e9edf2;
  --ours:#1f66c1; --sz:#c26a08; --other:#6b7480; --exact:#8656c9; --bad:#c8323c; --alt:#1d8f6d;
  --more:#a8327d;
  font: 12px system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans",
  sans-serif; background: var(--page); }
@media (prefers-color-scheme: dark) { svg { --page:#12161c; --ink:#e4e9f0; --soft:#98a3b3;
  --rule:#3a4452; --grid:#222a34; --ours:#6aa8f5; --sz:#f0a045; --other:#9aa5b4; --exact:#b398ee;
  --bad:#f4747c; --alt:#49c79d; --more:#ec8fc8; } }
text { fill: var(--ink); } .soft { fill: var(--soft); }
.heading { font-size: 17px; font-weight: 600; }
.panel { font-size: 13px; font-weight: 600; } .tick { font-size: 11px; fill: var(--soft); }
.page { fill: var(--page); } .frame { fill: none; stroke: var(--rule); }
.grid { stroke: var(--grid); }
.ours { --c: var(--ours); } .sz { --c: var(--sz); } .other { --c: var(--other); }
.exact { --c: var(--exact); } .alt { --c: var(--alt); } .bad { --c: var(--bad); }
.more { --c: var(--more); }
.mark { fill: var(--c); stroke: var(--page); stroke-width: 1; }
.spread { stroke: var(--c); stroke-opacity: .45; stroke-width: 1.5; }
.line { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; }
.dashed { stroke-dasharray: 5 4; } .lead { stroke: var(--c); stroke-opacity: .5; stroke-width: .8; }
.name { fill: var(--c); font-size: 12px; } .ours.name { font-weight: 650; }
.goal { stroke: var(--soft); stroke-dasharray: 2 4; }
"""


def tag(name: str, *children: str, **attributes: object) -> str:
    """An element; underscores in attribute names become hyphens, class_ becomes class."""
    parts = []
    for key, value in attributes.items():
        if value is not None:
            number = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
            parts.append(f" {key.rstrip('_').replace('_', '-')}={quoteattr(str(number))}")
    inner = "".join(children)
    return f"<{name}{''.join(parts)}>{inner}</{name}>" if inner else f"<{name}{''.join(parts)}/>"


def words(x: float, y: float, text: str, class_: str = "", anchor: str | None = None) -> str:
    """A line of text."""
    return tag("text", escape(text), x=x, y=y, class_=class_ or None, text_anchor=anchor)


def mini_app(section: dict, y: float) -> str:
    """What was run with the cosmology mini-app, as its runs' sections say it, and what of it is
    emulated."""
    scenario = section["scenario"]
    text = (
        f"cosmology mini-app, {scenario['ranks']} ranks, {scenario['grid']}³; file system "
        f"({scenario['bandwidth'] / 1e6:.0f} MB/s) and device time emulated; medians and range "
        f"of {section['repeats']} repeats"
    )
    return words(20, y, text, "soft")


def range_bar(left: float, y: float, scale: float, row: dict, class_: str, note: str = "") -> str:
    """A bar of row["overhead"] with the range of its repeats, and its number behind both."""
    length = max(1.0, row["overhead"] * scale)
    low, high = (left + max(0.0, row[k]) * scale for k in ("overhead_low", "overhead_high"))
    text = f"{100 * row['overhead']:.1f} %{note}"
    return "".join(
        (
            tag("rect", x=left, y=y + 2, width=length, height=14, class_=f"mark {class_}"),
            line(low, y + 9, high, y + 9, "range"),
            words(max(high, left + length) + 8, y + 13, text, "tick"),
        )
    )


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """A straight line."""
    return tag("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)


def polyline(points: list[tuple[float, float]], class_: str) -> str:
    """A line through points."""
    return tag("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=class_)


def mark(x: float, y: float, shape: str, class_: str, title: str = "") -> str:
    """A disc, square, diamond or triangle with a tooltip."""
    inner = tag("title", escape(title)) if title else ""
    if shape == "disc":
        return tag("circle", inner, cx=x, cy=y, r=5.5, class_=f"mark {class_}")
    corners = {
        "square": [(-4.8, -4.8), (4.8, -4.8), (4.8, 4.8), (-4.8, 4.8)],
        "diamond": [(0, -6.5), (6.5, 0), (0, 6.5), (-6.5, 0)],
        "triangle": [(0, -6.5), (6, 4.5), (-6, 4.5)],
    }[shape]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return tag("polygon", inner, points=points, class_=f"mark {class_}")


def document(width: float, height: float, *children: str) -> str:
    """The whole picture."""
    page = tag("rect", width=width, height=height, class_="page")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img">'
        f"<style>{STYLE}</style>{page}{''.join(children)}</svg>\n"
    )


class Axis:
    """Values to pixels, logarithmic or not."""

    def __init__(self, low: float, high: float, begin: float, end: float, log: bool = True) -> None:
        self.log, self.begin, self.end = log, begin, end
        self.low, self.high = (math.log(low), math.log(high)) if log else (low, high)

    def __call__(self, value: float) -> float:
        """Where a value lies."""
        place = math.log(value) if self.log else value
        share = (place - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self) -> list[float]:
        """Round values within: 1, 2, 5 times powers of ten, fewer when many decades are shown."""
        if not self.log:
            step = 10 ** math.floor(math.log10(self.high - self.low))
            while (self.high - self.low) / step < 4:
                step /= 2
            first = math.ceil(self.low / step)
            return [i * step for i in range(first, math.floor(self.high / step + 1e-9) + 1)]
        factors = (1, 2, 5) if self.high - self.low < math.log(2000) else (1,)
        first, last = math.floor(self.low / math.log(10)), math.ceil(self.high / math.log(10))
        values = [f * 10.0**p for p in range(first, last + 1) for f in factors]
        return [v for v in values if self.low - 1e-9 <= math.log(v) <= self.high + 1e-9]


def spread_out(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Positions at least `gap` apart, in [low, high] if they fit, each close to where it should be.

    Neighbours that are too close become one cluster, spread about the mean of its members.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    clusters: list[list[int]] = []

    def top(cluster: list[int]) -> float:
        middle = sum(wanted[i] for i in cluster) / len(cluster)
        size = gap * (len(cluster) - 1)
        return max(low, min(middle - size / 2, high - size))

    for index in order:
        clusters.append([index])
        while (
            len(clusters) > 1
            and top(clusters[-2]) + gap * len(clusters[-2]) > top(clusters[-1]) + 1e-9
        ):
            last = clusters.pop()
            clusters[-1] += last
    placed = [0.0] * len(wanted)
    for cluster in clusters:
        for place, index in enumerate(cluster):
            placed[index] = top(cluster) + gap * place
    return placed
