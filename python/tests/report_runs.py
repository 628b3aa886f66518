"""Runs for the report's tests, and numbers of them worked out from files and traces by other means
than the report's own."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import caesura
import h5py
import numpy as np

SHAPE = (32, 48, 48)
BOUND = 1e-2
DUMPS = (0, 2, 4, 6, 8)


def smooth(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=SHAPE).astype(np.float32).cumsum(0).cumsum(1)


def values_of(name: str, n: int) -> np.ndarray:
    """What is put into a field of odd_run()."""
    values = smooth(100 * n + len(name))
    if name == "holes":  # NaN and infinities among the values
        values[3, 4:9, 5] = np.nan
        values[0, 0, 0] = np.inf
    return values


def odd_run(folder: Path) -> tuple[Path, Path, Any]:
    """File, trace and report of a run in which fields differ: measured errors, promised ones, none;
    one that only some dumps have, one with NaN."""
    path, trace = folder / "run.h5", folder / "trace-0.json"
    with caesura.Writer(path, trace=trace, chunk_bytes=1 << 17, verify=True) as writer:
        fields = {
            "checked": writer.define_field("checked", np.float32, SHAPE, absolute=BOUND),
            "promised": writer.define_field(  # a codec of its own: without the Writer's verify
                "promised", np.float32, SHAPE, relative=1e-3, codec="caesura:fast"
            ),
            "exact": writer.define_field("exact", np.float32, SHAPE, lossless=True),
            "holes": writer.define_field("holes", np.float32, SHAPE, absolute=BOUND),
            "sometimes": writer.define_field("sometimes", np.float32, SHAPE, absolute=BOUND),
        }
        for n in range(max(DUMPS) + 1):
            with writer.iteration(n) as iteration:
                if n not in DUMPS:
                    continue
                dump = iteration.begin_dump(time=n)
                for name, field in fields.items():
                    if name != "sometimes" or n in (2, 6):
                        dump.put(field, values_of(name, n))
    return path, trace, writer.report()


KILLED = """
import os, sys
sys.path.insert(0, {tests!r})
from report_runs import SHAPE, caesura, np, smooth
writer = caesura.Writer({file!r}, absolute=1e-2, trace={trace!r})
rho = writer.define_field("rho", np.float32, SHAPE)
for n in range(2):
    with writer.iteration(n) as iteration:
        iteration.begin_dump(time=n).put(rho, smooth(n))
writer.finish_by(60)
with writer.iteration(2) as iteration:
    iteration.begin_dump(time=2).put(rho, smooth(2))
def is_written():  # the lane writes the trace behind each dump
    return any('"sync"' in line and '"iteration":2' in line for line in open({trace!r}))
while not is_written():
    os.sched_yield()
os._exit(9)
"""


# --------------------------------------------------------------- the same numbers by other means


def sizes_in(path: Path) -> dict[tuple[str, int], tuple[int, int]]:
    """Raw and stored bytes of each field in each dump, by h5py."""
    found = {}
    with caesura.open(path) as file:
        for number, group in file["data"].items():

            def visit(name: str, item: Any, n: int = int(number)) -> None:
                if isinstance(item, h5py.Dataset):
                    found[name, n] = item.size * item.dtype.itemsize, item.id.get_storage_size()

            group["meshes"].visititems(visit)
    return found


def largest_errors(path: Path, name: str) -> dict[int, float]:
    """By dump, over the values that are finite, by decoding with h5py."""
    found = {}
    with caesura.open(path) as file:
        for number, group in file["data"].items():
            if name in group["meshes"]:
                stored = group["meshes"][name][...].astype(np.float64)
                original = values_of(name, int(number)).astype(np.float64)
                finite = np.isfinite(original)
                found[int(number)] = float(np.max(np.abs(stored[finite] - original[finite])))
    return found


def reserved_in(path: Path) -> int:
    """What region headers reserve, what lies in two counted once (docs/how/file_format.md)."""
    content, spans = path.read_bytes(), []
    for at in range(65536, len(content), 4096):
        if content[at : at + 8] == b"\x8aCAESRG\n":
            (address,) = struct.unpack_from("<Q", content, at + 40)
            (reserved,) = struct.unpack_from("<Q", content, at + 48)
            assert address == at
            spans.append((at, at + reserved))
    total = end = 0
    for begin, until in spans:
        total += max(0, until - max(begin, end))
        end = max(end, until)
    return total


def raw_events(trace: Path, kind: str) -> list[dict[str, Any]]:
    return [e for e in json.loads(trace.read_text())["traceEvents"] if e.get("cat") == kind]


# ------------------------------------------------------------------------------ a long run's trace


def long_trace(folder: Path, dumps: int, fields: int) -> Path:
    """Of one rank, as a Writer writes it; random from a seed."""
    rng = np.random.default_rng(7)
    path, events = folder / f"trace-{dumps}.json", []

    def add(kind: str, name: str, begin_s: float, end_s: float, n: int, size: int = 0,
            **numbers: float) -> None:  # fmt: skip
        events.append(
            {"ph": "X", "cat": kind, "name": name, "pid": 0, "tid": 0, "ts": begin_s * 1e6,
             "dur": (end_s - begin_s) * 1e6,
             "args": {"iteration": n, "bytes": size, **numbers}}
        )  # fmt: skip

    for n in range(dumps):
        at = 2.0 * n
        add("iteration", f"iteration {n}", at, at + 2, n)
        for k in range(4):
            add("obstacle", "write" if k % 2 else "compress", at + 0.4 * k, at + 0.4 * k + 0.1, n)
        noise = rng.normal(1.0, 0.05, size=(fields, 3))
        for f in range(fields):
            name, size = f"field_{f:02} #0", int(1e6 / (3 + f) * noise[f, 0])
            begin = at + 0.02 + 0.04 * f
            add("put", name, at, at + 0.001, n, 1_000_000)
            add("planned_compress", name, begin, begin + 0.02, n, size)
            add("compress", name, begin, begin + 0.02 * noise[f, 1], n, size)
            add("planned_write", name, begin + 0.02, begin + 0.03, n, size)
            add("write", name, begin + 0.02, begin + 0.02 + 0.01 * noise[f, 2], n, size)
            found = {
                "raw_bytes": 1e6,
                "predicted_bytes": 1e6 / (3 + f),
                "predicted_compress_s": 0.02,
                "compress_s": 0.02 * noise[f, 1],
                "predicted_write_s": 0.01,
                "error_over_bound": 0.9,
            }
            add("block", name, at, at + 1.5, n, size, **found)
        add("sync", "sync", at + 1.4, at + 1.5, n)
        add("end", "end", at + 1.9, at + 1.95, n)
        add("written", "written", at, at + 1.5, n, reserved_bytes=3e6, unused_bytes=2e5)
        add("committed", "committed", at, at + 3.5, n)
    path.write_text(json.dumps({"traceEvents": events}))
    return path
