"""What plans took the iteration after a dump to be, and what became of it, from a run's traces."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from caesura.trace import Event, Trace

OURS = ("put", "end")


@dataclass(frozen=True)
class Judged:
    """One dump of one rank; shares are of the planned iteration, positive: longer than planned."""

    rank: int
    dump: int
    planned_s: float
    actual_s: float
    planned_write_end_s: float  # since the begin of the iteration
    write_end_s: float
    own: float  # the application's own time
    alone: float  # what it would have been off had the plan been made for computing alone
    put: float
    end: float
    lanes: float  # the last write ends after the application

    @property
    def off(self) -> float:
        return self.actual_s / self.planned_s - 1.0


def parts_of(events: list[Event], number: int) -> dict[str, float]:
    """Seconds of one iteration of one rank: whole, in our calls, the rest."""
    of = [e for e in events if e.iteration == number and e.lane == "application"]
    parts = {kind: sum(e.duration_s for e in of if e.kind == kind) for kind in OURS}
    parts["whole"] = sum(e.duration_s for e in of if e.kind == "iteration")
    return parts | {"own": parts["whole"] - sum(parts[kind] for kind in OURS)}


def only(events: list[Event], kind: str, dump: int) -> Event | None:
    found = [e for e in events if e.kind == kind and e.iteration == dump]
    return found[0] if found else None


def judge(trace: Trace, alone_s: list[float]) -> list[Judged]:
    """Every dump that was planned for an iteration which came."""
    judged = []
    for rank in trace.ranks:
        events = [e for e in trace.events if e.rank == rank]
        for planned in (e for e in events if e.kind == "planned_iteration"):
            dump, n = planned.iteration, planned.iteration + 1
            dump_plan, writes = only(events, "planned_dump", dump), only(events, "dump", dump)
            iteration = only(events, "iteration", n)
            if iteration is None or dump_plan is None or writes is None:
                continue
            before = [parts_of(events, k) for k in basis(events, n)]
            now = parts_of(events, n)
            planned_write_s = dump_plan.end_s - iteration.begin_s
            write_s = writes.end_s - iteration.begin_s
            planned_s = max(planned.duration_s, planned_write_s)
            off = {
                key: (now[key] - statistics.median(b[key] for b in before)) / planned_s
                for key in ("own", *OURS)
            }
            alone = alone_s[n] - statistics.median(alone_s[k] for k in basis(events, n))
            actual_s = max(iteration.duration_s, write_s)
            lanes = (actual_s - iteration.duration_s) / planned_s
            judged.append(
                Judged(rank, dump, planned_s, actual_s, planned_write_s, write_s, off["own"],
                       alone / planned_s, off["put"], off["end"], lanes)
            )  # fmt: skip
    return judged


def basis(events: list[Event], number: int) -> list[int]:
    """The iterations that this one was expected to be like: the last three after a dump."""
    dumps = {e.iteration for e in events if e.kind == "planned_iteration"}
    after = [k for k in range(1, number) if k - 1 in dumps]
    return after[-3:] or [number - 1]
