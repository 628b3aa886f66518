"""Traces: what a run did and what it had planned, read back from the Chrome-trace JSON it wrote.

One file per rank, "X" events: `cat` is the kind, `pid` the rank, thread names are lanes, times are
microseconds since the run began, args hold iteration and bytes. While a run goes on, and when it
was killed, the file is an array that is not closed, one event a line.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType


class TraceError(Exception):
    """The file is not a trace that can be shown; the message says what to do."""


_NO_NUMBERS: Mapping[str, float] = MappingProxyType({})  # of most events: one for all
_NAMED = {"iteration", "bytes", "given_bytes"}  # which have places of their own


@dataclass(frozen=True, slots=True)
class Event:
    kind: str  # compress write sync obstacle wait plan commit planned_* iteration put end, and what
    # became of a dump on its rank: block written committed
    name: str
    rank: int
    lane: str
    begin_s: float
    end_s: float
    iteration: int
    bytes: int
    given_bytes: int = 0  # of bytes: values for a service, which compresses them
    # What else its kind says.
    numbers: Mapping[str, float] = field(default_factory=lambda: _NO_NUMBERS)

    @property
    def duration_s(self) -> float:
        return self.end_s - self.begin_s


@dataclass(frozen=True)
class Span:
    """One iteration of one rank."""

    number: int
    begin_s: float
    end_s: float


@dataclass
class Trace:
    events: list[Event] = field(default_factory=list)

    @property
    def ranks(self) -> list[int]:
        return sorted({event.rank for event in self.events})

    @property
    def begin_s(self) -> float:
        return min(event.begin_s for event in self.events)

    @property
    def end_s(self) -> float:
        return max(event.end_s for event in self.events)

    def iterations(self, rank: int | None = None) -> list[Span]:
        """In order of time; of the lowest rank unless one is named."""
        chosen = self.ranks[0] if rank is None else rank
        spans = [
            Span(event.iteration, event.begin_s, event.end_s)
            for event in self.events
            if event.kind == "iteration" and event.rank == chosen
        ]
        return sorted(spans, key=lambda span: span.begin_s)

    def typical_iteration(self) -> Span:
        """The one to enlarge: hides the most compression and writing, the middle one of equals.

        The first quarter is left out while there is another: the models are still learning then.
        """
        spans = self.iterations()
        if not spans:
            return Span(0, self.begin_s, self.end_s)
        settled = spans[len(spans) // 4 :]
        rank = self.ranks[0]
        tasks = [
            event
            for event in self.events
            if event.rank == rank and event.kind in ("compress", "write")
        ]
        covered_s = coverage((event.begin_s, event.end_s) for event in tasks)
        load = {span: covered_s(span.begin_s, span.end_s) for span in settled}
        most = max(load.values())
        busy = [span for span in settled if load[span] >= 0.8 * most]
        return busy[len(busy) // 2]


def coverage(intervals: Iterable[tuple[float, float]]) -> Callable[[float, float], float]:
    """How many seconds of the intervals lie between two times, each by itself. A run has tens of
    thousands of tasks and of spans to ask about: a question costs a search, not a walk."""
    begins, ends = [], []
    for begin_s, end_s in intervals:
        begins.append(begin_s)
        ends.append(max(begin_s, end_s))
    begins.sort()
    ends.sort()
    before = list(accumulate(begins, initial=0.0)), list(accumulate(ends, initial=0.0))

    def until(at_s: float) -> float:
        begun, ended = bisect_left(begins, at_s), bisect_left(ends, at_s)
        return begun * at_s - before[0][begun] - (ended * at_s - before[1][ended])

    return lambda begin_s, end_s: max(0.0, until(end_s) - until(begin_s))


def read_traces(paths: Iterable[str | Path]) -> Trace:
    """All ranks of one run. Raises TraceError naming the file, OSError if it cannot be read."""
    trace = Trace()
    for path in paths:
        trace.events.extend(_read_events(Path(path)))
    if not trace.events:
        raise TraceError(
            "the traces hold no event; give the files written through WriterOptions.trace_path"
        )
    trace.events.sort(key=lambda event: (event.rank, event.begin_s, event.end_s))
    return trace


def _read_events(path: Path) -> list[Event]:
    try:
        raw = raw_events(path.read_text(encoding="utf-8"))
        lanes = lanes_in(raw)
        return [to_event(item, lanes) for item in raw if item.get("ph") == "X"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TraceError(
            f"{path} is not a Chrome trace ({type(error).__name__}: {error}); "
            "give the files written through WriterOptions.trace_path"
        ) from error


def raw_events(text: str) -> list[dict]:
    """Of a whole document, or of as much of a growing one as is there. Raises ValueError, ..."""
    if text.lstrip().startswith("["):
        try:
            return json.loads(text.rstrip().rstrip(",").removesuffix("]") + "]")
        except ValueError:  # cut within its last line
            return json.loads(text[: text.rindex("\n")].rstrip().rstrip(",") + "]")
    return json.loads(text)["traceEvents"]


def lanes_in(raw: Iterable[dict]) -> dict[tuple[int, int], str]:
    """Their names by rank and number."""
    return {
        (item["pid"], item["tid"]): item["args"]["name"]
        for item in raw
        if item.get("ph") == "M" and item.get("name") == "thread_name"
    }


def to_event(item: dict, lanes: dict) -> Event:
    begin_s = float(item["ts"]) * 1e-6
    arguments = item.get("args", {})
    return Event(
        kind=str(item.get("cat", "")),
        name=str(item.get("name", "")),
        rank=int(item["pid"]),
        lane=str(lanes.get((item["pid"], item.get("tid")), item.get("tid", ""))),
        begin_s=begin_s,
        end_s=begin_s + float(item.get("dur", 0.0)) * 1e-6,
        iteration=int(arguments.get("iteration", 0)),
        bytes=int(arguments.get("bytes", 0)),
        given_bytes=int(arguments.get("given_bytes", 0)),
        numbers=_numbers(arguments),
    )


def _numbers(arguments: dict) -> Mapping[str, float]:
    if len(arguments) <= len(_NAMED):
        return _NO_NUMBERS
    found = {
        name: float(value)
        for name, value in arguments.items()
        if name not in _NAMED and isinstance(value, (int, float))
    }
    return found or _NO_NUMBERS
