"""Which dumps are whole."""

import zarr

root = zarr.open_group("run.zarr", mode="r")
print(*sorted(int(name) for name, dump in root.groups() if dump.attrs.get("whole")))
