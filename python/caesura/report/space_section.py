"""What was reserved in the file for each dump, what its blocks took of it, and what did not fit."""

from __future__ import annotations

from caesura.report.charts import Frame, across_axis, bars, key, picture, up_axis
from caesura.report.facts import Facts
from caesura.report.markup import tag, text
from caesura.report.page import table
from caesura.report.quantities import bytes_text

_MOST_ROWS = 100


def space_section(facts: Facts) -> str:
    if not facts.space:
        return ""
    note = (
        "Reserved is what ranks kept free in the file for a dump's blocks before their sizes were "
        "known; blocks is what these came to, without headers. "
    )
    note += (
        "What a later dump used of a tail counts there."
        if facts.files
        else "Without the file tails that later dumps used again count twice."
    )
    return tag(
        "section",
        tag("h2", "Space in the file"),
        tag("p", text(words(facts))),
        key(("bar", "first", "blocks"), ("bar", "spare", "reserved and not used")),
        tag("div", _plot(facts), class_="scroll"),
        _numbers(facts),
        tag("p", text(note), class_="note", style="margin-top:10px"),
    )


def words(facts: Facts) -> str:
    """The sums."""
    space = facts.space.values()
    reserved, used = sum(s.reserved_bytes for s in space), sum(s.used_bytes for s in space)
    said = f"{bytes_text(reserved)} were reserved and {bytes_text(used)} used"
    said += f" ({100 * used / reserved:.1f} %). " if reserved else ". "
    known = [s for s in space if s.overflow_blocks is not None]
    blocks = sum(s.overflow_blocks or 0 for s in known)
    lost = sum(not s.committed for s in space)
    if not known:
        said += "Whether blocks did not fit is not recorded in the file; traces say it."
    elif blocks:
        size = sum(s.overflow_bytes for s in known)
        of = f" ({bytes_text(size)})" if size else ""  # the connector does not say
        said += (
            f"{blocks} block{'s' if blocks != 1 else ''}{of} did not fit where planned and went to "
            "the end of the file."
        )
    else:
        said += "Every block fitted where it was planned."
    if lost:
        said += f" {lost} dump{'s are' if lost != 1 else ' is'} not committed."
    return said


def _plot(facts: Facts) -> str:
    frame = Frame(width=560, top=10, bottom=150, left=72)
    space = facts.space
    x = frame.across(min(space), max(space), room=18)
    y = frame.up(max(max(s.reserved_bytes, s.used_bytes) for s in space.values()))
    stacks = [
        (dump, (s.used_bytes, max(0, s.reserved_bytes - s.used_bytes))) for dump, s in space.items()
    ]
    return picture(
        frame.width,
        frame.bottom + 38,
        f"Space of {len(space)} dumps. {words(facts)}",
        up_axis(frame, y, "bytes of a dump", bytes_text),
        bars(stacks, x, y, ("first", "spare")),
        across_axis(frame, x, facts.axis),
    )


def _numbers(facts: Facts) -> str:
    dumps = list(facts.space)
    size = max(1, -(-len(dumps) // _MOST_ROWS))
    rows = []
    for begin in range(0, len(dumps), size):
        run = dumps[begin : begin + size]
        of = [facts.space[dump] for dump in run]
        name = f"{run[0]} to {run[-1]} ({len(run)} dumps)" if len(run) > 1 else facts.called(run[0])
        reserved, used = sum(s.reserved_bytes for s in of), sum(s.used_bytes for s in of)
        known = [s.overflow_blocks for s in of if s.overflow_blocks is not None]
        rows.append(
            (
                text(name),
                bytes_text(reserved),
                bytes_text(used),
                f"{100 * used / reserved:.1f} %" if reserved else "–",
                str(sum(known)) if known else "not recorded",
                "yes" if all(s.committed for s in of) else "no",
            )
        )
    head = ("dump", "reserved", "blocks", "used", "did not fit", "committed")
    title = f"Numbers of {len(dumps)} dump{'s' if len(dumps) != 1 else ''}"
    return tag("details", tag("summary", title), table(head, rows))
