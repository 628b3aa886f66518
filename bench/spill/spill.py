#!/usr/bin/env python3
"""What keeping checkpoints in a file costs, beside what the disk takes for the same bytes.

  bench/spill/spill.py [--quick]     writes out/bench/spill.json, prints the table

Runs the program `spilling` in out/bench, on whatever disk that lies. Each share is a limit over
what was measured in the same round: the limit is the longer of two times, the disk's for the same
bytes (a plain write() and one fdatasync(), or pread() in the same order) and that of the same run
without a file. It may exceed 1: the plain program's disk waits until all lies in the page cache.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

OUT = Path("out", "bench")
Round = dict[str, dict[str, float]]


def program() -> Path:
    return Path(os.environ["CAESURA_BUILD"], "bench", "spill", "spilling")


def disk_s(one: Round, what: str) -> float:
    """Seconds of the disk by hand for what the file holds."""
    return one["link_bytes"] / one["by_hand"][f"{what}_bytes_per_s"]


def made_s(one: Round, way: str) -> float:
    """Until everything is made and, with a file, saved."""
    return one[way]["make_s"] + one[way].get("save_s", 0.0)


# What is said of a workload: a name, and its value in one round, of `gb` made.
ROWS: dict[str, Callable[[Round, float], float]] = {
    "checkpoint() without a file, s/GB": lambda one, gb: one["memory"]["make_s"] / gb,
    "with one, and room for all": lambda one, gb: one["roomy"]["make_s"] / gb,
    "with one, all written": lambda one, gb: made_s(one, "tight") / gb,
    "share of the limit": lambda one, _: (
        max(disk_s(one, "write"), made_s(one, "memory")) / made_s(one, "tight")
    ),
    "plain write(), GB/s": lambda one, _: one["by_hand"]["write_bytes_per_s"] / 1e9,
    "save(), GB/s": lambda one, _: one["link_bytes"] / one["roomy"]["save_s"] / 1e9,
    "share of plain write()": lambda one, _: disk_s(one, "write") / one["roomy"]["save_s"],
    "plain pread(), GB/s": lambda one, _: one["by_hand"]["read_bytes_per_s"] / 1e9,
    "restore() from memory, s/GB": lambda one, gb: one["memory"]["restore_s"] / gb,
    "from the file": lambda one, gb: one["file"]["restore_s"] / gb,
    "share of its limit": lambda one, _: (
        max(disk_s(one, "read"), one["memory"]["restore_s"]) / one["file"]["restore_s"]
    ),
}


def cell(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def table(found: dict) -> list[str]:
    def name(work: dict) -> str:
        return f"{work['checkpoint_bytes'] // 1_000_000} MB, " + (
            "compressed" if work["compressed"] else "raw"
        )

    works = found["workloads"]
    lines = [
        "| | " + " | ".join(name(work) for work in works) + " |",
        "|---" * (len(works) + 1) + "|",
    ]
    for row, of in ROWS.items():
        cells = [cell([of(one, w["raw_bytes"] / 1e9) for one in w["rounds"]]) for w in works]
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="for trying out")
    size = ["64", "1"] if parser.parse_args().quick else ["512", "5"]
    OUT.mkdir(parents=True, exist_ok=True)
    command = [program(), "--directory", OUT, "--megabytes", size[0], "--rounds", size[1]]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    (OUT / "spill.json").write_text(json.dumps(found, indent=1) + "\n")
    print("\n".join(table(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
