"""What an HDF5 file holds, as JSON: needs h5py alone, and the filters of HDF5_PLUGIN_PATH.

format_contents.py FILE...
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np


def plain(value: Any) -> Any:
    """An attribute as JSON has it; of floats every bit."""
    if isinstance(value, h5py.Empty):
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value.tolist()]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.hex() if isinstance(value, float) else value


def checksum(values: np.ndarray) -> str:
    """SHA-256 of the values in C order."""
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()


def contents(path: Path) -> dict[str, dict[str, Any]]:
    """By name of each object: its attributes; of a dataset type, shape, chunks and values."""
    found: dict[str, dict[str, Any]] = {}

    def visit(name: str, item: h5py.HLObject) -> None:
        said: dict[str, Any] = {"attributes": {n: plain(v) for n, v in sorted(item.attrs.items())}}
        if isinstance(item, h5py.Dataset):
            values = item[...]
            said |= {
                "dtype": str(item.dtype),
                "shape": list(item.shape),
                "chunks": list(item.chunks or ()),
                "sha256": checksum(values),
            }
        found[name] = said

    with h5py.File(path, "r") as file:
        visit("/", file)
        file.visititems(visit)
    return found


if __name__ == "__main__":
    print(json.dumps({Path(name).name: contents(Path(name)) for name in sys.argv[1:]}))
