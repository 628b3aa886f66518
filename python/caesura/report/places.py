"""Where each block was compressed and each region analysed: by field, and one by one."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import TYPE_CHECKING

from caesura.report.markup import tag, text
from caesura.report.page import table
from caesura.report.quantities import bytes_text, duration_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from caesura.devices import Decided, Decisions

_MOST_LISTED = 500  # a page has to stay readable; the trace has all of them


def places_section(decisions: Decisions) -> str:
    """By function and field, and then each block and region. No title."""
    if not decisions.blocks:
        return tag("p", "Nothing was compressed or analysed yet.")
    return "".join((_by_field(decisions), _one_by_one(decisions.blocks)))


def _by_field(decisions: Decisions) -> str:
    fields: dict[tuple[str, str], list[Decided]] = {}
    for one in decisions.blocks:
        fields.setdefault((one.function, one.field), []).append(one)
    rows = []
    for (function, field), done in fields.items():
        places = Counter(one.device for one in done)
        rows.append(
            (
                text(function),
                text(field),
                *(str(places[device]) if places[device] else "–" for device in decisions.devices),
                _lay(one.lay_on for one in done),
                _median([one.predicted_s for one in done if one.error is not None]),
                _median([one.took_s + one.result_s for one in done if one.error is not None]),
            )
        )
    head = ("function", "field", *(text(device) for device in decisions.devices))
    return table((*head, "values lay on", "predicted", "taken"), rows)


def _lay(places: Iterable[str]) -> str:
    counted = Counter(place or "host" for place in places)
    if len(counted) == 1:
        return text(next(iter(counted)))
    return text(", ".join(f"{place} {count}" for place, count in sorted(counted.items())))


def _median(seconds: Sequence[float]) -> str:
    return duration_text(statistics.median(seconds)) if seconds else "–"


def _one_by_one(blocks: Sequence[Decided]) -> str:
    shown = sorted(blocks, key=lambda one: one.begin_s)[-_MOST_LISTED:]
    rows = [
        (
            text(one.label),
            text(one.function),
            bytes_text(one.bytes),
            text(one.lay_on or "host"),
            text(one.device + _why(one)),
            duration_text(one.predicted_s) if one.predicted_s > 0 else "–",
            duration_text(one.took_s + one.result_s),
        )
        for one in shown
    ]
    left = len(blocks) - len(shown)
    title = f"The last {len(shown)} of {len(blocks)}" if left else f"All {len(shown)}"
    head = ("block or region", "function", "values", "lay on", "ran on", "predicted", "taken")
    return tag("details", tag("summary", text(title)), table(head, rows))


def _why(one: Decided) -> str:
    if one.failed:
        return f", because {one.chosen} failed"
    if one.device != one.chosen:
        return f", which was free before {one.chosen}"
    return ", on trial" if one.is_trial else ""
