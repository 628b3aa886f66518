"""The pictures of running.json: lines over sizes, or groups of bars."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "codec"))

from svg import Axis, document, line, mark, mini_app, polyline, range_bar, spread_out, tag, words

NAMES = {
    "sync": ("HDF5, collective", "other", "square"),
    "async": ("asynchronous, uncompressed", "sz", "diamond"),
    "caesura": ("Caesura", "ours", "disc"),
    "unplanned": ("no planning", "alt", "triangle"),
    "normal": ("no idle priority", "exact", "square"),
}
TITLES = {
    "4": ("Time of a run over that with whole fields as blocks", "raw MB of a block"),
    "5": ("Time of writing over that of single blocks", "MB gathered into one write"),
    "9": ("What output adds to computing alone", ""),
    "10": ("What output adds at the beginning, in the middle, at the end", ""),
}


def picture(name: str, section: dict) -> str:
    """One figure; the file system and the device are emulated and the picture says so."""
    title, axis = TITLES[name]
    head = [
        words(20, 30, title, "heading"),
        mini_app(section, 50),
        words(20, 67, f"S0, figure {name}: {section['paper_says']}", "soft"),
    ]
    body, height = (_bars if name in ("9", "10") else _lines)(section["rows"], axis)
    style = tag("style", ".range { stroke: var(--ink); stroke-width: 1.3; }")
    return document(760, height, style, *head, *body)


def _lines(rows: list[dict], title: str) -> tuple[list[str], float]:
    left, right, top, bottom = 64, 600, 92, 330
    highs = [row["relative_high"] for row in rows]
    lows = [row["relative_low"] for row in rows]
    margin = 0.05 * (max(highs) - min(lows)) + 0.005
    y = Axis(max(0.0, min(lows) - margin), max(highs) + margin, bottom, top, log=False)
    sizes = sorted({row["x"] for row in rows})
    # One step a size: the sizes are powers of two, and "none" is not on that scale.
    x = {
        size: left + 24 + i * (right - left - 48) / max(1, len(sizes) - 1)
        for i, size in enumerate(sizes)
    }
    parts = []
    for value in y.ticks():
        parts.append(line(left, y(value), right, y(value), "grid"))
        parts.append(words(left - 8, y(value) + 4, f"{value:g}", "tick", "end"))
    for size, at in x.items():
        parts.append(
            words(at, bottom + 18, f"{size:g}" if size >= 0.5 else "none", "tick", "middle")
        )
    parts.append(words((left + right) / 2, bottom + 38, title, "soft", "middle"))
    modes = [mode for mode in NAMES if any(row["mode"] == mode for row in rows)]
    last = {
        mode: y(next(r for r in rows if (r["mode"], r["x"]) == (mode, sizes[-1]))["relative"])
        for mode in modes
    }
    places = spread_out([last[mode] for mode in modes], 16, top, bottom)
    for mode, place in zip(modes, places, strict=True):
        label, class_, shape = NAMES[mode]
        own = sorted((r for r in rows if r["mode"] == mode), key=lambda r: r["x"])
        for row in own:
            at = x[row["x"]]
            parts.append(
                line(at, y(row["relative_low"]), at, y(row["relative_high"]), f"spread {class_}")
            )
        parts.append(polyline([(x[r["x"]], y(r["relative"])) for r in own], f"line {class_}"))
        parts += [mark(x[r["x"]], y(r["relative"]), shape, class_) for r in own]
        parts.append(words(right + 10, place + 4, label, f"{class_} name"))
    return parts, bottom + 56


def _bars(rows: list[dict], _title: str) -> tuple[list[str], float]:
    left, y, parts = 210.0, 96.0, []
    scale = 430 / max(0.05, *(row["overhead_high"] for row in rows))
    group = None
    for row in rows:
        if row["x"] != row["mode"] and row["x"] != group:
            group = row["x"]
            parts.append(words(20, y + 12, group, "panel"))
            y += 20
        label, class_, _ = NAMES[row["mode"]]
        parts.append(words(left - 10, y + 13, label, f"{class_} name", "end"))
        off = row.get("actual_off_planned")
        note = "" if off is None else f"   (iterations {100 * off:.1f} % off the plan)"
        parts.append(range_bar(left, y, scale, row, class_, note))
        y += 22
    return parts, y + 14
