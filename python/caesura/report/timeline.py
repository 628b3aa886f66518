"""The timeline of a run as SVG: per rank the application, then each lane, planned above actual.

Invariants:
 - Time maps to x in one place (Scale). Every box carries its times (data-b, data-e), so that the
   page's script can zoom by setting x and width alone; without the script the picture stands.
 - Colours come from classes (style.css); nothing is said by colour alone: rows are labelled, boxes
   have a tooltip, obstacles are hatched.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

from caesura.report.markup import tag, text
from caesura.report.quantities import bytes_text, duration_text, nice_step
from caesura.trace import Event, Span, Trace, coverage

WIDTH = 1200.0
GUTTER = 152.0  # row labels
MARGIN = 16.0
AXIS_HEIGHT = 34.0
PLANNED_HEIGHT = 12.0
ACTUAL_HEIGHT = 22.0
ROW_GAP = 10.0
RANK_GAP = 26.0
CHARACTER_WIDTH = 6.9  # of the 11 px label font, on average

LEGEND = [
    ("compress", "compress a block"),
    ("write", "write blocks"),
    ("sync", "sync"),
    ("commit", "commit"),
    ("planned", "the same, as planned"),
    ("obstacle", "obstacle: the application needs this lane"),
    ("put", "put / begin dump"),
    ("end", "end of iteration (collective)"),
    ("wait", "the application waits for us"),
]


@dataclass(frozen=True)
class Scale:
    begin_s: float
    end_s: float
    left: float = GUTTER
    right: float = WIDTH - MARGIN

    def x(self, time_s: float) -> float:
        share = (time_s - self.begin_s) / (self.end_s - self.begin_s)
        return self.left + share * (self.right - self.left)

    def shows(self, event: Event) -> bool:
        return event.end_s > self.begin_s and event.begin_s < self.end_s


@dataclass(frozen=True)
class Row:
    """Where events of some kinds go, relative to the rank's top."""

    label: str
    kinds: frozenset[str]
    y: float
    height: float
    obstacle: str | None = None  # the lane whose obstacles lie here


def rank_rows() -> list[Row]:
    rows: list[Row] = []
    y = 0.0
    kinds = frozenset({"iteration", "put", "end", "wait", "plan"})
    rows.append(Row("application", kinds, y, ACTUAL_HEIGHT))
    y += ACTUAL_HEIGHT + ROW_GAP
    for lane, actual in (("compress", {"compress"}), ("write", {"write", "sync", "commit"})):
        rows.append(
            Row(f"{lane}, planned", frozenset({f"planned_{lane}"}), y, PLANNED_HEIGHT, lane)
        )
        y += PLANNED_HEIGHT
        rows.append(Row("actual", frozenset(actual), y, ACTUAL_HEIGHT, lane))
        y += ACTUAL_HEIGHT + ROW_GAP
    return rows


def rank_height() -> float:
    last = rank_rows()[-1]
    return last.y + last.height


def short_name(name: str) -> str:
    """ "baryon_density #3" -> "bd3": enough to find a block's write below its compression."""
    match = re.fullmatch(r"(.*?)\s*#(\d+)", name)
    words = re.split(r"[^A-Za-z]+", match.group(1) if match else name)
    return "".join(word[0] for word in words if word) + (match.group(2) if match else "")


def tooltip(event: Event) -> str:
    kind = event.kind.replace("_", " ")
    lines = [f"{kind}: {event.name}" if event.name not in ("", event.kind) else kind]
    if event.kind == "obstacle":
        lines = [f"obstacle: the application needs the {event.name} lane"]
    lines.append(f"{duration_text(event.duration_s)}, from {event.begin_s:.4f} s")
    if event.bytes:
        rate = event.bytes / event.duration_s if event.duration_s > 0 else 0.0
        lines.append(f"{bytes_text(event.bytes)} ({bytes_text(rate)}/s)")
    lines.append(f"rank {event.rank}, iteration {event.iteration}")
    return "\n".join(lines)


def _box(event: Event, scale: Scale, y: float, height: float, css: str) -> str:
    """One event: a rectangle with a tooltip, and a label where it fits."""
    x = scale.x(event.begin_s)
    width = max(scale.x(event.end_s) - x, 0.8)
    children = [tag("title", text(tooltip(event)))]
    rectangle = tag(
        "rect", *children, x=x, y=y, width=width, height=height, rx=2 if height > 8 else 1
    )
    label = ""
    if event.kind in ("iteration", "compress", "write"):
        label = event.name
    caption = ""
    if label:
        short = str(event.iteration) if event.kind == "iteration" else short_name(label)
        shown = next((s for s in (label, short) if _fits(s, width)), "")
        caption = tag(
            "text",
            text(shown),
            x=x + 4,
            y=y + height / 2 + 4,
            data_long=label,
            data_short=short,
        )
        if not shown:
            caption = caption.replace("></text>", "/>")
    return tag(
        "g",
        rectangle,
        caption,
        class_=f"event {css}",
        data_b=f"{event.begin_s:.6f}",
        data_e=f"{event.end_s:.6f}",
        data_job=_job(event),
    )


def _job(event: Event) -> str | None:
    """Boxes of one block (planned and actual, both lanes) share this; the script lights them up."""
    if event.kind.removeprefix("planned_") not in ("compress", "write"):
        return None
    return f"{event.rank}/{event.iteration}/{event.name}"


def _fits(label: str, width: float) -> bool:
    return len(label) * CHARACTER_WIDTH + 8 <= width


def _rank_boxes(events: Iterable[Event], scale: Scale, top: float) -> str:
    """All boxes of one rank; obstacles first, so that tasks lie above them."""
    rows = rank_rows()
    lane_rows = {
        lane: [row for row in rows if row.obstacle == lane] for lane in ("compress", "write")
    }
    back: list[str] = []
    front: list[str] = []
    for event in events:
        if event.kind == "obstacle" and event.name in lane_rows:
            first, last = lane_rows[event.name][0], lane_rows[event.name][-1]
            height = last.y + last.height - first.y
            back.append(_box(event, scale, top + first.y, height, "obstacle"))
            continue
        for row in rows:
            if event.kind not in row.kinds:
                continue
            css = event.kind
            if event.kind.startswith("planned_"):
                css = f"planned {event.kind.removeprefix('planned_')}"
            target = back if event.kind == "iteration" else front
            target.append(_box(event, scale, top + row.y, row.height, css))
    return "".join(back) + "".join(front)


def _rank_labels(rank: int, top: float) -> str:
    parts = [
        tag("text", text(f"rank {rank}"), class_="rank", x=MARGIN, y=top + ACTUAL_HEIGHT / 2 + 4)
    ]
    for row in rank_rows():
        css = "label minor" if row.label == "actual" else "label"
        parts.append(
            tag(
                "text",
                text(row.label),
                class_=css,
                x=GUTTER - 10,
                y=top + row.y + row.height / 2 + 4,
                text_anchor="end",
            )
        )
        parts.append(
            tag(
                "line",
                class_="row",
                x1=GUTTER,
                x2=WIDTH - MARGIN,
                y1=top + row.y + row.height + 0.5,
                y2=top + row.y + row.height + 0.5,
            )
        )
    return "".join(parts)


def axis(scale: Scale, top: float, bottom: float, origin_s: float) -> str:
    """Ticks with grid lines; times count from `origin_s`."""
    step = nice_step(scale.end_s - scale.begin_s, 10)
    parts = []
    index = int((scale.begin_s - origin_s) / step) - 1
    while (time_s := origin_s + index * step) <= scale.end_s + step * 1e-6:
        index += 1
        if time_s < scale.begin_s - step * 1e-6:
            continue
        x = scale.x(time_s)
        parts.append(tag("line", class_="grid", x1=x, x2=x, y1=top, y2=bottom))
        caption = axis_text(time_s - origin_s, step)
        anchor = "end" if x > WIDTH - 24 else "middle"  # or the edge would cut it
        parts.append(tag("text", text(caption), class_="tick", x=x, y=top - 8, text_anchor=anchor))
    return tag("g", *parts, class_="axis")


def axis_text(time_s: float, step: float) -> str:
    """As many decimals as the step needs, the same on every tick (script.js does likewise)."""
    factor, unit = (1e3, "ms") if step < 0.1 else (1.0, "s")
    decimals = max(0, -math.floor(math.log10(step * factor) + 1e-9))
    return f"{time_s * factor:.{decimals}f} {unit}"


def pattern() -> str:
    """The hatching of obstacles."""
    stripe = tag("path", d="M0 8L8 0M-2 2L2 -2M6 10L10 6", class_="hatch-line")
    back = tag("rect", width=8, height=8, class_="hatch-back")
    return tag(
        "pattern", back, stripe, id="hatch", width=8, height=8, patternUnits="userSpaceOnUse"
    )


def legend_svg(y: float) -> tuple[str, float]:
    """For the standalone picture; returns markup and height."""
    parts, x, row = [], GUTTER, 0
    for css, caption in LEGEND:
        width = 22 + len(caption) * 6.6 + 18
        if x + width > WIDTH - MARGIN:
            x, row = GUTTER, row + 1
        top = y + row * 20
        css_class = "event planned compress" if css == "planned" else f"event {css}"
        mark = tag("rect", x=x, y=top, width=16.0, height=12.0, rx=2)
        parts.append(tag("g", mark, class_=css_class))
        parts.append(tag("text", text(caption), class_="label", x=x + 22, y=top + 10))
        x += width
    return "".join(parts), (row + 1) * 20.0


def stylesheet() -> str:
    return files("caesura.report").joinpath("timeline.css").read_text(encoding="utf-8")


def drawing(trace: Trace, scale: Scale, origin_s: float, only_shown: bool) -> tuple[str, float]:
    """Axis, labels and boxes of all ranks; returns markup and height."""
    top = AXIS_HEIGHT
    labels, boxes = [], []
    for rank in trace.ranks:
        events = [
            event
            for event in trace.events
            if event.rank == rank and (not only_shown or scale.shows(event))
        ]
        labels.append(_rank_labels(rank, top))
        boxes.append(_rank_boxes(events, scale, top))
        top += rank_height() + RANK_GAP
    bottom = top - RANK_GAP + 6
    clip = tag(
        "clipPath",
        tag("rect", x=scale.left, y=0, width=scale.right - scale.left, height=bottom + 4),
        id="plot",
    )
    body = tag("g", *boxes, class_="boxes", clip_path="url(#plot)")
    grid = axis(scale, AXIS_HEIGHT - 6, bottom, origin_s)
    return tag("defs", pattern(), clip) + grid + "".join(labels) + body, bottom


def standalone_svg(trace: Trace, title: str = "") -> str:
    """One iteration as a picture of its own: background, styles and legend inside."""
    span = trace.typical_iteration()
    pad_s = 0.02 * (span.end_s - span.begin_s)
    scale = Scale(span.begin_s - pad_s, span.end_s + pad_s)
    body, height = drawing(trace, scale, span.begin_s, only_shown=True)
    heading = (
        title or f"Iteration {span.number}: planned and actual, around the application's needs"
    )
    caption, legend_height = legend_svg(height + 18)
    head_height = 40.0
    total = head_height + height + 18 + legend_height + 12
    shifted = tag("g", body, caption, transform=f"translate(0 {head_height:g})")
    return tag(
        "svg",
        tag("title", text(heading)),
        tag("style", stylesheet()),
        tag("rect", class_="page", width=WIDTH, height=total),
        tag("text", text(heading), class_="heading", x=MARGIN, y=27),
        shifted,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH:g} {total:g}",
        width=WIDTH,
        height=total,
        role="img",
        class_="timeline",
    )


def detail_svg(
    trace: Trace, span: Span | None = None, reach: tuple[float, float] | None = None
) -> str:
    """For the page: all events, clipped to the typical iteration or `span` until the script zooms.

    `reach`: the script goes nowhere else, because the trace has no events there.
    """
    span = span or trace.typical_iteration()
    reach = reach or (0.0, trace.end_s)
    pad_s = 0.03 * (span.end_s - span.begin_s)
    scale = Scale(span.begin_s - pad_s, span.end_s + pad_s)
    body, height = drawing(trace, scale, 0.0, only_shown=False)
    return tag(
        "svg",
        body,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH:g} {height + 6:g}",
        class_="timeline",
        id="detail",
        role="img",
        aria_label=f"Timeline of iteration {span.number}, planned above actual: {len(trace.ranks)} "
        f"ranks, {_tasks(trace, span)}",
        data_from=f"{reach[0]:.6f}",
        data_to=f"{reach[1]:.6f}",
        data_begin=f"{scale.begin_s:.6f}",
        data_end=f"{scale.end_s:.6f}",
        data_left=scale.left,
        data_right=scale.right,
        data_top=AXIS_HEIGHT - 6,
        data_bottom=height,
    )


_COUNTED = (("compress", "compressions"), ("write", "writes"), ("obstacle", "obstacles"))


def _tasks(trace: Trace, span: Span) -> str:
    """What ran in it, for who cannot see the picture."""
    inside = [e for e in trace.events if e.end_s > span.begin_s and e.begin_s < span.end_s]
    said = []
    for kind, word in _COUNTED:
        own = [event for event in inside if event.kind == kind]
        took_s = sum(event.duration_s for event in own)
        said.append(f"{len(own)} {word} ({duration_text(took_s)})")
    return ", ".join(said)


def overview_svg(trace: Trace) -> str:
    """The whole run, small: iterations, and what ran in each lane."""
    end_s = trace.end_s
    scale = Scale(0.0, end_s)
    rows = (("iteration", "wait"), ("compress",), ("write", "sync", "commit"))
    height, gap, top = 9.0, 4.0, 22.0
    parts = [axis(scale, 16, top + len(trace.ranks) * 46, 0.0)]
    for rank in trace.ranks:
        parts.append(tag("text", text(f"rank {rank}"), class_="rank", x=MARGIN, y=top + 22))
        for index, kinds in enumerate(rows):
            y = top + index * (height + gap)
            name = ("application", "compress", "write")[index]
            parts.append(
                tag(
                    "text",
                    text(name),
                    class_="label tiny",
                    x=GUTTER - 10,
                    y=y + 8,
                    text_anchor="end",
                )
            )
            row = [e for e in trace.events if e.rank == rank and e.kind in kinds]
            parts += _marks(row, scale, y, height)
        top += 3 * (height + gap) + 8
    return tag(
        "svg",
        *parts,
        tag("rect", id="brush", x=0, y=14, width=10, height=top - 16, rx=3),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH:g} {top + 4:g}",
        class_="timeline",
        id="overview",
        role="img",
        aria_label=f"The whole run, {duration_text(end_s)}: {len(trace.iterations())} iterations",
        data_end=f"{end_s:.6f}",
        data_left=scale.left,
        data_right=scale.right,
    )


def _marks(events: list[Event], scale: Scale, y: float, height: float) -> list[str]:
    """Each event; where they are more than could be told apart, how full each stretch is."""
    if len(events) <= 400:
        return [_mark(event, scale, y, height) for event in events]
    parts = []
    step = 2.0
    per_unit_s = (scale.end_s - scale.begin_s) / (scale.right - scale.left)
    for kind in dict.fromkeys(event.kind for event in events):
        covered_s = coverage((e.begin_s, e.end_s) for e in events if e.kind == kind)
        for column in range(int((scale.right - scale.left) / step)):
            begin_s = scale.begin_s + column * step * per_unit_s
            share = min(1.0, covered_s(begin_s, begin_s + step * per_unit_s) / (step * per_unit_s))
            if share > 0.005:
                x = scale.left + column * step
                box = tag("rect", x=x, y=y, width=step, height=height, style="stroke:none",
                          fill_opacity=0.15 + 0.85 * share)  # fmt: skip
                parts.append(tag("g", box, class_=f"event {kind}"))
    return parts


def _mark(event: Event, scale: Scale, y: float, height: float) -> str:
    x = scale.x(event.begin_s)
    width = max(scale.x(event.end_s) - x - (1.0 if event.kind == "iteration" else 0.0), 0.5)
    css = event.kind
    number = event.iteration if event.kind == "iteration" else None
    rectangle = tag("rect", x=x, y=y, width=width, height=height)
    return tag("g", rectangle, class_=f"event {css}", data_iteration=number)
