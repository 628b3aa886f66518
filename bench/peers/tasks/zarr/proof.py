"""Not counted: a dump of a task as proof.npy."""

import sys

import numpy as np
import zarr

task, step = sys.argv[1], int(sys.argv[2])
place = zarr.open("run.zarr", mode="r")
np.save("proof.npy", place[f"{step}/rho"][...] if task == "kill" else place[step])
