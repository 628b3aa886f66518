"""A file a rank, written by a thread while the rank computes: h5py of PyPI knows no MPI."""

from concurrent.futures import ThreadPoolExecutor

import h5py
import hdf5plugin
from field import BOUND, STEPS, computing, part
from mpi4py import MPI

rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size


def write(file, step, values):
    options = hdf5plugin.SZ3(absolute=BOUND)
    file.create_dataset(f"{step}/rho", data=values, chunks=values.shape, **options)


with h5py.File(f"run_{rank}.h5", "w") as file, ThreadPoolExecutor(1) as thread:
    pending = None
    for step in range(STEPS):
        computing()
        begin, values = part(step, rank, size)
        if pending:
            pending.result()
        pending = thread.submit(write, file, step, values.copy())
    pending.result()
    file.attrs["planes_from"] = begin
