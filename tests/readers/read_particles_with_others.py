"""Reads particles with other people's software and holds them against what they should be.

    read_particles_with_others.py FILE EXPECTED.npz

Runs in an environment without Caesura. EXPECTED.npz has "ITERATION/RECORD" -> values of the species
"ions", with "bound/RECORD" -> absolute error bound. Exits 1 at the first value that is wrong.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import openpmd_api as io
from openpmd_viewer import OpenPMDTimeSeries

AXES = ("x", "y", "z")  # openPMD-viewer's names of position/x ...


def by_api(path: Path) -> dict[str, np.ndarray]:
    """Every record's component of every iteration."""
    series = io.Series(str(path), io.Access.read_only)
    got = {}
    for number in series.iterations:
        ions = series.iterations[number].particles["ions"]
        for record in ions:
            for component in ions[record]:
                stored = ions[record][component]
                name = (
                    record if component == io.Record_Component.SCALAR else f"{record}/{component}"
                )
                got[f"{number}/{name}"] = stored.load_chunk()
    series.flush()
    return got


def by_viewer(path: Path) -> dict[str, np.ndarray]:
    """Positions and weightings; it does not read iterations without particles."""
    series = OpenPMDTimeSeries(str(path.parent))
    got = {}
    for number in series.iterations:
        names = [*AXES, "w"]
        values = series.get_particle(names, species="ions", iteration=number)
        for name, one in zip(names, values, strict=True):
            got[f"{number}/{'weighting' if name == 'w' else f'position/{name}'}"] = one
    return got


def check_patches(path: Path, expected: np.lib.npyio.NpzFile) -> None:
    """The one rank's patch has room for all its particles, as openPMD-api has it."""
    series = io.Series(str(path), io.Access.read_only)
    for number in series.iterations:
        x = expected[f"{number}/position/x"]
        patches = series.iterations[number].particles["ions"].particle_patches
        if not x.size:
            if len(patches):
                sys.exit(f"iteration {number} has patches of no particles")
            continue
        count = patches["numParticles"][io.Mesh_Record_Component.SCALAR].load()
        first = patches["numParticlesOffset"][io.Mesh_Record_Component.SCALAR].load()
        offset, extent = patches["offset"]["x"].load(), patches["extent"]["x"].load()
        series.flush()
        if list(count) != [x.size] or list(first) != [0]:
            sys.exit(f"iteration {number}: patches of {count} particles from {first} on")
        if not offset[0] <= x.min() <= x.max() < offset[0] + extent[0]:
            sys.exit(f"iteration {number}: x is not in {offset} + {extent}")


def main() -> int:
    """Validate, read, compare."""
    path, expected = Path(sys.argv[1]), np.load(sys.argv[2])
    answer = subprocess.run(
        [sys.executable, "-m", "openpmd_validator.check_h5", "-i", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if "Result: 0 Errors" not in answer.stdout:
        sys.exit(f"openPMD-validator: {answer.stdout}{answer.stderr}")
    check_patches(path, expected)
    for read in (by_api, by_viewer):
        got = read(path)
        for name in expected.files:
            number, _, record = name.partition("/")
            if number == "bound" or (read is by_viewer and name not in got):
                continue
            wanted = expected[name]
            if got[name].shape != wanted.shape:
                sys.exit(f"{read.__name__}: {name} has shape {got[name].shape}")
            off = np.abs(got[name].astype(np.float64) - wanted.astype(np.float64))
            if off.size and not off.max() <= expected[f"bound/{record}"]:
                sys.exit(f"{read.__name__}: {name} is off by {off.max()}")
        print(f"{read.__name__}: {len(got)} records")
    return 0


if __name__ == "__main__":
    sys.exit(main())
