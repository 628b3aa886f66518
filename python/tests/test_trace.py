"""Reading traces: what the library writes comes back, what is no trace is refused with a reason."""

from __future__ import annotations

import json

import pytest
from caesura.trace import TraceError, read_traces


def test_events_keep_rank_lane_times_and_bytes(tmp_path):
    # The format is the library's: X events in microseconds, lanes named by metadata events.
    path = tmp_path / "t.json"
    meta = {"ph": "M", "name": "thread_name", "pid": 3, "tid": 1, "args": {"name": "write lane"}}
    task = {
        "ph": "X",
        "cat": "write",
        "name": "rho #0",
        "pid": 3,
        "tid": 1,
        "ts": 1_500_000.0,
        "dur": 250_000.0,
        "args": {"iteration": 7, "bytes": 1000},
    }
    path.write_text(json.dumps({"traceEvents": [meta, task]}))
    (event,) = read_traces([path]).events
    assert (event.kind, event.name, event.rank, event.lane) == ("write", "rho #0", 3, "write lane")
    assert (event.begin_s, event.end_s) == (1.5, 1.75)
    assert (event.iteration, event.bytes) == (7, 1000)


def test_ranks_and_iterations_are_found_in_order(traces):
    trace = read_traces(reversed(traces))
    assert trace.ranks == [0, 1]
    assert [span.number for span in trace.iterations()] == list(range(12))
    begins = [span.begin_s for span in trace.iterations(1)]
    assert begins == sorted(begins)


def test_typical_iteration_is_one_that_hides_work(traces):
    trace = read_traces(traces)
    span = trace.typical_iteration()
    inside = [
        event
        for event in trace.events
        if event.kind == "compress" and span.begin_s <= event.begin_s < span.end_s
    ]
    assert len(inside) >= 12
    assert span.number >= 3  # the models are still learning before


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"other": []}', '[{"ph": "X"}]'])
def test_what_is_no_trace_is_refused_by_name(tmp_path, content):
    path = tmp_path / "not-a-trace.json"
    path.write_text(content)
    with pytest.raises(TraceError, match=r"not-a-trace\.json"):
        read_traces([path])


def test_an_empty_trace_is_refused(tmp_path):
    path = tmp_path / "empty.json"
    path.write_text('{"traceEvents": []}')
    with pytest.raises(TraceError, match="no event"):
        read_traces([path])
