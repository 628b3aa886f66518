"""A file a dump, which gets its name when it is whole."""

import os

import h5py
import hdf5plugin
from field import BOUND, STEPS, computing, field

for step in range(STEPS):
    computing()
    rho = field(step)
    name = f"run_{step:06d}.h5"
    with h5py.File(name + ".part", "w") as file:
        file.create_dataset("rho", data=rho, chunks=rho.shape, **hdf5plugin.SZ3(absolute=BOUND))
    os.rename(name + ".part", name)
