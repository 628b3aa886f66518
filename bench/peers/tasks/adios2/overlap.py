"""A file a rank, written by a thread of ADIOS2: the wheel of PyPI knows no MPI."""

import adios2
from field import STEPS, computing, part
from mpi4py import MPI

rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
io = adios2.Adios().declare_io("run")
io.set_engine("BP5")
io.set_parameters({"AsyncWrite": "On"})
with adios2.Stream(io, f"run_{rank}.bp", "w") as stream:
    for _ in stream.steps(STEPS):
        computing()
        begin, values = part(stream.current_step(), rank, size)
        stream.write("rho", values, [96, 96, 96], [begin, 0, 0], values.shape)
