"""One run of one peer: an application that computes, waits for a device, and sometimes dumps.

Prints one line of JSON. Run by peers.py, under the emulated disk.
Invariants: the computing is a fixed amount of work, so that who disturbs it is seen; the same work
and the same values in every mode; the fields change between dumps, in place, as a simulation's do.
"""

from __future__ import annotations

import argparse
import json
import mmap
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from writers import BOUNDS, OUTPUTS, Output, dumps_at

ITERATIONS = 24
BUSY_S = 0.040
WAIT_S = 0.160


class Work:
    """Memory-bound work in small equal pieces: a triad over 24 MB."""

    def __init__(self) -> None:
        self._a = np.ones(1 << 20)
        self._b = np.full(1 << 20, 0.5)
        self._c = np.empty(1 << 20)

    def __call__(self, pieces: int) -> None:
        for _ in range(pieces):
            np.multiply(self._b, 0.5, out=self._c)
            np.add(self._a, self._c, out=self._b)

    def pieces_for(self, seconds: float) -> int:
        """How many pieces take so long here when nothing disturbs: the fastest of many."""
        self(50)
        best_s = float("inf")
        for _ in range(60):
            begin_s = time.perf_counter()
            self(8)
            best_s = min(best_s, (time.perf_counter() - begin_s) / 8)
        return max(1, round(seconds / best_s))


def load(path: Path) -> dict[str, np.ndarray]:
    """The six fields of Nyx, 8 MB each."""
    import h5py

    with h5py.File(path, "r") as file:
        group = file["native_fields"]
        return {name: group[name][()].astype(np.float32) for name in BOUNDS}


def change(fields: dict[str, np.ndarray], original: dict[str, np.ndarray], number: int) -> None:
    """What the simulation has come to: every field a little stronger than at the start."""
    factor = np.float32(1.0 + number / 256.0)
    for name, values in fields.items():
        np.multiply(original[name], factor, out=values)


def copy_s(fields: dict[str, np.ndarray]) -> tuple[float, float]:
    """What copying a dump takes at least: into memory used before, and into fresh pages.

    The fastest of many: the limit of any library whose caller may change its arrays at once.
    """
    size = sum(values.nbytes for values in fields.values())
    used_s = fresh_s = float("inf")
    for _ in range(5):
        memory = mmap.mmap(-1, size)  # not numpy's: it would ask for huge pages
        for turn in range(5):
            begin_s, at = time.perf_counter(), 0
            for values in fields.values():
                target = np.frombuffer(memory, values.dtype, values.size, at)
                np.copyto(target, values.reshape(-1))
                at += values.nbytes
            took_s = time.perf_counter() - begin_s
            if turn == 0:
                fresh_s = min(fresh_s, took_s)
            else:
                used_s = min(used_s, took_s)
    return used_s, fresh_s


def run(options: argparse.Namespace) -> dict:
    """The iterations, timed from the creation of the file until it is whole."""
    original = load(options.data)
    fields = {name: values.copy() for name, values in original.items()}
    work = Work()
    work(50)
    output = OUTPUTS[options.mode](options.path, fields, options.bound_scale)
    output.prepare()
    iteration_s, dump_s = [], 0.0
    begin_s = time.perf_counter()
    output.open()
    opened_s = time.perf_counter()
    for number in range(ITERATIONS):
        at_s = time.perf_counter()
        output.begin(number)
        with output.busy():
            work(options.pieces)
            if dumps_at(number):
                change(fields, original, number)
        time.sleep(WAIT_S)
        dumping_s = time.perf_counter()
        if dumps_at(number):
            output.dump(number)
        output.end()
        dump_s += time.perf_counter() - dumping_s
        iteration_s.append(time.perf_counter() - at_s)
    closing_s = time.perf_counter()
    output.close()
    end_s = time.perf_counter()
    return {
        "mode": options.mode,
        "wall_s": end_s - begin_s,
        "open_s": opened_s - begin_s,
        "dump_s": dump_s,
        "close_s": end_s - closing_s,
        "iteration_s": iteration_s,
        **output.report(),
    }


def verify(options: argparse.Namespace) -> dict:
    """What the file holds, against what was handed over: the largest error over its bound."""
    original = load(options.data)
    fields = {name: values.copy() for name, values in original.items()}
    output: Output = OUTPUTS[options.mode](options.path, fields, options.bound_scale)
    output.prepare()
    worst = 0.0
    for number in filter(dumps_at, range(ITERATIONS)):
        change(fields, original, number)
        for name, values in fields.items():
            stored = np.asarray(output.read(number, name))
            if stored.shape != values.shape or stored.dtype != values.dtype:
                raise SystemExit(f"{options.mode}: {number}/{name} is {stored.dtype}{stored.shape}")
            error = float(np.max(np.abs(stored.astype(np.float64) - values)))
            worst = max(worst, error / output.bounds[name] if output.lossy else error)
    path = output.path
    files = [f for f in path.rglob("*") if f.is_file()] if path.is_dir() else [path]
    return {
        "verified": worst <= 1.0 if output.lossy else worst == 0.0,
        "worst_error_over_bound": worst if output.lossy else None,
        "file_bytes": sum(f.stat().st_size for f in files),
    }


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["calibrate", "run", "verify"])
    parser.add_argument("--mode", choices=list(OUTPUTS), default="compute")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--path", type=Path, default=Path("unused"))
    parser.add_argument("--pieces", type=int, default=1)
    parser.add_argument("--bound-scale", type=float, default=1.0)
    options = parser.parse_args()
    if options.what == "calibrate":
        used_s, fresh_s = copy_s(load(options.data))
        print(
            json.dumps(
                {"pieces": Work().pieces_for(BUSY_S), "copy_s": used_s, "fresh_copy_s": fresh_s}
            )
        )
    else:
        print(json.dumps(run(options) if options.what == "run" else verify(options)))


if __name__ == "__main__":
    main()
