"""Predicted against real sizes, and how far they lie apart, as one standalone SVG.

Invariants: legible on light and on dark pages; marks of one codec share shape and colour and carry
its name in the legend; nothing is cut off: errors beyond the last bin are counted in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from caesura.report.markup import tag, text
from caesura.report.quantities import bytes_text

from caesura_lab.evaluating import HIGH_RATIO, Row, summary

LIGHT = {
    "page": "#ffffff", "ink": "#1c2430", "soft": "#5b6675", "rule": "#c9d0d9", "grid": "#e9edf2",
    "codecs": ("#1f66c1", "#c26a08", "#1d8f6d", "#8656c9", "#c8323c", "#5b6675"),
}  # fmt: skip
DARK = {
    "page": "#12161c", "ink": "#e4e9f0", "soft": "#98a3b3", "rule": "#3a4452", "grid": "#222a34",
    "codecs": ("#6aa8f5", "#f0a045", "#49c79d", "#b398ee", "#f4747c", "#98a3b3"),
}  # fmt: skip
FONT = """svg { font: 12px system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial,
  "DejaVu Sans", sans-serif; }
.tick { font-size: 11px; } .heading { font-size: 17px; font-weight: 600; }
.panel { font-size: 13px; font-weight: 600; } .band { stroke-dasharray: 3 4; }
.frame, .new { fill: none; } .mark { fill-opacity: .55; } .bar { fill-opacity: .8; }
"""


def rules(colours: dict) -> str:
    """Colours written out: not every program that draws SVG knows CSS variables."""
    marks = "".join(
        f".mark.c{i}, .bar.c{i} {{ fill: {c}; }} .new.c{i} {{ stroke: {c}; }}\n"
        for i, c in enumerate(colours["codecs"])
    )
    return (
        f".page {{ fill: {colours['page']}; }} text {{ fill: {colours['ink']}; }}\n"
        f"text.soft, text.tick {{ fill: {colours['soft']}; }}\n"
        f".frame {{ stroke: {colours['rule']}; }} .grid {{ stroke: {colours['grid']}; }}\n"
        f".same, .band {{ stroke: {colours['soft']}; }}\n{marks}"
    )


STYLE = f"{FONT}{rules(LIGHT)}@media (prefers-color-scheme: dark) {{ {rules(DARK)} }}"

WIDTH, HEIGHT = 900.0, 492.0
LEFT, TOP, SIDE = 76.0, 92.0, 330.0
RIGHT = 512.0  # where the second panel begins
BINS = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # lower ends of |error|
BIN_NAMES = (
    "<0.1 %",
    "0.1–0.2",
    "0.2–0.5",
    "0.5–1",
    "1–2",
    "2–5",
    "5–10",
    "10–20",
    "20–50",
    ">50 %",
)
LARGEST_SCATTER = 4000  # marks; more would only make the file slow


def histogram(errors: Sequence[float]) -> list[int]:
    """How many relative errors lie in each of BINS."""
    counts = [0] * len(BINS)
    for error in errors:
        counts[sum(abs(error) >= low for low in BINS) - 1] += 1
    return counts


def picture(rows: Sequence[Row], title: str) -> str:
    """Left: predicted against real bytes (hollow: nothing learned yet). Right: the errors."""
    codecs = list(dict.fromkeys(row.codec for row in rows))
    page = tag("rect", width=WIDTH, height=HEIGHT, class_="page")
    parts = [
        tag("style", STYLE),
        page,
        _words(LEFT, 30, title, "heading"),
        _words(LEFT, 50, _caption(rows), "soft"),
        _scatter(rows, codecs),
        _bars(rows, codecs),
        _legend(codecs),
    ]
    return tag(
        "svg",
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
        width=WIDTH,
        height=HEIGHT,
        role="img",
    )


def _words(x: float, y: float, words: str, class_: str, anchor: str | None = None) -> str:
    return tag("text", text(words), x=x, y=y, class_=class_, text_anchor=anchor)


def _caption(rows: Sequence[Row]) -> str:
    learned = [r for r in rows if r.learned >= 2 and r.ratio < HIGH_RATIO]
    chosen, what = (learned, "after two dumps") if learned else (list(rows), "all blocks")
    sums = summary(chosen)
    return (
        f"{len(rows)} blocks; {what}: median error {100 * sums['median']:.2g} %, 95th percentile "
        f"{100 * sums['p95']:.2g} %"
    )


def _decades(low: float, high: float) -> list[float]:
    ticks = [f * 10.0**p for p in range(0, 13) for f in (1, 2, 5)]
    inside = [t for t in ticks if low <= t <= high]
    return inside if len(inside) <= 7 else [t for t in inside if f"{t:e}"[0] == "1"]


def _scatter(rows: Sequence[Row], codecs: list[str]) -> str:
    sizes = [max(1.0, s) for r in rows for s in (r.stored_bytes, r.predicted_bytes)]
    low, high = 0.8 * min(sizes), 1.25 * max(sizes)

    def place(size: float) -> float:
        return SIDE * math.log(max(1.0, size) / low) / math.log(high / low)

    bottom = TOP + SIDE
    parts = [_words(LEFT, TOP - 14, "predicted against real size of a block", "panel")]
    for tick in _decades(low, high):
        at = place(tick)
        parts.append(tag("line", x1=LEFT + at, x2=LEFT + at, y1=TOP, y2=bottom, class_="grid"))
        parts.append(
            tag("line", x1=LEFT, x2=LEFT + SIDE, y1=bottom - at, y2=bottom - at, class_="grid")
        )
        parts.append(_words(LEFT + at, bottom + 16, bytes_text(tick), "tick", "middle"))
        parts.append(_words(LEFT - 6, bottom - at + 4, bytes_text(tick), "tick", "end"))
    for factor, class_ in ((1.0, "same"), (1.1, "band"), (1 / 1.1, "band")):
        begin, end = max(low, low / factor), min(high, high / factor)
        parts.append(
            tag(
                "line",
                x1=LEFT + place(begin),
                x2=LEFT + place(end),
                y1=bottom - place(begin * factor),
                y2=bottom - place(end * factor),
                class_=class_,
            )
        )
    step = max(1, len(rows) // LARGEST_SCATTER)
    for row in rows[::step]:
        name = tag(
            "title",
            text(
                f"{row.field}, dump {row.dump}, block {row.block}, {row.codec}, {row.bound}: "
                f"{bytes_text(row.predicted_bytes)} predicted, {bytes_text(row.stored_bytes)} real"
            ),
        )
        parts.append(
            tag(
                "circle",
                name,
                cx=LEFT + place(row.stored_bytes),
                cy=bottom - place(row.predicted_bytes),
                r=3.2,
                class_=f"{'mark' if row.learned else 'new'} c{codecs.index(row.codec) % 6}",
            )
        )
    parts.append(tag("rect", x=LEFT, y=TOP, width=SIDE, height=SIDE, class_="frame"))
    parts.append(_words(LEFT + SIDE, bottom + 34, "real; dashed lines: 10 % off", "soft", "end"))
    return "".join(parts)


def _bars(rows: Sequence[Row], codecs: list[str]) -> str:
    width = WIDTH - RIGHT - 30.0
    shares = {}
    for codec in codecs:
        counts = histogram([row.error for row in rows if row.codec == codec])
        shares[codec] = [count / max(1, sum(counts)) for count in counts]
    most = max(max(share) for share in shares.values()) if shares else 1.0
    slot = SIDE / len(BINS)
    thick = (slot - 8.0) / max(1, len(codecs))
    parts = [_words(RIGHT, TOP - 14, "how far off: share of blocks", "panel")]
    label = 54.0
    for index, name in enumerate(BIN_NAMES):
        top = TOP + index * slot
        parts.append(_words(RIGHT + label - 8, top + slot / 2 + 4, name, "tick", "end"))
        for number, codec in enumerate(codecs):
            share = shares[codec][index]
            if share <= 0:
                continue
            long = max(1.0, (width - label - 44.0) * share / most)
            y = top + 4 + number * thick
            parts.append(
                tag("rect", x=RIGHT + label, y=y, width=long, height=max(1.0, thick - 1),
                    class_=f"bar c{number % 6}")
            )  # fmt: skip
            if thick >= 9:
                parts.append(
                    _words(RIGHT + label + long + 4, y + thick / 2 + 3, f"{100 * share:.3g} %",
                           "tick")
                )  # fmt: skip
    parts.append(
        tag("line", x1=RIGHT + label, x2=RIGHT + label, y1=TOP, y2=TOP + SIDE, class_="frame")
    )
    return "".join(parts)


def _legend(codecs: list[str]) -> str:
    parts = []
    x = LEFT
    y = TOP + SIDE + 56
    for number, codec in enumerate(codecs):
        parts.append(tag("circle", cx=x + 4, cy=y - 4, r=4.0, class_=f"mark c{number % 6}"))
        parts.append(_words(x + 13, y, codec, "tick"))
        x += 34 + 7.0 * len(codec)
    parts.append(tag("circle", cx=x + 4, cy=y - 4, r=3.2, class_="new c5"))
    parts.append(_words(x + 13, y, "nothing learned of the field yet", "tick"))
    return "".join(parts)
