"""A trace as a run of two ranks would write it: planned by a small placer, executed with noise.

Seeded, so that a picture or a failure can be had again. `python synthetic_trace.py DIR` writes it.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

FIELDS = [
    "baryon_density",
    "dark_matter_density",
    "temperature",
    "velocity_x",
    "velocity_y",
    "velocity_z",
]
LANES = ["application", "compress lane", "write lane", "plan"]


class Recorder:
    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.events = [
            {"ph": "M", "name": "process_name", "pid": rank, "args": {"name": f"rank {rank}"}}
        ]
        self.events += [
            {"ph": "M", "name": "thread_name", "pid": rank, "tid": n, "args": {"name": name}}
            for n, name in enumerate(LANES)
        ]

    def add(self, lane, kind, name, begin_s, end_s, iteration, size=0):
        self.events.append(
            {
                "ph": "X",
                "cat": kind,
                "name": name,
                "pid": self.rank,
                "tid": LANES.index(lane),
                "ts": begin_s * 1e6,
                "dur": (end_s - begin_s) * 1e6,
                "args": {"iteration": iteration, "bytes": size},
            }
        )


def place(ready_s, length_s, busy):
    """Earliest begin at or after ready_s at which length_s fits between the busy intervals."""
    begin_s = ready_s
    for low_s, high_s in sorted(busy):
        if begin_s + length_s <= low_s:
            break
        begin_s = max(begin_s, high_s)
    return begin_s


def run_lane(ready_s, length_s, busy, noise):
    begin_s = place(ready_s, length_s * noise, busy)
    busy.append((begin_s, begin_s + length_s * noise))
    return begin_s, begin_s + length_s * noise


def record_iteration(recorder, rng, n, at_s, blocks, dump):
    """One step of about 0.7 s: CPU work and exchanges around idle device time."""
    scale = random.Random(n).gauss(1.0, 0.01)  # all ranks alike: they meet at every exchange
    compress = [(0.00, 0.06), (0.22, 0.30), (0.52, 0.56)]
    write = [(0.06, 0.10), (0.30, 0.36), (0.56, 0.59)]
    length_s = 0.68 * scale
    obstacles = {"compress": [], "write": []}
    for lane, intervals in (("compress", compress), ("write", write)):
        for begin_s, end_s in intervals:
            span = (at_s + begin_s * scale, at_s + end_s * scale)
            obstacles[lane].append(span)
            recorder.add("application", "obstacle", lane, *span, n)
    recorder.add("plan", "plan", f"plan of {len(blocks)} blocks", at_s, at_s + 0.0009, n)
    last_s = execute(recorder, rng, n, at_s, blocks, obstacles)
    end_s = at_s + length_s
    if dump:
        put_s = end_s - 0.028
        for index, name in enumerate(FIELDS):
            begin_s = put_s + 0.004 * index
            recorder.add("application", "put", name, begin_s, begin_s + 0.0037, n, 8 << 20)
    recorder.add("application", "end", "end", end_s - 0.003, end_s, n)
    if last_s > end_s:
        recorder.add("application", "wait", "memory budget", end_s, last_s, n)
        end_s = last_s
    recorder.add("application", "iteration", f"iteration {n}", at_s, end_s, n)
    return end_s


def execute(recorder, rng, n, at_s, blocks, obstacles):
    planned = {lane: list(spans) for lane, spans in obstacles.items()}
    actual = {lane: list(spans) for lane, spans in obstacles.items()}
    last_s = at_s
    for name, compress_s, write_s, size in blocks:
        begin_s, end_s = run_lane(at_s + 0.001, compress_s, planned["compress"], 1.0)
        recorder.add("plan", "planned_compress", name, begin_s, end_s, n, size)
        ready_s, done_s = run_lane(
            at_s + 0.001, compress_s, actual["compress"], abs(rng.gauss(1.0, 0.05))
        )
        recorder.add("compress lane", "compress", name, ready_s, done_s, n, size)
        begin_s, end_s = run_lane(end_s, write_s, planned["write"], 1.0)
        recorder.add("plan", "planned_write", name, begin_s, end_s, n, size)
        begin_s, end_s = run_lane(done_s, write_s, actual["write"], abs(rng.gauss(1.0, 0.08)))
        recorder.add("write lane", "write", name, begin_s, end_s, n, size)
        last_s = max(last_s, end_s)
    if blocks:
        recorder.add("write lane", "sync", "fdatasync", last_s, last_s + 0.014, n)
        recorder.add("write lane", "commit", f"dump {n - 1}", last_s + 0.014, last_s + 0.022, n)
        last_s += 0.022
    return last_s


def record_rank(rank: int, iterations: int, dump_every: int, seed: int) -> Recorder:
    rng = random.Random(seed * 1000 + rank)
    recorder = Recorder(rank)
    at_s, blocks = 0.05, []
    for n in range(iterations):
        dump = n % dump_every == 0
        at_s = record_iteration(recorder, rng, n, at_s, blocks, dump)
        blocks = []
        if dump:
            for part in range(2):
                for name in FIELDS:
                    compress_s = rng.uniform(0.018, 0.036)
                    size = int(rng.uniform(0.3, 1.4) * (1 << 20))
                    blocks.append((f"{name} #{part}", compress_s, size / 90e6 + 0.002, size))
    return recorder


def write_traces(folder: Path, ranks=2, iterations=12, dump_every=2, seed=7) -> list[Path]:
    paths = []
    for rank in range(ranks):
        path = folder / f"trace-{rank}.json"
        recorder = record_rank(rank, iterations, dump_every, seed)
        path.write_text(json.dumps({"traceEvents": recorder.events, "displayTimeUnit": "ms"}))
        paths.append(path)
    return paths


if __name__ == "__main__":
    for written in write_traces(Path(sys.argv[1])):
        print(written)
