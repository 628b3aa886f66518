"""A slice of it."""

import h5py
import hdf5plugin  # noqa: F401, registers the filters

with h5py.File("run.h5") as file:
    print(file["rho"][48].astype("f8").sum())
