"""Goal: what a particle-in-cell code in Python writes: one rank opens the file of a dump with mode
"a" for its layout, for each field and for each species, and then the next.
"""

import h5py
import numpy as np
from vol_check import DIRECTORY, check_near, comm

DUMPS, N = 4, 24
FIELDS = ("rho", "Er", "Et", "Ez")


def values(dump: int, which: int) -> np.ndarray:
    """A field's, smooth."""
    z, y, x = np.mgrid[:N, :N, :N] / N
    return np.sin(3 * x + which) * np.cos(2 * y) + z + dump


def write(dump: int) -> None:
    """By one rank."""
    path = DIRECTORY / f"data{dump:08d}.h5"
    with h5py.File(path, "a") as file:
        file.attrs["iteration"] = dump
        for name in FIELDS:
            file.create_dataset(f"fields/{name}", (N, N, N), dtype="f8")
    for which, name in enumerate(FIELDS):
        with h5py.File(path, "a") as file:
            file[f"fields/{name}"][...] = values(dump, which)
    for species in ("electrons", "ions"):
        with h5py.File(path, "a") as file:
            group = file.require_group(f"particles/{species}")
            group.create_dataset("z", (0,), maxshape=(None,), chunks=(1024,), dtype="f8")
        for part in range(3):
            with h5py.File(path, "r+") as file:
                z = file[f"particles/{species}/z"]
                z.resize((1024 * (part + 1),))
                z[1024 * part :] = np.linspace(part, part + 1, 1024)


def check(dump: int, **options: object) -> None:
    """What was written is there."""
    with h5py.File(DIRECTORY / f"data{dump:08d}.h5", "r", **options) as file:
        assert file.attrs["iteration"] == dump
        for which, name in enumerate(FIELDS):
            check_near(file[f"fields/{name}"][...], values(dump, which))
        for species in ("electrons", "ions"):
            expected = np.concatenate([np.linspace(p, p + 1, 1024) for p in range(3)])
            check_near(file[f"particles/{species}/z"][...], expected)


if comm.rank == 0:
    for dump in range(DUMPS):
        write(dump)
    check(1)
comm.barrier()
for dump in range(DUMPS):
    check(dump, driver="mpio", comm=comm)
