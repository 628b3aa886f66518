"""One dataset of 671 MB in many collective calls, as codes write it that have no buffer for all.

    mpirun -n 2 PYTHON bench/vol/many_calls.py FILE CALLS

PYTHON has the parallel h5py of tools/parallel_python.py. Run it natively and with the connector's
variables set. Prints seconds of the whole and inside calls of h5py, on rank 0.
"""

import sys
import time

import h5py
import numpy as np
from mpi4py import MPI

SHAPE = (640, 256, 512)


def values(begin: int, end: int) -> np.ndarray:
    """Smooth, with waves of a thousandth."""
    z = np.arange(begin, end)[:, None, None]
    y = np.linspace(0, 6, SHAPE[1])[:, None]
    x = np.linspace(0, 9, SHAPE[2])
    return np.sin(x + 0.01 * z) * np.cos(y) + 0.001 * np.sin(40 * x * y + z)


def main(path: str, calls: int) -> None:
    """Each rank writes its half, a slab a call."""
    comm = MPI.COMM_WORLD
    own = SHAPE[0] // comm.size
    in_calls_s, begin_s = 0.0, time.perf_counter()
    with h5py.File(path, "w", driver="mpio", comm=comm) as file:
        dataset = file.create_dataset("rho", SHAPE, "f8")
        for call in range(calls):
            begin, end = (comm.rank * own + own * n // calls for n in (call, call + 1))
            slab = values(begin, end)
            called_s = time.perf_counter()
            with dataset.collective:
                dataset[begin:end] = slab
            in_calls_s += time.perf_counter() - called_s
        called_s = time.perf_counter()
        file.close()
        in_calls_s += time.perf_counter() - called_s
    if comm.rank == 0:
        print(f"whole {time.perf_counter() - begin_s:.2f} s, in calls {in_calls_s:.2f} s")


main(sys.argv[1], int(sys.argv[2]))
