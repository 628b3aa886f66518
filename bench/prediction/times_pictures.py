"""The pictures of times.py: S1's Figures 5, 6, 11 and 12, 13, drawn from what was measured here.

Invariants: a picture shows every block that was measured; predicted and real lie on one scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import svg

_WIDTH, _HEIGHT = 430, 330
_LEFT, _TOP, _RIGHT, _BOTTOM = 66, 44, 16, 46
_CLASSES = ("ours", "sz", "alt", "exact", "bad", "other")
_SOURCES = (("nyx", "Nyx"), ("lwfa", "laser wakefield"), ("miniapp", "mini-app"))


class Panel:
    """One diagram with a frame, ticks and a heading."""

    def __init__(self, number: int, columns: int, spans: tuple, heading: str, labels: tuple,
                 log: tuple[bool, bool] = (True, True)) -> None:  # fmt: skip
        self.x0, self.y0 = _WIDTH * (number % columns), 34 + _HEIGHT * (number // columns)
        self.box = (self.x0 + _LEFT, self.y0 + _TOP, self.x0 + _WIDTH - _RIGHT,
                    self.y0 + _HEIGHT - _BOTTOM)  # fmt: skip
        left, top, right, bottom = self.box
        self.x = svg.Axis(*spans[0], left, right, log[0])
        self.y = svg.Axis(*spans[1], bottom, top, log[1])
        self.parts = [svg.words(left, top - 10, heading, "panel")]
        for tick in self.x.ticks():
            self.parts.append(svg.line(self.x(tick), top, self.x(tick), bottom, "grid"))
            self.parts.append(
                svg.words(self.x(tick), bottom + 15, f"{tick:g}", "tick", anchor="middle")
            )
        for tick in self.y.ticks():
            self.parts.append(svg.line(left, self.y(tick), right, self.y(tick), "grid"))
            self.parts.append(svg.words(left - 6, self.y(tick) + 4, f"{tick:g}", "tick", "end"))
        self.parts.append(svg.words((left + right) / 2, bottom + 32, labels[0], "tick", "middle"))
        self.parts.append(svg.words(self.x0 + 6, top - 10, labels[1], "tick"))

    def dot(self, x: float, y: float, class_: str, title: str) -> None:
        """A measured point."""
        inner = svg.tag("title", svg.escape(title))
        self.parts.append(
            svg.tag(
                "circle",
                inner,
                cx=float(self.x(x)),
                cy=float(self.y(y)),
                r=2.4,
                class_=f"mark {class_}",
                stroke_width=0,
            )
        )

    def curve(self, function: Callable[[float], float], class_: str) -> None:
        """A predicted line over the whole axis."""
        left, _, right, _ = self.box
        points = []
        for i in range(81):
            place = self.x.low + (self.x.high - self.x.low) * i / 80
            value = math.exp(place) if self.x.log else place
            points.append((left + (right - left) * i / 80, self.y(function(value))))
        self.parts.append(svg.polyline(points, f"line {class_}"))

    def note(self, row: int, text: str, class_: str) -> None:
        """A line of the legend, inside at the upper left."""
        left, top, _, _ = self.box
        self.parts.append(svg.words(left + 8, top + 16 + 14 * row, text, f"name {class_}"))

    def done(self) -> str:
        """The panel."""
        return "".join(self.parts)


def _page(heading: str, panels: list[str], columns: int) -> str:
    rows = -(-len(panels) // columns)
    return svg.document(
        _WIDTH * columns, 34 + _HEIGHT * rows, svg.words(16, 24, heading, "heading"), *panels
    )


def _span(values: list[float]) -> tuple[float, float]:
    return min(values) / 1.2, max(values) * 1.2


def _source_of(source: str) -> tuple[str, str]:
    for i, (start, name) in enumerate(_SOURCES):
        if source.startswith(start):
            return name, _CLASSES[i]
    return source, _CLASSES[-1]


def figure_5(measured: list, profile: Any) -> str:
    """Throughput over bits per value; dots are blocks, lines the curves of the profile."""
    panels = []
    for codec in dict.fromkeys(m.codec for m in measured):
        mine = [m for m in measured if m.codec == codec]
        speed = [m.raw_bytes / m.cpu_s / 1e6 for m in mine]
        panel = Panel(
            len(panels), 2, (_span([m.bits for m in mine]), _span(speed)), codec,
            ("compressed bits per value", "MB/s"),
        )  # fmt: skip
        shown = {}
        for m, s in zip(mine, speed, strict=True):
            name, class_ = _source_of(m.source)
            shown[name] = class_
            panel.dot(m.bits, s, class_, f"{m.source} {m.field} 1e{m.exponent}")
        for mode in ("", "fast", "strong", "planes"):
            curve = profile.find(codec, mode, "float32")
            if curve is not None:
                panel.curve(lambda b, c=curve: 8.4e6 / c.predict_s(8_400_000, b) / 1e6, "bad")
        for row, (name, class_) in enumerate([*shown.items(), ("calibrated curve", "bad")]):
            left, _, _, bottom = panel.box
            panel.parts.append(svg.words(left + 8, bottom - 8 - 14 * row, name, f"name {class_}"))
        panels.append(panel.done())
    return _page("Compression throughput over bits per value (S1 Figure 5)", panels, 2)


def figure_6(measured: list) -> str:
    """Slowest and fastest of each field's blocks and bounds."""
    panels = []
    for codec in dict.fromkeys(m.codec for m in measured):
        groups: dict[str, list[float]] = {}
        for m in measured:
            if m.codec == codec:
                name = f"{m.source} {m.field}"
                groups.setdefault(name, []).append(m.raw_bytes / m.cpu_s / 1e6)
        every = [s for speeds in groups.values() for s in speeds]
        panel = Panel(
            len(panels), 2, ((0.0, len(groups) + 1.0), _span(every)), codec,
            (f"{len(groups)} fields, each at {max(map(len, groups.values()))} bounds", "MB/s"),
            (False, True),
        )  # fmt: skip
        for i, (name, speeds) in enumerate(sorted(groups.items()), 1):
            class_ = _source_of(name)[1]
            x = panel.x(i)
            panel.parts.append(
                svg.line(x, panel.y(min(speeds)), x, panel.y(max(speeds)), f"spread {class_}")
            )
            for s in (min(speeds), max(speeds)):
                panel.dot(i, s, class_, f"{name}: {s:.0f} MB/s")
        panels.append(panel.done())
    return _page("Slowest and fastest compression of each field (S1 Figure 6)", panels, 2)


def figures_11_12(measured: list, profile: Any, predictions: Callable, offline: Callable) -> str:
    """Predicted against real time; on the line they are equal."""
    panels = []
    for codec in dict.fromkeys(m.codec for m in measured):
        mine = [m for m in measured if m.codec == codec]
        same, other, _ = offline(mine, "power")
        for heading, groups in (
            (f"{codec}: S1-Eq1 of baryon density", (("same data", same), ("other data", other))),
            (f"{codec}: calibrated and refined",
             (("all fields, after two dumps", predictions(mine, profile)["learned"]),)),
        ):  # fmt: skip
            pairs = [pair for _, group in groups for pair in group]
            if not pairs:
                continue
            span = _span([1e3 * t for p, r, _ in pairs for t in (p, r)])
            panel = Panel(len(panels), 2, (span, span), heading, ("predicted ms", "real ms"))
            for row, (name, group) in enumerate(groups):
                for p, r, m in group:
                    panel.dot(1e3 * p, 1e3 * r, _CLASSES[row], f"{m.source} {m.field}")
                panel.note(row, name, _CLASSES[row])
            panel.curve(lambda x: x, "other")
            panels.append(panel.done())
    return _page("Compression time, predicted and real (S1 Figures 11, 12)", panels, 2)


def figure_13(write: dict) -> str:
    """Write times over the bytes written; the line is what was predicted."""
    panels = []
    for kind, entry in write.items():
        points = [(stored / 1e6, 1e3 * p, 1e3 * s) for stored, p, s in entry["points"]]
        spans = (_span([x for x, _, _ in points]), _span([t for _, p, s in points for t in (p, s)]))
        panel = Panel(
            len(panels), 2, spans, "with fsync" if kind == "synced" else "writes alone",
            ("MB written", "ms"),
        )  # fmt: skip
        for x, _, s in points:
            panel.dot(x, s, "ours", f"{x:.2f} MB: {s:.2f} ms")
        line = sorted((x, p) for x, p, _ in points)
        panel.parts.append(svg.polyline([(panel.x(x), panel.y(p)) for x, p in line], "line bad"))
        panel.note(0, "blocks written", "ours")
        panel.note(1, "predicted from predicted sizes", "bad")
        share = entry["ordered_share"]["0"]
        panel.note(2, f"{100 * share:.1f} % of pairs in order", "other")
        panels.append(panel.done())
    return _page("Write time of compressed blocks (S1 Figure 13)", panels, 2)


def draw(
    measured: list, profile: Any, predictions: Callable, offline: Callable, write: dict
) -> dict[str, str]:
    """All pictures by name."""
    pictures = {
        "prediction_figure_5": figure_5(measured, profile),
        "prediction_figure_6": figure_6(measured),
        "prediction_figures_11_12": figures_11_12(measured, profile, predictions, offline),
    }
    if write:
        pictures["prediction_figure_13"] = figure_13(write)
    return pictures
