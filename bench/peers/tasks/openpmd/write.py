"""A field as it is: in the wheel of PyPI no lossy filter of hdf5plugin works."""

import openpmd_api as io
from field import field

rho = field(0)
series = io.Series("run.h5", io.Access.create)
mesh = series.iterations[0].meshes["rho"]
mesh.reset_dataset(io.Dataset(rho.dtype, rho.shape))
mesh.store_chunk(rho)
series.close()
