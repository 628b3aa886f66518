"""A field with an error bound."""

import h5py
import hdf5plugin
from field import BOUND, field

with h5py.File("run.h5", "w") as file:
    rho = field(0)
    file.create_dataset("rho", data=rho, chunks=rho.shape, **hdf5plugin.SZ3(absolute=BOUND))
