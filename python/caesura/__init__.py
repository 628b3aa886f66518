"""Caesura: writes a simulation's data in the pauses of the simulation.

    import caesura
    with caesura.Writer("run.h5", absolute=1e-3) as writer: ...   # write, on one process or many
    file = caesura.open("run.h5")                                 # an h5py.File, filters registered

The command line is `caesura` or `python -m caesura`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["CorruptError", "Field", "Writer", "WriterReport", "open", "plan", "recover"]

if TYPE_CHECKING:
    from caesura import plan
    from caesura._core import CorruptError
    from caesura.reading import open, recover
    from caesura.writing import Field, Writer, WriterReport

_HOMES = {
    "CorruptError": "caesura._core",
    "Field": "caesura.writing",
    "Writer": "caesura.writing",
    "WriterReport": "caesura.writing",
    "open": "caesura.reading",
    "recover": "caesura.reading",
}


def __getattr__(name: str) -> Any:
    """Load parts on first use: reports need no extension module, writers no h5py."""
    import importlib

    if name == "plan":
        return importlib.import_module("caesura.plan")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'caesura' has no attribute {name!r}")
