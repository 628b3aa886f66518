"""A group a dump; an attribute that is written last says that it is whole."""

import zarr
from field import BOUND, STEPS, computing, field
from zarr.codecs.numcodecs import ZFPY

root = zarr.open_group("run.zarr", mode="w")
zfp = ZFPY(mode=4, tolerance=BOUND)
for step in range(STEPS):
    computing()
    rho = field(step)
    dump = root.create_group(str(step))
    dump.create_array("rho", data=rho, chunks=rho.shape, serializer=zfp, compressors=None)
    dump.attrs["whole"] = True
