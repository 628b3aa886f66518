"""The loosest bound that keeps the PSNR, by bisection, and the error that it makes."""

import numpy as np
import zarr
from field import PSNR, field, psnr
from zarr.codecs.numcodecs import ZFPY

rho = field(0)


def through(bound):
    zfp = ZFPY(mode=4, tolerance=bound)
    store = zarr.storage.MemoryStore()
    return zarr.create_array(store, data=rho, chunks=rho.shape, serializer=zfp, compressors=None)[:]


low, high = 0.0, float(np.ptp(rho))
for _ in range(12):
    middle = (low + high) / 2
    low, high = (middle, high) if psnr(rho, through(middle)) >= PSNR else (low, middle)
found = through(low)
print(low, abs(found.astype("f8") - rho).max(), psnr(rho, found))
