#!/usr/bin/env python3
"""What a dump's calls take on one rank of many: the figures that the scenarios charge.

  bench/simulate/collective.py [--ranks N]... [--dumps N]

One rank's part of the Nyx-like dump (six fields, 48 blocks of 8 MiB, 403 MB), as rank 0 of N. Two
ranks are real, threads of this process; ranks 2 to N - 1 are copies of what rank 1 says, which puts
nothing. So rank 0 reads and judges as many messages as on N ranks, but no message travels: the
network is not measured. A commit of 48 N blocks is measured by itself, with blocks of 64 KiB.

Prints CPU seconds of the calling thread, which other programs hardly touch: medians of the dumps,
without the first. Fields are smooth with noise and change from dump to dump; codec "none" is raw
output. Writes out/bench/simulate_collective.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import struct
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import caesura
import numpy as np

_FIELDS, _SIDE, _BLOCK = 6, 256, 8 << 20


class Pair:
    """Two threads that exchange values, call by call."""

    def __init__(self) -> None:
        self._barrier = threading.Barrier(2)
        self._said: list[Any] = [None, None]

    def exchange(self, rank: int, value: Any) -> tuple[Any, Any]:
        self._said[rank] = value
        self._barrier.wait()
        both = (self._said[0], self._said[1])
        self._barrier.wait()
        return both

    def give_up(self) -> None:
        """The other one's exchange ends with an error instead of waiting for ever."""
        self._barrier.abort()


class Many:
    """Rank 0 or 1 of `size`, of which all but the first say what rank 1 says."""

    def __init__(self, pair: Pair, rank: int, size: int) -> None:
        self._pair, self.rank, self.size = pair, rank, size
        self.calls: list[tuple[str, int]] = []  # and the bytes that this rank sent

    def _all(self, name: str, value: Any, length: int = 0) -> tuple[Any, Any]:
        self.calls.append((name, length))
        return self._pair.exchange(self.rank, value)

    def barrier(self) -> None:
        self._all("barrier", None)

    def broadcast(self, data: bytes, root: int) -> bytes:
        return self._all("broadcast", data, len(data))[min(root, 1)]

    def allgather(self, data: bytes) -> bytes:
        first, other = self._all("allgather", data, len(data))
        return first + other * (self.size - 1)

    def allgatherv(self, data: bytes) -> list[bytes]:
        first, other = self._all("allgatherv", data, len(data))
        return [first] + [other] * (self.size - 1)

    def gatherv(self, data: bytes, root: int) -> list[bytes]:
        first, other = self._all("gatherv", data, len(data))
        if self.rank != root:
            return []
        # Records, and what blocks were made of (src/ledger/ledger.cpp:gather). Copies have no
        # blocks, but as much to say about them as rank 0.
        if other[:8] == bytes(8):  # no records
            records = struct.unpack("<Q", first[:8])[0]
            other = bytes(8) + first[8 + records :]
        return [first] + [other] * (self.size - 1)

    def exscan(self, value: int) -> int:
        first, _ = self._all("exscan", value, 8)
        return 0 if self.rank == 0 else first

    def alltoallv(self, parts: list[bytes]) -> list[bytes]:
        first, other = self._all("alltoallv", parts, sum(len(part) for part in parts))
        return [first[self.rank]] + [other[self.rank]] * (self.size - 1)

    def node_local(self) -> None:
        """Nodes are not known: nothing is balanced."""


def fields_of(dump: int) -> list[np.ndarray]:
    """Smooth and noisy, 64 MiB each; a ratio of about 22 at a bound of 1e-3."""
    at = np.linspace(0.0, 9.0, _SIDE, dtype=np.float32)
    made = []
    for number in range(_FIELDS):
        rng = np.random.default_rng(100 * dump + number)
        waves = [np.sin((number + 1 + axis) * at + 0.3 * dump) for axis in range(3)]
        values = waves[0][:, None, None] + waves[1][None, :, None] * waves[2][None, None, :]
        values += 0.0005 * rng.standard_normal(values.shape, dtype=np.float32)
        made.append(np.ascontiguousarray(values, dtype=np.float32))
    return made


def calls(size: int, dumps: int, folder: Path, codec: str) -> dict[str, Any]:
    """One rank's dump, as rank 0 of `size`."""
    pair = Pair()
    put: list[tuple[float, float]] = []
    end: list[float] = []
    close: list[float] = []
    sent: list[list[tuple[str, int]]] = []
    ratios: list[float] = []
    failed: list[BaseException] = []

    def rank(number: int) -> None:
        try:
            many = Many(pair, number, size)
            writer = caesura.Writer(folder / "calls.h5", many, absolute=1e-3, durable=False,
                                    codec=codec)  # fmt: skip
            shape = (_SIDE, _SIDE, _SIDE)
            fields = [writer.define_field(f"f{i}", "float32", shape) for i in range(_FIELDS)]
            for dump in range(dumps):
                values = fields_of(dump) if number == 0 else []
                iteration = writer.begin_iteration(dump)
                handed = iteration.begin_dump(0.1 * dump)
                wall_s, begin_s = time.monotonic(), time.thread_time()
                for field, array in zip(fields, values, strict=False):
                    handed.put(field, array, (0, 0, 0))
                if number == 0:
                    put.append((time.thread_time() - begin_s, time.monotonic() - wall_s))
                many.calls.clear()
                begin_s = time.thread_time()
                iteration.end()
                if number == 0:
                    end.append(time.thread_time() - begin_s)
                    sent.append(list(many.calls))
                    wait_for_lanes(writer, dump)
                pair.exchange(number, None)
            begin_s = time.thread_time()
            writer.close()
            if number == 0:
                close.append(time.thread_time() - begin_s)
                ratios.append(writer.report().ratio)
        except BaseException as error:
            failed.append(error)
            pair.give_up()
            raise

    threads = [threading.Thread(target=rank, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (folder / "calls.h5").unlink(missing_ok=True)
    if failed:
        raise failed[0]
    raw = _FIELDS * _SIDE**3 * 4
    return {
        "ranks": size,
        "codec": codec,
        "put_cpu_s": [one[0] for one in put],
        "put_wall_s": [one[1] for one in put],
        "put_bytes_per_s": raw / statistics.median(one[0] for one in put[1:]),
        "end_cpu_s": end,
        "end_s": statistics.median(end[1:]),
        "close_cpu_s": close[0],
        "ratio": ratios[0],
        "sent_in_last_end": sent[-1],
    }


def wait_for_lanes(writer: caesura.Writer, dump: int) -> None:
    """Until the dump's blocks are compressed and written, as they would be in an iteration."""
    for _ in range(3000):
        if writer.report().blocks >= (dump + 1) * _FIELDS * _SIDE**3 * 4 // _BLOCK:
            break
        time.sleep(0.01)
    time.sleep(0.2)


def commits(size: int, dumps: int, folder: Path) -> dict[str, Any]:
    """Building the metadata of 48 blocks a rank on rank 0's thread; the bytes that it flushes."""
    per_field = 8 * size
    values = np.zeros(per_field << 14, dtype=np.float32)  # borrowed, never touched: no memory
    trace = folder / "commit.json"
    writer = caesura.Writer(folder / "commit.h5", absolute=1e-3, durable=False, chunk_bytes=1 << 16,
                            planning=False, idle_priority=False, trace=trace)  # fmt: skip
    fields = [writer.define_field(f"f{i}", "float32", values.shape) for i in range(_FIELDS)]
    cpu_s: list[float] = []
    for dump in range(dumps):
        iteration = writer.begin_iteration(2 * dump)
        handed = iteration.begin_dump(0.1 * dump)
        for field in fields:
            handed.put(field, values, borrow=True)
        iteration.end()
        while writer.report().blocks < (dump + 1) * _FIELDS * per_field:
            time.sleep(0.01)
        time.sleep(0.2)
        iteration = writer.begin_iteration(2 * dump + 1)  # nothing but the commit
        begin_s = time.thread_time()
        iteration.end()
        cpu_s.append(time.thread_time() - begin_s)
    writer.close()
    events = json.loads(trace.read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    took = [e["dur"] / 1e6 for e in events if e.get("name") == "build metadata"]
    report = writer.report()
    file_bytes = (folder / "commit.h5").stat().st_size
    (folder / "commit.h5").unlink()
    trace.unlink()
    return {
        "ranks": size,
        "blocks": _FIELDS * per_field,
        "build_s": took,
        "build_cpu_s": cpu_s,
        "file_bytes_beyond_a_block": (file_bytes - report.stored_bytes)
        / (dumps * _FIELDS * per_field),
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--ranks", type=int, action="append")
    arguments.add_argument("--dumps", type=int, default=5)
    options = arguments.parse_args()
    result: dict[str, Any] = {"calls": [], "commits": []}
    with tempfile.TemporaryDirectory() as name:
        for size in options.ranks or [4, 64, 1024, 4096]:
            for codec in ("none", "caesura"):
                row = calls(size, options.dumps, Path(name), codec)
                result["calls"].append(row)
                print(f"{size:5} ranks, {codec}: put {row['put_bytes_per_s'] / 1e9:.1f} GB/s, "
                      f"end {1e3 * row['end_s']:.1f} ms, "
                      f"close {1e3 * row['close_cpu_s']:.1f} ms, "
                      f"ratio {row['ratio']:.0f}", flush=True)  # fmt: skip
            row = commits(size, options.dumps, Path(name))
            result["commits"].append(row)
            cpu_s = statistics.median(row["build_cpu_s"])
            print(f"      commit of {row['blocks']} blocks: {1e3 * cpu_s:.1f} ms, wall "
                  + ", ".join(f"{1e3 * s:.1f}" for s in row["build_s"]) + " ms; the file is "
                  f"{row['file_bytes_beyond_a_block']:.0f} bytes a block longer than its blocks",
                  flush=True)  # fmt: skip
    out = Path(os.environ.get("CAESURA_OUT", "out")) / "bench"
    out.mkdir(parents=True, exist_ok=True)
    path = out / "simulate_collective.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
