"""What a running job is doing, put together from its file and its traces."""

from __future__ import annotations

import glob
import re
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from caesura.reading import looks_like_hdf5
from caesura.report.quantities import duration_text
from caesura.series import files_of
from caesura.watching.captured import ReportFollower, is_report
from caesura.watching.following import Follower
from caesura.watching.lanes import Lane

_SILENT = 3.0  # times between dumps
_KEPT_TIMES = 12  # of dumps
# A file is listed as a whole. One that takes long, of many dumps, is listed in a tenth of the time.
_LONG_S, _RESTS = 0.05, 9.0
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
    in_flight: int = 0  # dumps that have such blocks
    by_iteration: bool = False  # else the files are an application's own
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
class State:
    """All that is shown."""

    path: str
    now_s: float
    committed: Committed
    lanes: list[Lane]
    ended: bool  # the traces were closed
    no_trace_yet: list[str] = field(default_factory=list)  # of the paths and patterns given
    seen: list[tuple[int, float]] = field(default_factory=list)  # dumps committed, and since when

    @property
    def between_s(self) -> float | None:
        """By traces, else by what has been seen of the files, else by the connector's report."""
        seen = [(t - t0) / (n - n0) for (n0, t0), (n, t) in pairwise(self.seen)]
        known = self._in_traces("between_s") or seen or self._in_reports("between_s")
        return statistics.median(known) if known else None

    @property
    def next_s(self) -> float | None:
        between_s = self.between_s
        if self.ended or between_s is None:
            return None
        if known := self._in_traces("next_s"):
            return max(known)
        if len(self.seen) > 1:
            return self.seen[-1][1] + between_s - self.now_s
        return max(self._in_reports("next_s"), default=None)

    def _in_traces(self, what: str) -> list[float]:
        known = [getattr(lane, what) for lane in self.lanes if lane.rank is not None]
        return [one for one in known if one is not None]

    def _in_reports(self, what: str) -> list[float]:
        known = [getattr(lane, what) for lane in self.lanes if lane.rank is None]
        return [one for one in known if one is not None]

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
    in_flight: int
    datasets: list[_Dataset]
    dumps: frozenset[int]  # iterations; of an application's own file, which knows none, its commits
    by_iteration: bool


class Watcher:
    """Looks at a run again and again. What did not change is not read again, and what takes long to
    read not often."""

    def __init__(self, core: Any, path: Path, traces: Sequence[Path]) -> None:
        self._core, self._path, self._traces = core, path, traces
        self._of_path: dict[Path, Follower | ReportFollower] = {}
        self._held: dict[Path, tuple[tuple[int, int], _Held | None]] = {}  # by time and size
        self._rests_until: dict[Path, float] = {}
        self._seen: list[tuple[int, float]] = []

    def look(self) -> State:
        """Raises OSError (no such file, no HDF5), TraceError."""
        found = {given: self._trace_files(given) for given in self._traces}
        for path in (path for paths in found.values() for path in paths):
            if path not in self._of_path or not self._of_path[path].changed_s:
                is_captured = path.exists() and is_report(path)
                self._of_path[path] = (ReportFollower if is_captured else Follower)(path)
            self._of_path[path].look()
        now_s = time.time()
        committed = self._committed()
        followers = list(self._of_path.values())
        times = [one.changed_s for one in followers if one.changed_s]
        if times:
            committed.changed_s = max([committed.changed_s or 0.0, *times])
        absent = [str(given) for given, paths in found.items() if not self._any_is_there(paths)]
        ended = bool(followers) and all(one.closed for one in followers)
        lanes = [lane for one in followers for lane in one.lanes(now_s)]
        lanes.sort(key=lambda one: -1 if one.rank is None else one.rank)
        seen = list(self._seen)
        return State(str(self._path), now_s, committed, lanes, ended, absent, seen)

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
        dumps: dict[tuple[int, Path | None], float] = {}  # when they were there, at the latest
        for path in files_of([self._path]):
            changed_s = path.stat().st_mtime
            held = self._held_by(path)
            if held is None:
                continue
            found.files += 1
            found.changed_s = max(found.changed_s or 0.0, changed_s)
            found.file_bytes += held.file_bytes
            found.unfinished |= held.unfinished
            found.in_flight += held.in_flight
            for dump in held.dumps:
                # A program's own files know no iterations: each is a dump, or several.
                dumps.setdefault((dump, None if held.by_iteration and dump else path), changed_s)
            for dataset in held.datasets:
                _add(found.fields, dataset)
        found.dumps = len(dumps)
        found.by_iteration = len(dumps) == 1 or any(path is None for _, path in dumps)
        found.last = max((dataset.last for dataset in found.fields.values()), default=None)
        self._note(sorted(dumps.values()))
        return found

    def _note(self, times: Sequence[float]) -> None:
        """Of the dumps that are there: those of one time have come since the look before."""
        before = self._seen[-1] if self._seen else (0, 0.0)
        for count, time_s in enumerate(times, 1):
            is_last = count == len(times) or times[count] != time_s
            if is_last and count > before[0] and time_s > before[1]:
                self._seen.append((count, time_s))
        del self._seen[:-_KEPT_TIMES]

    def _held_by(self, path: Path) -> _Held | None:
        """What the file holds; None: nothing is committed. Where it cannot be read because commits
        come too fast, what it held before. Raises OSError, CorruptError: it never could be read."""
        known = self._held.get(path)
        for tries_left in (2, 1, 0):
            status = path.stat()
            key = (status.st_mtime_ns, status.st_size)
            if known is not None and (
                known[0] == key or time.monotonic() < self._rests_until.get(path, 0.0)
            ):
                break
            try:
                begin_s = time.monotonic()
                self._held[path] = key, self._read(path)
                end_s = time.monotonic()
                if end_s - begin_s > _LONG_S:
                    self._rests_until[path] = end_s + _RESTS * (end_s - begin_s)
                break
            except (OSError, RuntimeError, self._core.CorruptError):
                if known is None and tries_left == 0:
                    raise
        return self._held[path][1]

    def _read(self, path: Path) -> _Held | None:
        if looks_like_hdf5(path):
            file = self._core.OpenFile(str(path), lock=False)
            info, regions = file.info(), file.regions()
            datasets = [
                _Dataset(
                    name_of(one["path"], one["iteration"]),
                    iteration_of(one["path"], one["iteration"]),
                    one["raw_bytes"],
                    one["stored_bytes"],
                )
                for one in info["datasets"]
            ]
            by_iteration = any(_knows_iteration(one) for one in info["datasets"])
            if by_iteration:
                dumps = {one.iteration for one in datasets}
            else:
                dumps = {one["dump"] for one in regions if one["committed"]} or {0}
            in_flight = len({one["dump"] for one in regions if not one["committed"]})
            return _Held(info["file_bytes"], info["needs_recover"], in_flight, datasets,
                         frozenset(dumps if datasets else ()), by_iteration)  # fmt: skip
        with path.open("rb") as begin:
            if any(begin.read(8)):  # before the first commit there are zeros, or nothing yet
                raise OSError(f"{path} is no HDF5 file; name the file that the run writes")
        return None


def _knows_iteration(dataset: Mapping[str, Any]) -> bool:
    return dataset["iteration"] > 0 or _OPENPMD.match(dataset["path"]) is not None


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
