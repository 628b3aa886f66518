"""A file a dump, in ADIOS2's format."""

import openpmd_api as io
from field import STEPS, computing, field

series = io.Series("run_%06T.bp5", io.Access.create)
for step in range(STEPS):
    computing()
    rho = field(step)
    mesh = series.iterations[step].meshes["rho"]
    mesh.reset_dataset(io.Dataset(rho.dtype, rho.shape))
    mesh.store_chunk(rho)
    series.iterations[step].close()
series.close()
