"""Plans as one standalone SVG: an instance's two lanes under each algorithm, beneath each other.

Invariants:
 - All plans share one axis of time; obstacles are hatched; a block has one colour in both lanes and
   its number wherever it fits (always in the tooltip).
 - A suspended compression is a bar in each gap and a thin line through the obstacles between.
 - Colours are written out: not every program that draws SVG knows CSS variables.
"""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass

from caesura.plan import Schedule
from caesura.report.markup import tag, text
from caesura.report.quantities import duration_text, nice_step

from caesura_lab.planning.instances import Instance

WIDTH, GUTTER, MARGIN = 1200.0, 264.0, 24.0
TOP = 84.0  # of the first plan
LANE, LANE_GAP, PLAN_GAP = 22.0, 3.0, 24.0
PLAN = 2 * LANE + LANE_GAP + PLAN_GAP
ON_BLOCK = "#10151c"
LIGHT = {
    "page": "#ffffff", "ink": "#1c2430", "soft": "#5b6675", "grid": "#e9edf2", "lane": "#f5f7f9",
    "hatch": "#8d98a6", "end": "#c8323c", "bound": "#1d8f6d",
}  # fmt: skip
DARK = {
    "page": "#12161c", "ink": "#e4e9f0", "soft": "#98a3b3", "grid": "#222a34", "lane": "#181e26",
    "hatch": "#5b6877", "end": "#f4747c", "bound": "#49c79d",
}  # fmt: skip
FONT = """svg { font: 12px system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial,
  "DejaVu Sans", sans-serif; }
.heading { font-size: 17px; font-weight: 600; } .name { font-weight: 600; font-size: 13px; }
.tick { font-size: 11px; } .small { font-size: 10.5px; }
.bound { stroke-dasharray: 6 4; } .due { stroke-dasharray: 2 3; } .ends { stroke-width: 2; }
.number { font-size: 10.5px; text-anchor: middle; }
"""


def _rules(colours: dict[str, str]) -> str:
    return (
        f".page {{ fill: {colours['page']}; }} text {{ fill: {colours['ink']}; }}\n"
        f"text.soft, text.tick, text.small {{ fill: {colours['soft']}; }}\n"
        f".grid {{ stroke: {colours['grid']}; }} .lane {{ fill: {colours['lane']}; }}\n"
        f".hatch {{ stroke: {colours['hatch']}; }} .due {{ stroke: {colours['soft']}; }}\n"
        f".obstacle {{ stroke: {colours['hatch']}; fill: url(#hatch); }}\n"
        f".block {{ stroke: {colours['page']}; stroke-width: .8; }}\n"
        f"text.number {{ fill: {ON_BLOCK}; }}\n"
        f".ends {{ stroke: {colours['end']}; }} text.ends {{ fill: {colours['end']}; "
        "stroke: none; }\n"
        f".bound {{ stroke: {colours['bound']}; }} text.bound {{ fill: {colours['bound']}; "
        "stroke: none; }\n"
    )


STYLE = f"{FONT}{_rules(LIGHT)}@media (prefers-color-scheme: dark) {{ {_rules(DARK)} }}"
HATCH = tag(
    "defs",
    tag(
        "pattern",
        tag("line", x1=0, y1=0, x2=0, y2=6, class_="hatch"),
        id="hatch",
        width=6,
        height=6,
        patternUnits="userSpaceOnUse",
        patternTransform="rotate(45)",
    ),
)


@dataclass(frozen=True)
class _Axis:
    end_s: float

    def __call__(self, time_s: float) -> float:
        return GUTTER + (WIDTH - MARGIN - GUTTER) * max(0.0, time_s) / self.end_s


def colour_of(job: int, n_jobs: int) -> str:
    """Hues round the circle, so that a plan that keeps the order shows a rainbow."""
    hue = job / max(1, n_jobs)
    light = 0.68 if job % 2 else 0.77
    red, green, blue = colorsys.hls_to_rgb(hue, light, 0.62)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def picture(instance: Instance, plans: Sequence[tuple[str, Schedule]]) -> str:
    """The plans of one instance, by the names of their algorithms."""
    bound_s = instance.lower_bound_s()
    ends = [made.end_s for _, made in plans]
    last_s = max([*ends, bound_s, instance.iteration_s, 1e-9])
    axis = _Axis(1.045 * last_s)
    bottom = TOP + PLAN * len(plans)
    height = bottom + 46.0
    parts = [
        tag("style", STYLE),
        HATCH,
        tag("rect", width=WIDTH, height=height, class_="page"),
        _words(MARGIN, 30, instance.name, "heading"),
        _words(MARGIN, 50, _caption(instance), "soft"),
        _ticks(axis, bottom),
    ]
    for index, (name, made) in enumerate(plans):
        parts.append(_plan(instance, name, made, bound_s, axis, TOP + PLAN * index))
    parts.append(_lines(instance, bound_s, axis, bottom))
    return tag(
        "svg", *parts, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDTH:g} {height:g}",
        width=WIDTH, height=height, role="img",
    )  # fmt: skip


def _words(x: float, y: float, words: str, class_: str, anchor: str | None = None) -> str:
    return tag("text", text(words), x=x, y=y, class_=class_, text_anchor=anchor)


def _line(x: float, top: float, bottom: float, class_: str) -> str:
    return tag("line", x1=x, x2=x, y1=top, y2=bottom, class_=class_)


def _caption(instance: Instance) -> str:
    compress_s, write_s = (sum(job[i] for job in instance.jobs) for i in (0, 1))
    parts = [
        f"{len(instance.jobs)} blocks: {duration_text(compress_s)} to compress, "
        f"{duration_text(write_s)} to write",
        f"hatched: the application's own use ({len(instance.compress)} + {len(instance.write)})",
    ]
    if instance.resumable:
        parts.append("compressions may be suspended")
    return "; ".join(parts)


def _ticks(axis: _Axis, bottom: float) -> str:
    step = nice_step(axis.end_s, 10)
    parts = []
    for i in range(int(axis.end_s / step) + 1):
        x = axis(i * step)
        parts.append(_line(x, TOP - 6, bottom - PLAN_GAP + 6, "grid"))
        parts.append(_words(x, bottom + 6, duration_text(round(i * step, 9)), "tick", "middle"))
    return "".join(parts)


def _lines(instance: Instance, bound_s: float, axis: _Axis, bottom: float) -> str:
    """What no plan can beat, and when the application alone would be done."""
    marks = [(bound_s, "bound", "no plan ends before")]
    if instance.iteration_s > 0:
        marks.append((instance.iteration_s, "due", "iteration alone"))
    marks.sort()
    parts = []
    apart = len(marks) < 2 or axis(marks[1][0]) - axis(marks[0][0]) > 250
    for index, (time_s, class_, what) in enumerate(marks):
        x = axis(time_s)
        parts.append(_line(x, TOP - 8, bottom - PLAN_GAP + 6, class_))
        label = f"{what} {time_s:.4g} s"
        anchor = "middle" if apart and x < WIDTH - 100 else ("start" if index else "end")
        if x > WIDTH - 130 and len(marks) == 1:
            anchor = "end"
        y = TOP - 14
        if anchor == "start" and x > WIDTH - 160:  # two lines close to the margin
            anchor, y = "end", TOP - 28
        parts.append(_words(x, y, label, f"small {class_ if class_ == 'bound' else ''}", anchor))
    return "".join(parts)


def _plan(
    instance: Instance, name: str, made: Schedule, bound_s: float, axis: _Axis, top: float
) -> str:
    write_top = top + LANE + LANE_GAP
    over = f", bound + {100 * (made.end_s / bound_s - 1):.1f} %" if bound_s > 0 else ""
    parts = [
        _words(MARGIN, top + 14, name, "name"),
        _words(MARGIN, top + 30, f"ends at {made.end_s:.4g} s{over}", "small"),
        _words(GUTTER - 6, top + 15, "compress", "small", "end"),
        _words(GUTTER - 6, write_top + 15, "write", "small", "end"),
    ]
    for y in (top, write_top):
        parts.append(
            tag("rect", x=GUTTER, y=y, width=WIDTH - MARGIN - GUTTER, height=LANE, class_="lane")
        )
    for obstacles, y in ((instance.compress, top), (instance.write, write_top)):
        for begin_s, end_s in obstacles:
            if end_s <= 0.0 or begin_s >= axis.end_s or end_s <= begin_s:
                continue
            x, right = axis(begin_s), axis(min(end_s, axis.end_s))
            about = tag("title", text(f"the application's own use, {begin_s:.4f} to {end_s:.4f} s"))
            parts.append(
                tag("rect", about, x=x, y=y, width=right - x, height=LANE, class_="obstacle")
            )
    for job, times in enumerate(
        zip(made.compress_begin_s, made.compress_end_s, made.write_begin_s, made.write_end_s,
            strict=True)
    ):  # fmt: skip
        colour = colour_of(job, len(instance.jobs))
        parts.append(
            _block(job, "compress", times[0], times[1], instance.compress, axis, top, colour)
        )
        parts.append(_block(job, "write", times[2], times[3], (), axis, write_top, colour))
    x = axis(made.end_s)
    parts.append(_line(x, top - 3, write_top + LANE + 3, "ends"))
    return "".join(parts)


def _pieces(
    begin_s: float, end_s: float, obstacles: Sequence[tuple[float, float]]
) -> list[tuple[float, float]]:
    """What of [begin_s, end_s) lies outside the obstacles."""
    pieces = []
    for low_s, high_s in obstacles:
        if high_s <= begin_s or low_s >= end_s or high_s <= low_s:
            continue
        if low_s > begin_s:
            pieces.append((begin_s, low_s))
        begin_s = high_s
    if begin_s < end_s:
        pieces.append((begin_s, end_s))
    return pieces


def _block(
    job: int, task: str, begin_s: float, end_s: float, obstacles: Sequence[tuple[float, float]],
    axis: _Axis, top: float, colour: str,
) -> str:  # fmt: skip
    about = f"block {job}: {task} {begin_s:.4f} to {end_s:.4f} s"
    parts = [tag("title", text(about))]
    pieces = _pieces(begin_s, end_s, obstacles)
    if len(pieces) > 1:
        middle = top + LANE / 2
        left, right = axis(begin_s), axis(end_s)
        parts.append(
            tag("line", x1=left, x2=right, y1=middle, y2=middle, stroke=colour, stroke_width=3)
        )
    for low_s, high_s in pieces:
        x, width = axis(low_s), max(0.6, axis(high_s) - axis(low_s))
        parts.append(
            tag("rect", x=x, y=top + 1, width=width, height=LANE - 2, rx=1.5, fill=colour,
                class_="block")
        )  # fmt: skip
    if pieces:
        low_s, high_s = max(pieces, key=lambda piece: piece[1] - piece[0])
        width = axis(high_s) - axis(low_s)
        if width >= 6.2 * len(str(job)) + 3:
            x = axis(low_s) + width / 2
            parts.append(tag("text", str(job), x=x, y=top + LANE / 2 + 4, class_="number"))
    return tag("g", *parts)
