"""The picture of order.py: S1's Figure 16, bars of time by way of writing, for each codec.

Invariants: bars begin at zero; the part in which compressing is over and writing is not is marked.
"""

from __future__ import annotations

import svg

_WIDTH, _ROW = 980, 34


def _panel(codec: str, found: dict, left: float, right: float) -> list[str]:
    ways = found["ways"]
    most = 1.12 * max(row["total_s"] for name, row in ways.items() if name != "uncompressed")
    x = svg.Axis(0.0, most, left + 110, right - 110, log=False)
    bandwidth = found["bandwidth_bytes_per_s"] / 1e6
    parts = [
        svg.words(left, 62, f"{codec}: ratio {found['ratio']:.1f}", "panel"),
        svg.words(left, 78, f"emulated file system of {bandwidth:.1f} MB/s", "tick"),
    ]
    bottom = 92 + _ROW * len(ways)
    for tick in x.ticks():
        parts.append(svg.line(x(tick), 88, x(tick), bottom, "grid"))
        parts.append(svg.words(x(tick), bottom + 16, f"{tick:g} s", "tick", "middle"))
    for i, (way, row) in enumerate(ways.items()):
        top, total = 94 + _ROW * i, row["total_s"]
        class_ = "ours" if way in ("S1-Alg1", "ExtJohnson+BF") else "alt"
        class_ = {"uncompressed": "other", "filter": "sz"}.get(way, class_)
        end = min(total, most / 1.04)
        box = {"x": x(0), "y": top, "height": 20.0, "class_": f"mark {class_}"}
        parts.append(svg.tag("rect", width=x(end) - x(0), **box))
        if "compress_s" in row:
            box["class_"] = "mark other"
            box["fill_opacity"] = 0.55
            box["height"] = 6.0
            box["y"] = top + 14
            parts.append(svg.tag("rect", width=x(min(row["compress_s"], end)) - x(0), **box))
        parts.append(svg.words(left, top + 15, way, "tick"))
        label = f"{total:.2f} s" + (" (cut off)" if end < total else "")
        parts.append(svg.words(x(end) + 6, top + 14, label, f"name {class_}"))
    lines = [key for key in found if " over " in key]
    for i, key in enumerate(lines):
        parts.append(svg.words(left, bottom + 44 + 17 * i, f"{key}: {found[key]:.2f}×", "tick"))
    return parts


def draw(figures: dict) -> str:
    """Both codecs side by side, the paper's factors below."""
    paper = figures["paper"]
    notes = (
        f"S1 (512 processes, Summit, SZ): overlap {paper['overlap over the filter']}× over the "
        f"filter, order {paper['order over overlap']}× over overlap, together "
        f"{paper['order over the filter']}× over the filter and "
        f"{paper['order over uncompressed']}× over uncompressed.",
        "Grey: seconds of compressing.",
    )
    parts = [svg.words(24, 28, "Time of one snapshot (S1, Figure 16)", "heading")]
    for i, (codec, found) in enumerate(figures["codecs"].items()):
        parts += _panel(codec, found, 24 + 480 * i, 484 + 480 * i)
    for i, note in enumerate(notes):
        parts.append(svg.words(24, 398 + 17 * i, note, "tick"))
    return svg.document(_WIDTH, 428, *parts)
