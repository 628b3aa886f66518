"""Reading: files are ordinary HDF5, so a reader is h5py with the filters registered."""

from __future__ import annotations

import builtins
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import h5py

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def open(path: str | os.PathLike[str], **options: Any) -> h5py.File:
    """Open for reading with h5py, with hdf5plugin's filters registered. Options go to h5py.File.

    A file still being written shows the dumps committed so far: close and open it again for more.
    """
    import h5py
    import hdf5plugin  # noqa: F401  registers the filters

    return h5py.File(path, "r", **options)


def recover(path: str | os.PathLike[str], dry_run: bool = False) -> dict[str, Any]:
    """Finish a file whose writer was killed; returns what was done (see `caesura recover`).

    Raises OSError while a writer still runs, CorruptError when it is not a Caesura file.
    """
    from caesura import _core

    return _core.recover(os.fspath(path), dry_run)


def looks_like_hdf5(path: str | os.PathLike[str]) -> bool:
    """Does the file begin with HDF5's signature? A run killed before its first commit does not."""
    with builtins.open(path, "rb") as file:
        return file.read(len(_HDF5_SIGNATURE)) == _HDF5_SIGNATURE
