"""A file a rank and dump by ADIOS2, whose thread writes: the wheel of PyPI knows no MPI."""

import openpmd_api as io
from field import STEPS, computing, part
from mpi4py import MPI

rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
CONFIG = {"adios2": {"engine": {"type": "bp5", "parameters": {"AsyncWrite": "On"}}}}

series = io.Series(f"run_{rank}_%06T.bp5", io.Access.create, CONFIG)
for step in range(STEPS):
    computing()
    begin, values = part(step, rank, size)
    mesh = series.iterations[step].meshes["rho"]
    mesh.reset_dataset(io.Dataset(values.dtype, [96, 96, 96]))
    mesh.store_chunk(values, [begin, 0, 0], values.shape)
    series.iterations[step].close()
series.close()
