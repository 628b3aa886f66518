"""One store: each rank writes its chunks by a thread while it computes."""

from concurrent.futures import ThreadPoolExecutor

import zarr
from field import BOUND, STEPS, computing, part
from mpi4py import MPI
from zarr.codecs.numcodecs import ZFPY

rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
if rank == 0:
    zfp = ZFPY(mode=4, tolerance=BOUND)
    zarr.create_array("run.zarr", shape=(STEPS, 96, 96, 96), chunks=(1, 96 // size, 96, 96),
                      dtype="f4", serializer=zfp, compressors=None)  # fmt: skip
MPI.COMM_WORLD.barrier()
rho = zarr.open_array("run.zarr", mode="r+")


def write(step, begin, values):
    rho[step, begin : begin + len(values)] = values


with ThreadPoolExecutor(1) as thread:
    pending = None
    for step in range(STEPS):
        computing()
        begin, values = part(step, rank, size)
        if pending:
            pending.result()
        pending = thread.submit(write, step, begin, values.copy())
    pending.result()
