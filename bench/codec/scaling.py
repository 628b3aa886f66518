#!/usr/bin/env python3
"""Two threads against one, and memory per worker against block size. Writes out/bench/scaling.json.

Threads: wall seconds for a 64 MB field cut into slabs, thread counts in turns, medians; both
directions. On a machine with other work the figure says nothing, so the load is recorded beside it.
Memory: a fresh process per block size compresses one block with one thread; how far its resident
memory rose above array and frame together, over the block's size (VmHWM, reset before the call).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import fields
import numpy as np
import ours
from conditions import conditions

SIDES = (96, 128, 160, 203, 256)  # 3.5, 8.4, 16, 33, 67 MB as float32
MODES = ("strong", "fast", "planes")


def smooth(side: int) -> np.ndarray:
    """A turbulent cube: enough for time and memory, where there are no other fields."""
    if fields.can_make_synthetic():
        return np.require(fields.synthetic_values("turbulence", 2.0), np.float32, ["W", "O"])[
            :side, :side, :side
        ].copy()
    x = np.linspace(0, 40, side, dtype=np.float32)
    return np.sin(x[:, None, None] * 1.1) + np.cos(x[:, None] + x) ** 3


# -------------------------------------------------------------------------------------- threads


def wall_s(call) -> float:
    """Of one call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def threads(repeats: int) -> list[dict]:
    """Wall seconds by mode, direction and number of threads."""
    values = smooth(256)
    bound = ours.bound("absolute", 1e-3 * float(values.max() - values.min()))
    counts = [n for n in (1, 2, 4, 8, 16) if n <= len(os.sched_getaffinity(0))]
    rows = []
    for mode in MODES:
        frame = ours.compress(values, bound, mode)
        times: dict[tuple[str, int], list[float]] = {}
        for _ in range(repeats):
            for n in counts:
                there = wall_s(lambda n=n, m=mode: ours.compress(values, bound, m, threads=n))
                back = wall_s(lambda n=n, f=frame: ours.decompress(f, threads=n))
                times.setdefault(("compress", n), []).append(there)
                times.setdefault(("decompress", n), []).append(back)
        for (direction, n), seconds in times.items():
            alone = float(np.median(times[direction, 1]))
            median = float(np.median(seconds))
            rows.append(
                {
                    "mode": mode,
                    "direction": direction,
                    "threads": n,
                    "wall_s": median,
                    "spread_s": [min(seconds), max(seconds)],
                    "gb_per_s": values.nbytes / median / 1e9,
                    "speed_up": alone / median,
                }
            )
    return rows


# --------------------------------------------------------------------------------------- memory


def status_kib(key: str) -> int:
    """A line of /proc/self/status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1])
    raise KeyError(key)


def peak_of(call) -> tuple[int, object]:
    """By how many bytes resident memory rose at most during a call, and what it returned."""
    Path("/proc/self/clear_refs").write_text("5")  # sets VmHWM back to the present VmRSS
    before = status_kib("VmRSS")
    result = call()
    return (status_kib("VmHWM") - before) * 1024, result


def memory_here(side: int, mode: str) -> dict:
    """In this process, which must be fresh."""
    values = smooth(side)
    bound = ours.bound("absolute", 1e-3 * float(values.max() - values.min()))
    ours.compress(values[:8, :8, :8].copy(), bound, mode)  # code and static tables are not data
    rise, frame = peak_of(lambda: ours.compress(values, bound, mode))
    back, decoded = peak_of(lambda: ours.decompress(frame))
    return {
        "mode": mode,
        "block_bytes": values.nbytes,
        "frame_bytes": len(frame),
        "compress_over_block": (rise - len(frame)) / values.nbytes,
        "decompress_over_block": (back - decoded.nbytes) / values.nbytes,
    }


def memory() -> list[dict]:
    """A process per block size and mode."""
    rows = []
    for mode in MODES:
        for side in SIDES:
            answer = subprocess.run(
                [sys.executable, __file__, "--memory-of", f"{side},{mode}"],
                capture_output=True,
                text=True,
                check=True,
            )
            rows.append(json.loads(answer.stdout))
    return rows


def report(document: dict) -> list[str]:
    """Two tables."""
    lines = [f"{'mode':<10}{'direction':<12}{'threads':>8}{'GB/s':>8}{'speed-up':>10}"]
    for r in document["threads"]:
        head = f"{r['mode']:<10}{r['direction']:<12}{r['threads']:>8}"
        lines.append(f"{head}{r['gb_per_s']:>8.2f}{r['speed_up']:>10.2f}")
    lines.append("")
    lines.append(f"{'mode':<10}{'block MB':>9}{'frame MB':>9}{'beside it: compress':>22}"
                 f"{'decompress':>12}")  # fmt: skip
    for r in document["memory"]:
        head = f"{r['mode']:<10}{r['block_bytes'] / 1e6:>9.1f}{r['frame_bytes'] / 1e6:>9.2f}"
        lines.append(
            f"{head}{r['compress_over_block']:>20.2f} x{r['decompress_over_block']:>10.2f} x"
        )
    return lines


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        side, mode = options.memory_of.split(",")
        print(json.dumps(memory_here(int(side), mode)))
        return 0
    document = {
        "conditions": conditions(),
        "memory": memory(),
        "threads": threads(options.repeats),
    }
    path = fields.OUT / "scaling.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")
    print("\n".join(report(document)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
