"""How far the float values of files under one folder are from those under another, of the bound.

Arguments: NATIVE, LOSSY, bound relative to the range of each dataset. Prints JSON.
"""

import json
import sys
from pathlib import Path

import h5py
import numpy as np

native, lossy, bound = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
worst, where, datasets = 0.0, "", 0


def look(path: Path, name: str, thing: object, other: h5py.File) -> None:
    """One dataset."""
    global worst, where, datasets
    if not isinstance(thing, h5py.Dataset) or thing.dtype.kind != "f" or not thing.size:
        return
    values, found = thing[...].astype("f8"), other[name][...].astype("f8")
    assert np.array_equal(np.isfinite(values), np.isfinite(found)), (path, name)
    good = np.isfinite(values)
    if not good.any():
        return
    away = float(np.max(np.abs(values[good] - found[good])))
    span = float(np.ptp(values[good]))
    share = 0.0 if away == 0 else away / (bound * span)
    datasets += 1
    if share > worst:
        worst, where = share, f"{path}:{name}"


for path in sorted(p for kind in ("*.h5", "*.nc") for p in native.rglob(kind)):
    with h5py.File(path) as a, h5py.File(lossy / path.relative_to(native)) as b:
        a.visititems(lambda name, thing, p=path.name, b=b: look(p, name, thing, b))
print(json.dumps({"datasets": datasets, "worst_of_bound": worst, "where": where}))
