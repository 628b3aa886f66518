#!/usr/bin/env python3
"""100,000 boxes of 8 cells a side, in one dataset of two components, under the connector.

  1. every value is within the bound of its component's range;
  2. each array is in a block once, with its shape and component;
  3. no more than 1.10 times the bytes of the same boxes compressed one by one, by a sample;
  4. two more plotfiles of the same boxes, several datasets each, come out alike.

Prints the memory that each rank had. Standard exit status: 0 if all holds, else 1.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import caesura
import h5py
import hdf5plugin  # noqa: F401  finds filters
import numpy as np
from caesura import codec
from caesura.components import parts_of
from launching import environment, on_ranks

SIDE, COMPONENTS = 8, 2
SHARE = 1e-3
CONFIG = f"""
[[dataset]]
path = "**/data:datatype=*"
component = "*"
bound = {SHARE}
bound_kind = "relative"
"""
MOST_OVER_ONE_BY_ONE = 1.10
SAMPLE = 400


def run(options: argparse.Namespace, where: Path, *numbers: int) -> str | None:
    """The program in an empty directory; what it printed if it failed."""
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    toml = where.with_suffix(".toml")
    toml.write_text(CONFIG)
    variables = {
        "HDF5_PLUGIN_PATH": f"{options.connector}:{options.filters}",
        "HDF5_VOL_CONNECTOR": f"caesura config={toml}",
        "VOL_TEST_CONNECTOR": "caesura",
    }
    started = on_ranks(options.ranks, options.program, where, *numbers, variables=variables)
    done = subprocess.run(
        [options.mpirun, *started],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=300,
    )
    print(done.stdout, end="")
    return None if done.returncode == 0 else done.stdout + done.stderr


def boxes_of(begin: int, count: int) -> np.ndarray:
    """What many_boxes.c puts into these boxes: [box, component, z, y, x]."""
    z, y, x = np.meshgrid(*(np.arange(SIDE),) * 3, indexing="ij")
    box = np.arange(begin, begin + count)[:, None, None, None]
    base = 0.01 * (box % 97)
    smooth = base * (x + 2 * y + z) + 0.01 * ((x * x + 3 * y + z * x) % 32)
    values = np.where(box % 8 == 0, smooth, base)
    return np.stack([values, 1e6 * values], axis=1).astype(np.float32)


def check_values(dataset: h5py.Dataset, bounds: list[float]) -> list[str]:
    """All values, a part at a time."""
    of_box, wrong = COMPONENTS * SIDE**3, []
    boxes, most = dataset.shape[0] // of_box, [0.0] * COMPONENTS
    for begin in range(0, boxes, 10_000):
        count = min(10_000, boxes - begin)
        true = boxes_of(begin, count)
        stored = dataset[begin * of_box : (begin + count) * of_box].reshape(true.shape)
        error = np.abs(stored.astype(np.float64) - true)
        for c in range(COMPONENTS):
            most[c] = max(most[c], float(error[:, c].max()))
    for c in range(COMPONENTS):
        if not 0 < most[c] <= bounds[c] * (1 + 1e-6):
            wrong.append(f"{dataset.name}: component {c} is off by {most[c]} of {bounds[c]}")
    return wrong


def check_blocks(dataset: h5py.Dataset, bounds: list[float]) -> list[str]:
    """Every array once, and what it is held to."""
    arrays, wrong = [0] * COMPONENTS, []
    for number in range(dataset.id.get_num_chunks()):
        offset = dataset.id.get_chunk_info(number).chunk_offset
        for part in parts_of(dataset.id.read_direct_chunk(offset)[1]):
            arrays[part.component] += part.values
            if part.bound > bounds[part.component] * (1 + 1e-6):
                wrong.append(f"a block says {part}")
    boxes = dataset.shape[0] // (COMPONENTS * SIDE**3)
    if arrays != [boxes * SIDE**3] * COMPONENTS:
        wrong.append(f"the blocks of {dataset.name} have {arrays} values")
    return wrong


def check_size(dataset: h5py.Dataset, bounds: list[float]) -> list[str]:
    """Beside a sample of the boxes, each compressed by itself."""
    boxes = dataset.shape[0] // (COMPONENTS * SIDE**3)
    step = max(1, boxes // SAMPLE)
    alone = [
        len(codec.compress(array, caesura.absolute(bounds[c])))
        for box in range(0, boxes, step)
        for c, array in enumerate(boxes_of(box, 1)[0])
    ]
    stored, expected = dataset.id.get_storage_size(), float(np.mean(alone)) * boxes * COMPONENTS
    print(f"ratio {4 * dataset.size / stored:.2f}, box by box {4 * dataset.size / expected:.2f}")
    too_much = stored > MOST_OVER_ONE_BY_ONE * expected
    return [f"{dataset.name}: {stored} bytes, box by box {expected:.0f}"] if too_much else []


def check_file(path: Path, datasets: int) -> list[str]:
    """All datasets of a plotfile."""
    wrong = []
    values = boxes_of(0, 8 * 97)  # which come again and again
    bounds = [SHARE * float(np.ptp(values[:, c])) for c in range(COMPONENTS)]
    with h5py.File(path) as file:
        for number in range(datasets):
            dataset = file[f"level_0/data:datatype={number}"]
            wrong += check_values(dataset, bounds)
            wrong += check_blocks(dataset, bounds) + check_size(dataset, bounds)
    return wrong


def main() -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--boxes", type=int, default=100_000)
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--connector", required=True, help="directory of libcaesura_vol.so")
    parser.add_argument("--filters", required=True, help="directory of libh5caesura.so")
    options = parser.parse_args()
    wrong = []
    for name, boxes, datasets, files in (("one", options.boxes, 1, 1), ("more", 5_000, 3, 2)):
        where = options.out / name
        if said := run(options, where, boxes, SIDE, COMPONENTS, datasets, files):
            wrong.append(f"the program failed: {said[-3000:]}")
            continue
        for plot in range(files):
            wrong += check_file(where / f"plt{plot:05d}.h5", datasets)
        shutil.rmtree(where)
    print("FAILED" if wrong else "passed", *wrong, sep="\n  ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
