#!/usr/bin/env python3
"""Compressed sizes on record: codec_ratio.csv, one line per block, bound, mode and entropy stage.

A larger size than recorded is a loss somebody has to mean; a smaller one asks to be recorded. The
same commit gives the same sizes on every machine. `--update` rewrites what can be computed here and
keeps the lines of blocks that are not there.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from pathlib import Path

import fields
import ours
import samples

RECORD = Path(__file__).with_name("codec_ratio.csv")
COLUMNS = ("block", "bound", "mode", "entropy", "raw_bytes", "bytes")
Key = tuple[str, str, str, str]


def recorded() -> dict[Key, tuple[int, int]]:
    """(raw bytes, compressed bytes) of every line."""
    with RECORD.open(newline="") as file:
        return {
            (r["block"], r["bound"], r["mode"], r["entropy"]): (
                int(r["raw_bytes"]),
                int(r["bytes"]),
            )
            for r in csv.DictReader(file)
        }


def sizes(blocks: list[fields.Block]) -> Iterator[tuple[Key, int, int]]:
    """Compress every block at its bounds in every mode, and without loss."""
    for block in blocks:
        values = block.values()
        for bound in fields.bounds_of(block, values):
            for mode, entropy in ours.CASES:
                asked = ours.bound("absolute", bound.absolute)
                data = ours.compress(values, asked, mode)
                yield (block.name, bound.label, mode, entropy), values.nbytes, len(data)
        data = ours.compress(values, ours.bound("lossless", 0.0))
        yield (block.name, "exact", "auto", "rans"), values.nbytes, len(data)


def differences(found: dict[Key, tuple[int, int]], record: dict) -> tuple[list[str], list[str]]:
    """Lines about sizes that are larger or not on record, and about those that are smaller."""
    worse, better = [], []
    for key, (_, size) in found.items():
        name = " ".join(key)
        if key not in record:
            worse.append(f"{name}: {size} bytes, not on record")
        elif size > record[key][1]:
            worse.append(f"{name}: {size} bytes, on record {record[key][1]}")
        elif size < record[key][1]:
            better.append(f"{name}: {size} bytes, on record {record[key][1]}")
    return worse, better


def write(lines: dict[Key, tuple[int, int]]) -> None:
    """The record, sorted."""
    with RECORD.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        for key in sorted(lines):
            out.writerow([*key, *lines[key]])


def main() -> int:
    """Compare or update."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--update", action="store_true", help="rewrite the record")
    options = parser.parse_args()
    blocks = samples.blocks() + fields.real_blocks()
    found = {key: (raw, size) for key, raw, size in sizes(blocks)}
    record = recorded() if RECORD.exists() else {}
    worse, better = differences(found, record)
    print("\n".join(worse + better))
    print(f"{len(found)} sizes: {len(worse)} larger or new, {len(better)} smaller than recorded")
    if options.update:
        here = {block.name for block in blocks}
        kept = {key: line for key, line in record.items() if key[0] not in here}
        write(kept | found)
        print(f"wrote {RECORD.name}")
        return 0
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
