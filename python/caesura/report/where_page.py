"""The page of a service's devices: what was predicted and what came, who did what, what would be
chosen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from caesura.report.markup import tag, text
from caesura.report.page import page, table
from caesura.report.places import places_section
from caesura.report.quantities import bytes_text, duration_text

if TYPE_CHECKING:
    from caesura.devices import Choice, Decisions

COLOURS = ("#3465a4", "#c4421a", "#2f8f5b", "#8a5aa8", "#a5761d", "#4a9aa0")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 560, 400, 64, 44, 16


class _Log:
    """An axis of powers of ten."""

    def __init__(self, values: Sequence[float], begin: float, end: float):
        self.low = math.floor(math.log10(min(values)))
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)
        self.begin, self.end = begin, end

    def at(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def steps(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def scatter(points: Iterable[tuple[str, float, float]], across: str, up: str) -> str:
    """Series name, predicted s, taken s: on the diagonal they are equal. SVG."""
    shown = [point for point in points if point[1] > 0 and point[2] > 0]
    if not shown:
        return tag("p", "Nothing was predicted yet.")
    both = [value for _, *pair in shown for value in pair]
    x = _Log(both, _LEFT, _WIDTH - 12)
    y = _Log(both, _HEIGHT - _BOTTOM, _TOP)
    parts = []
    for step in x.steps():
        label = duration_text(step)
        line = {"stroke": "currentColor", "stroke_opacity": "0.15"}
        parts.append(tag("line", x1=x.at(step), x2=x.at(step), y1=_TOP, y2=y.begin, **line))
        parts.append(tag("line", x1=_LEFT, x2=x.end, y1=y.at(step), y2=y.at(step), **line))
        anchor = "end" if step == x.steps()[-1] else "middle"  # or the edge would cut it
        parts.append(tag("text", label, x=x.at(step), y=y.begin + 16, text_anchor=anchor))
        parts.append(tag("text", label, x=_LEFT - 6, y=y.at(step) + 4, text_anchor="end"))
    low, high = x.steps()[0], x.steps()[-1]
    parts.append(
        tag(
            "line",
            x1=x.at(low),
            y1=y.at(low),
            x2=x.at(high),
            y2=y.at(high),
            stroke="currentColor",
            stroke_dasharray="4 4",
        )
    )
    names = list(dict.fromkeys(name for name, *_ in shown))
    for name, predicted, took in shown:
        colour = COLOURS[names.index(name) % len(COLOURS)]
        parts.append(
            tag("circle", cx=x.at(predicted), cy=y.at(took), r=2.5, fill=colour, fill_opacity="0.6")
        )
    for i, name in enumerate(names):
        colour = COLOURS[i % len(COLOURS)]
        parts.append(tag("circle", cx=_LEFT + 14, cy=_TOP + 14 + 18 * i, r=5, fill=colour))
        parts.append(tag("text", text(name), x=_LEFT + 26, y=_TOP + 18 + 18 * i))
    parts.append(
        tag("text", text(across), x=(x.begin + x.end) / 2, y=_HEIGHT - 8, text_anchor="middle")
    )
    parts.append(
        tag(
            "text",
            text(up),
            x=14,
            y=(y.begin + y.end) / 2,
            text_anchor="middle",
            transform=f"rotate(-90 14 {(y.begin + y.end) / 2:.0f})",
        )
    )
    off = sorted(abs(took / predicted - 1.0) for _, predicted, took in shown)
    alternative = (
        f"{across} and {up} times of {len(shown)} blocks and regions on {', '.join(names)}; half "
        f"are within {100 * off[len(off) // 2]:.1f} % of what was predicted."
    )
    return tag(
        "svg",
        tag("title", text(alternative)),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        style=f"max-width:{_WIDTH}px;font:12px sans-serif;fill:currentColor",
    )


def where_page(decisions: Decisions, choices: Sequence[Choice], name: str) -> str:
    """The page of `caesura plan where`."""
    return page(
        "Devices of a service",
        tag("h1", "Where blocks were compressed and regions analysed"),
        where_section(decisions, choices, name),
    )


def where_section(
    decisions: Decisions, choices: Sequence[Choice], name: str, title: str = ""
) -> str:
    """What each device did, how well that was predicted, and what `choices` would be."""
    points = [
        (block.device, block.predicted_s, block.took_s)
        for block in decisions.blocks
        if block.error is not None
    ]
    rows = []
    for device in decisions.devices:
        blocks, error = decisions.of(device), decisions.median_error(device)
        rows.append(
            (
                text(device),
                str(len(blocks)),
                bytes_text(sum(block.bytes for block in blocks)),
                str(sum(b.failed for b in decisions.blocks if b.chosen == device)),
                "–" if error is None else f"{100 * error:.1f} %",
            )
        )
    emulated = any("emulated" in device for device in decisions.devices)
    sections = [
        tag("h2", text(title)) if title else "",
        tag("p", text(f"From {name}: {len(decisions.blocks)} blocks and regions.")),
        tag("p", "Times of an emulated device are those that were stated.") if emulated else "",
        table(
            ("device", "blocks and regions", "values", "failed", "median error of the prediction"),
            rows,
        ),
        tag("h3", "Predicted and taken, waiting included"),
        scatter(points, "predicted", "taken"),
        tag("h3", "Places"),
        tag("p", "Times are medians of those that were done where they had been predicted."),
        places_section(decisions),
    ]
    if choices:
        sections += [tag("h3", "What would be chosen"), _choices(choices)]
    return tag("section", *sections)


def _choices(choices: Sequence[Choice]) -> str:
    names = [part.device for part in choices[0].parts]
    rows = []
    for choice in choices:
        latencies = {part.device: part.latency_s for part in choice.parts}
        cells = [
            duration_text(latencies[name]) if math.isfinite(latencies[name]) else "–"
            for name in names
        ]
        chosen = choice.device or "nowhere"
        rows.append((bytes_text(choice.bytes), text(chosen), *cells))
    return table(("values", "device", *(text(name) for name in names)), rows)
