"""Small pictures of numbers over dumps, and of pairs of numbers, as SVG.

Invariants:
 - Axes have titles and units; bars, areas and ratios begin at zero.
 - A picture has a text alternative that says in words what it shows. Nothing is said by colour
   alone: series differ in shape too. Colours are classes (charts.css).
 - However many points there are, a picture stays small: lines become bands of columns, and points
   one path.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from caesura.report.markup import tag, text
from caesura.report.quantities import nice_step

COLUMNS = 240  # of a line: more points than these become least and largest of each column
_CHARACTER = 6.2  # width of the font of ticks, on average


@dataclass(frozen=True)
class Axis:
    """From values to the picture's units."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log10(value), math.log10(low), math.log10(high)
        share = (value - low) / (high - low) if high > low else 0.5
        return self.begin + share * (self.end - self.begin)

    def steps(self, wanted: int) -> list[float]:
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            every = max(1, math.ceil((last - first) / wanted))
            factors = (1, 2, 5) if self.high / self.low <= 100 else (1,)
            values = [f * 10.0**p for p in range(first, last + 1, every) for f in factors]
            return [v for v in values if self.low * 0.999 <= v <= self.high * 1.001]
        step = nice_step(self.high - self.low, wanted)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [float(f"{step * n:.9g}") for n in range(first, last + 1)]


@dataclass(frozen=True)
class Frame:
    """Where a picture's axes lie."""

    width: float
    top: float
    bottom: float
    left: float = 56.0
    margin: float = 12.0

    @property
    def right(self) -> float:
        return self.width - self.margin

    def across(self, low: float, high: float, room: float = 5.0) -> Axis:
        """Of whole numbers; a single one lies in the middle. `room`: at both ends."""
        if high <= low:
            low, high = low - 1, high + 1
        return Axis(low, high, self.left + room, self.right - room)

    def up(self, high: float) -> Axis:
        """From zero to a little above the largest value."""
        high = high if high > 0 and math.isfinite(high) else 1.0
        step = nice_step(high, 3)
        return Axis(0.0, step * math.ceil(high / step - 1e-9), self.bottom, self.top)


def up_axis(frame: Frame, axis: Axis, title: str, said: Callable[[float], str]) -> str:
    parts = []
    for value in axis.steps(3 if not axis.log else 5):
        y = axis.at(value)
        css = "zero" if value == 0 else "grid"
        parts.append(tag("line", class_=css, x1=frame.left, x2=frame.right, y1=y, y2=y))
        parts.append(
            tag(
                "text",
                text(said(value)),
                class_="tick",
                x=frame.left - 6,
                y=y + 4,
                text_anchor="end",
            )
        )
    middle = (axis.begin + axis.end) / 2
    parts.append(
        tag(
            "text",
            text(title),
            class_="axis-title",
            x=12,
            y=middle,
            text_anchor="middle",
            transform=f"rotate(-90 12 {middle:.1f})",
        )
    )
    return tag("g", *parts, class_="up")


def _below(frame: Frame, words: str, x: float, down: float, class_: str) -> str:
    """Words in the middle of x, so far below the picture."""
    y = frame.bottom + down
    return tag("text", text(words), class_=class_, x=x, y=y, text_anchor="middle")


def across_axis(frame: Frame, axis: Axis, title: str) -> str:
    """Of whole numbers, below the picture."""
    longest = len(f"{axis.high:.0f}") * _CHARACTER + 14
    wanted = max(1, min(6, int((axis.end - axis.begin) / longest)))
    parts = []
    for value in axis.steps(wanted):
        if abs(value - round(value)) > 0.01:  # steps are products of rounded numbers
            continue
        x = axis.at(value)
        parts.append(tag("line", class_="zero", x1=x, x2=x, y1=frame.bottom, y2=frame.bottom + 4))
        parts.append(_below(frame, f"{value:.0f}", x, 16, "tick"))
    middle = (axis.begin + axis.end) / 2
    parts.append(_below(frame, title, middle, 31, "axis-title"))
    return tag("g", *parts, class_="across")


Points = Sequence[tuple[float, float]]


def line(points: Points, x: Axis, y: Axis, css: str) -> str:
    """Points in order of x; many become a band from the least to the largest of each column."""
    if not points:
        return ""
    if len(points) <= COLUMNS:
        drawn = "".join(
            f"{'L' if number else 'M'}{x.at(px):.1f} {y.at(py):.1f}"
            for number, (px, py) in enumerate(points)
        )
        marks = dots(points, x, y, css) if len(points) <= 60 else ""
        return tag("path", class_=f"line {css}", d=drawn) + marks
    columns = columns_of(points)
    upper = "".join(
        f"{'L' if i else 'M'}{x.at(px):.1f} {y.at(most):.1f}"
        for i, (px, _, most) in enumerate(columns)
    )
    lower = "".join(f"L{x.at(px):.1f} {y.at(least):.1f}" for px, least, _ in reversed(columns))
    return tag("path", class_=f"line band {css}", d=f"{upper}{lower}Z")


def columns_of(points: Points) -> list[tuple[float, float, float]]:
    """x, least and largest of runs of neighbours."""
    size = math.ceil(len(points) / COLUMNS)
    found = []
    for begin in range(0, len(points), size):
        run = points[begin : begin + size]
        found.append((run[len(run) // 2][0], min(y for _, y in run), max(y for _, y in run)))
    return found


def dots(points: Points, x: Axis, y: Axis, css: str) -> str:
    """All as one path: a line of no length with round ends is a dot (css says how large)."""
    drawn = "".join(f"M{x.at(px):.1f} {y.at(py):.1f}h0" for px, py in points)
    return tag("path", class_=f"dots {css}", d=drawn) if drawn else ""


def rings(points: Points, x: Axis, y: Axis, css: str, size: float = 3.0) -> str:
    """Hollow squares: told from dots without colour."""
    drawn = "".join(
        f"M{x.at(px) - size:.1f} {y.at(py) - size:.1f}h{2 * size:g}v{2 * size:g}h{-2 * size:g}z"
        for px, py in points
    )
    return tag("path", class_=f"rings {css}", d=drawn) if drawn else ""


def bars(
    stacks: Sequence[tuple[float, Sequence[float]]], x: Axis, y: Axis, css: Sequence[str]
) -> str:
    """Values above each other at each x. Many neighbours share a bar: their mean."""
    if len(stacks) > COLUMNS / 2:
        size = math.ceil(len(stacks) / (COLUMNS / 2))
        runs = [stacks[begin : begin + size] for begin in range(0, len(stacks), size)]
        stacks = [
            (
                run[len(run) // 2][0],
                [sum(v) / len(run) for v in zip(*(s for _, s in run), strict=True)],
            )
            for run in runs
        ]
    nearest = min((abs(b[0] - a[0]) for a, b in pairwise(stacks)), default=x.high - x.low)
    room = x.at(x.low + nearest) - x.at(x.low)
    width = min(26.0, 0.8 * room if room > 4 else room)  # many touch: an area
    paths = [""] * len(css)
    for at, values in stacks:
        below = 0.0
        for number, value in enumerate(values):
            if value > 0:
                top, bottom = y.at(below + value), y.at(below)
                paths[number] += (
                    f"M{x.at(at) - width / 2:.1f} {bottom:.1f}V{top:.1f}h{width:.1f}V{bottom:.1f}z"
                )
            below += max(0.0, value)
    return "".join(
        tag("path", class_=f"bar {c}", d=d) for c, d in zip(css, paths, strict=True) if d
    )


def nice_below(value: float) -> float:
    """1, 2 or 5 times a power of ten, at most `value`."""
    power = 10.0 ** math.floor(math.log10(value) + 1e-9)
    return max(f * power for f in (1, 2, 5) if f * power <= value * 1.001)


def picture(width: float, height: float, alternative: str, *parts: str) -> str:
    """`alternative`: what it shows, for who cannot see it."""
    return tag(
        "svg",
        tag("title", text(alternative)),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        class_="plot wide" if width > 400 else "plot",
        role="img",
        style=f"max-width:{1.4 * width:g}px",
    )


def key(*entries: tuple[str, str, str]) -> str:
    """Shape (dot, ring, bar, line), class and words of each series."""
    items = []
    for shape, css, words in entries:
        mark = {
            "dot": tag("path", class_=f"dots {css}", d="M9 7h0"),
            "ring": tag("path", class_=f"rings {css}", d="M6 4h6v6h-6z"),
            "bar": tag("path", class_=f"bar {css}", d="M2 2h14v10h-14z"),
            "line": tag("path", class_=f"line {css}", d="M1 7h16"),
        }[shape]
        swatch = tag("svg", mark, viewBox="0 0 18 14", class_="plot", aria_hidden="true")
        items.append(tag("li", swatch, text(words)))
    return tag("ul", *items, class_="legend")


def scatter(
    points: Sequence[tuple[str, float, float]],
    titles: tuple[str, str],
    said: Callable[[float], str],
    alternative: str,
) -> str:
    """Predicted and measured, on the same scale of powers of ten: equal on the diagonal. `points`
    are class, predicted, measured, above zero."""
    frame = Frame(width=340, top=10, bottom=260, left=64, margin=26)
    both = [value for _, *pair in points for value in pair]
    ends = nice_below(min(both)), 1 / nice_below(1 / max(both))
    if ends[1] < 2 * ends[0]:
        ends = ends[0] / 2, ends[1] * 2
    x = Axis(*ends, frame.left, frame.right, log=True)
    y = Axis(*ends, frame.bottom, frame.top, log=True)
    parts = [up_axis(frame, y, titles[1], said)]
    labelled = -math.inf
    for value in x.steps(4):
        at = x.at(value)
        parts.append(tag("line", class_="grid", x1=at, x2=at, y1=frame.top, y2=frame.bottom))
        if at - labelled < (len(said(value)) + 1) * _CHARACTER:
            continue
        labelled = at
        parts.append(_below(frame, said(value), at, 16, "tick"))
    middle = (x.begin + x.end) / 2
    parts.append(_below(frame, titles[0], middle, 33, "axis-title"))
    parts.append(tag("line", class_="diagonal", x1=x.begin, x2=x.end, y1=y.begin, y2=y.end))
    for css in dict.fromkeys(css for css, *_ in points):
        own = [(px, py) for name, px, py in points if name == css]
        draw = rings if css == "second" else dots
        parts.append(draw(own, x, y, css))
    return picture(frame.width, frame.bottom + 40, alternative, *parts)
