"""What a run left, put together for the report: fields in dumps, space, delays, predictions.

Invariants: nothing is measured or decoded here, and nothing is guessed: a number stands in a file,
a trace or the connector's report, or it is None.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from caesura.filter_words import bound_words_in
from caesura.trace import Event, Trace
from caesura.watching.state import iteration_of, name_of

_UNITS = ("absolute", "relative", "psnr")  # kinds of bounds that come to one in the values' units


@dataclass
class Held:
    """A field in one dump."""

    raw_bytes: int = 0
    stored_bytes: int = 0
    blocks: int = 0
    kind: str | None = None  # of the bound that was asked for; None: not recorded
    requested: float | None = None
    bound: float | None = None  # the loosest in it; pointwise_relative: of each value
    error: float | None = None  # the largest that was measured, over the bound
    measured_blocks: int = 0

    @property
    def ratio(self) -> float | None:
        return self.raw_bytes / self.stored_bytes if self.stored_bytes else None

    @property
    def lossless(self) -> bool:
        return self.kind == "lossless"


@dataclass
class Space:
    """What a dump had in the file."""

    reserved_bytes: int = 0  # less what later dumps used again
    used_bytes: int = 0  # by its blocks
    overflow_blocks: int | None = None  # None: no trace says
    overflow_bytes: int = 0
    blocks: int = 0
    committed: bool = True


@dataclass(frozen=True)
class Delay:
    """Of a dump on one rank, in seconds from the end() that handed it over."""

    dump: int
    rank: int | None  # None: the slowest, and nothing says which
    written_s: float | None
    committed_s: float | None


@dataclass(frozen=True)
class Guess:
    """What was predicted, and what came."""

    predicted: float
    measured: float
    first: bool  # nothing of the field had been seen before


@dataclass
class Facts:
    """All of a run. A dump is its iteration, or, where files know none, a file's place."""

    labels: dict[int, str] = field(default_factory=dict)  # of dumps, in order
    by_file: bool = False
    fields: dict[str, dict[int, Held]] = field(default_factory=dict)
    space: dict[int, Space] = field(default_factory=dict)
    delays: list[Delay] = field(default_factory=list)
    sizes: list[Guess] = field(default_factory=list)  # bytes of a block
    compressions: list[Guess] = field(default_factory=list)  # seconds of a block
    writes: list[Guess] = field(default_factory=list)  # seconds of a rank's part of a dump
    files: list[Path] = field(default_factory=list)
    unfinished: list[Path] = field(default_factory=list)  # for `caesura recover`
    file_bytes: int = 0
    datasets: list[dict[str, Any]] = field(default_factory=list)  # as OpenFile.info lists them

    @property
    def axis(self) -> str:
        return "file, in order from 0" if self.by_file else "iteration"

    @property
    def raw_bytes(self) -> int:
        return sum(one.raw_bytes for of in self.fields.values() for one in of.values())

    @property
    def stored_bytes(self) -> int:
        return sum(one.stored_bytes for of in self.fields.values() for one in of.values())

    def called(self, dump: int) -> str:
        return self.labels.get(dump, f"iteration {dump}")


def facts_of(
    core: Any, files: Sequence[Path], trace: Trace | None, captured: bool = False
) -> Facts:
    """`captured`: the files are an application's own. Raises OSError, CorruptError."""
    facts = Facts(files=list(files))
    listings = []
    for path in files:
        listings.append((path, *_listed(core, path)))
    zeros = sum(any(_iteration(one) == 0 for one in info["datasets"]) for _, info, _ in listings)
    later = any(_iteration(one) > 0 for _, info, _ in listings for one in info["datasets"])
    facts.by_file = zeros > 1 or (captured and not later)  # each file is a dump
    for place, (path, info, regions) in enumerate(listings):
        _take_file(facts, place, path, info, regions)
    if trace is not None:
        _take_trace(facts, trace)
    facts.fields = {name: dict(sorted(of.items())) for name, of in sorted(facts.fields.items())}
    facts.labels = dict(sorted(facts.labels.items()))
    facts.space = dict(sorted(facts.space.items()))
    return facts


def _listed(core: Any, path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Datasets and regions, without a lock: a run that is still writing must not wait for us. A
    commit that falls in between is waited for by trying again."""
    for tries_left in (2, 1, 0):
        try:
            open_file = core.OpenFile(str(path), lock=False)
            return open_file.info(), open_file.regions()
        except (OSError, RuntimeError, core.CorruptError):
            if tries_left == 0:
                raise
    raise AssertionError("unreachable")


def _iteration(dataset: Mapping[str, Any]) -> int:
    return iteration_of(dataset["path"], dataset["iteration"])


# --------------------------------------------------------------------------------- from the file


def _take_file(
    facts: Facts, place: int, path: Path, info: dict[str, Any], regions: list[dict[str, Any]]
) -> None:
    facts.file_bytes += info["file_bytes"]
    facts.datasets += info["datasets"]
    if info["needs_recover"]:
        facts.unfinished.append(path)

    def dump_of(iteration: int) -> int:
        return place if facts.by_file else iteration

    for dataset in info["datasets"]:
        dump = dump_of(_iteration(dataset))
        facts.labels[dump] = path.name if facts.by_file else f"iteration {dump}"
        path_of = dataset["path"]
        is_own = facts.by_file and not path_of.startswith("/data/")  # a 0 in it is no iteration
        name = path_of if is_own else name_of(path_of, dataset["iteration"])
        _add_dataset(facts.fields.setdefault(name, {}).setdefault(dump, Held()), dataset)
    for dump, one in _space_of(regions).items():
        into = facts.space.setdefault(dump_of(dump), Space(committed=True))
        into.reserved_bytes += one.reserved_bytes
        into.used_bytes += one.used_bytes
        into.blocks += one.blocks
        into.committed &= one.committed


def _add_dataset(held: Held, dataset: Mapping[str, Any]) -> None:
    attributes = dataset["attributes"]
    held.raw_bytes += dataset["raw_bytes"]
    held.stored_bytes += dataset["stored_bytes"]
    held.blocks += len(dataset["chunks"])
    kind = attributes.get("caesura_bound_kind")
    if kind is None:
        held.kind, held.requested, held.bound = _bound_in(dataset["pipeline"])
    elif isinstance(kind, str):
        held.kind = "map" if "caesura_bound_map" in attributes else kind
        held.requested = _number(attributes.get("caesura_bound_requested"))
        held.bound = _number(attributes.get("caesura_bound"))
    else:  # of each component
        held.kind = "components"


def _bound_in(
    pipeline: Sequence[Mapping[str, Any]],
) -> tuple[str | None, float | None, float | None]:
    """What our filter's words say that was asked for; in units if it is one in units."""
    found = bound_words_in(pipeline)
    if found is None:
        return None, None, None
    kind, value = found
    return kind, value, value if kind in ("absolute", "pointwise_relative") else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def _space_of(regions: Sequence[Mapping[str, Any]]) -> dict[int, Space]:
    """By iteration. A region's tail that became another region counts there alone."""
    found: dict[int, Space] = {}
    order = sorted(regions, key=lambda one: one["address"])
    for number, region in enumerate(order):
        end = region["address"] + region["bytes"]
        if number + 1 < len(order):
            end = min(end, max(region["address"], order[number + 1]["address"]))
        dump = region["iteration"] if region["iteration"] is not None else region["dump"]
        one = found.setdefault(dump, Space())
        one.reserved_bytes += end - region["address"]
        one.used_bytes += region["stored_bytes"]
        one.blocks += region["blocks"]
        one.committed &= region["committed"]
    return found


# ------------------------------------------------------------------------------ from the traces


def _take_trace(facts: Facts, trace: Trace) -> None:
    if not facts.by_file:  # traces say iterations, such files do not
        _take_blocks(facts, [event for event in trace.events if event.kind == "block"])
        _take_space(facts, [event for event in trace.events if event.kind == "written"])
    facts.writes = _writes_in(trace.events)
    facts.delays = _delays_in(trace.events)


def _take_blocks(facts: Facts, blocks: Sequence[Event]) -> None:
    names = {name.removeprefix("particles/"): name for name in facts.fields}
    in_file = {(name, dump) for name, of in facts.fields.items() for dump in of}
    absent = ", not in the file" if facts.files else ""
    firsts: dict[tuple[str, int], int] = {}
    for event in blocks:
        key = (_field(event), event.rank)
        firsts[key] = min(firsts.get(key, event.iteration), event.iteration)
    for event in blocks:
        name = names.get(_field(event), _field(event))
        facts.labels.setdefault(event.iteration, f"iteration {event.iteration}{absent}")
        held = facts.fields.setdefault(name, {}).setdefault(event.iteration, Held())
        if (name, event.iteration) not in in_file:
            held.raw_bytes += int(event.numbers.get("raw_bytes", 0))
            held.stored_bytes += event.bytes
            held.blocks += 1
        error = event.numbers.get("error_over_bound")
        if error is not None:
            held.error = max(held.error or 0.0, error)
            held.measured_blocks += 1
        first = firsts[_field(event), event.rank] == event.iteration
        _guess(facts.sizes, event.numbers.get("predicted_bytes"), event.bytes, first)
        _guess(facts.compressions, event.numbers.get("predicted_compress_s"),
               event.numbers.get("compress_s"), first)  # fmt: skip


def _field(event: Event) -> str:
    """ "density #3" -> "density"."""
    return event.name.rpartition(" #")[0] or event.name


def _guess(into: list[Guess], predicted: float | None, measured: float | None, first: bool) -> None:
    if predicted and measured and predicted > 0 and measured > 0:
        into.append(Guess(predicted, measured, first))


def _take_space(facts: Facts, written: Sequence[Event]) -> None:
    in_file = set(facts.space)
    for event in written:
        one = facts.space.setdefault(event.iteration, Space(committed=not facts.files))
        one.overflow_blocks = (one.overflow_blocks or 0) + int(
            event.numbers.get("overflow_blocks", 0)
        )
        one.overflow_bytes += int(event.numbers.get("overflow_bytes", 0))
        if event.iteration not in in_file:
            reserved = int(event.numbers.get("reserved_bytes", 0))
            one.reserved_bytes += reserved
            one.used_bytes += reserved - int(event.numbers.get("unused_bytes", 0))


def _writes_in(events: Iterable[Event]) -> list[Guess]:
    """What the blocks of a rank's dump were to take beside what its writes took."""
    predicted: dict[tuple[int, int], float] = {}
    taken: dict[tuple[int, int], float] = {}
    for event in events:
        key = (event.rank, event.iteration)
        if event.kind == "block":
            seconds = event.numbers.get("predicted_write_s", 0.0)
            predicted[key] = predicted.get(key, 0.0) + seconds
        elif event.kind == "write":
            if event.given_bytes:  # handed to a service, which writes it
                return []
            taken[key] = taken.get(key, 0.0) + event.duration_s
    firsts: dict[int, int] = {}
    for rank, iteration in predicted:
        firsts[rank] = min(firsts.get(rank, iteration), iteration)
    found: list[Guess] = []
    for (rank, iteration), seconds in predicted.items():
        _guess(found, seconds, taken.get((rank, iteration)), iteration == firsts[rank])
    return found


def _delays_in(events: Iterable[Event]) -> list[Delay]:
    written: dict[tuple[int, int], float] = {}
    committed: dict[tuple[int, int], float] = {}
    ended: dict[tuple[int, int], float] = {}
    synced: dict[tuple[int, int], float] = {}
    for event in events:
        key = (event.iteration, event.rank)
        if event.kind == "written":  # blocks that overflowed are written a second time
            written[key] = max(written.get(key, 0.0), event.duration_s)
        elif event.kind == "committed":
            committed[key] = event.duration_s
        elif event.kind == "end":
            ended[key] = event.end_s
        elif event.kind == "sync":
            synced[key] = event.end_s
    if not written:  # a trace of before these were said
        written = {
            key: at - ended[key] for key, at in synced.items() if key in ended and at > ended[key]
        }
    return [
        Delay(dump, rank, written.get((dump, rank)), committed.get((dump, rank)))
        for dump, rank in sorted(written.keys() | committed.keys())
    ]
