"""A program: asks libraries in a process of its own, because HDF5 reads its environment once, and
a library that does not load may end the process.

    probe.py filter LIBRARY ID   does the HDF5 of LIBRARY (or h5py's) find the filter ID?
    probe.py maps LIBRARY        which MPI and HDF5 come with it?
    probe.py ucx                 which UCX is there?
"""

from __future__ import annotations

import ctypes
import json
import re
import sys
from pathlib import Path
from typing import Any


def _mapped(pattern: str) -> list[str]:
    """Paths of libraries in this process."""
    paths = {line.split(maxsplit=5)[-1] for line in Path("/proc/self/maps").read_text().split("\n")
             if "/" in line}  # fmt: skip
    return sorted(path for path in paths if re.search(pattern, path.rpartition("/")[2]))


def filter_found(library: str, number: str) -> dict[str, Any]:
    try:
        hdf5 = ctypes.CDLL(library)
        parts = [ctypes.c_uint() for _ in range(3)]
        hdf5.H5get_libversion(*map(ctypes.byref, parts))
        version = ".".join(str(part.value) for part in parts)
        # Before the question: HDF5 opens all plugins, and a connector brings another HDF5.
        path = (_mapped(r"^libhdf5.*\.so") or [library])[0]
        found = hdf5.H5Zfilter_avail(int(number)) > 0
    except (OSError, AttributeError):  # not built; an HDF5 of its own that shows no symbols
        import h5py

        version, path = h5py.version.hdf5_version, h5py.__file__
        found = bool(h5py.h5z.filter_avail(int(number)))
    plugins = _mapped(r"^libh5caesura")
    return {"version": version, "library": path, "found": found, "plugins": plugins}


def maps(library: str) -> dict[str, Any]:
    ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    return {"mpi": _mapped(r"^libmpi(ch)?\.so"), "hdf5": _mapped(r"^libhdf5\.so")}


def ucx() -> dict[str, Any]:
    try:
        library = ctypes.CDLL("libucp.so.0")
    except OSError:
        return {"version": ""}
    library.ucp_get_version_string.restype = ctypes.c_char_p
    return {
        "version": library.ucp_get_version_string().decode(),
        "library": (_mapped(r"^libucp\.so") or [""])[0],
    }


if __name__ == "__main__":
    questions = {"filter": filter_found, "maps": maps, "ucx": ucx}
    sys.stdout.write(json.dumps(questions[sys.argv[1]](*sys.argv[2:])) + "\n")
