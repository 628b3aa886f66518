"""One rank opens its file with mode "a" for each dataset, writes it, closes it; then it computes.

Arguments: DIRECTORY, datasets, megabytes of each, seconds of computing between dumps. Prints the
seconds of all cycles together.
"""

import sys
import time

import h5py
import numpy as np
from mpi4py import MPI

directory, datasets, megabytes, between_s = sys.argv[1], int(sys.argv[2]), *map(float, sys.argv[3:])
SIDE = round((megabytes * 1e6 / 8) ** (1 / 3)) if megabytes else 4
DUMPS = 3
comm = MPI.COMM_WORLD
grid = np.linspace(0, 6, SIDE)
noise = np.random.default_rng(7).normal(scale=1e-6, size=SIDE)
field = np.sin(grid)[:, None, None] * np.cos(grid)[:, None] + grid + noise
spent_s = 0.0
for dump in range(DUMPS):
    path = f"{directory}/dump{dump}.h5"
    if comm.rank == 0:
        begin_s = time.perf_counter()
        with h5py.File(path, "w") as file:
            file.attrs["dump"] = dump
        spent_s += time.perf_counter() - begin_s
        for number in range(datasets):
            values = field + number
            begin_s = time.perf_counter()
            with h5py.File(path, "a") as file:
                file.create_dataset(f"field_{number}", data=values)
            spent_s += time.perf_counter() - begin_s
    comm.barrier()
    end_s = time.perf_counter() + between_s
    while time.perf_counter() < end_s:  # without a call of HDF5 or MPI
        pass
    comm.barrier()
if comm.rank == 0:
    print(f"in calls {spent_s:.4f} s")
