"""What a run's lanes do, by rank, over the dumps that are kept."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from caesura.report.quantities import duration_text
from caesura.trace import Event

_LIMITS = 0.9  # of the time between dumps: a lane that takes more has no room left
_FELT = 0.05  # of the application's time: copying alone takes 3 to 4 % where much is handed over


@dataclass
class Lane:
    """One rank (or all) over the dumps that are kept, in seconds."""

    rank: int | None  # None: all together, as the connector's report has them
    dumps: int  # that are written
    span_s: float  # of the application's time that was looked at
    between_s: float | None  # begins of dumps, median
    compress_s: float  # a dump, median: while at least one thread did
    write_s: float
    put_s: float  # all, the application's: copying, and waiting for memory
    end_s: float
    in_flight: int  # handed over and not written
    next_s: float | None  # to the next dump; negative: overdue

    @property
    def felt(self) -> float:
        """Share of the application's time that it spent in Caesura."""
        return (self.put_s + self.end_s) / self.span_s if self.span_s > 0 else 0.0

    @property
    def load(self) -> tuple[int, float]:
        """Which of two ranks holds the job up more: one whose lane limits, else one whose calls are
        felt, else the one with the busier lane. Shares of time, so that ranks can be compared."""
        busy_s = max(self.compress_s, self.write_s)
        busy = busy_s / self.between_s if self.between_s else 0.0
        if busy >= _LIMITS:
            return 2, busy
        return (1, self.felt) if self.felt > _FELT else (0, busy)

    def limit(self) -> str:
        """In words, with numbers: what keeps dumps from coming faster."""
        if self.between_s is None or not self.dumps:
            return "not known yet"
        lane, busy_s = max(
            ("compress", self.compress_s), ("write", self.write_s), key=lambda pair: pair[1]
        )
        numbers = f"{duration_text(busy_s)} of {duration_text(self.between_s)} between dumps"
        kind, _ = self.load
        if kind == 2:
            return f"the {lane} lane limits: {numbers}"
        if kind == 1:
            call = ", most in put" if self.put_s > self.end_s else ", most in end"
            if self.rank is None:
                call = ""
            return f"{100 * self.felt:.0f} % of the application's time is Caesura's{call}"
        return f"nothing limits; the busier lane ({lane}): {numbers}"


def lanes_of(events: Sequence[Event], since_s: float | None) -> list[Lane]:
    """Of each rank in the events. since_s: from the last event's being written to now; None: it
    ended."""
    return [
        _lane(rank, [event for event in events if event.rank == rank], since_s)
        for rank in sorted({event.rank for event in events})
    ]


def _lane(rank: int, events: list[Event], since_s: float | None) -> Lane:
    begins: dict[int, float] = {}
    busy: dict[str, dict[int, list[Event]]] = {"compress": {}, "write": {}}
    written = {event.iteration for event in events if event.kind == "sync"}
    for event in events:
        if event.kind == "put":
            known = begins.get(event.iteration, event.begin_s)
            begins[event.iteration] = min(known, event.begin_s)
        elif event.kind in busy:
            busy[event.kind].setdefault(event.iteration, []).append(event)
    order = sorted(begins.values())
    gaps = [after - before for before, after in pairwise(order)]
    between_s = statistics.median(gaps) if gaps else None
    whole = [iteration for iteration in begins if iteration in written]
    ends = [event.end_s for event in events]
    last_s = max(ends)
    next_s = None
    if between_s is not None and since_s is not None:
        next_s = order[-1] + between_s - (last_s + since_s)
    return Lane(
        rank=rank,
        dumps=len(whole),
        span_s=last_s - min((event.begin_s for event in events), default=last_s),
        between_s=between_s,
        compress_s=_median(busy["compress"], whole),
        write_s=_median(busy["write"], whole),
        put_s=sum(event.duration_s for event in events if event.kind == "put"),
        end_s=sum(event.duration_s for event in events if event.kind == "end"),
        in_flight=len([iteration for iteration in begins if iteration not in written]),
        next_s=next_s,
    )


def _median(events: dict[int, list[Event]], iterations: list[int]) -> float:
    times = [_busy_s(events.get(one, [])) for one in iterations]
    return statistics.median(times) if times else 0.0


def _busy_s(events: Sequence[Event]) -> float:
    """While at least one of them lasted: several threads may compress at once."""
    total_s, end_s = 0.0, -math.inf
    for event in sorted(events, key=lambda event: event.begin_s):
        total_s += max(0.0, event.end_s - max(event.begin_s, end_s))
        end_s = max(end_s, event.end_s)
    return total_s
