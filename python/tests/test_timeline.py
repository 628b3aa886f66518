"""The timeline: every task is drawn where its times say, in the row of its kind, and is escaped."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest
from caesura.report.facts import facts_of
from caesura.report.page import (
    median_plan_error_s,
    summary,
    write_interference_s,
)
from caesura.report.quantities import bytes_text, duration_text, nice_step
from caesura.report.run_page import run_page
from caesura.report.timeline import Scale, axis_text, detail_svg, short_name, standalone_svg
from caesura.trace import Event, read_traces

SVG = "{http://www.w3.org/2000/svg}"


def event(kind, begin_s, end_s, name="rho #0", **more):
    fields = {"rank": 0, "lane": "", "iteration": 1, "bytes": 0} | more
    return Event(kind=kind, name=name, begin_s=begin_s, end_s=end_s, **fields)


def trace_page(trace):
    return run_page(facts_of(None, [], trace), trace, [])


def test_standalone_picture_is_valid_and_holds_every_task_of_the_iteration(traces):
    trace = read_traces(traces)
    span = trace.typical_iteration()
    root = ElementTree.fromstring(standalone_svg(trace))
    drawn = [g for g in root.iter(f"{SVG}g") if "data-b" in g.attrib]
    for kind in ("compress", "write", "planned_compress", "planned_write"):
        wanted = [
            e
            for e in trace.events
            if e.kind == kind and e.end_s > span.begin_s and e.begin_s < span.end_s
        ]
        css = f"event {kind}"
        if kind.startswith("planned_"):
            css = f"event planned {kind.removeprefix('planned_')}"
        assert sum(g.get("class") == css for g in drawn) == len(wanted) >= 12


def test_boxes_lie_where_their_times_say(traces):
    root = ElementTree.fromstring(detail_svg(read_traces(traces)))
    scale = Scale(float(root.get("data-begin")), float(root.get("data-end")))
    boxes = [g for g in root.iter(f"{SVG}g") if "data-b" in g.attrib]
    assert len(boxes) > 500
    for group in boxes:
        rect = group.find(f"{SVG}rect")
        x, width = float(rect.get("x")), float(rect.get("width"))
        assert x == pytest.approx(scale.x(float(group.get("data-b"))), abs=0.02)
        assert width == pytest.approx(max(scale.x(float(group.get("data-e"))) - x, 0.8), abs=0.03)


def test_planned_lies_above_actual_in_the_same_lane(traces):
    root = ElementTree.fromstring(detail_svg(read_traces(traces)))

    def rows(css):
        return {
            float(g.find(f"{SVG}rect").get("y"))
            for g in root.iter(f"{SVG}g")
            if g.get("class") == css
        }

    for lane in ("compress", "write"):
        planned, actual = sorted(rows(f"event planned {lane}")), sorted(rows(f"event {lane}"))
        assert len(planned) == len(actual) == 2  # one row a rank
        assert all(0 < low - high < 30 for high, low in zip(planned, actual, strict=True))


def test_page_loads_nothing_from_elsewhere(traces):
    html = trace_page(read_traces(traces))
    assert not re.search(r"(?:src|href)\s*=|@import|url\(['\"]?http", html)
    addresses = set(re.findall(r"https?://[^\"'\s<]+", html))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a name space, not a place


def test_names_from_a_trace_cannot_become_markup(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(
        json.dumps(
            [
                {"ph": "X", "cat": "iteration", "name": "<script>alert(1)</script>", "pid": 0,
                 "tid": 0, "ts": 0, "dur": 1e6, "args": {"iteration": 0}},
                {"ph": "X", "cat": "compress", "name": '"><img onerror=x>', "pid": 0, "tid": 1,
                 "ts": 1e5, "dur": 1e5, "args": {"iteration": 0}},
            ]
        )
    )  # fmt: skip
    html = trace_page(read_traces([path]))
    assert "<script>alert" not in html
    assert "<img" not in html


def test_writes_inside_obstacles_are_added_up():
    events = [
        event("obstacle", 1.0, 2.0, name="write"),
        event("obstacle", 1.0, 9.0, name="compress"),
        event("write", 0.5, 1.25),
        event("write", 1.5, 1.75),
        event("write", 3.0, 4.0),
    ]
    assert write_interference_s(events) == pytest.approx(0.5)


def test_plan_error_is_the_median_distance_of_begins():
    events = []
    for n, late_s in enumerate((0.1, 0.2, 0.9)):
        events.append(event("planned_write", n, n + 0.5, name=f"rho #{n}"))
        events.append(event("write", n + late_s, n + late_s + 0.5, name=f"rho #{n}"))
    events.append(event("write", 7.0, 8.0, name="never planned"))
    assert median_plan_error_s(events) == pytest.approx(0.2)


def test_summary_adds_up_each_rank(traces):
    trace = read_traces(traces)
    for row in summary(trace):
        mine = [e for e in trace.events if e.rank == row["rank"] and e.kind == "compress"]
        assert row["compress_s"] == pytest.approx(sum(e.duration_s for e in mine))
        assert row["stored_bytes"] == sum(e.bytes for e in mine) > 0


def test_short_names_tell_blocks_apart():
    assert short_name("baryon_density #3") == "bd3"
    assert short_name("velocity/x #12") == "vx12"
    assert short_name("temperature") == "t"


def test_quantities_read_well():
    assert [bytes_text(n) for n in (0, 999, 1500, 4.03e9)] == ["0 B", "999 B", "1.5 kB", "4.03 GB"]
    assert [duration_text(s) for s in (0, 2.5e-5, 0.0123, 38.44, 130, 7500, 272_000)] == [
        "0 s",
        "25 µs",
        "12.3 ms",
        "38.4 s",
        "2 min 10 s",
        "2 h 05 min",
        "3 d 3 h",
    ]
    assert nice_step(0.7, 10) == pytest.approx(0.1)
    assert nice_step(8.0, 10) == pytest.approx(1.0)
    assert [axis_text(t, 0.05) for t in (0.0, 0.05)] == ["0 ms", "50 ms"]
    assert axis_text(5.0, 0.1) == "5.0 s"
