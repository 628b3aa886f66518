"""Decoding from the page cache: the Reader beside its codec alone, h5py with our filter, and SZ3.

Writes out/bench/reading.json. What is possible: every decoded byte is made by the codec, so on n
cores reading takes at least the codec's own time / n, and besides the copy of the stored bytes out
of the page cache and their checksum. The aim is 0.8 of n times the codec's own speed.

Each figure is the best of several turns, in which all ways take part one after the other: what else
the machine does hits them alike.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import caesura
import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "codec"))

from conditions import conditions

ROOT = Path(__file__).resolve().parents[2]
BOUND = 1e-3  # of the range


def field(megabytes: int) -> tuple[np.ndarray, str]:
    """Real values where there are some: copies of a Nyx field, each shifted along another axis."""
    data = Path(os.environ.get("CAESURA_DATA", "")) / "nyx_128_z050.h5"
    if data.is_file():
        with h5py.File(data) as file:
            group = file["native_fields"]
            block, what = group["baryon_density"][()].astype(np.float32), "Nyx z 50 baryon density"
    else:
        axes = np.meshgrid(*[np.linspace(0, 40, 128)] * 3, indexing="ij")
        block = np.sin(axes[0]) * np.cos(axes[1] * axes[2] * 0.05)
        block = (block + 1e-3 * np.random.default_rng(1).normal(size=block.shape)).astype("f4")
        what = "waves and noise"
    copies = max(1, megabytes * 1_000_000 // block.nbytes)
    return np.concatenate([np.roll(block, 7 * n, axis=n % 3) for n in range(copies)]), what


def write(path: Path, values: np.ndarray, bound: float) -> None:
    with caesura.Writer(path, absolute=bound) as writer:
        known = writer.define_field("rho", np.float32, values.shape)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0.0).put(known, values, offset=(0, 0, 0))


def write_sz3(path: Path, values: np.ndarray, bound: float, chunk: tuple[int, ...]) -> None:
    import hdf5plugin

    with h5py.File(path, "w") as file:
        file.create_dataset("rho", data=values, chunks=chunk, **hdf5plugin.SZ3(absolute=bound))


def frames_of(path: Path) -> list[bytes]:
    file = caesura._core.OpenFile(os.fspath(path))
    return [file.read_chunk(0, n) for n in range(len(file.info()["datasets"][0]["chunks"]))]


def ways(folder: Path, values: np.ndarray, bound: float) -> dict[str, Callable[[], object]]:
    """By name, what decodes all values once."""
    ours, sz3 = folder / "ours.h5", folder / "sz3.h5"
    with_sz3 = register_sz3()
    write(ours, values, bound)
    out = np.zeros(values.shape, np.float32)
    out_fortran = np.zeros(values.shape, np.float32, order="F")
    stored = caesura.Reader(ours)["rho", 0]
    chunk = stored.chunks
    frames = frames_of(ours)
    # Where each frame's values may go, without asking for memory again and again.
    flat = np.zeros(chunk, np.float32).view(np.uint8).reshape(-1)

    def codec() -> None:
        for frame in frames:
            caesura._core.codec_decompress(
                np.frombuffer(frame, np.uint8), flat, tables=None, threads=1
            )

    def read(path: Path, threads: int, to: np.ndarray, name: str = "rho") -> Callable[[], object]:
        reader = caesura.Reader(path, threads=threads)
        return lambda: reader.read(name, 0, out=to)

    def by_h5py(path: Path, name: str) -> Callable[[], None]:
        def call() -> None:
            with caesura.open(path) as file:
                file[name].read_direct(out)

        return call

    calls: dict[str, Callable[[], object]] = {
        "codec alone, 1 thread": codec,
        "Reader, 1 thread": read(ours, 1, out),
        "Reader, 2 threads": read(ours, 2, out),
        "Reader, 2 threads, into Fortran order": read(ours, 2, out_fortran),
        "h5py with our filter": by_h5py(ours, "/data/0/meshes/rho"),
    }
    if not with_sz3:
        return calls
    write_sz3(sz3, values, bound, chunk)
    calls["h5py with hdf5plugin's SZ3"] = by_h5py(sz3, "rho")
    calls["Reader with hdf5plugin's SZ3, 2 threads"] = read(sz3, 2, out)
    return calls


def register_sz3() -> bool:
    """Before a file of ours is opened: our HDF5 would load the plugin first, for itself."""
    if importlib.util.find_spec("hdf5plugin") is None:
        print("SZ3: skipped, hdf5plugin is not installed", flush=True)
        return False
    import hdf5plugin

    hdf5plugin.register("sz3")
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=130)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "bench" / "reading.json")
    options = parser.parse_args()
    values, what = field(options.megabytes)
    bound = BOUND * float(values.max() - values.min())
    load_before = os.getloadavg()
    with tempfile.TemporaryDirectory() as name:
        calls = ways(Path(name), values, bound)
        ratio = values.nbytes / caesura.Reader(Path(name) / "ours.h5")["rho", 0].stored_bytes
        best_s = {way: float("inf") for way in calls}
        for _ in range(options.turns):
            for way, call in calls.items():
                begin_s = time.perf_counter()
                call()
                best_s[way] = min(best_s[way], time.perf_counter() - begin_s)
    alone_s = best_s["codec alone, 1 thread"]
    rows = []
    for way, seconds in best_s.items():
        threads = 2 if "2 threads" in way else 1
        row = {"way": way, "seconds": seconds, "bytes_per_s": values.nbytes / seconds}
        if way.startswith(("Reader,", "h5py with our")):
            row["share_of_limit"] = alone_s / seconds / threads
        rows.append(row)
        share = f"{row['share_of_limit']:8.2f}" if "share_of_limit" in row else ""
        print(f"{way:42} {values.nbytes / seconds / 1e9:6.2f} GB/s {share}", flush=True)
    result = {
        "conditions": conditions(),
        "field": what,
        "raw_bytes": values.nbytes,
        "ratio": ratio,
        "bound_of_range": BOUND,
        "turns": options.turns,
        "load_average_before": load_before,
        "load_average_after": os.getloadavg(),
        "rows": rows,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
