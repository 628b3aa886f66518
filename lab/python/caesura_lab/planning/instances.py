"""Planning problems as JSON: read and checked, written, and taken from the traces of a run.

One object or a list of them:
    {"name": "...", "jobs": [{"compress_s": 0.1, "write_s": 0.2}, ...],
     "obstacles": {"compress": [[begin_s, end_s], ...], "write": [...]},
     "iteration_s": 1.5, "resumable": false}
Only jobs must be there. Times are seconds from the begin of the iteration. A job may have
"compress_spread_s" and "write_spread_s", and obstacles "spread_s": standard deviations, for plans
that are to be robust.

Invariants: an Instance that exists is one the planner takes; whatever is wrong with a file is said
in one sentence that names file, instance, key and value.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from caesura import plan
from caesura.trace import Event, Span, Trace

from caesura_lab.planning import planners

Interval = tuple[float, float]
_KEYS = ("name", "jobs", "obstacles", "iteration_s", "resumable")
_LANES = ("compress", "write")
_SPREADS = ("compress_spread_s", "write_spread_s")


class InstanceError(ValueError):
    """The text is not a planning problem; the message says where and why."""


@dataclass(frozen=True)
class Instance:
    """One iteration of one rank: what is to be done in it, and when the application needs what."""

    name: str
    jobs: tuple[Interval, ...]  # compress_s, write_s
    compress: tuple[Interval, ...] = ()  # obstacles of the lane, begin_s, end_s
    write: tuple[Interval, ...] = ()
    iteration_s: float = 0.0  # the application alone
    resumable: bool = False
    spreads: tuple[Interval, ...] = ()  # standard deviations, of each job's durations; or none
    obstacle_spread_s: float = 0.0  # of each begin and end of an obstacle

    @property
    def has_spreads(self) -> bool:
        """Is there anything that a robust plan would look at?"""
        return self.obstacle_spread_s > 0.0 or any(s > 0.0 for pair in self.spreads for s in pair)

    def schedule(self, algorithm: str = plan.DEFAULT, **options: Any) -> plan.Schedule:
        """A checked plan; with robust=True one for what the spreads let happen."""
        if options.get("robust"):
            options |= {"spreads": self.spreads, "obstacle_spread_s": self.obstacle_spread_s}
        made = planners.schedule(
            self.jobs, self.compress, self.write, algorithm, self.resumable, **options
        )
        plan.check(made, self.jobs, self.compress, self.write, self.resumable)
        return made

    def lower_bound_s(self) -> float:
        """No plan ends before this."""
        return plan.lower_bound(self.jobs, self.compress, self.write)

    def as_json(self) -> dict[str, Any]:
        """What parse() reads."""
        jobs = [{"compress_s": c, "write_s": w} for c, w in self.jobs]
        for job, spreads in zip(jobs, self.spreads, strict=False):
            job |= dict(zip(_SPREADS, spreads, strict=True))
        obstacles = {lane: [list(o) for o in getattr(self, lane)] for lane in _LANES}
        return {
            "name": self.name,
            "jobs": jobs,
            "obstacles": obstacles
            | ({"spread_s": self.obstacle_spread_s} if self.obstacle_spread_s > 0.0 else {}),
            "iteration_s": self.iteration_s,
            "resumable": self.resumable,
        }


def dumps(instances: Iterable[Instance]) -> str:
    """A JSON list, one instance a line."""
    lines = (json.dumps(instance.as_json(), separators=(",", ":")) for instance in instances)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def parse(text: str, source: str) -> list[Instance]:
    """Every instance in `text`, which came from `source`. Raises InstanceError."""
    try:
        document = json.loads(text, object_pairs_hook=_no_key_twice)
    except InstanceError as error:
        raise InstanceError(f"{source}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise InstanceError(f"{source} is not JSON: {error}") from None
    if isinstance(document, dict):
        return [_Reader(f"{source}: ", document, None).read()]
    if not isinstance(document, list):
        raise InstanceError(
            f"{source}: the document is {_shown(document)}; give one instance (an object) or a "
            "list of instances"
        )
    return [_Reader(f"{source}: ", item, index).read() for index, item in enumerate(document)]


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON lets the last of two equal keys win in silence."""
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise InstanceError(f"the key {_shown(key)} appears twice in one object")
        result[key] = value
    return result


def _shown(value: Any) -> str:
    """A value as it stands in the file, cut short."""
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


class _Reader:
    """One instance; knows what to call it in a complaint."""

    def __init__(self, source: str, item: Any, index: int | None) -> None:
        self.item = item
        name = item.get("name") if isinstance(item, dict) else None
        self.name = name if isinstance(name, str) else f"instance {index or 0}"
        number = "" if index is None else f" {index}"
        called = f" {_shown(name)}" if isinstance(name, str) else ""
        self.prefix = f"{source}instance{number}{called}: "

    def wrong(self, message: str) -> InstanceError:
        return InstanceError(self.prefix + message)

    def read(self) -> Instance:
        self.keys(self.item, "the instance", _KEYS)
        if "jobs" not in self.item:
            raise self.wrong("jobs is missing; give a list of {compress_s, write_s}")
        name = self.item.get("name", self.name)
        if not isinstance(name, str):
            raise self.wrong(f"name is {_shown(name)}; give a string")
        resumable = self.item.get("resumable", False)
        if not isinstance(resumable, bool):
            raise self.wrong(f"resumable is {_shown(resumable)}; give true or false")
        obstacles = self.item.get("obstacles", {})
        self.keys(obstacles, "obstacles", (*_LANES, "spread_s"))
        spread_s = self.seconds("obstacles.spread_s", obstacles.get("spread_s", 0.0))
        jobs = tuple(self.jobs())
        spreads = tuple(self.spreads())
        instance = Instance(
            name=name,
            jobs=jobs,
            compress=tuple(self.intervals("compress", obstacles.get("compress", []))),
            write=tuple(self.intervals("write", obstacles.get("write", []))),
            iteration_s=self.seconds("iteration_s", self.item.get("iteration_s", 0.0)),
            resumable=resumable,
            spreads=spreads if any(map(any, spreads)) else (),
            obstacle_spread_s=spread_s,
        )
        try:
            instance.lower_bound_s()  # the planner's own opinion: order, overlap, range
        except ValueError as error:
            raise self.wrong(str(error)) from None
        return instance

    def keys(self, item: Any, what: str, known: tuple[str, ...]) -> None:
        if not isinstance(item, dict):
            raise self.wrong(f"{what} is {_shown(item)}; give an object with {', '.join(known)}")
        for key, value in item.items():
            if key not in known:
                raise self.wrong(
                    f"{what} has the unknown key {_shown(key)} ({_shown(value)}); known are "
                    f"{', '.join(known)}"
                )

    def jobs(self) -> Iterable[Interval]:
        jobs = self.item["jobs"]
        if not isinstance(jobs, list):
            raise self.wrong(f"jobs is {_shown(jobs)}; give a list of {{compress_s, write_s}}")
        for index, job in enumerate(jobs):
            where = f"jobs[{index}]"
            self.keys(job, where, ("compress_s", "write_s", *_SPREADS))
            for key in ("compress_s", "write_s"):
                if key not in job:
                    raise self.wrong(f"{where}.{key} is missing; give seconds")
            yield tuple(
                self.seconds(f"{where}.{key}", job[key]) for key in ("compress_s", "write_s")
            )

    def spreads(self) -> Iterable[Interval]:
        """Of jobs that have been read; what is not given is exact."""
        for index, job in enumerate(self.item["jobs"]):
            compress_s, write_s = (
                self.seconds(f"jobs[{index}].{key}", job.get(key, 0.0)) for key in _SPREADS
            )
            yield compress_s, write_s

    def intervals(self, lane: str, items: Any) -> Iterable[Interval]:
        if not isinstance(items, list):
            raise self.wrong(
                f"obstacles.{lane} is {_shown(items)}; give a list of [begin_s, end_s]"
            )
        for index, item in enumerate(items):
            where = f"obstacles.{lane}[{index}]"
            if not isinstance(item, list) or len(item) != 2:
                raise self.wrong(f"{where} is {_shown(item)}; give [begin_s, end_s]")
            begin_s, end_s = (
                self.number(f"{where}[{i}]", value, "finite seconds")
                for i, value in enumerate(item)
            )
            yield begin_s, end_s

    def seconds(self, key: str, value: Any) -> float:
        number = self.number(key, value, "seconds, finite and >= 0")
        if number < 0.0:
            raise self.wrong(f"{key} is {_shown(value)}; give seconds, finite and >= 0")
        return number

    def number(self, key: str, value: Any, wanted: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(f"{key} is {_shown(value)}; give {wanted}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.wrong(f"{key} is {_shown(value)}; give {wanted}")
        return number


# ------------------------------------------------------------------------------------- from traces


def from_trace(trace: Trace, resumable: bool = False) -> list[Instance]:
    """What a run had to plan: an instance for every dump and rank, with what really came.

    A dump is handled during the iteration after it; that iteration's obstacles and length are the
    instance's. A compression lasts as long as it took less the obstacles of its lane, which
    suspended it. What all writes of the dump took is shared out by bytes, because blocks are
    written together. Jobs are in the order in which they were put.
    """
    instances = []
    for rank in trace.ranks:
        events = [event for event in trace.events if event.rank == rank]
        spans = trace.iterations(rank)
        for dumped, during in itertools.pairwise(spans):
            instance = _of_dump(events, rank, dumped, during, resumable)
            if instance is not None:
                instances.append(instance)
    return instances


def _of_dump(
    events: list[Event], rank: int, dumped: Span, during: Span, resumable: bool
) -> Instance | None:
    mine = [event for event in events if event.iteration == dumped.number]
    # A block that was taken up again (close() takes what is under way) is one job.
    last = {event.name: event for event in mine if event.kind == "compress"}
    order = _as_put(mine)
    compressions = sorted(last.values(), key=lambda event: order(event.name))
    if not compressions:
        return None
    lanes = {lane: _obstacles(events, lane, during) for lane in _LANES}
    write_s = sum(event.duration_s for event in mine if event.kind == "write")
    total_bytes = sum(event.bytes for event in compressions)
    jobs = []
    for event in compressions:
        begin_s, end_s = event.begin_s - during.begin_s, event.end_s - during.begin_s
        suspended_s = sum(
            max(0.0, min(end_s, high_s) - max(begin_s, low_s))
            for low_s, high_s in lanes["compress"]
        )
        share = event.bytes / total_bytes if total_bytes else 1.0 / len(compressions)
        jobs.append((max(0.0, event.duration_s - suspended_s), write_s * share))
    return Instance(
        name=f"rank {rank}, dump of iteration {dumped.number}",
        jobs=tuple(jobs),
        compress=lanes["compress"],
        write=lanes["write"],
        iteration_s=during.end_s - during.begin_s,
        resumable=resumable,
    )


def _as_put(events: list[Event]) -> Any:
    """Blocks are named "FIELD #INDEX": fields in the order of their put, then by index."""
    fields = [event.name for event in events if event.kind == "put"]
    place = {name: index for index, name in enumerate(dict.fromkeys(fields))}

    def key(name: str) -> tuple[int, int, str]:
        field, _, number = name.rpartition(" #")
        return place.get(field, len(place)), int(number) if number.isdigit() else 0, name

    return key


def _obstacles(events: list[Event], lane: str, during: Span) -> tuple[Interval, ...]:
    """Those of one lane within the span, from its begin; what touches or overlaps is merged."""
    merged: list[Interval] = []
    found = (event for event in events if event.kind == "obstacle" and event.name == lane)
    for event in sorted(found, key=lambda event: event.begin_s):
        begin_s = max(event.begin_s, during.begin_s) - during.begin_s
        end_s = min(event.end_s, during.end_s) - during.begin_s
        if end_s <= begin_s:
            continue
        if merged and begin_s <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end_s))
        else:
            merged.append((begin_s, end_s))
    return tuple(merged)
