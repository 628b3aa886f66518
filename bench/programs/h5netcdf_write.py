"""h5netcdf: all ranks write one netCDF-4 file through MPI-IO, a file a dump.

Argument: DIRECTORY.
"""

import sys

import h5netcdf
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
N = 160
mine = slice(N * comm.rank // comm.size, N * (comm.rank + 1) // comm.size)
axis = np.linspace(0, 6, N)
field = np.sin(axis[mine])[:, None, None] * np.cos(axis)[:, None] + axis
for dump in range(4):
    path = f"{sys.argv[1]}/dump{dump}.nc"
    with h5netcdf.File(path, "w", driver="mpio", comm=comm) as file:
        file.dimensions = {"z": N, "y": N, "x": N}
        file.attrs["dump"] = dump
        for name in ("temperature", "pressure", "humidity"):
            variable = file.create_variable(name, ("z", "y", "x"), "f4", fillvalue=-1.0)
            variable.attrs["units"] = "1"
            variable[mine] = (field * (1 + dump)).astype("f4")
