"""A slice of it."""

import zarr

print(zarr.open_group("run.zarr", mode="r")["rho"][48].astype("f8").sum())
