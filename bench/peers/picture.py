"""The picture of peers.json: one bar a mode and bandwidth, with its range."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "codec"))

from svg import document, line, range_bar, tag, words

NAMES = {
    "h5py": "h5py",
    "h5py-sz3": "h5py + SZ3 filter",
    "zarr": "zarr (zstd)",
    "bp5": "ADIOS2 BP5",
    "bp5-async": "ADIOS2 BP5 AsyncWrite",
    "caesura": "Caesura",
    "caesura-unplanned": "Caesura, no planning",
    "caesura-normal": "Caesura, no idle priority",
}
WIDTH, LEFT, RIGHT, TOP, ROW = 760.0, 190.0, 24.0, 96.0, 22.0


def picture(results: dict) -> str:
    """Overhead over computing alone; the axis ends at the largest."""
    rows = results["summary"]
    bandwidths = sorted({row["bandwidth_mb_s"] for row in rows}, reverse=True)
    most = max(0.1, *(row["overhead_high"] for row in rows))
    scale = (WIDTH - LEFT - RIGHT - 90) / most
    scenario = results["scenario"]
    parts = [
        words(20, 32, "What output adds to the time of computing alone", "heading"),
        words(
            20,
            54,
            f"1 process, {scenario['busy_s'] * 1e3:.0f} ms of work and "
            f"{scenario['wait_s'] * 1e3:.0f} ms of waiting an iteration; 48 MB dumped every "
            f"{scenario['dump_every']}th of {scenario['iterations']}; closing included",
            "soft",
        ),
        words(20, 72, "Emulated disk. Medians; lines: lowest to highest repeat.", "soft"),
    ]
    y = TOP + 8
    for bandwidth in bandwidths:
        parts.append(words(20, y + 4, f"{bandwidth} MB/s", "panel"))
        y += 14
        for row in (r for r in rows if r["bandwidth_mb_s"] == bandwidth):
            ours = row["mode"].startswith("caesura")
            class_ = "ours" if ours else "other"
            parts.append(words(LEFT - 10, y + 13, NAMES[row["mode"]], f"{class_} name", "end"))
            parts.append(range_bar(LEFT, y, scale, row, class_))
            y += ROW
        y += 16
    parts.append(line(LEFT, TOP, LEFT, y - 12, "frame"))
    style = tag("style", ".range { stroke: var(--ink); stroke-width: 1.5; }")
    return document(WIDTH, y + 8, style, *parts)
