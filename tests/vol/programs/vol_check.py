"""What the Python programs here share: the expected connector, the bound, the place of the files.

Not a program itself. h5py knows no connectors, so its HDF5 is asked by ctypes.
"""

import ctypes
import os
import sys
from pathlib import Path

import h5py
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
BOUND = float(os.environ.get("VOL_TEST_BOUND", "0"))
DIRECTORY = Path(sys.argv[1])


def hdf5_library() -> ctypes.CDLL:
    """The HDF5 that this process has loaded with h5py."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "/libhdf5.so" in line}
    assert len(paths) == 1, paths
    return ctypes.CDLL(paths.pop())


def check_connector(thing: h5py.HLObject) -> None:
    """That the connector that was asked for carries this object."""
    name = ctypes.create_string_buffer(64)
    call = hdf5_library().H5VLget_connector_name
    call.restype = ctypes.c_ssize_t
    assert call(ctypes.c_int64(thing.id.id), name, ctypes.c_size_t(64)) > 0
    wanted = os.environ.get("VOL_TEST_CONNECTOR", "native")
    assert name.value.decode() == wanted, (name.value, wanted)


def check_near(read, written) -> None:
    """Equal natively and without loss, within the bound otherwise."""
    away = np.max(np.abs(np.asarray(read, dtype=np.float64) - written), initial=0.0)
    assert away <= BOUND, (away, BOUND)


def share(n: int) -> slice:
    """This rank's even part of n."""
    return slice(n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size)
