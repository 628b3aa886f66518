#!/usr/bin/env python3
"""Print out/bench/codec.json as text: a line per block and bound, a column per codec.

`--what bytes` (default), `ratio`, `compress` or `decompress` (MB/s of raw data), `error` (largest
error over the bound).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import fields

KEYS = {
    "bytes": ("bytes", "{:d}"),
    "ratio": ("ratio", "{:.2f}"),
    "compress": ("compress_mb_per_s", "{:.0f}"),
    "decompress": ("decompress_mb_per_s", "{:.0f}"),
    "error": ("max_error_over_bound", "{:.5f}"),
}


def table(rows: list[dict], what: str, codecs: list[str]) -> list[str]:
    """Aligned columns; `-` where a codec was not measured or failed."""
    key, form = KEYS[what]
    cells: dict[tuple, dict[str, str]] = {}
    for row in rows:
        if row["codec"] in codecs:
            line = cells.setdefault((row["block"], row["bound"], row["absolute_bound"]), {})
            line[row["codec"]] = form.format(row[key]) if key in row else "-"
    names = [c for c in codecs if any(c in line for line in cells.values())]
    widths = [max(len(n), 9) + 2 for n in names]
    head = f"{'block':<48}{'bound':<7}{'absolute':>12}"
    lines = [head + "".join(f"{n:>{w}}" for n, w in zip(names, widths, strict=True))]
    for (block, bound, absolute), line in cells.items():
        text = f"{block:<48}{bound:<7}{absolute:>12.6g}"
        lines.append(
            text + "".join(f"{line.get(n, '-'):>{w}}" for n, w in zip(names, widths, strict=True))
        )
    return lines


def main() -> int:
    """Read, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", nargs="?", type=Path, default=fields.OUT / "codec.json")
    parser.add_argument("--what", choices=KEYS, default="bytes")
    parser.add_argument("--codecs", help="comma-separated; default: all that know a bound")
    options = parser.parse_args()
    document = json.loads(options.results.read_text())
    bounded = [n for n, c in document["codecs"].items() if c["kind"] in ("ours", "bounded")]
    codecs = options.codecs.split(",") if options.codecs else bounded
    print("\n".join(table(document["rows"], options.what, codecs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
