"""Ratio over quality as a picture (SVG): a line for each codec, the goal, and what was chosen.

Invariants: legible on light and on dark pages; every line carries its name, and lines differ in
their dashes as well as in colour; the better quality is to the right, the better ratio above.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from caesura.report.markup import tag, text
from caesura.tuning.goals import Quality, shown
from caesura.tuning.search import Answer
from caesura.tuning.trying import Point

_LIGHT = ("#1f66c1", "#c26a08", "#1d8f6d", "#8656c9", "#c8323c", "#6b7480")
_DARK = ("#6aa8f5", "#f0a045", "#49c79d", "#b398ee", "#f4747c", "#98a3b3")
_DASHES = (None, "8 4", "3 3", "10 3 2 3", "1 4", "14 4")
_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 760.0, 440.0, 70.0, 74.0, 150.0, 58.0
_MOST_DECIBELS = 200.0  # an exact one has none


def _colours(page: str, ink: str, soft: str, grid: str, lines: Sequence[str]) -> str:
    """Written out: not every program that draws SVG knows CSS variables."""
    own = "".join(
        f".line.c{i} {{ stroke:{c}; }} .mark.c{i}, text.c{i} {{ fill:{c}; }}\n"
        for i, c in enumerate(lines)
    )
    return (
        f".page {{ fill:{page}; }} text {{ fill:{ink}; }} text.soft {{ fill:{soft}; }}\n"
        f".grid {{ stroke:{grid}; }} .goal {{ stroke:{soft}; }} .ring {{ stroke:{ink}; }}\n{own}"
    )


_STYLE = (
    'svg { font:12px system-ui, "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }\n'
    ".heading { font-size:16px; font-weight:600; } .soft { font-size:11px; }\n"
    ".line { fill:none; stroke-width:2; } .goal { stroke-dasharray:5 4; stroke-width:1.5; }\n"
    ".ring { fill:none; stroke-width:2; }\n"
    + _colours("#ffffff", "#1c2430", "#5b6675", "#e3e7ec", _LIGHT)
    + "@media (prefers-color-scheme: dark) {\n"
    + _colours("#12161c", "#e4e9f0", "#98a3b3", "#262f3a", _DARK)
    + "}"
)


def place_of(quality: Quality, value: float) -> float | None:
    """Where a quality lies along the axis, better ones to the right; None: off the axis, because it
    is exact, or off by more than everything."""
    if quality.name == "psnr":
        return value if value < _MOST_DECIBELS else None
    off = 1.0 - value if quality.name == "ssim" else value
    return -math.log10(off) if 0 < off <= 1 else None


def _ticks(quality: Quality, low: float, high: float) -> list[tuple[float, str]]:
    if quality.name == "psnr":
        step = next(s for s in (5.0, 10.0, 20.0, 40.0) if (high - low) / s <= 9 or s == 40.0)
        first = math.ceil(low / step)
        return [(i * step, f"{i * step:.0f} dB") for i in range(first, math.floor(high / step) + 1)]
    ticks = []
    for power in range(math.ceil(low), math.floor(high) + 1):
        off = 10.0**-power
        ticks.append((float(power), shown(quality, 1.0 - off if quality.name == "ssim" else off)))
    return ticks


def draw(answer: Answer, title: str) -> str:
    """The picture. Points that are exact, or off by more than 100 %, have no place on it."""
    quality = answer.goal.quality
    lines = [
        (codec, [(x, p.ratio) for p in points if (x := place_of(quality, p.quality)) is not None])
        for codec, points in answer.curves.items()
    ]
    goal = place_of(quality, answer.goal.value)
    xs = [x for _, points in lines for x, _ in points] + ([goal] if goal is not None else [])
    ys = [y for _, points in lines for _, y in points] or [1.0]
    plot = _Plot((min(xs, default=0.0), max(xs, default=1.0)), (min(ys), max(ys)))
    parts = [
        tag("style", _STYLE),
        tag("rect", width=_WIDTH, height=_HEIGHT, class_="page"),
        _words(_LEFT, 28, title, "heading"),
        _words(_LEFT, 48, _caption(answer), "soft"),
        *plot.frame(quality),
        *plot.goal(goal),
        *plot.lines(lines),
        *plot.chosen(quality, answer.chosen),
    ]
    return tag(
        "svg", *parts, xmlns="http://www.w3.org/2000/svg", width=_WIDTH, height=_HEIGHT,
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}", role="img",
    )  # fmt: skip


class _Plot:
    """Quality along, ratio up, on a logarithmic axis."""

    def __init__(self, xs: tuple[float, float], ys: tuple[float, float]) -> None:
        margin = max(0.04 * (xs[1] - xs[0]), 0.1)
        self._xs = (xs[0] - margin, xs[1] + margin)
        self._ys = (math.log10(ys[0]) - 0.05, math.log10(ys[1]) + 0.08)

    def x(self, value: float) -> float:
        share = (value - self._xs[0]) / (self._xs[1] - self._xs[0])
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, ratio: float) -> float:
        share = (math.log10(ratio) - self._ys[0]) / (self._ys[1] - self._ys[0])
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    def frame(self, quality: Quality) -> list[str]:
        parts = []
        bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        for value, caption in _ticks(quality, *self._xs):
            x = self.x(value)
            parts.append(tag("line", x1=x, x2=x, y1=_TOP, y2=bottom, class_="grid"))
            parts.append(_words(x, bottom + 18, caption, "soft", "middle"))
        few = self._ys[1] - self._ys[0] > 1.5
        for power in range(math.floor(self._ys[0]), math.ceil(self._ys[1]) + 1):
            for factor in (1,) if few else (1, 2, 5):
                ratio = factor * 10.0**power
                if self._ys[0] <= math.log10(ratio) <= self._ys[1]:
                    y = self.y(ratio)
                    parts.append(tag("line", x1=_LEFT, x2=right, y1=y, y2=y, class_="grid"))
                    parts.append(_words(_LEFT - 8, y + 4, f"{ratio:g}", "soft", "end"))
        parts.append(_words(14, _TOP - 10, "ratio", "soft"))
        middle = (_LEFT + right) / 2
        axis = f"{quality.title}; better to the right"
        return [*parts, _words(middle, _HEIGHT - 14, axis, "soft", "middle")]

    def goal(self, place: float | None) -> list[str]:
        if place is None:
            return []
        x = self.x(place)
        line = tag("line", x1=x, x2=x, y1=_TOP, y2=_HEIGHT - _BOTTOM, class_="goal")
        return [line, _words(x + 5, _TOP + 12, "goal", "soft")]

    def lines(self, lines: Sequence[tuple[str, list[tuple[float, float]]]]) -> list[str]:
        parts, names = [], []
        for i, (codec, points) in enumerate(lines):
            if not points:
                continue
            colour, dash = f"c{i % len(_LIGHT)}", _DASHES[i % len(_DASHES)]
            places = [(self.x(x), self.y(y)) for x, y in points]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            parts.append(
                tag("polyline", points=path, class_=f"line {colour}", stroke_dasharray=dash)
            )
            parts += [tag("circle", cx=x, cy=y, r=3, class_=f"mark {colour}") for x, y in places]
            names.append([places[-1][1] + 4, codec, colour])
        names.sort()
        for above, below in pairwise(names):
            below[0] = max(below[0], above[0] + 15)  # names do not lie over each other
        x = _WIDTH - _RIGHT + 10
        return parts + [_words(x, y, codec, colour) for y, codec, colour in names]

    def chosen(self, quality: Quality, point: Point | None) -> list[str]:
        place = place_of(quality, point.quality) if point is not None else None
        if point is None or place is None:
            return []
        y = self.y(min(max(point.ratio, 10 ** self._ys[0]), 10 ** self._ys[1]))
        return [tag("circle", cx=self.x(place), cy=y, r=8, class_="ring")]


def _caption(answer: Answer) -> str:
    chosen, goal = answer.chosen, f"goal: {answer.goal.text()}"
    if chosen is None:
        return f"{goal}; no bound that meets it saves anything over lossless"
    return (
        f"{goal}; ring: {chosen.codec}, {chosen.bound.kind} {chosen.bound.value:g}, ratio "
        f"{chosen.ratio:.3g} on all values"
    )


def _words(x: float, y: float, words: str, class_: str, anchor: str | None = None) -> str:
    return tag("text", text(words), x=x, y=y, class_=class_ or None, text_anchor=anchor)
