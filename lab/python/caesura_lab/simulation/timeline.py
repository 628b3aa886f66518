"""What one simulated rank did, as the trace that `caesura report` draws."""

from __future__ import annotations

from typing import Any

from caesura.trace import Event, Trace

_KINDS = {
    "host": ("obstacle", "compress"),
    "communicate": ("obstacle", "write"),
    "snapshot": ("put", "put"),
    "wait": ("wait", "wait"),
}


def trace_of(outcome: dict[str, Any], rank: int) -> Trace:
    """From the outcome of a run that was asked for this rank's timeline."""
    trace = Trace()
    at_s = 0.0
    for number, length_s in enumerate(outcome["iteration_s"]):
        trace.events.append(
            Event("iteration", f"iteration {number}", rank, "", at_s, at_s + length_s, number, 0)
        )
        at_s += length_s
    for kind, begin_s, end_s, iteration, block in outcome["timeline"]:
        shown, name = _KINDS.get(kind, (kind, f"block #{block}"))
        trace.events.append(Event(shown, name, rank, "", begin_s, end_s, iteration, 0))
    trace.events.sort(key=lambda event: (event.begin_s, event.end_s))
    return trace
