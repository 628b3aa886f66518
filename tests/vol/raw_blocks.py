#!/usr/bin/env python3
"""Blocks that do not shrink lie in the file as they are: never longer than raw, with the filter's
bit set in their masks, and read by an HDF5 that has no plugin of ours. An application's own
filters are never left out: HDF5 forgets to change a mask.

The program's files of a native run say which values those are. Exit status: 0 or 1.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.pop("HDF5_PLUGIN_PATH", None)  # before HDF5 starts

import h5py
import numpy as np
from running import options_of_cases, run_in, try_cases

CONFIG = 'threshold_bytes = 2048\nchunk_bytes = 16384\nbound_kind = "lossless"\n'
GROWTH_BYTES = 32  # of a chunk that the application's filters make longer
CASES = {"one rank": 1, "two ranks": 2}


def chunks_of(dataset: h5py.Dataset):
    """Each chunk's selection, what is stored of it, and whether it lies inside the dataset."""
    for number in range(dataset.id.get_num_chunks()):
        info = dataset.id.get_chunk_info(number)
        ends = [at + n for at, n in zip(info.chunk_offset, dataset.chunks, strict=True)]
        inside = all(end <= most for end, most in zip(ends, dataset.shape, strict=True))
        yield tuple(map(slice, info.chunk_offset, ends)), info, inside


def bytes_of(dataset: h5py.Dataset, where: tuple[slice, ...]) -> bytes:
    """Of the values, as they lie in the file."""
    start = tuple(one.start for one in where)
    count = tuple(
        min(one.stop, most) - one.start for one, most in zip(where, dataset.shape, strict=True)
    )
    space = dataset.id.get_space()
    space.select_hyperslab(start, count)
    values = np.zeros(count, f"V{dataset.dtype.itemsize}")
    dataset.id.read(h5py.h5s.create_simple(count), space, values, dataset.id.get_type())
    return values.tobytes()


def faults_of_dataset(ours: h5py.Dataset, native: h5py.Dataset) -> list[str]:
    """Of noise."""
    plist = ours.id.get_create_plist()
    filters = [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]
    raw = ours.dtype.itemsize * int(np.prod(ours.chunks))
    is_stock = all(number < 256 for number in filters)
    most = raw + GROWTH_BYTES if is_stock else raw
    masked = 0 if is_stock else 1
    faults = []
    for where, info, inside in chunks_of(ours):
        stored = f"{ours.name}{info.chunk_offset}: {info.size} bytes, mask {info.filter_mask}"
        if info.size > most or (inside and info.size < raw):
            faults.append(f"{stored}: raw it has {raw}")
        if inside and info.filter_mask != masked:
            faults.append(f"{stored}: filters {filters}")
        elif (inside or is_stock) and bytes_of(ours, where) != bytes_of(native, where):
            faults.append(f"{stored}: other values than natively")
    return faults or ([] if ours.id.get_num_chunks() > 0 else [f"{ours.name}: no chunks"])


def is_left_to_hdf5(name: str, ranks: int) -> bool:
    """HDF5 itself runs filters for one process: on values that are no numbers, and in a
    file that was opened again, which only the copies have not seen.
    """
    is_ours = name.endswith(("plain", "growing"))
    return ranks == 1 and not is_ours and ("b24" in name or "copies" not in name)


def faults_of_files(ours: Path, native: Path, ranks: int) -> list[str]:
    """All datasets that have a filter."""
    faults, seen = [], 0
    with h5py.File(ours) as file, h5py.File(native) as wanted:

        def visit(name: str, one: h5py.Group | h5py.Dataset) -> None:
            nonlocal seen
            if (
                isinstance(one, h5py.Dataset)
                and one.id.get_create_plist().get_nfilters() > 0
                and not is_left_to_hdf5(name, ranks)
            ):
                seen += 1
                faults.extend(faults_of_dataset(one, wanted[name]))

        file.visititems(visit)
    least = 40  # nine types, each with three filters or more, and copies
    return faults + ([f"{seen} datasets with filters"] if seen < least else [])


def main() -> int:
    """Natively and under the connector, then with HDF5 alone."""
    options = options_of_cases(__doc__)

    def faults_of_case(name: str, place: Path) -> list[str]:
        for where, config in (("native", None), ("connector", CONFIG)):
            command = [options.program, str(place / where)]
            said = run_in(place / where, command, options, CASES[name], config, again=False)
            if said is not None:
                return [f"{where}: {said}"]
        files = [place / where / "incompressible.h5" for where in ("connector", "native")]
        return faults_of_files(*files, CASES[name])

    return try_cases(CASES, options.out, faults_of_case)


if __name__ == "__main__":
    raise SystemExit(main())
