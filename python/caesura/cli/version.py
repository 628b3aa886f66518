"""caesura --version: of which sources it was made, and with which HDF5 it works."""

from __future__ import annotations

import typer

from caesura import __version__
from caesura.checkout import commit
from caesura.cli.common import out


def show(wanted: bool) -> None:
    """Prints one line and ends, if it is wanted."""
    if wanted:
        out.print(f"caesura {__version__}, commit {commit()}, HDF5 {hdf5_version()}")
        raise typer.Exit(0)


def hdf5_version() -> str:
    """Of the library that our compiled module is linked with; h5py brings another one."""
    try:
        from caesura import _core
    except ImportError:
        return "not known (the compiled module is missing)"
    return ".".join(map(str, _core.hdf5_version()))
