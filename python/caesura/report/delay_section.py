"""How long dumps were at risk: from the end() that handed one over until it was written, and until
it was committed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from caesura.report.charts import Frame, across_axis, key, line, picture, rings, up_axis
from caesura.report.facts import Delay, Facts
from caesura.report.markup import tag, text
from caesura.report.page import table
from caesura.report.quantities import duration_text

_MOST_ROWS = 100


def delay_section(facts: Facts) -> str:
    if not facts.delays:
        return ""
    note = (
        "Written: the rank has written all blocks of the dump and, if the Writer is durable, made "
        "them so; after a kill `caesura recover` has the dump once that is so on every rank. "
        "Committed: the rank knows that every reader sees it, which it hears in a later end()."
    )
    return tag(
        "section",
        tag("h2", "How long until a dump was safe"),
        *[tag("p", text(sentence)) for sentence in words(facts)],
        key(
            ("line", "first", "written, on the slowest rank"),
            ("ring", "second", "committed, as the slowest rank knew it"),
        ),
        tag("div", _plot(facts), class_="scroll"),
        _numbers(facts),
        tag("p", text(note), class_="note", style="margin-top:10px"),
    )


def worst(delays: Sequence[Delay], seconds: Callable[[Delay], float | None]) -> Delay | None:
    known = [one for one in delays if seconds(one) is not None]
    return max(known, key=lambda one: seconds(one) or 0.0) if known else None


def words(facts: Facts) -> list[str]:
    """The worst of each, named."""
    said = []
    for verb, seconds in (("written", _written), ("committed", _committed)):
        one = worst(facts.delays, seconds)
        if one is not None:
            rank = "" if one.rank is None else f", rank {one.rank}"
            said.append(
                f"Longest until {verb}: {duration_text(seconds(one) or 0.0)} "
                f"({facts.called(one.dump)}{rank})."
            )
    missing = {one.dump for one in facts.delays if one.written_s is not None} - {
        one.dump for one in facts.delays if one.committed_s is not None
    }
    if missing and any(one.committed_s is not None for one in facts.delays):
        names = ", ".join(facts.called(dump) for dump in sorted(missing)[:5])
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        said.append(f"No trace says that these were committed: {names}{more}.")
    return said


def _written(one: Delay) -> float | None:
    return one.written_s


def _committed(one: Delay) -> float | None:
    return one.committed_s


def _slowest(
    facts: Facts, seconds: Callable[[Delay], float | None]
) -> dict[int, tuple[float, int | None]]:
    """By dump: the longest, and on which rank."""
    found: dict[int, tuple[float, int | None]] = {}
    for one in facts.delays:
        value = seconds(one)
        if value is not None and (one.dump not in found or value > found[one.dump][0]):
            found[one.dump] = value, one.rank
    return dict(sorted(found.items()))


def _plot(facts: Facts) -> str:
    written, committed = _slowest(facts, _written), _slowest(facts, _committed)
    dumps = written.keys() | committed.keys()
    values = [value for of in (written, committed) for value, _ in of.values()]
    if not values:
        return ""
    frame = Frame(width=560, top=10, bottom=150, left=72)
    x, y = frame.across(min(dumps), max(dumps)), frame.up(max(values))
    ends = [(dump, value) for dump, (value, _) in committed.items()]
    return picture(
        frame.width,
        frame.bottom + 38,
        f"Delays of {len(dumps)} dumps. {' '.join(words(facts))}",
        up_axis(frame, y, "seconds", lambda v: f"{v:g}"),
        line([(dump, value) for dump, (value, _) in written.items()], x, y, "first"),
        (rings if len(ends) <= 60 else line)(ends, x, y, "second"),
        across_axis(frame, x, facts.axis),
    )


def _numbers(facts: Facts) -> str:
    """The longest ones, where not all can be listed."""
    written, committed = _slowest(facts, _written), _slowest(facts, _committed)
    dumps = sorted(written.keys() | committed.keys())
    shown = dumps
    if len(dumps) > _MOST_ROWS:
        most = sorted(dumps, key=lambda d: -max(committed.get(d, written.get(d, (0.0, 0)))[0:1]))
        shown = sorted(most[:_MOST_ROWS])
    rows = []
    for dump in shown:
        cells = []
        for of in (written, committed):
            value, rank = of.get(dump, (None, None))
            cells += [
                "not recorded" if value is None else duration_text(value),
                "–" if rank is None else str(rank),
            ]
        rows.append((text(facts.called(dump)), *cells))
    title = f"Numbers of {len(dumps)} dump{'s' if len(dumps) != 1 else ''}"
    if len(shown) < len(dumps):
        title += f", the {len(shown)} slowest"
    head = ("dump", "written after", "on rank", "committed after", "on rank")
    return tag("details", tag("summary", text(title)), table(head, rows))
