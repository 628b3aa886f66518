#!/usr/bin/env python3
"""The HDF5 that a wheel carries, and the connector for its own use (src/completion): a serial
libhdf5.a of 1.14 whose functions no application sees.

$HDF5_SOURCE, a directory or an archive of HDF5's sources, where it is set; else the source package
that tools/hdf5.py fetches. Built once and kept in the user's cache by what it was built from.

    python3 tools/hdf5_archive.py     prints its prefix, or nothing and says why

Standard library only: `pip install .` runs this in an environment of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import hdf5
from stages import note, run_stage

# Threads: readers and plugins are used on threads of their own. No curl, no tools: what is linked
# has to have an archive, as zlib and, on many systems, szip (libaec) have.
OPTIONS = {
    "CMAKE_BUILD_TYPE": "Release",
    # What takes time in a wheel is our own code: chunks go through HDF5 whole. -O2 and HDF5's
    # hundred warnings make this a third longer.
    "CMAKE_C_FLAGS_RELEASE": "-O1 -DNDEBUG",
    "HDF5_DISABLE_COMPILER_WARNINGS": "ON",
    "HDF5_ENABLE_ALL_WARNINGS": "OFF",
    "CMAKE_C_VISIBILITY_PRESET": "hidden",
    "CMAKE_POSITION_INDEPENDENT_CODE": "ON",
    "CMAKE_INSTALL_LIBDIR": "lib",
    "BUILD_SHARED_LIBS": "OFF",
    "BUILD_STATIC_LIBS": "ON",
    "BUILD_TESTING": "OFF",
    "HDF5_ENABLE_THREADSAFE": "ON",
    "HDF5_ENABLE_Z_LIB_SUPPORT": "ON",
    "HDF5_BUILD_HL_LIB": "OFF",
    "HDF5_BUILD_CPP_LIB": "OFF",
    "HDF5_BUILD_TOOLS": "OFF",
    "HDF5_BUILD_UTILS": "OFF",
    "HDF5_BUILD_EXAMPLES": "OFF",
}
LABEL = "HDF5 of our own"
LOG = "hdf5-archive"


def own_source() -> Path | None:
    """The user's sources."""
    named = os.environ.get("HDF5_SOURCE")
    return Path(named).resolve() if named else None


def ask_compiler(*words: str) -> str:
    """What the C compiler answers. Raises RuntimeError without one."""
    command = [*os.environ.get("CC", "cc").split(), *words]
    try:
        answer = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise RuntimeError(f"there is no C compiler: {error}") from None
    if answer.returncode != 0:
        raise RuntimeError(f"{command[0]} does not work: {answer.stderr.strip()}")
    return answer.stdout


def szip() -> list[str]:
    """The archives that szip is made of; none where one is missing. HDF5 then reads without."""
    names = ("libsz.a", "libaec.a")
    found = [ask_compiler(f"-print-file-name={name}").strip() for name in names]
    return (
        [path for path in found if Path(path).is_file()] if all(map(os.path.isabs, found)) else []
    )


def build_key() -> str:
    """Hash of the sources' name and time, the options, the compiler, the C library and szip.

    Raises RuntimeError without a C compiler, OSError without the sources that are named.
    """
    macros = ask_compiler("-E", "-dM", "-include", "features.h", "-x", "c", "/dev/null")
    source = own_source()
    named = f"{source} {source.stat().st_mtime_ns}" if source else hdf5.SUITE
    parts = [platform.machine(), named, macros, *szip()]
    parts += map("=".join, sorted(OPTIONS.items()))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def unpacked(place: Path) -> Path:
    """The sources' directory. Raises RuntimeError where there is none."""
    source = own_source()
    if source is None:
        return hdf5.fetch(place)
    if source.is_file():
        shutil.unpack_archive(source, place / "own")
        source = place / "own"
    found = sorted(source.glob("**/src/H5public.h"), key=lambda path: len(path.parts))
    if not found:
        raise RuntimeError(f"HDF5_SOURCE={source} has no src/H5public.h in it")
    return Path(shutil.copytree(found[0].parents[1], place / "source"))


def szip_options(place: Path) -> dict[str, str]:
    """HDF5's CMake knows szip only as a CMake package, which libaec's is not everywhere."""
    archives = szip()
    if not archives:
        return {"HDF5_ENABLE_SZIP_SUPPORT": "OFF"}
    package = place / "szip" / "libaec-config.cmake"
    package.parent.mkdir()
    package.write_text(f'set(SZIP_LIBRARIES "{";".join(archives)}")\nset(SZIP_INCLUDE_DIR "")\n')
    return {"HDF5_ENABLE_SZIP_SUPPORT": "ON", "SZIP_DIR": str(package.parent)}


def build(key: str) -> Path:
    """Unpack, compile and put into the cache. Raises RuntimeError without sources."""
    place = hdf5.cache() / f"building-archive-{key}"
    shutil.rmtree(place, ignore_errors=True)  # what a killed build left
    place.mkdir(mode=0o700)
    target = hdf5.cache() / f"archive-{key}"
    try:
        source = unpacked(place)
        options = OPTIONS | szip_options(place)
        commands = hdf5.compile_commands(source, target, options)
        run_stage(LABEL, ["sh", "-c", commands], log=LOG)
        (source / "root" / target.relative_to("/")).rename(target)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return target


def known() -> Path | None:
    """What ensure() would give without building anything."""
    try:
        target = hdf5.cache() / f"archive-{build_key()}"
    except (OSError, RuntimeError):
        return None
    return target if target.exists() else None


def ensure() -> Path | None:
    """The prefix with libhdf5.a, built if need be; None, and why is said, where it cannot be."""
    try:
        hdf5.cache().mkdir(parents=True, exist_ok=True)
        target = hdf5.cache() / f"archive-{build_key()}"
        with hdf5.locked(target.name, LABEL):
            return target if target.exists() else build(build_key())
    except (OSError, RuntimeError) as reason:
        note(
            LABEL,
            f"cannot be built: {reason}. Set HDF5_SOURCE to HDF5's sources (1.14), unpacked or "
            "not, or HDF5_ROOT to a prefix with a static libhdf5.a compiled with -fPIC.",
        )
        return None


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        found = ensure()
    print(found or "")
