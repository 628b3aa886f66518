"""One file for all ranks, compressed and written while they compute."""

import caesura
from field import BOUND, STEPS, computing, part
from mpi4py import MPI

rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
with caesura.Writer("run.h5", comm=MPI.COMM_WORLD, absolute=BOUND) as writer:
    handle = writer.define_field("rho", "f4", (96, 96, 96))
    for step in range(STEPS):
        with writer.iteration(step) as iteration:
            computing()
            begin, values = part(step, rank, size)
            iteration.begin_dump(time=step).put(handle, values, offset=(begin, 0, 0))
