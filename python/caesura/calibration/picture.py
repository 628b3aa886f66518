"""A calibration as a picture (SVG): what was measured as dots, the fitted curves through them.

Invariants: legible on light and on dark pages; every curve carries its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from xml.sax.saxutils import escape

from caesura.calibration import CompressCurve, WriteCurve

_STYLE = """
svg { font: 12px system-ui, "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }
.page { fill:#ffffff; } text { fill:#1c2430; } .soft { fill:#5b6675; font-size:11px; }
.heading { font-size:15px; font-weight:600; } .grid { stroke:#e3e7ec; }
.curve { fill:none; stroke-width:2; } .small { fill-opacity:.35; }
@media (prefers-color-scheme: dark) { .page { fill:#12161c; } text { fill:#e4e9f0; }
  .soft { fill:#98a3b3; } .grid { stroke:#262f3a; } }
"""
_COLOURS = ("#1f66c1", "#c26a08", "#1d8f6d", "#8656c9", "#c8323c", "#6b7480", "#b0389a", "#7a8b10",
            "#0e8fa3", "#a0522d", "#4f5bd5", "#d1478a")  # fmt: skip
_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 520, 400, 64, 46, 150, 48
_RAW_BYTES = 8 << 20  # the block that a curve is drawn for

Points = Sequence[tuple[float, float]]


def _soft(x: float, y: float, text: str, anchor: str = "start") -> str:
    return (
        f'<text class="soft" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


class _Panel:
    """One diagram with logarithmic axes."""

    def __init__(self, x0: float, y0: float, spans: tuple, heading: str, labels: tuple) -> None:
        self.x0, self.y0, self.spans = x0, y0, spans
        self.names: list[tuple[float, str, str]] = []
        self.parts = [
            f'<text class="heading" x="{x0 + _LEFT}" y="{y0 + 24}">{escape(heading)}</text>',
            _soft(x0 + _LEFT, y0 + _HEIGHT - 12, labels[0]),
            _soft(x0 + 8, y0 + _TOP - 8, labels[1]),
        ]
        for axis in (0, 1):
            self._grid(axis)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """A point's place on the page; what lies outside goes to the edge."""
        place = []
        for value, (low, high) in zip((x, y), self.spans, strict=True):
            share = math.log(max(value, low) / low) / math.log(high / low)
            place.append(min(max(share, 0.0), 1.0))
        return (
            self.x0 + _LEFT + place[0] * (_WIDTH - _LEFT - _RIGHT),
            self.y0 + _HEIGHT - _BOTTOM - place[1] * (_HEIGHT - _TOP - _BOTTOM),
        )

    def _grid(self, axis: int) -> None:
        low, high = self.spans[axis]
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
            value = 10.0**power
            if not low * 0.999 <= value <= high * 1.001:
                continue
            begin = self.at(value, self.spans[1][0]) if axis == 0 else self.at(low_of(self), value)
            end = self.at(value, self.spans[1][1]) if axis == 0 else self.at(high_of(self), value)
            self.parts.append(
                f'<line class="grid" x1="{begin[0]:.1f}" y1="{begin[1]:.1f}" x2="{end[0]:.1f}" '
                f'y2="{end[1]:.1f}"/>'
            )
            x, y, anchor = (begin[0], begin[1] + 16, "middle") if axis == 0 else (
                begin[0] - 6, begin[1] + 4, "end")  # fmt: skip
            self.parts.append(_soft(x, y, f"{value:g}", anchor))

    def dots(self, points: Points, colour: str, small: Sequence[bool] = ()) -> None:
        """What was measured; small blocks are paler."""
        for i, (x, y) in enumerate(points):
            px, py = self.at(x, y)
            pale = ' class="small"' if i < len(small) and small[i] else ""
            self.parts.append(
                f'<circle{pale} cx="{px:.1f}" cy="{py:.1f}" r="2.2" fill="{colour}"/>'
            )

    def curve(self, function: Callable[[float], float], colour: str, name: str) -> None:
        """A fitted curve over the whole axis."""
        low, high = self.spans[0]
        xs = [low * (high / low) ** (i / 120) for i in range(121)]
        places = [self.at(x, function(x)) for x in xs]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        self.parts.append(f'<polyline class="curve" stroke="{colour}" points="{path}"/>')
        self.names.append((places[-1][1], name, colour))

    def svg(self) -> str:
        """Everything, with the names apart from each other at the right end."""
        self.names.sort()
        lowest = -math.inf
        bottom = self.y0 + _HEIGHT - _BOTTOM - 14 * len(self.names)
        for i, (y, name, colour) in enumerate(self.names):
            y = max(min(y + 4, bottom + 14 * (i + 1)), lowest + 14)
            lowest = y
            x = self.x0 + _WIDTH - _RIGHT + 8
            self.parts.append(
                f'<text x="{x}" y="{y:.1f}" style="fill:{colour}">{escape(name)}</text>'
            )
        return "".join(self.parts)


def low_of(panel: _Panel) -> float:
    """Where the horizontal axis begins."""
    return panel.spans[0][0]


def high_of(panel: _Panel) -> float:
    """Where it ends."""
    return panel.spans[0][1]


def _span(values: list[float], least: float = 10.0) -> tuple[float, float]:
    low, high = min(values) / 1.15, max(values) * 1.15
    middle = math.sqrt(low * high)
    return (min(low, middle / math.sqrt(least)), max(high, middle * math.sqrt(least)))


def _compress_panel(x0: float, y0: float, dtype: str, curves: dict, points: dict) -> str:
    keys = sorted(key for key in curves if key[2] == dtype)
    speeds = {
        key: [(max(bits, 0.01), raw / s / 1e6) for raw, bits, s in points[key]] for key in keys
    }
    every = [p for key in keys for p in speeds[key]]
    panel = _Panel(
        x0, y0, (_span([x for x, _ in every]), _span([y for _, y in every])),
        f"compressing {dtype}",
        ("compressed bits per value; pale: small blocks", "MB/s of raw data, one core"),
    )  # fmt: skip
    for i, key in enumerate(keys):
        curve: CompressCurve = curves[key]
        colour = _COLOURS[i % len(_COLOURS)]
        small = [raw < _RAW_BYTES / 2 for raw, _, _ in points[key]]
        panel.dots(speeds[key], colour, small)
        panel.curve(
            lambda bits, c=curve: _RAW_BYTES / c.predict_s(_RAW_BYTES, bits) / 1e6,
            colour,
            key[0] + (f" → {key[1]}" if key[1] and not key[0].endswith(key[1]) else ""),
        )
    return panel.svg()


def _write_panel(x0: float, y0: float, file_system: str, curves: dict, points: dict) -> str:
    keys = sorted(key for key in curves if key[0] == file_system)
    every = [p for key in keys for p in points[key]]
    if not every:
        return ""
    panel = _Panel(
        x0, y0, (_span([x for x, _ in every]), _span([y for _, y in every])),
        f"writing, {file_system}", ("bytes of a write", "s"),
    )  # fmt: skip
    for i, key in enumerate(keys):
        curve: WriteCurve = curves[key]
        panel.dots(points[key], _COLOURS[i])
        panel.curve(curve.predict_s, _COLOURS[i], "write + fsync" if key[1] else "write")
    return panel.svg()


def draw(compress: dict, write: dict, points: dict) -> str:
    """All curves by their key, as one SVG."""
    panels = []
    for dtype in ("float32", "float64"):
        if any(key[2] == dtype for key in compress):
            panels.append((_compress_panel, dtype, compress))
    panels += [(_write_panel, fs, write) for fs in sorted({key[0] for key in write})]
    width, height = _WIDTH * min(2, len(panels)), _HEIGHT * math.ceil(len(panels) / 2)
    parts = [
        function(_WIDTH * (i % 2), _HEIGHT * (i // 2), name, curves, points)
        for i, (function, name, curves) in enumerate(panels)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">'
        f"<style>{_STYLE}</style><title>Caesura calibration</title>"
        f'<rect class="page" width="{width}" height="{height}"/>{"".join(parts)}</svg>\n'
    )
