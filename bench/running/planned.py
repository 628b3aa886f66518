"""What a plan promised and what came of it, from the traces of a run."""

from __future__ import annotations

import json
from pathlib import Path


def planned_against_actual(traces: list[Path]) -> list[float]:
    """For each dump but the first, real over planned length of the iteration it was written in.

    Planned: the application's own length of the iteration before, or the planned end of the last
    write if that is later. Real: the same of what happened. The first dump has no history to plan
    from. The times of a trace are microseconds; a dump of iteration n is written in n + 1.
    """
    ratios = []
    for trace in traces:
        events = [e for e in json.loads(trace.read_text())["traceEvents"] if e.get("ph") == "X"]
        iterations = {
            e["args"]["iteration"]: (e["ts"], e["dur"]) for e in events if e["cat"] == "iteration"
        }

        def last_end(kind: str, number: int, events: list = events) -> float | None:
            ends = [
                e["ts"] + e["dur"]
                for e in events
                if e["cat"] == kind and e["args"]["iteration"] == number
            ]
            return max(ends) if ends else None

        dumps = sorted({e["args"]["iteration"] for e in events if e["cat"] == "planned_write"})
        for number in dumps[1:]:
            planned, actual = last_end("planned_write", number), last_end("write", number)
            if number + 1 not in iterations or planned is None or actual is None:
                continue
            begin, length = iterations[number + 1]
            promised = max(iterations[number][1], planned - begin)
            ratios.append(max(length, actual - begin) / promised)
    return ratios
