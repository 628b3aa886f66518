"""A field with an error bound."""

import zarr
from field import BOUND, field
from zarr.codecs.numcodecs import ZFPY

rho = field(0)
root = zarr.open_group("run.zarr", mode="w")
zfp = ZFPY(mode=4, tolerance=BOUND)
root.create_array("rho", data=rho, chunks=rho.shape, serializer=zfp, compressors=None)
