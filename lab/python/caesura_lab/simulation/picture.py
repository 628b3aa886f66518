"""Simulated overheads as a picture: bars of the modes, or lines over what was swept.

Invariants: legible on light and on dark pages; every line and bar carries its name, and lines
differ in their marks as well as in colour; the spread over seeds is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from caesura.report.markup import tag, text
from caesura.report.quantities import nice_step

STYLE = """
svg { font: 12px system-ui, "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }
.page { fill:#ffffff; } text { fill:#1c2430; } .soft { fill:#5b6675; font-size:11px; }
.heading { font-size:15px; font-weight:600; } .grid { stroke:#e3e7ec; } .zero { stroke:#8b95a3; }
.line { fill:none; stroke:var(--c); stroke-width:2; } .mark,.bar { fill:var(--c); }
.paper { stroke-dasharray:5 4; } .spread { stroke:var(--c); stroke-opacity:.5; stroke-width:1.5; }
.name { fill:var(--c); }
.c0 { --c:#6b7480; } .c1 { --c:#c8323c; } .c2 { --c:#c26a08; } .c3 { --c:#8656c9; }
.c4 { --c:#1f66c1; } .c5 { --c:#1d8f6d; } .c6 { --c:#b0389a; } .c7 { --c:#7a8b10; }
@media (prefers-color-scheme: dark) { .page { fill:#12161c; } text { fill:#e4e9f0; }
  .soft { fill:#98a3b3; } .grid { stroke:#262f3a; } .name { fill:var(--c); }
  .c1 { --c:#f4747c; } .c4 { --c:#6aa8f5; } .c3 { --c:#b398ee; } .c0 { --c:#9aa5b4; } }
"""
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 820.0, 400.0, 64.0, 58.0, 52.0
_SHAPES = ("disc", "square", "diamond", "triangle", "cross", "disc", "square", "diamond")


@dataclass(frozen=True)
class Series:
    """Points (x, y, low, high); `paper` marks values that are somebody else's."""

    name: str
    points: list[tuple[float, float, float, float]]
    colour: int
    paper: bool = False
    shape: int = field(default=0)


def lines(
    heading: str,
    labels: tuple[str, str],
    series: Sequence[Series],
    ticks: Sequence[tuple[float, str]],
    top: float | None = None,
    note: str = "",
) -> str:
    """A diagram over x; `ticks` are (x, caption). Values above `top` leave the picture."""
    xs = [x for x, _ in ticks]
    highest = max((p[3] for s in series for p in s.points), default=1.0)
    lowest = min(0.0, min((p[2] for s in series for p in s.points), default=0.0))
    high = top or highest * 1.08 or 1.0
    right = 40.0 + 6.6 * max((len(s.name) for s in series), default=0)
    plot = _Plot(min(xs), max(xs), lowest * 1.08, high, right)
    parts = plot.frame(labels, ticks)
    names: list[tuple[float, str]] = []
    for one in series:
        parts.append(plot.line(one))
        inside = [p for p in one.points if p[1] <= high]
        if inside:
            names.append((plot.y(inside[-1][1]), _name(one)))
    return _document(heading, [*parts, *_apart(names, _WIDTH - right + 12)], note)


def bars(heading: str, label: str, values: Sequence[tuple[str, float, float, float, int]]) -> str:
    """(name, value, low, high, colour) each."""
    high = max(max(v[3] for v in values), 0.01) * 1.15
    low = min(0.0, min(v[2] for v in values)) * 1.15
    plot = _Plot(0.0, float(len(values)), low, high, right=24.0)
    parts = plot.frame(("", label), [])
    for index, (name, value, least, most, colour) in enumerate(values):
        x0, x1 = plot.x(index + 0.2), plot.x(index + 0.8)
        y0, y1 = sorted((plot.y(0.0), plot.y(value)))
        parts.append(
            tag("rect", class_=f"bar c{colour}", x=x0, y=y0, width=x1 - x0, height=max(y1 - y0, 1))
        )
        middle = (x0 + x1) / 2
        parts.append(_segment(middle, plot.y(least), middle, plot.y(most), "zero"))
        caption = f"{100 * value:.1f} %"
        parts.append(_words(middle, plot.y(max(most, 0.0)) - 6, caption, "", "middle"))
        parts.append(_words(middle, _HEIGHT - _BOTTOM + 20, name, "soft", "middle"))
    return _document(heading, parts, "")


class _Plot:
    def __init__(self, x0: float, x1: float, y0: float, y1: float, right: float) -> None:
        self._x0, self._x1, self._y0, self._y1, self._right = x0, x1 or 1.0, y0, y1, right

    def x(self, value: float) -> float:
        share = (value - self._x0) / max(self._x1 - self._x0, 1e-300)
        return _LEFT + share * (_WIDTH - _LEFT - self._right)

    def y(self, value: float) -> float:
        share = (value - self._y0) / (self._y1 - self._y0)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    def frame(self, labels: tuple[str, str], ticks: Sequence[tuple[float, str]]) -> list[str]:
        parts = []
        step = nice_step(self._y1 - self._y0, 6)
        value = -int(-self._y0 / step) * step
        while value <= self._y1 * 1.0001:
            y = self.y(value)
            css = "zero" if abs(value) < step / 2 else "grid"
            parts.append(_segment(_LEFT, y, _WIDTH - self._right, y, css))
            parts.append(_words(_LEFT - 8, y + 4, f"{100 * value:.3g} %", "soft", "end"))
            value += step
        for x, caption in ticks:
            parts.append(_words(self.x(x), _HEIGHT - _BOTTOM + 18, caption, "soft", "middle"))
        middle = (_LEFT + _WIDTH - self._right) / 2
        parts.append(_words(middle, _HEIGHT - 14, labels[0], "soft", "middle"))
        parts.append(_words(12.0, _TOP - 10, labels[1], "soft"))
        return parts

    def line(self, one: Series) -> str:
        parts, inside = [], [p for p in one.points if p[1] <= self._y1 * 1.0001]
        places = " ".join(f"{self.x(p[0]):.1f},{self.y(p[1]):.1f}" for p in inside)
        css = "line paper" if one.paper else "line"
        parts.append(tag("polyline", class_=css, points=places))
        for x, y, low, high in inside:
            title = tag("title", text(f"{one.name}: {100 * y:.2f} %"))
            top = min(high, self._y1)
            parts.append(_segment(self.x(x), self.y(low), self.x(x), self.y(top), "spread"))
            parts.append(_mark(self.x(x), self.y(y), _SHAPES[one.shape % 8], title))
        return tag("g", *parts, class_=f"c{one.colour}")


def _name(one: Series) -> str:
    return tag("tspan", text(one.name), class_=f"name c{one.colour}")


def _apart(names: list[tuple[float, str]], x: float) -> list[str]:
    """Names beside the ends of their lines, moved so that none lies on another."""
    parts, last = [], -1e9
    for y, name in sorted(names):
        last = max(y, last + 15.0)
        parts.append(tag("text", name, x=x, y=last + 4))
    return parts


def _mark(x: float, y: float, shape: str, title: str) -> str:
    corners = {
        "square": [(-4, -4), (4, -4), (4, 4), (-4, 4)],
        "diamond": [(0, -5.5), (5.5, 0), (0, 5.5), (-5.5, 0)],
        "triangle": [(0, -5.5), (5, 4), (-5, 4)],
        "cross": [(-5, -2), (-2, -2), (-2, -5), (2, -5), (2, -2), (5, -2), (5, 2), (2, 2), (2, 5),
                  (-2, 5), (-2, 2), (-5, 2)],
    }.get(shape)  # fmt: skip
    if corners is None:
        return tag("circle", title, cx=x, cy=y, r=4.5, class_="mark")
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return tag("polygon", title, points=points, class_="mark")


def _words(x: float, y: float, content: str, css: str, anchor: str | None = None) -> str:
    return tag("text", text(content), x=x, y=y, class_=css or None, text_anchor=anchor)


def _segment(x1: float, y1: float, x2: float, y2: float, css: str) -> str:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=css)


def _document(heading: str, parts: list[str], note: str) -> str:
    height = _HEIGHT + (20.0 if note else 0.0)
    below = [_words(_LEFT, _HEIGHT + 6, note, "soft")] if note else []
    return tag(
        "svg",
        tag("title", text(heading)),
        tag("style", STYLE),
        tag("rect", class_="page", width=_WIDTH, height=height),
        _words(12.0, 26.0, heading, "heading"),
        *parts,
        *below,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH:g} {height:g}",
        width=_WIDTH,
        height=height,
        role="img",
    )
