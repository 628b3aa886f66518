#!/usr/bin/env python3
"""How well and how fast SZ3 compresses a Nyx run at three of its stages: ratios.json, measured.

S0 used SZ3 and these bounds. Each field at each stage is cut into 8 parts of 32^3 for the ratios;
the speed is that of the whole field (1 MB), on one core. generate.py draws from these; only whoever
wants to measure them again needs the data.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path

import h5py
import hdf5plugin
import numpy as np

HERE = Path(__file__).resolve().parent
PATH = HERE / "ratios.json"
STAGES = {"beginning": "nyx_64_z150.h5", "middle": "nyx_64_z010.h5", "end": "nyx_64_z002.5.h5"}
BOUNDS = {
    "baryon_density": 0.2,
    "dark_matter_density": 0.4,
    "temperature": 1e3,
    "velocity_x": 2e5,
    "velocity_y": 2e5,
    "velocity_z": 2e5,
}
SIDE = 32
REPEATS = 25


def parts(field: np.ndarray) -> list[np.ndarray]:
    """Cubes of SIDE, in order of their place."""
    corners = np.ndindex(*(n // SIDE for n in field.shape))
    return [
        np.ascontiguousarray(field[tuple(slice(c * SIDE, (c + 1) * SIDE) for c in corner)])
        for corner in corners
    ]


def compress(values: np.ndarray, bound: float) -> tuple[int, float]:
    """Bytes and CPU seconds through HDF5's filter, into memory."""
    with h5py.File("ratios", "w", driver="core", backing_store=False) as file:
        pipeline = hdf5plugin.SZ3(absolute=bound)
        dataset = file.create_dataset("x", values.shape, values.dtype, chunks=values.shape,
                                      compression=pipeline)  # fmt: skip
        begin_s = time.thread_time()
        dataset[...] = values
        file.flush()
        return dataset.id.get_storage_size(), time.thread_time() - begin_s


def measure(path: Path) -> dict[str, dict]:
    """For each field the ratio of each of its parts, and MB of raw values per second."""
    found = {}
    with h5py.File(path) as file:
        for name, bound in BOUNDS.items():
            field = file["native_fields"][name][...].astype(np.float32)
            taken_s = statistics.median(compress(field, bound)[1] for _ in range(REPEATS))
            found[name] = {
                "mb_per_s": round(1e-6 * field.nbytes / taken_s, 1),
                "ratio": [round(b.nbytes / compress(b, bound)[0], 2) for b in parts(field)],
            }
    return found


def main() -> int:
    """Measure all stages."""
    data = Path(os.environ.get("CAESURA_DATA", ""))
    missing = [name for name in STAGES.values() if not (data / name).exists()]
    if missing:
        print(f"CAESURA_DATA={data} lacks {', '.join(missing)}", file=sys.stderr)
        return 1
    measured = {stage: measure(data / name) for stage, name in STAGES.items()}
    lines = [
        f' "{stage}": {{\n'
        + ",\n".join(f'  "{name}": {json.dumps(values)}' for name, values in fields.items())
        + "\n }"
        for stage, fields in measured.items()
    ]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    for stage, fields in measured.items():
        every = np.concatenate([1 / np.array(v["ratio"]) for v in fields.values()])
        speeds = [v["mb_per_s"] for v in fields.values()]
        print(f"{stage}: ratio {1 / every.mean():.1f}, from {1 / every.max():.1f} to "
              f"{1 / every.min():.1f}; {min(speeds)} to {max(speeds)} MB/s")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
