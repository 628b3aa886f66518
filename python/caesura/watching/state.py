"""What a running job is doing, put together from its file and its traces."""

from __future__ import annotations

import glob
import math
import re
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from caesura.reading import looks_like_hdf5
from caesura.report.quantities import duration_text
from caesura.series import files_of
from caesura.trace import Event
from caesura.watching.following import Follower

_LIMITS = 0.9  # of the time between dumps: a lane that takes more has no room left
_FELT = 0.05  # of the application's time: copying alone takes 3 to 4 % where much is handed over
_SILENT = 3.0  # times between dumps
_OPENPMD = re.compile(r"/data/(\d+)/(?:meshes/|fields/)?")


@dataclass
class Field:
    """One field in the newest dump, and over all."""

    name: str
    raw_bytes: int = 0
    stored_bytes: int = 0
    last: int = -1  # iteration
    last_raw_bytes: int = 0
    last_stored_bytes: int = 0


@dataclass
class Committed:
    """What the files hold."""

    files: int = 0
    dumps: int = 0
    last: int | None = None  # iteration
    changed_s: float | None = None  # when a file was last written to, seconds since 1970
    file_bytes: int = 0
    unfinished: bool = False  # blocks that are not committed: of a dump in flight, or after a kill
    fields: dict[str, Field] = field(default_factory=dict)

    @property
    def raw_bytes(self) -> int:
        return sum(one.raw_bytes for one in self.fields.values())

    @property
    def stored_bytes(self) -> int:
        return sum(one.stored_bytes for one in self.fields.values())

    def last_dump(self) -> tuple[int, int]:
        """Raw and stored bytes of the newest dump, which need not hold every field."""
        newest = [one for one in self.fields.values() if one.last == self.last]
        return sum(o.last_raw_bytes for o in newest), sum(o.last_stored_bytes for o in newest)


@dataclass
class Lane:
    """One rank over the dumps that are kept, in seconds."""

    rank: int
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
            call = "put" if self.put_s > self.end_s else "end"
            return f"{100 * self.felt:.0f} % of the application's time is Caesura's, most in {call}"
        return f"nothing limits; the busier lane ({lane}): {numbers}"


@dataclass
class State:
    """All that is shown."""

    path: str
    now_s: float
    committed: Committed
    lanes: list[Lane]
    ended: bool  # the traces were closed
    no_trace_yet: list[str] = field(default_factory=list)  # of the paths and patterns given

    @property
    def between_s(self) -> float | None:
        known = [lane.between_s for lane in self.lanes if lane.between_s is not None]
        return statistics.median(known) if known else None

    @property
    def next_s(self) -> float | None:
        known = [lane.next_s for lane in self.lanes if lane.next_s is not None]
        return max(known) if known and not self.ended else None

    @property
    def silent_s(self) -> float | None:
        """Since anything was written."""
        changed = self.committed.changed_s
        return None if changed is None else max(0.0, self.now_s - changed)

    def words(self) -> str:
        """Running, ended, or something to look at."""
        if self.ended:
            return "ended"
        if self.silent_s is None:
            return "no commit yet"
        silent = f"last written to {duration_text(self.silent_s)} ago"
        if self.between_s is None or self.silent_s <= _SILENT * self.between_s:
            return silent
        asked = f"{silent}, dumps came every {duration_text(self.between_s)}: is it running?"
        if not self.committed.unfinished:
            return asked
        return f"{asked} If it was killed, `caesura recover` finishes the file"


@dataclass(frozen=True, slots=True)
class _Dataset:
    name: str  # of the field
    iteration: int
    raw_bytes: int
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class _Held:
    """What is kept of a file: not its blocks, which are many."""

    file_bytes: int
    unfinished: bool
    datasets: list[_Dataset]


class Watcher:
    """Looks at a run again and again; what did not change is not read again."""

    def __init__(self, core: Any, path: Path, traces: Sequence[Path]) -> None:
        self._core, self._path, self._traces = core, path, traces
        self._of_path: dict[Path, Follower] = {}
        self._held: dict[Path, tuple[tuple[int, int], _Held | None]] = {}  # by time and size

    def look(self) -> State:
        """Raises OSError (no such file, no HDF5), TraceError."""
        found = {given: self._trace_files(given) for given in self._traces}
        for path in (path for paths in found.values() for path in paths):
            self._of_path.setdefault(path, Follower(path)).look()
        now_s = time.time()
        committed = self._committed()
        followers = list(self._of_path.values())
        times = [one.changed_s for one in followers if one.changed_s]
        if times:
            committed.changed_s = max([committed.changed_s or 0.0, *times])
        absent = [str(given) for given, paths in found.items() if not self._any_is_there(paths)]
        ended = bool(followers) and all(one.closed for one in followers)
        lanes = [
            lane
            for one in followers
            for lane in lanes_of(one.events, None if one.closed else now_s - one.changed_s)
        ]
        lanes.sort(key=lambda one: one.rank)
        return State(str(self._path), now_s, committed, lanes, ended, absent)

    def _any_is_there(self, paths: Sequence[Path]) -> bool:
        return any(self._of_path[path].changed_s > 0 for path in paths)

    @staticmethod
    def _trace_files(path: Path) -> list[Path]:
        """A pattern stands for those that are there: a shell gives it on if it found none."""
        if glob.has_magic(str(path)) and not path.exists():
            return [Path(one) for one in sorted(glob.glob(str(path)))]
        return [path]

    def _committed(self) -> Committed:
        found = Committed()
        dumps = set()
        for path in files_of([self._path]):
            changed_s = path.stat().st_mtime
            held = self._held_by(path)
            if held is None:
                continue
            found.files += 1
            found.changed_s = max(found.changed_s or 0.0, changed_s)
            found.file_bytes += held.file_bytes
            found.unfinished |= held.unfinished
            for dataset in held.datasets:
                # A program's own files, which the connector captured, know no iterations: each is
                # a dump.
                dumps.add((dataset.iteration, None if dataset.iteration else path))
                _add(found.fields, dataset)
        found.dumps = len(dumps)
        found.last = max((iteration for iteration, _ in dumps), default=None)
        return found

    def _held_by(self, path: Path) -> _Held | None:
        """What the file holds; None: nothing is committed. Where it cannot be read because commits
        come too fast, what it held before. Raises OSError, CorruptError: it never could be read."""
        known = self._held.get(path)
        for tries_left in (2, 1, 0):
            status = path.stat()
            key = (status.st_mtime_ns, status.st_size)
            if known is not None and known[0] == key:
                break
            try:
                self._held[path] = key, self._read(path)
                break
            except (OSError, RuntimeError, self._core.CorruptError):
                if known is None and tries_left == 0:
                    raise
        return self._held[path][1]

    def _read(self, path: Path) -> _Held | None:
        if looks_like_hdf5(path):
            info = self._core.OpenFile(str(path), lock=False).info()
            datasets = [
                _Dataset(
                    name_of(one["path"], one["iteration"]),
                    iteration_of(one["path"], one["iteration"]),
                    one["raw_bytes"],
                    one["stored_bytes"],
                )
                for one in info["datasets"]
            ]
            return _Held(info["file_bytes"], info["needs_recover"], datasets)
        with path.open("rb") as file:
            if any(file.read(8)):  # before the first commit there are zeros, or nothing yet
                raise OSError(f"{path} is no HDF5 file; name the file that the run writes")
        return None


def name_of(path: str, iteration: int) -> str:
    """Of a dataset in every dump: without the iteration, or with * for it in another layout."""
    if match := _OPENPMD.match(path):
        return path[match.end() :]
    return re.sub(rf"(?<!\d)0*{iteration}(?!\d)", "*", path, count=1)


def iteration_of(path: str, listed: int) -> int:
    """As openPMD has it in the path, which counts also in files that the connector captured, else
    as the file lists it."""
    match = _OPENPMD.match(path)
    return int(match[1]) if match else listed


def _add(fields: dict[str, Field], dataset: _Dataset) -> None:
    one = fields.setdefault(dataset.name, Field(dataset.name))
    one.raw_bytes += dataset.raw_bytes
    one.stored_bytes += dataset.stored_bytes
    if dataset.iteration >= one.last:
        one.last = dataset.iteration
        one.last_raw_bytes, one.last_stored_bytes = dataset.raw_bytes, dataset.stored_bytes


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
