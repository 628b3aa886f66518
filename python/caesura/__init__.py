"""Caesura: writes a simulation's data in the pauses of the simulation.

    import caesura
    with caesura.Writer("run.h5", absolute=1e-3) as writer: ...   # write, on one process or many
    with caesura.Checkpointer(device, shape, ...) as c: ...       # many checkpoints of a GPU
    values = caesura.Reader("run.h5")["E/x", 3][10:20, ...]        # decoded by all cores
    file = caesura.open("run.h5")                                 # an h5py.File, filters registered
    data = caesura.codec.compress(array, 1e-3)                    # the codec by itself
    h5py_file.create_dataset("x", data=array, **caesura.filter_options(1e-3))   # or under h5py

Bounds are numbers (absolute) or made by absolute(), relative(), pointwise_relative(), psnr() and
lossless(). Importing this package makes the HDF5 filter known to h5py, whichever is imported first.

The command line is `caesura` or `python -m caesura`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from caesura.bounds import Bound, absolute, lossless, pointwise_relative, psnr, relative
from caesura.hdf5 import filter_options, plugin_path, register

__version__ = "0.1.0"
__all__ = [
    "Bound",
    "BoundMap",
    "Checkpointer",
    "CheckpointerReport",
    "CorruptError",
    "CudaDevice",
    "EmulatedDevice",
    "Field",
    "Reader",
    "Record",
    "Species",
    "Writer",
    "WriterReport",
    "absolute",
    "codec",
    "filter_options",
    "lambdas",
    "lossless",
    "open",
    "plan",
    "plugin_path",
    "pointwise_relative",
    "psnr",
    "read",
    "recover",
    "relative",
]

register()

if TYPE_CHECKING:
    from caesura import codec, lambdas, plan
    from caesura._core import CorruptError
    from caesura.bound_maps import BoundMap
    from caesura.checkpointing import (
        Checkpointer,
        CheckpointerReport,
        CudaDevice,
        EmulatedDevice,
    )
    from caesura.particles import Record, Species
    from caesura.reader import Reader, read
    from caesura.reading import open, recover
    from caesura.writing import Field, Writer, WriterReport

_HOMES = {
    "BoundMap": "caesura.bound_maps",
    "Checkpointer": "caesura.checkpointing",
    "CheckpointerReport": "caesura.checkpointing",
    "CorruptError": "caesura._core",
    "CudaDevice": "caesura.checkpointing",
    "EmulatedDevice": "caesura.checkpointing",
    "Field": "caesura.writing",
    "Reader": "caesura.reader",
    "Record": "caesura.particles",
    "Species": "caesura.particles",
    "Writer": "caesura.writing",
    "WriterReport": "caesura.writing",
    "open": "caesura.reading",
    "read": "caesura.reader",
    "recover": "caesura.reading",
}


def __getattr__(name: str) -> Any:
    """Load parts on first use: reports need no extension module, writers no h5py."""
    import importlib

    if name in ("codec", "lambdas", "plan"):
        return importlib.import_module(f"caesura.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'caesura' has no attribute {name!r}")
