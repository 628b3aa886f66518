"""xarray: rank 0 gathers, writes one netCDF-4 file a dump with h5netcdf, then appends a variable.

Argument: DIRECTORY.
"""

import sys

import numpy as np
import xarray
from mpi4py import MPI

comm = MPI.COMM_WORLD
N = 160
mine = slice(N * comm.rank // comm.size, N * (comm.rank + 1) // comm.size)
axis = np.linspace(0, 6, N)
field = (np.sin(axis[mine])[:, None, None] * np.cos(axis)[:, None] + axis).astype("f4")
for dump in range(4):
    parts = comm.gather(field * (1 + dump))
    if comm.rank == 0:
        path = f"{sys.argv[1]}/dump{dump}.nc"
        whole = np.concatenate(parts)
        coordinates = {"z": axis, "y": axis, "x": axis}
        first = xarray.DataArray(whole, dims=("z", "y", "x"), coords=coordinates)
        xarray.Dataset({"temperature": first}).to_netcdf(path, engine="h5netcdf")
        more = xarray.Dataset({"pressure": (("z", "y", "x"), whole * 2)})
        more.to_netcdf(path, mode="a", engine="h5netcdf")
        with xarray.open_dataset(path, engine="h5netcdf") as back:
            found, true = float(back["pressure"][3, 4, 5]), float(whole[3, 4, 5] * 2)
            assert abs(found - true) <= 1e-3 * float(np.ptp(whole))
