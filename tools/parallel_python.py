#!/usr/bin/env python3
"""A Python with h5py compiled against this machine's MPI and the connector's HDF5.

Tests run it as the unmodified HDF5 application that it is. It lies in the user's cache, keyed by
what it was made from; its stamp is written last, so a build that was cut short is made again.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import sys
from pathlib import Path

import hdf5
from stages import ROOT, fail, note, run_stage

BUILD_REQUIREMENTS = ROOT / "tools" / "requirements-parallel-build.txt"
REQUIREMENTS = ROOT / "tools" / "requirements-parallel.txt"
COMPILED = ("--no-binary", "h5py,mpi4py-fft")  # mpi4py's wheel finds the machine's MPI by itself
LABEL = "Python with parallel h5py"


def place_of(root: Path) -> Path:
    """Where the environment for this HDF5 lies, or is to."""
    digest = hashlib.sha256(BUILD_REQUIREMENTS.read_bytes() + REQUIREMENTS.read_bytes())
    digest.update(f"{COMPILED} {sys.version} {sys.executable} {root} {hdf5.build_key()}".encode())
    return hdf5.cache() / f"python-{digest.hexdigest()[:16]}"


def make(root: Path, place: Path) -> None:
    """Create the environment; ends the program where that fails."""
    shutil.rmtree(place, ignore_errors=True)
    run_stage(f"{LABEL}: create", [sys.executable, "-m", "venv", str(place)], log="venv-parallel")
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--no-input"]
    pip += ["--disable-pip-version-check"]
    env = {**os.environ, "CC": hdf5.mpicc(), "HDF5_MPI": "ON", "HDF5_DIR": str(root)}
    env["CFLAGS"] = "-O1 -g0"  # half the time to compile; nobody measures it
    hint = "Is the network up?"
    tools = [*pip, "-r", str(BUILD_REQUIREMENTS)]
    run_stage(f"{LABEL}: mpi4py", tools, log="pip-parallel-build", hint=hint)
    compiled = [*pip, "--no-build-isolation", *COMPILED, "-r", str(REQUIREMENTS)]
    run_stage(f"{LABEL}: h5py", compiled, log="pip-parallel", env=env, hint=hint)
    (place / "caesura-stamp").touch()


def there() -> Path | None:
    """Its interpreter if it has been made; says nothing, makes nothing, no HDF5 either."""
    root = hdf5.known()
    place = place_of(root) if root else None
    return place / "bin" / "python" if place and (place / "caesura-stamp").exists() else None


@functools.cache
def ensure() -> Path | None:
    """Its interpreter, made if need be; None without an HDF5 for the connector, or (said) where
    the packages cannot be had. In CI that is an error."""
    root = hdf5.ensure()
    if root is None:
        return None
    place = place_of(root)
    python = place / "bin" / "python"
    if (place / "caesura-stamp").exists():
        note(LABEL, "there")
        return python
    with hdf5.locked(place.name, LABEL):
        if not (place / "caesura-stamp").exists():
            try:
                make(root, place)
            except SystemExit:
                if os.environ.get("CI"):
                    fail(f"CI skips nothing, but there is no {LABEL}.")
                note(LABEL, "not to be had: its tests skip")
                return None
    return python


if __name__ == "__main__":
    print(ensure())
