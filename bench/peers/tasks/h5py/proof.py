"""Not counted: a dump of a task as proof.npy."""

import sys

import h5py
import hdf5plugin  # noqa: F401
import numpy as np

task, step = sys.argv[1], int(sys.argv[2])
if task == "kill":
    with h5py.File(f"run_{step:06d}.h5") as file:
        values = file["rho"][...]
else:
    values = np.concatenate([h5py.File(f"run_{r}.h5")[f"{step}/rho"][...] for r in range(2)])
np.save("proof.npy", values)
