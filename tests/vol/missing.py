#!/usr/bin/env python3
"""Missing values under the connector: the sea within its relative bound, land bit for bit.

`vol_missing` writes oceans natively and under the connector; each says in its own way that land is
no data: a fill value that was set, an attribute that comes after the values, rules of the
configuration, or nothing. The files are compared through stock h5py. Of one ocean a single value
stretches the range: the report says so, and of no other.

Standard exit status: 0 if all holds, else 1.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import h5py
import numpy as np
from running import options_of_cases, run_in, try_cases

RELATIVE = 1e-3
LAND = {
    "by_fill_value": 9.9692099683868690e36,
    "by_fill_value_amid": 281.5,
    "by_attribute_late": 279.5,
    "by_missing_value_late": -123.25,
    "by_rule": 280.25,
    "by_all": 277.0,
    "suspected": -9999.0,
    "twice": 1e20,
}
CONFIG = f"""
threshold_bytes = 1024
bound = {RELATIVE}
bound_kind = "relative"
missing = [277, 1e25]
[[dataset]]
path = "by_rule"
missing = [280.25]
"""


def faults_of(case: str, place: Path, options) -> list[str]:
    ranks = int(case.split()[0])
    for name, config in (("native", None), ("caesura", CONFIG)):
        config = config and f'report = "{place}/report.json"\n{config}'
        said = run_in(
            place / name, [options.program, str(place / name)], options, ranks, config, again=False
        )
        if said is not None:
            return [f"{name}: {said}"]
    entries = json.loads((place / "report.json").read_text())["datasets"]
    told = {one["path"]: one["stretched_range"] for one in entries if "stretched_range" in one}
    faults = []
    if list(told) != ["/once"] or "value 150000 stretches" not in told["/once"]:
        faults.append(f"the report names as stretched: {told}")
    files = [next((place / name).glob("*.h5")) for name in ("native", "caesura")]
    with h5py.File(files[0]) as native, h5py.File(files[1]) as ours:
        for name, fill in LAND.items():
            meant, found = native[name][...], ours[name][...]
            land = meant == np.float32(fill)
            sea = np.ptp(meant[~land].astype(float))
            error = np.abs(found[~land].astype(float) - meant[~land]).max()
            if not land.any() or found[land].tobytes() != meant[land].tobytes():
                faults.append(f"{name}: {np.sum(found[land] != meant[land])} of land have changed")
            if error > RELATIVE * sea * (1 + 1e-6):
                faults.append(f"{name}: the sea is off by {error / sea} of its range")
            if error == 0:
                faults.append(f"{name}: no bound was spent")
    return faults


def main() -> int:
    options = options_of_cases(__doc__)
    h5py.h5pl.append(options.filters.encode())
    return try_cases(
        [f"{n} ranks" for n in (1, 2, 4)],
        options.out,
        lambda case, place: faults_of(case, place, options),
    )


if __name__ == "__main__":
    sys.exit(main())
