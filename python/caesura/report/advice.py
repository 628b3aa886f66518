"""What a run's numbers say to do next. Each piece of advice says how its numbers were worked out.

Invariant: a sentence without the data for its number is left out, never filled in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from caesura.report.facts import Facts
from caesura.report.markup import tag, text
from caesura.report.prediction_section import bias_of
from caesura.report.quantities import bytes_text, duration_text
from caesura.report.what_if import Doubled, twice_the_bound
from caesura.trace import Event, Trace
from caesura.watching.lanes import Lane, lanes_of

_MUCH_OVERFLOW = 0.01  # of blocks
_LITTLE_USED = 0.7  # of what was reserved
_SMALL_DUMP = 1 << 20  # bytes: in less, manifests and pages are what is not used
_LITTLE_SAVED = 1.1  # ratio
_FAR_OFF = 0.5  # bias of predictions


@dataclass(frozen=True)
class Advice:
    said: str
    how: str  # the numbers were worked out


def advice_section(found: Sequence[Advice]) -> str:
    if not found:
        return ""
    items = [tag("li", text(one.said), tag("span", text(one.how))) for one in found]
    return tag(
        "section", tag("h2", "What limits, and what to do"), tag("ul", *items, class_="advice")
    )


def advice_of(facts: Facts, trace: Trace | None) -> list[Advice]:
    """The most urgent first."""
    found = _unfinished(facts)
    if trace is not None:
        found += _limits(facts, trace)
        found += _at_risk(trace)
        found += _saves_little(facts, trace)
    return found + _space(facts) + _predictions(facts)


def _unfinished(facts: Facts) -> list[Advice]:
    if not facts.unfinished:
        return []
    names = " ".join(str(path) for path in facts.unfinished[:3])
    return [
        Advice(
            f"If the run has ended, finish its file: caesura recover {names}",
            "Blocks lie in the file that no commit has. While a dump is in flight that is so of "
            "every run.",
        )
    ]


# ------------------------------------------------------------------------------------- what limits


def _limits(facts: Facts, trace: Trace) -> list[Advice]:
    lanes = lanes_of(trace.events, None)
    if not lanes:
        return []
    lane = max(lanes, key=lambda one: one.load)
    if lane.between_s is None or not lane.dumps:
        return []
    kind, _ = lane.load
    how = (
        f"Rank {lane.rank}, the busiest: medians over its {lane.dumps} written dumps of the time "
        "in which the lane was busy, beside the time from one dump's first put to the next one's."
    )
    said = f"Rank {lane.rank}: {lane.limit()}."
    if kind == 1:
        return [Advice(said + _calls(lane), f"Sums over the run of rank {lane.rank}'s calls.")]
    if kind == 0:
        return [Advice(said, how)]
    if lane.write_s >= lane.compress_s:
        return [_write_limits(facts, trace, lane, said, how)]
    return [_compress_limits(trace, lane, said, how)]


def _calls(lane: Lane) -> str:
    if lane.put_s > lane.end_s:
        return (
            f" put took {duration_text(lane.put_s)}: hand data over with Ownership::borrow where "
            "it stays unchanged until the next end(), or give the Writer more memory if put waits."
        )
    return (
        f" end took {duration_text(lane.end_s)}: larger blocks make fewer estimates and exchanges."
    )


def _write_limits(facts: Facts, trace: Trace, lane: Lane, said: str, how: str) -> Advice:
    written = sum(e.bytes for e in trace.events if e.kind == "write" and e.rank == lane.rank)
    seconds = sum(e.duration_s for e in trace.events if e.kind == "write" and e.rank == lane.rank)
    if seconds > 0:
        said += f" It wrote {bytes_text(written / seconds)}/s."
    doubled = twice_the_bound(facts.files, facts.datasets)
    if doubled is None or doubled.smaller <= 0:
        return Advice(said + " Write fewer dumps, or fewer bytes.", how)
    then_s = lane.write_s * (1.0 - doubled.smaller)
    said += (
        f" Twice the bound would make a dump {100 * doubled.smaller:.0f} % smaller, and its "
        f"writing about {duration_text(then_s)}."
    )
    return Advice(said, f"{how} {_how_doubled(doubled)}")


def _how_doubled(doubled: Doubled) -> str:
    return (
        f"Twice the bound: {doubled.blocks} blocks of the last dump, of {len(doubled.fields)} "
        f"fields, were decoded and compressed again: {bytes_text(doubled.now_bytes)} with their "
        f"bound, {bytes_text(doubled.then_bytes)} with twice it. These fields are "
        f"{100 * doubled.of_dump:.0f} % of the dump. Writing is taken to be in proportion to bytes."
    )


def _compress_limits(trace: Trace, lane: Lane, said: str, how: str) -> Advice:
    threads = {
        event.lane for event in trace.events if event.kind == "compress" and event.rank == lane.rank
    }
    n = len(threads)
    cpu_s = sum(
        event.duration_s
        for event in trace.events
        if event.kind == "compress" and event.rank == lane.rank
    )
    said += (
        f" {n} thread{'s' if n != 1 else ''} compressed; one more with a core of its own would "
        f"bring a dump to {duration_text(lane.compress_s * n / (n + 1))} at best."
    )
    return Advice(
        said,
        f"{how} In all its threads took {duration_text(cpu_s)}; at best means that the same work "
        f"is shared by {n + 1} instead of {n}.",
    )


# ------------------------------------------------------------------------------- safety and fields


def _at_risk(trace: Trace) -> list[Advice]:
    """How many dumps a kill at the worst moment would have found uncommitted."""
    spans: dict[int, tuple[float, float]] = {}
    for event in trace.events:
        if event.kind == "committed":
            begin, end = spans.get(event.iteration, (event.begin_s, event.end_s))
            spans[event.iteration] = min(begin, event.begin_s), max(end, event.end_s)
    if len(spans) < 2:
        return []
    most, at = _most_at_once(list(spans.values()))
    if most < 3:  # one on its way and one just handed over is how it is meant
        return []
    return [
        Advice(
            f"At {duration_text(at)} {most} dumps were handed over and not committed. max_delay "
            "bounds how long one waits.",
            "Each dump counts from the end() that handed it over until the last rank knew of its "
            "commit.",
        )
    ]


def _most_at_once(spans: Sequence[tuple[float, float]]) -> tuple[int, float]:
    changes = sorted([(b, 1) for b, _ in spans] + [(e, -1) for _, e in spans])
    now = most = 0
    at = 0.0
    for time_s, change in changes:
        now += change
        if now > most:
            most, at = now, time_s
    return most, at


def _saves_little(facts: Facts, trace: Trace) -> list[Advice]:
    """Fields that are compressed for almost nothing."""
    seconds: dict[str, float] = {}
    for event in trace.events:
        if event.kind == "compress":
            name = _field(event)
            seconds[name] = seconds.get(name, 0.0) + event.duration_s
    all_s = sum(seconds.values())
    found = []
    for name, of in facts.fields.items():
        raw = sum(one.raw_bytes for one in of.values())
        stored = sum(one.stored_bytes for one in of.values())
        took_s = seconds.get(name, 0.0)
        if not stored or raw / stored >= _LITTLE_SAVED or took_s < 0.05 * all_s:
            continue
        found.append(
            Advice(
                f"{name} shrinks by {100 * (1 - stored / raw):.1f} % only and took "
                f"{100 * took_s / all_s:.0f} % of the time of compressing "
                f'({duration_text(took_s)}): give it a bound, or codec "none".',
                f"{bytes_text(raw)} raw, {bytes_text(stored)} stored in {len(of)} dumps; times of "
                "its blocks in the traces.",
            )
        )
    return found


def _field(event: Event) -> str:
    return event.name.rpartition(" #")[0] or event.name


# ---------------------------------------------------------------------------- space and prediction


def _space(facts: Facts) -> list[Advice]:
    known = [s for s in facts.space.values() if s.overflow_blocks is not None]
    blocks = sum(len_of.blocks for of in facts.fields.values() for len_of in of.values())
    lost = sum(s.overflow_blocks or 0 for s in known)
    found = []
    if blocks and lost / blocks > _MUCH_OVERFLOW and not facts.by_file:
        found.append(
            Advice(
                f"{100 * lost / blocks:.1f} % of the blocks did not fit where they were planned: a "
                "larger reserve_sigmas keeps more room for each dump.",
                f"{lost} of {blocks} blocks over all dumps, by the traces.",
            )
        )
    reserved = sum(s.reserved_bytes for s in facts.space.values())
    used = sum(s.used_bytes for s in facts.space.values())
    is_large = reserved >= _SMALL_DUMP * len(facts.space)
    if facts.files and reserved and is_large and used / reserved < _LITTLE_USED:
        found.append(
            Advice(
                f"{bytes_text(reserved - used)} of {bytes_text(reserved)} reserved were not used: "
                "a smaller reserve_sigmas makes the file shorter (unwritten bytes cost no disk).",
                "Regions in the file beside the stored bytes of their blocks.",
            )
        )
    return found


def _predictions(facts: Facts) -> list[Advice]:
    learned = [one for one in facts.compressions if not one.first]
    if len(learned) < 8 or abs(bias_of(learned)) < _FAR_OFF:
        return []
    bias = bias_of(learned)
    return [
        Advice(
            f"Compressing takes {1 + bias:.2g} times what is predicted: measure this machine with "
            "`caesura calibrate`.",
            f"CPU time over predicted time of {len(learned)} blocks after first dumps.",
        )
    ]
