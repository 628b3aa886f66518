#!/usr/bin/env python3
"""A file that grows record by record is as short as one that is written at once, and as exact.

Exit status: 0 or 1.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import h5py
import numpy as np
from running import options_of_cases, run_in, try_cases
from values import field

BOUND = 1e-4
RECORDS, WIDTH = 64, 4096
MOST = 1.1  # times the length of the file that is written at once
CASES = {
    "without loss": "threshold_bytes = 1024\n",
    "with a bound": f"threshold_bytes = 1024\nbound = {BOUND}\n",
}


def main() -> int:
    """Every case on one rank and on two."""
    options = options_of_cases(__doc__.splitlines()[0])
    h5py.h5pl.prepend(options.filters.encode())

    def faults_of(name: str, place: Path) -> list[str]:
        bound = BOUND if "bound = " in CASES[name] else 1e-15  # its own formula's rounding
        faults = []
        for ranks in (1, 2):
            lengths = {}
            for how in ("once", "together", "by_themselves"):
                command = [options.program, str(place), how]
                if said := run_in(place, command, options, ranks, CASES[name], again=True):
                    faults.append(said)
                    continue
                path = place / "records.h5"
                lengths[how] = path.stat().st_size
                with h5py.File(path, "r") as file:
                    error = np.abs(file["u"][...] - field(RECORDS, WIDTH)).max()
                if error > bound:
                    faults.append(f"{ranks} ranks, {how}: off by {error}")
            print(f"{name}, {ranks} ranks: {lengths} bytes of {8 * RECORDS * WIDTH} of values")
            faults += [
                f"{ranks} ranks, {how}: {length} bytes, {lengths['once']} at once"
                for how, length in lengths.items()
                if length > MOST * lengths.get("once", length)
            ]
        return faults

    return try_cases(CASES, options.out, faults_of)


if __name__ == "__main__":
    raise SystemExit(main())
