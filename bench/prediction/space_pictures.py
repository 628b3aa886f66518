"""The picture of space.py: time against space as in S1's Figures 9 and 14, and the check beside it.

Invariants: every run that was made is drawn; all panels start at nothing.
"""

from __future__ import annotations

import svg

_WIDTH, _HEIGHT = 1080, 430
_TOP, _BOTTOM = 84, 360


def _frame(left: float, right: float, heading: str, below: str, beside: str) -> list[str]:
    return [
        svg.words(left, _TOP - 28, heading, "panel"),
        svg.words(left, _TOP - 10, beside, "tick"),
        svg.words((left + right) / 2, _BOTTOM + 36, below, "tick", "middle"),
        svg.line(left, _BOTTOM, right, _BOTTOM, "goal"),
    ]


def _grid(x: svg.Axis, y: svg.Axis, form: str = "{:.0f} %") -> list[str]:
    parts = []
    for tick in y.ticks():
        parts.append(svg.line(x.begin, y(tick), x.end, y(tick), "grid"))
        parts.append(svg.words(x.begin - 6, y(tick) + 4, form.format(100 * tick), "tick", "end"))
    for tick in x.ticks():
        parts.append(svg.line(x(tick), _TOP, x(tick), _BOTTOM, "grid"))
        parts.append(svg.words(x(tick), _BOTTOM + 16, f"{100 * tick:.0f} %", "tick", "middle"))
    return parts


def _curves(sweep: dict, left: float, right: float, what: str, key: str, heading: str) -> list[str]:
    """Cost `key` over the file's length beyond ideal, for slots and regions."""
    base = sweep["nothing overflows"][0]["write_s"]

    def cost(run: dict) -> float:
        return run["write_s"] / base - 1 if key == "time" else run[key]

    runs = [run for name in ("slots", "regions") for run in sweep[name]]
    most_x = 1.1 * max(run["file_over_ideal"] for run in runs)
    low_y = min(0.0, *(cost(run) for run in runs))
    most_y = 1.15 * max(0.02, *(cost(run) for run in runs))
    x = svg.Axis(0.0, most_x, left, right, log=False)
    y = svg.Axis(low_y, most_y, _BOTTOM, _TOP, log=False)
    parts = _frame(left, right, heading, "file beyond the compressed bytes", what) + _grid(x, y)
    for name, class_, shape in (("slots", "sz", "square"), ("regions", "ours", "disc")):
        points = [(x(run["file_over_ideal"]), y(cost(run))) for run in sweep[name]]
        parts.append(svg.polyline(points, f"line {class_}"))
        for (px, py), run in zip(points, sweep[name], strict=True):
            label = f"{run['value']:g}" + ("σ" if name == "regions" else "")
            title = f"{run['name']}: {run['overflow_share']:.2%} of the blocks overflow"
            parts.append(svg.mark(px, py, shape, class_, title))
            if name == "slots" or run["value"] in (0.0, 6.0):
                parts.append(svg.words(px + 8, py - 6, label, f"name {class_}"))
    px, py = x(sweep["slots"][-1]["file_over_ideal"]), _TOP + 12
    parts.append(svg.words(px, py, "slots (S1), by R_space", "name sz", "end"))
    parts.append(svg.words(px, py + 16, "regions, by margin", "name ours", "end"))
    return parts


def _bars(rows: list[dict], left: float, right: float) -> list[str]:
    """The check: beyond ideal, file and disk blocks, for each run; the paper's beside."""
    x = svg.Axis(0.0, 1.15 * max(0.26, *(r["file_over_ideal"] for r in rows)), left + 96, right,
                 log=False)  # fmt: skip
    parts = [
        svg.words(left, _TOP - 28, "20 dumps of the mini-app, 8 MB blocks", "panel"),
        svg.words(left, _TOP - 10, "beyond the compressed bytes: file, disk blocks (thin)", "tick"),
        svg.line(x(0.02), _TOP, x(0.02), _BOTTOM, "goal"),
        svg.words(x(0.02) + 4, _BOTTOM + 16, "goal 2 %", "tick"),
    ]
    entries = [(r["name"], r["file_over_ideal"], r["disk_over_ideal"], r["ratio"]) for r in rows]
    entries.append(("S1, slots 1.25", 0.26, None, 17.94))
    step = (_BOTTOM - _TOP) / len(entries)
    for i, (name, file, disk, ratio) in enumerate(entries):
        class_ = "ours" if name.endswith("regions") else "sz" if disk is not None else "other"
        top = _TOP + i * step + 6
        parts.append(svg.words(left, top + 13, name.replace("bounds ", ""), "tick"))
        parts.append(svg.words(left, top + 27, f"ratio {ratio:.1f}", "tick"))
        box = {"x": x(0), "y": top, "height": 16.0, "class_": f"mark {class_}"}
        parts.append(svg.tag("rect", width=x(file) - x(0), **box))
        if disk is not None:
            thin = {"x": x(0), "y": top + 18, "height": 6.0, "class_": f"mark {class_}"}
            parts.append(svg.tag("rect", width=max(1.0, x(disk) - x(0)), **thin))
        label = f"{file:.1%}" + (f" · {disk:.1%}" if disk is not None else "")
        parts.append(svg.words(x(file) + 6, top + 13, label, f"name {class_}"))
    return parts


def draw(figures: dict) -> str:
    """All of it."""
    emulated = figures["emulated"]
    note = (
        f"Left and middle: 128³, 512 KiB blocks, emulated file system "
        f"({emulated['bandwidth_bytes_per_s'] / 1e6:.0f} MB/s, "
        f"{1e3 * emulated['latency_s']:.0f} ms a write). S1: at R_space 1.1, 32.4 % overflow and "
        f"+65.6 % time."
    )
    sweep = figures["sweep"]
    parts = [
        svg.words(24, 28, "Space kept before compressing (S1, Figures 9 and 14)", "heading"),
        *_curves(sweep, 70, 350, "blocks that overflow", "overflow_share", "Overflow over space"),
        *_curves(sweep, 420, 690, "time of the write lane beyond a run without overflow", "time",
                 "Time over space"),
        *_bars(figures["check"], 740, 1000),
        svg.words(24, _HEIGHT - 10, note, "tick"),
    ]  # fmt: skip
    return svg.document(_WIDTH, _HEIGHT, *parts)
