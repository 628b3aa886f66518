"""A program: asks libraries in a process of its own, because HDF5 reads its environment once, and
a library that does not load may end the process.

    probe.py filter MODULE ID    does the HDF5 of our compiled module (or h5py's) find filter ID?
    probe.py maps LIBRARY        which MPI and HDF5 come with it?
    probe.py ucx                 which UCX is there?
"""

from __future__ import annotations

import ctypes
import importlib.util
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


def filter_found(module: str, number: str) -> dict[str, Any]:
    try:
        core = _extension(module)
        version = ".".join(map(str, core.hdf5_version()))
        # Before the question: HDF5 opens all plugins, and a connector brings another HDF5. A
        # wheel's module holds HDF5 itself.
        path = (_mapped(r"^libhdf5.*\.so") or [module])[0]
        found = core.hdf5_filter_available(int(number))
    except (ImportError, AttributeError):  # not built, or older than this
        import h5py

        version, path = h5py.version.hdf5_version, h5py.__file__
        found = bool(h5py.h5z.filter_avail(int(number)))
    plugins = _mapped(r"^libh5caesura")
    return {"version": version, "library": path, "found": found, "plugins": plugins}


def _extension(file: str) -> Any:
    """The compiled module alone: importing the package tells h5py of the filter."""
    spec = importlib.util.spec_from_file_location("caesura._core", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
