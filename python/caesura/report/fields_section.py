"""Ratio and error of each field over the dumps: a picture each, with the table behind it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from caesura.report.charts import Frame, across_axis, key, line, picture, rings, up_axis
from caesura.report.facts import Facts, Held
from caesura.report.markup import tag, text
from caesura.report.page import table
from caesura.report.quantities import about, bytes_text, ratio_text

MOST_PICTURES = 24  # the largest fields; the table has all
MOST_ROWS = 100  # of a field's table: more dumps are taken together
_PROMISED = "the bound: promised, not measured"


def fields_section(facts: Facts) -> str:
    if not facts.fields:
        said = (
            "No dump is in the file yet."
            if facts.files
            else "Neither a file nor these traces say what fields came to; name the file, too."
        )
        return tag("section", tag("h2", "Fields"), tag("p", said))
    order = sorted(facts.fields, key=lambda name: -stored_of(facts.fields[name]))
    shown = set(order[:MOST_PICTURES])
    figures = [_figure(facts, name) for name in facts.fields if name in shown]
    left = len(facts.fields) - len(shown)
    more = (
        f" Pictures are of the {len(shown)} largest of {len(facts.fields)} fields." if left else ""
    )
    note = (
        "Ratio is raw over stored bytes. Error is the largest of a dump over its bound. "
        "It is known where the Writer checked its blocks (verify); elsewhere the bound is what is "
        "promised." + more
    )
    return tag(
        "section",
        tag("h2", "Ratio and error of each field"),
        tag("p", text(note), class_="note"),
        _overview(facts),
        key(
            ("line", "first", "ratio"),
            ("ring", "second", "measured error, over the bound"),
            ("line", "promised", _PROMISED),
        ),
        tag("div", *figures, class_="plots"),
    )


def stored_of(of: Mapping[int, Held]) -> int:
    return sum(one.stored_bytes for one in of.values())


def _overview(facts: Facts) -> str:
    rows = []
    for name, of in facts.fields.items():
        raw, stored = sum(one.raw_bytes for one in of.values()), stored_of(of)
        ratios = [one.ratio for one in of.values() if one.ratio is not None]
        rows.append(
            (
                text(name),
                str(len(of)),
                str(sum(one.blocks for one in of.values())),
                bytes_text(raw),
                bytes_text(stored),
                ratio_text(raw / stored if stored else None),
                " to ".join(dict.fromkeys(map(ratio_text, (min(ratios), max(ratios)))))
                if ratios
                else "–",
                text(bound_words(of.values())),
                text(error_words(of.values())),
            )
        )
    head = ("field", "dumps", "blocks", "raw", "stored", "ratio", "of single dumps", "bound",
            "largest error")  # fmt: skip
    return table(head, rows)


def bound_words(of: Sequence[Held]) -> str:
    """As it was asked for; where it came to different ones in units, the least to the largest."""
    asked = {(one.kind, one.requested) for one in of}
    if len(asked) > 1:
        return ", ".join(sorted({_asked(*one) for one in asked}))
    ((kind, requested),) = asked
    units = sorted({one.bound for one in of if one.bound is not None})
    words = _asked(kind, requested)
    if kind in ("relative", "psnr") and units:
        span = f"{units[0]:.3g}" if len(units) == 1 else f"{units[0]:.3g} to {units[-1]:.3g}"
        return f"{words}: {span}"
    return words


def _asked(kind: str | None, requested: float | None) -> str:
    value = "?" if requested is None else f"{requested:g}"
    return {
        None: "not recorded",
        "lossless": "lossless",
        "absolute": value,
        "relative": f"{value} of the range",
        "pointwise_relative": f"{value} of each value",
        "psnr": f"{value} dB",
        "map": "by a map",
        "components": "of each component",
    }.get(kind, str(kind))


def error_words(of: Sequence[Held]) -> str:
    """Never more than is known."""
    of = list(of)
    if all(one.lossless for one in of):
        return "none: lossless"
    measured = [one for one in of if one.error is not None]
    if not measured:
        return "not measured"
    most = max(one.error for one in measured)
    words = f"{share_of_bound(most)} of the bound"
    checked = sum(one.measured_blocks for one in of)
    blocks = sum(one.blocks for one in of if not one.lossless)
    return words if checked >= blocks else f"{words}, in {checked} of {blocks} blocks"


def share_of_bound(share: float) -> str:
    """Rounded down: one that is just below the bound must not read as having reached it."""
    return f"{math.floor(share * 1000) / 1000:.3f}"


# ------------------------------------------------------------------------------------ the pictures


def _figure(facts: Facts, name: str) -> str:
    of = facts.fields[name]
    stored, raw = stored_of(of), sum(one.raw_bytes for one in of.values())
    total = f"ratio {about(raw / stored)}" if stored else "nothing stored"
    present = "" if len(of) == len(facts.labels) else f"in {len(of)} of {len(facts.labels)} dumps, "
    caption = tag("figcaption", text(name), tag("span", text(f"{present}{total}")))
    return tag("figure", caption, _plot(facts, name, of), _numbers(facts, of))


def _plot(facts: Facts, name: str, of: Mapping[int, Held]) -> str:
    width = 330.0
    ratios = [(dump, one.ratio) for dump, one in of.items() if one.ratio is not None]
    lossy = {dump: one for dump, one in of.items() if not one.lossless}
    measured = [(dump, one.error) for dump, one in lossy.items() if one.error is not None]
    promised = [(dump, 1.0) for dump, one in lossy.items() if one.error is None and one.kind]
    above = Frame(width=width, top=10, bottom=100)
    x = above.across(min(facts.labels), max(facts.labels))
    y = above.up(max((ratio for _, ratio in ratios), default=1.0))
    parts = [up_axis(above, y, "ratio", lambda v: f"{v:g}"), line(ratios, x, y, "first")]
    last = above
    if measured or promised:
        below = Frame(width=width, top=120, bottom=185)
        up = below.up(max([1.0, *(error for _, error in measured)]))
        parts.append(up_axis(below, up, "error / bound", lambda v: f"{v:g}"))
        parts.append(_promises(promised, x, up))
        draw = rings if len(measured) <= 60 else line
        parts.append(draw(measured, x, up, "second"))
        last = below
    parts.append(across_axis(last, x, facts.axis))
    alternative = f"{name}: {_in_words(of, ratios)}. Error: {error_words(of.values())}."
    return picture(width, last.bottom + 38, alternative, *parts)


def _promises(promised: Sequence[tuple[int, float]], x, up) -> str:
    """A bar at the bound over each dump without a measured error."""
    if not promised:
        return ""
    begin, end = x.at(promised[0][0]) - 5, x.at(promised[-1][0]) + 5
    if promised[-1][0] - promised[0][0] >= len(promised) and len(promised) <= 60:  # not all of them
        drawn = "".join(f"M{x.at(dump) - 4:.1f} {up.at(1):.1f}h8" for dump, _ in promised)
    else:
        drawn = f"M{begin:.1f} {up.at(1):.1f}H{end:.1f}"
    return tag("path", class_="line promised", d=drawn)


def _in_words(of: Mapping[int, Held], ratios: Sequence[tuple[int, float]]) -> str:
    if not ratios:
        return "nothing is stored of it"
    least, most = min(ratios, key=lambda p: p[1]), max(ratios, key=lambda p: p[1])
    return (
        f"ratio {about(least[1])} to {about(most[1])} in {len(of)} dumps, first "
        f"{about(ratios[0][1])}, last {about(ratios[-1][1])}"
    )


def _numbers(facts: Facts, of: Mapping[int, Held]) -> str:
    head = ("dump", "blocks", "raw", "stored", "ratio", "bound", "error / bound")
    dumps = list(of)
    size = max(1, math.ceil(len(dumps) / MOST_ROWS))
    rows = []
    for begin in range(0, len(dumps), size):
        run = dumps[begin : begin + size]
        name = facts.called(run[0])
        if len(run) > 1:
            name = f"{run[0]} to {run[-1]} ({len(run)} dumps)"
        rows.append((text(name), *_row([of[dump] for dump in run])))
    together = f", {size} in a row" if size > 1 else ""
    title = f"Numbers of {len(dumps)} dump{'s' if len(dumps) != 1 else ''}{together}"
    return tag("details", tag("summary", text(title)), table(head, rows))


def _row(of: Sequence[Held]) -> tuple[str, ...]:
    raw, stored = sum(one.raw_bytes for one in of), sum(one.stored_bytes for one in of)
    bounds = sorted({one.bound for one in of if one.bound is not None})
    errors = [one.error for one in of if one.error is not None]
    bound = " to ".join(f"{value:.4g}" for value in dict.fromkeys((bounds[0], bounds[-1]))) if (
        bounds) else "–"  # fmt: skip
    if all(one.lossless for one in of):
        bound, error = "lossless", "0"
    else:
        error = share_of_bound(max(errors)) if errors else "not measured"
    return (
        str(sum(one.blocks for one in of)),
        bytes_text(raw),
        bytes_text(stored),
        ratio_text(raw / stored if stored else None),
        bound,
        error,
    )
