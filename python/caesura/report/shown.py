"""Which of a run's events the timeline can show: of many ranks the busiest, of many dumps the
iterations around the typical one, so that the page stays small enough to open."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from caesura.trace import Event, Trace
from caesura.watching.lanes import lanes_of

MOST_RANKS = 8
MOST_BOXES = 5000  # about 2 MB of page

_DRAWN = frozenset(
    {"iteration", "put", "end", "wait", "plan", "compress", "write", "sync", "commit", "obstacle",
     "planned_compress", "planned_write"}
)  # fmt: skip


@dataclass
class Shown:
    """`enlarged` holds what can be looked at closely; `whole` every event of the ranks shown."""

    whole: Trace
    enlarged: Trace
    begin_s: float
    end_s: float
    said: str  # what was left out; empty: nothing


def shown_of(trace: Trace, iteration: int | None = None) -> Shown:
    """`iteration`: the one to enlarge, else the typical one. KeyError: it is not in the trace."""
    ranks, left = _busiest(trace)
    whole = Trace([event for event in trace.events if event.rank in ranks])
    drawn = [event for event in whole.events if event.kind in _DRAWN]
    spans = trace.iterations(ranks[0])
    if iteration is not None and iteration not in {span.number for span in spans}:
        raise KeyError(iteration)
    said = [f"Shown are the {len(ranks)} busiest of {len(ranks) + left} ranks."] if left else []
    if len(drawn) <= MOST_BOXES or not spans:
        begin_s, end_s = 0.0, trace.end_s
        enlarged = Trace(drawn[:MOST_BOXES] if not spans else drawn)
    else:
        centre = chosen_span(trace, iteration)
        at = next(i for i, span in enumerate(spans) if span.number == centre.number)
        first, last = _window(drawn, spans, at)
        begin_s, end_s = spans[first].begin_s, spans[last].end_s
        enlarged = Trace([e for e in drawn if e.end_s > begin_s and e.begin_s < end_s])
        said.append(
            f"Enlarged are {last - first + 1} of {len(spans)} iterations, {spans[first].number} to "
            f"{spans[last].number}; --iteration chooses others."
        )
    return Shown(whole, enlarged, begin_s, end_s, " ".join(said))


def chosen_span(trace: Trace, iteration: int | None):
    """The one asked for, else the typical one."""
    if iteration is None:
        return trace.typical_iteration()
    return next(span for span in trace.iterations() if span.number == iteration)


def _busiest(trace: Trace) -> tuple[list[int], int]:
    """Ranks in order of their numbers, and how many are left out."""
    ranks = trace.ranks
    if len(ranks) <= MOST_RANKS:
        return ranks, 0
    lanes = sorted(lanes_of(trace.events, None), key=lambda lane: lane.load, reverse=True)
    kept = {ranks[0], *[lane.rank for lane in lanes if lane.rank != ranks[0]][: MOST_RANKS - 1]}
    return sorted(kept), len(ranks) - len(kept)


def _window(drawn: list[Event], spans: list, at: int) -> tuple[int, int]:
    """As many iterations on both sides as there is room for, and at least the one."""
    begins = sorted(event.begin_s for event in drawn)

    def count(first: int, last: int) -> int:
        return bisect_right(begins, spans[last].end_s) - bisect_right(begins, spans[first].begin_s)

    first = last = at
    while first > 0 or last + 1 < len(spans):
        before, behind = max(0, first - 1), min(len(spans) - 1, last + 1)
        if count(before, behind) > MOST_BOXES:
            break
        first, last = before, behind
    return first, last
