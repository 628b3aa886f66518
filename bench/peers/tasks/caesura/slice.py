"""A slice of it, by h5py and our filter in HDF5_PLUGIN_PATH; without our package."""

import h5py

with h5py.File("run.h5") as file:
    print(file["data/0/meshes/rho"][48].astype("f8").sum())
