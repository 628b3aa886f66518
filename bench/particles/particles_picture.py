"""The picture of particles.json: bits a particle needs, each way a bar, by program and order."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "codec"))

from svg import document, line, tag, words

WIDTH, LEFT, RIGHT, TOP, ROW = 760.0, 150.0, 150.0, 84.0, 20.0


def picture(results: dict) -> str:
    """Positions alone; the axis ends at the largest of what keeps the bound."""
    sets = [one for one in results["sets"] if one["species"] == "positions"]
    shown = [row for one in sets for row in one["rows"] if not row["way"].startswith("zstd")]
    scale = (WIDTH - LEFT - RIGHT) / max(row["bits_per_particle"] for row in shown)
    parts = [
        words(20, 32, "Bits a particle's position takes", "heading"),
        words(20, 54, "Three coordinates, each within 1e-4 of the box. Line: no order of", "soft"),
        words(20, 70, "the particles can take less (from their density).", "soft"),
    ]
    y = TOP + 8
    for one in sets:
        parts.append(words(20, y + 4, f"{one['program']}, {one['order']}", "panel"))
        y += 12
        top = y
        for row in one["rows"]:
            if row["way"].startswith("zstd"):
                continue
            kind = "ours" if row["way"] in ("any", "any, with index") else "other"
            long = scale * row["bits_per_particle"]
            parts.append(words(LEFT - 10, y + 13, row["way"], f"{kind} name", "end"))
            parts.append(
                tag("rect", x=LEFT, y=y + 3, width=round(long, 1), height=ROW - 6, class_=kind)
            )
            text = f"{row['bits_per_particle']:.1f} bits, {row['ratio']:.2f} : 1"
            parts.append(words(LEFT + long + 6, y + 13, text, "soft"))
            y += ROW
        least = one["least_bits_per_position"]
        if least is not None:
            parts.append(line(LEFT + scale * least, top, LEFT + scale * least, y, "frame"))
        y += 16
    return document(WIDTH, y + 8, *parts)
