"""The loosest bound that keeps the PSNR, by bisection, and the error that it makes."""

import h5py
import hdf5plugin
import numpy as np
from field import PSNR, field, psnr

rho = field(0)


def through(bound):
    options = hdf5plugin.SZ3(absolute=bound)
    with h5py.File("trial.h5", "w") as file:
        file.create_dataset("rho", data=rho, chunks=rho.shape, **options)
    with h5py.File("trial.h5") as file:  # before it is closed HDF5 hands back what it was given
        return file["rho"][...]


low, high = 0.0, float(np.ptp(rho))
for _ in range(12):
    middle = (low + high) / 2
    low, high = (middle, high) if psnr(rho, through(middle)) >= PSNR else (low, middle)
found = through(low)
print(low, abs(found.astype("f8") - rho).max(), psnr(rho, found))
