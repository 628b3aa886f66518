"""Reads a file with other people's software only and holds every value against what it should be.

    OUR_PLUGIN=DIRECTORY read_with_others.py READER FILE EXPECTED.npz

Runs in an environment without Caesura. EXPECTED.npz has "ITERATION/FIELD" -> values, with
"bound/FIELD" -> absolute error bound (0: bit for bit). Prints one JSON object: the largest error of
every field; exits 1 with a sentence at the first value that is wrong.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

Reading = Iterator[tuple[int, str, np.ndarray]]  # iteration, field, values


def read_h5py(path: Path, fields: list[str]) -> Reading:
    import h5py
    import hdf5plugin  # noqa: F401  registers the filters of others

    h5py.h5pl.append(os.environ["OUR_PLUGIN"].encode())
    with h5py.File(path, "r") as file:
        assert file.attrs["openPMD"], "not an openPMD file"
        for iteration in file["data"]:
            for field in fields:
                yield int(iteration), field, file[f"data/{iteration}/meshes/{field}"][...]


def read_h5dump(path: Path, fields: list[str]) -> Reading:
    """The C library's own tool, HDF5_PLUGIN_PATH in the environment."""
    listing = subprocess.run(["h5ls", "-r", str(path)], capture_output=True, text=True, check=True)
    for line in listing.stdout.splitlines():
        match = re.match(r"/data/(\d+)/meshes/(\S+)\s+Dataset \{(.*)\}", line)
        if not match or match.group(2) not in fields:
            continue
        shape = tuple(int(n) for n in match.group(3).split(", "))
        name = f"/data/{match.group(1)}/meshes/{match.group(2)}"
        raw = path.with_suffix(".h5dump")
        command = ["h5dump", "-d", name, "-b", "LE", "-o", str(raw), str(path)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        assert answer.returncode == 0 and "unable" not in answer.stderr, answer.stderr
        dtype = np.float64 if raw.stat().st_size == 8 * np.prod(shape) else np.float32
        yield int(match.group(1)), match.group(2), np.fromfile(raw, dtype).reshape(shape)


def read_openpmd_api(path: Path, fields: list[str]) -> Reading:
    import openpmd_api as io

    series = io.Series(str(path), io.Access.read_only)
    for number in series.iterations:
        meshes = series.iterations[number].meshes
        for field in fields:
            record, _, component = field.partition("/")
            key = component or io.Mesh_Record_Component.SCALAR
            values = meshes[record][key].load_chunk()
            series.flush()
            yield int(number), field, values
    series.close()


def read_openpmd_viewer(path: Path, fields: list[str]) -> Reading:
    import h5py
    import hdf5plugin  # noqa: F401
    from openpmd_viewer import OpenPMDTimeSeries

    h5py.h5pl.append(os.environ["OUR_PLUGIN"].encode())
    # The viewer takes a directory of files and finds the iterations in them.
    series = OpenPMDTimeSeries(str(path.parent), check_all_files=False, backend="h5py")
    for number in series.iterations:
        for field in fields:
            record, _, component = field.partition("/")
            values, _ = series.get_field(record, component or None, iteration=int(number))
            yield int(number), field, np.asarray(values)


READERS: dict[str, Callable[[Path, list[str]], Reading]] = {
    "h5py": read_h5py,
    "h5dump": read_h5dump,
    "openpmd-api": read_openpmd_api,
    "openpmd-viewer": read_openpmd_viewer,
}


def largest_error(where: str, values: np.ndarray, expected: np.ndarray, bound: float) -> float:
    """Exits with a sentence if a value is wrong."""
    if values.shape != expected.shape:
        sys.exit(f"{where}: shape {values.shape}, expected {expected.shape}")
    if values.dtype != expected.dtype:
        sys.exit(f"{where}: type {values.dtype}, expected {expected.dtype}")
    finite = np.isfinite(expected)
    if not np.array_equal(values[~finite], expected[~finite], equal_nan=True):
        sys.exit(f"{where}: NaN or infinities are not what they were")
    error = np.abs(values[finite].astype(np.float64) - expected[finite])
    largest = float(error.max())
    if not largest <= bound:
        sys.exit(f"{where}: largest error {largest}, bound {bound}")
    return largest


def main() -> None:
    reader, path, expected_path = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    if importlib.util.find_spec("caesura") is not None:
        sys.exit("caesura can be imported here: this would not show that others read without it")
    expected = dict(np.load(expected_path))
    fields = [name.removeprefix("bound/") for name in expected if name.startswith("bound/")]
    found: dict[str, float] = {}
    seen = set()
    for iteration, field, values in READERS[reader](path, fields):
        key = f"{iteration}/{field}"
        error = largest_error(key, values, expected[key], float(expected[f"bound/{field}"]))
        found[field] = max(found.get(field, 0.0), error)
        seen.add(key)
    missing = sorted(set(expected) - seen - {f"bound/{field}" for field in fields})
    if missing:
        sys.exit(f"not found by {reader}: {', '.join(missing)}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
