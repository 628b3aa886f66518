#!/usr/bin/env python3
"""Measure Caesura's codec beside its peers: ratio, speed, bound. Writes out/bench/codec.json.

Invariants:
 - Times are CPU seconds of the calling thread; all codecs take turns within one process, repeat
   after repeat, so that a disturbance meets all of them. Figures are medians; spread is kept.
 - The core's clock is taken before and after each turn, so that speeds can also be told in cycles.
 - Large buffers are recycled instead of returned to the system, for every codec alike: otherwise
   page faults of fresh memory would be most of a fast codec's time.
 - What was decoded is compared value by value with what went in, every case once.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import checking
import clock
import fields
import numpy as np
import ours
import peers
from conditions import conditions
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
console = Console(soft_wrap=True)


def recycle_memory() -> None:
    """Tell glibc to keep freed memory and never to map single buffers."""
    try:
        libc = ctypes.CDLL("libc.so.6")
    except OSError:
        return  # another C library: its page faults count
    libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    libc.mallopt(M_TOP_PAD, 1 << 26)
    libc.mallopt(M_MMAP_MAX, 0)


@dataclass
class Timing:
    """What one codec did with one block at one bound."""

    codec: peers.Codec
    bytes: int = 0
    compress_s: list[float] = field(default_factory=list)
    decompress_s: list[float] = field(default_factory=list)
    estimate_s: list[float] = field(default_factory=list)
    clock_hz: list[float] = field(default_factory=list)  # before and after each turn, the mean
    estimated_bytes: int = 0
    process_s: float = 0.0  # CPU time of all threads, to notice helpers
    thread_s: float = 0.0
    errors: checking.Errors | None = None
    failed: str = ""

    def run(self, values: np.ndarray, bound: float) -> None:
        """Once there and back; the first time with a check of every value."""
        clock_before = clock.hz()
        process_begin = time.process_time()
        begin = time.thread_time()
        data = self.codec.compress(values, bound)
        middle = time.thread_time()
        decoded = self.codec.decompress(data, values.dtype, values.shape)
        end = time.thread_time()
        self.process_s += time.process_time() - process_begin
        self.thread_s += end - begin
        clock_after = clock.hz()
        if clock_before and clock_after:
            self.clock_hz.append((clock_before + clock_after) / 2)
        self.compress_s.append(middle - begin)
        self.decompress_s.append(end - middle)
        self.bytes = peers.size_of(data)
        if self.codec.estimate:
            begin = time.thread_time()
            self.estimated_bytes = self.codec.estimate(values, bound)
            self.estimate_s.append(time.thread_time() - begin)
        if self.errors is None:
            limit = bound if self.codec.kind in ("bounded", "ours") else 0.0
            self.errors = checking.compare(values, np.asarray(decoded), limit)

    def result(self, block: fields.Block, values: np.ndarray, bound: fields.Bound) -> dict:
        """One row of codec.json."""
        row = {
            "block": block.name,
            "source": block.source,
            "field": block.field,
            "origin": block.origin,
            "part": block.part,
            "dtype": block.dtype,
            "shape": list(values.shape),
            "raw_bytes": values.nbytes,
            "bound": bound.label,
            "absolute_bound": bound.absolute,
            "codec": self.codec.name,
            "kind": self.codec.kind,
        }
        if self.failed or self.errors is None:
            return row | {"failed": self.failed or "not run"}
        if self.codec.estimate:
            row["estimated_bytes"] = self.estimated_bytes
            row["estimate_s"] = round(float(np.median(self.estimate_s)), 7)
        megabytes = values.nbytes / 1e6
        return row | {
            "bytes": self.bytes,
            "ratio": values.nbytes / self.bytes,
            "compress_mb_per_s": megabytes / max(float(np.median(self.compress_s)), 1e-9),
            "decompress_mb_per_s": megabytes / max(float(np.median(self.decompress_s)), 1e-9),
            "compress_s": [round(s, 7) for s in self.compress_s],
            "decompress_s": [round(s, 7) for s in self.decompress_s],
            "max_error_over_bound": self.errors.max_error / bound.absolute,
            "violations": self.errors.violations,
            "changed_specials": self.errors.changed_specials,
            "other_threads_s": round(max(0.0, self.process_s - self.thread_s), 4),
        } | self.cycles(values.size)  # fmt: skip

    def cycles(self, n: int) -> dict:
        """Per value, where the clock is known: medians, like the speeds."""
        if not self.clock_hz:
            return {}
        return {
            "clock_ghz": [round(hz / 1e9, 3) for hz in self.clock_hz],
            "compress_cycles": median_product(self.compress_s, self.clock_hz) / n,
            "decompress_cycles": median_product(self.decompress_s, self.clock_hz) / n,
        }


def median_product(seconds: list[float], hz: list[float]) -> float:
    """Cycles of the median turn."""
    return float(np.median(np.array(seconds) * np.array(hz)))


def turns(timings: list[Timing], repeat: int) -> list[Timing]:
    """The order within a repeat: one of ours after every peer, who begins changes.

    Ours run for milliseconds, so they get more turns than the peers, each after another codec has
    had the caches, as in a program that computes between dumps.
    """
    own = [t for t in timings if t.codec.kind == "ours"]
    others = [t for t in timings if t.codec.kind != "ours"]
    first = repeat % max(len(others), 1)
    order, turn = [], repeat
    for timing in others[first:] + others[:first]:
        order.append(timing)
        if own:
            order.append(own[turn % len(own)])
            turn += 1
    return order if len(others) >= len(own) else order + own


def measure_case(
    codecs: list[peers.Codec], values: np.ndarray, bound: float, repeats: int
) -> list[Timing]:
    """All codecs in turns."""
    timings = [Timing(codec) for codec in codecs]
    for repeat in range(repeats):
        for timing in turns(timings, repeat):
            if timing.failed:
                continue
            try:
                timing.run(values, bound)
            except Exception as error:  # recorded, shown, and the others go on
                timing.failed = f"{type(error).__name__}: {error}"
    return timings


def codecs_for(block: fields.Block, first: bool, codecs: list[peers.Codec]) -> list[peers.Codec]:
    """Exact codecs run once per block: no bound changes what they do."""
    return [
        c for c in codecs if block.dtype in c.dtypes and (first or c.kind in ("ours", "bounded"))
    ]


def measure(
    blocks: list[fields.Block],
    codecs: list[peers.Codec],
    repeats: int,
    labels: set[str] | None = None,
) -> list[dict]:
    """Rows for every block, bound and codec."""
    rows = []
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("blocks", total=len(blocks))
        for block in blocks:
            progress.update(task, description=f"{block.name:<44}")
            values = block.values()
            bounds = [b for b in fields.bounds_of(block, values) if not labels or b.label in labels]
            for index, bound in enumerate(bounds):
                chosen = codecs_for(block, index == 0, codecs)
                for timing in measure_case(chosen, values, bound.absolute, repeats):
                    rows.append(timing.result(block, values, bound))
                    if timing.failed:
                        console.print(f"{block.name} {bound.label} {timing.codec.name}: failed")
            if not console.is_terminal:
                console.print(f"{block.name}  {len(bounds)} bounds")
            progress.advance(task)
    return rows


def summary(rows: list[dict]) -> list[str]:
    """A line per codec: geometric means over everything measured, and violations."""
    lines = [f"{'codec':<26}{'ratio':>9}{'compress':>12}{'decompress':>12}  out of bound"]
    names = dict.fromkeys(row["codec"] for row in rows)
    for name in names:
        of = [row for row in rows if row["codec"] == name and "bytes" in row]
        if not of:
            lines.append(f"{name:<26}{'failed':>9}")
            continue
        means = [
            float(np.exp(np.mean(np.log([row[key] for row in of]))))
            for key in ("ratio", "compress_mb_per_s", "decompress_mb_per_s")
        ]
        broken = sum(1 for row in of if row["violations"])
        verdict = f"{broken} of {len(of)} cases" if broken else f"none of {len(of)} cases"
        lines.append(
            f"{name:<26}{means[0]:>9.2f}{means[1]:>7.0f} MB/s{means[2]:>7.0f} MB/s  {verdict}"
        )
    return lines


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--full", action="store_true", help="every block, type and bound")
    parser.add_argument("--blocks", help="only those whose name contains one of these")
    parser.add_argument("--bounds", help="only these, e.g. r1e-3,paper")
    parser.add_argument("--codecs", help="only these, by name, comma-separated")
    parser.add_argument("--target", choices=ours.TARGETS, help="our codec: nothing above this")
    parser.add_argument("--repeats", type=int, default=0, help="default 3; 5 with --full")
    parser.add_argument("--output", type=Path, default=fields.OUT / "codec.json")
    return parser.parse_args(arguments)


def main() -> int:
    """Measure and write."""
    options = parse()
    recycle_memory()
    codecs, absent = peers.find()
    own, own_absent = ours.find()
    codecs = own + codecs
    if options.target and own:
        ours.cap_target(options.target)
    if options.codecs:
        codecs = [c for c in codecs if c.name in options.codecs.split(",")]
    for line in own_absent + absent + fields.missing():
        console.print(f"not measured: {line}")
    blocks = fields.everything() if options.full else fields.quick()
    if options.blocks:
        blocks = [b for b in blocks if any(word in b.name for word in options.blocks.split(","))]
    labels = set(options.bounds.split(",")) if options.bounds else None
    repeats = options.repeats or (5 if options.full else 3)
    begin = time.monotonic()
    rows = measure(blocks, codecs, repeats, labels)
    specials = {c.name: checking.verdict_on_specials(c) for c in codecs}
    document = {
        "conditions": conditions()
        | {"repeats": repeats, "full": options.full, "target": options.target or "best"},
        "codecs": {c.name: {"version": c.version, "kind": c.kind, "note": c.note} for c in codecs},
        "specials": specials,
        "not_measured": own_absent + absent + fields.missing(),
        "rows": rows,
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(document, indent=1) + "\n")
    print("\n".join(summary(rows)))
    print(f"{len(rows)} results in {time.monotonic() - begin:.0f} s: {options.output}")
    return 1 if any("failed" in row and row["kind"] == "ours" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
