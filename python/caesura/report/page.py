"""One self-contained HTML page around a trace: overview, one iteration enlarged, and counters."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from caesura.report.markup import tag, text
from caesura.report.quantities import bytes_text, duration_text
from caesura.report.shown import chosen_span, shown_of
from caesura.report.timeline import LEGEND, detail_svg, overview_svg, stylesheet
from caesura.trace import Event, Trace, coverage

_BUTTONS = [
    ("previous", "‹ iteration"),
    ("next", "iteration ›"),
    ("in", "zoom in"),
    ("out", "zoom out"),
    ("home", "chosen iteration"),
    ("all", "whole run"),
]


def _resource(name: str) -> str:
    return files("caesura.report").joinpath(name).read_text(encoding="utf-8")


def page(title: str, *sections: str) -> str:
    """The document; nothing in it is loaded from elsewhere."""
    head = tag(
        "head",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        tag("title", text(title)),
        tag("style", _resource("page.css"), _resource("charts.css"), stylesheet()),
    )
    script = f"<script>{_resource('script.js')}</script>"
    body = tag("body", tag("main", *sections), script)
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], ours: int = -1, caption: str = ""
) -> str:
    """Cells are markup; row number `ours` is set off."""
    cells = [tag("th", cell, scope="col") for cell in head]
    body = [
        tag("tr", *[tag("td", cell) for cell in row], class_="ours" if number == ours else None)
        for number, row in enumerate(rows)
    ]
    parts = [tag("caption", text(caption))] if caption else []
    parts += [tag("thead", tag("tr", *cells)), tag("tbody", *body)]
    return tag("div", tag("table", *parts), class_="scroll")


def definitions(pairs: Sequence[tuple[str, str]]) -> str:
    return tag(
        "dl", *[tag("dt", text(name)) + tag("dd", text(value)) for name, value in pairs if value]
    )


def _legend() -> str:
    items = []
    for css, caption in LEGEND:
        css_class = "event planned compress" if css == "planned" else f"event {css}"
        mark = tag("g", tag("rect", x=1, y=1, width=16, height=12, rx=2), class_=css_class)
        swatch = tag("svg", mark, viewBox="0 0 18 14", class_="timeline", aria_hidden="true")
        items.append(tag("li", swatch, text(caption)))
    return tag("ul", *items, class_="legend")


def timeline_section(trace: Trace, iteration: int | None = None) -> str:
    """`iteration`: the one to enlarge, else the typical one. KeyError: it is not in the trace."""
    shown = shown_of(trace, iteration)
    span = chosen_span(trace, iteration)
    buttons = [
        tag("button", text(caption), type="button", data_action=action)
        for action, caption in _BUTTONS
    ]
    toolbar = tag("div", *buttons, tag("output", " ", id="window"), class_="toolbar")
    hint = (
        "Wheel over the timeline zooms, drag or shift+wheel moves; drag in the overview to go "
        "elsewhere; point at a block to see its plan, its compression and its write together. "
        "With the keyboard: Tab to the timeline, then arrow keys move, + and − zoom, Page Up and "
        "Page Down go from iteration to iteration, Home returns."
    )
    return tag(
        "section",
        tag("h2", "Timeline"),
        tag("p", "The whole run; below it one iteration, planned above actual.", class_="soft"),
        tag("p", text(shown.said), class_="note") if shown.said else "",
        tag("div", overview_svg(shown.whole), class_="scroll"),
        toolbar,
        tag(
            "div",
            detail_svg(shown.enlarged, span, (shown.begin_s, shown.end_s)),
            class_="scroll",
            id="stage",
            tabindex="0",
            role="group",
            aria_label="Timeline: arrow keys move, plus and minus zoom",
        ),
        _legend(),
        tag("p", hint, class_="note on-screen", style="margin-top:10px"),
    )


def summary(trace: Trace) -> list[dict[str, float]]:
    """What each rank's lanes did in sum, and what of it the application felt; seconds and bytes."""
    rows = []
    for rank in trace.ranks:
        mine = [event for event in trace.events if event.rank == rank]

        def total_s(kind: str, mine: Sequence[Event] = mine) -> float:
            return sum(event.duration_s for event in mine if event.kind == kind)

        rows.append(
            {
                "rank": rank,
                "compress_s": total_s("compress"),
                "write_s": total_s("write"),
                "write_interference_s": write_interference_s(mine),
                "stored_bytes": sum(e.bytes - e.given_bytes for e in mine if e.kind == "write"),
                "given_bytes": sum(e.given_bytes for e in mine),
                "put_s": total_s("put"),
                "end_s": total_s("end"),
                "wait_s": total_s("wait"),
                "median_plan_error_s": median_plan_error_s(mine),
            }
        )
    return rows


def lane_section(trace: Trace) -> str:
    """The summary as a table."""
    sums = summary(trace)
    given = any(row["given_bytes"] for row in sums)  # values for a service, which stores them
    head = ["rank", "compressing", "writing", "writes inside obstacles", "stored",
            *(["handed over"] if given else []),
            "in put", "in end", "waiting", "plans off by"]  # fmt: skip
    rows = [
        [str(row["rank"])]
        + [duration_text(row[key]) for key in ("compress_s", "write_s", "write_interference_s")]
        + [bytes_text(row["stored_bytes"])]
        + ([bytes_text(row["given_bytes"])] if given else [])
        + [duration_text(row[key]) for key in ("put_s", "end_s", "wait_s", "median_plan_error_s")]
        for row in sums
    ]
    note = (
        "“Plans off by” is the median distance between a task's planned and actual begin. "
        "“In put”, “in end” and “waiting” are the application's own time inside the library."
    )
    return tag(
        "section",
        tag("h2", "Lanes in numbers"),
        table(head, rows),
        tag("p", note, class_="note", style="margin-top:10px"),
    )


def write_interference_s(events: Sequence[Event]) -> float:
    """Seconds of writing that fell inside the application's marked write obstacles."""
    inside_s = coverage(
        (event.begin_s, event.end_s)
        for event in events
        if event.kind == "obstacle" and event.name == "write"
    )
    return sum(inside_s(event.begin_s, event.end_s) for event in events if event.kind == "write")


def median_plan_error_s(events: Sequence[Event]) -> float:
    """Median |actual begin - planned begin| over tasks that were planned under the same name."""
    planned = {
        (event.kind.removeprefix("planned_"), event.iteration, event.name): event.begin_s
        for event in events
        if event.kind.startswith("planned_")
    }
    errors = sorted(
        abs(event.begin_s - planned[key])
        for event in events
        if (key := (event.kind, event.iteration, event.name)) in planned
    )
    return errors[len(errors) // 2] if errors else 0.0
