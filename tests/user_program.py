"""A program as a user compiles it, with the headers and libcaesura.so of the build tree.

Part of the tests of pages and of lines to paste; no test by itself.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("CAESURA_BUILD", ROOT / "build"))
WARNINGS = ("-Wall", "-Wextra", "-Werror")
COMPILERS = {
    ".c": ("mpicc", "-std=c99", *WARNINGS),
    ".cpp": ("mpicxx", "-std=c++20", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", *WARNINGS),
    ".f90": ("gfortran", "-std=f2018"),
}


def words_of_hdf5() -> list[str]:
    """How to compile with the serial HDF5 that libcaesura.so has."""
    for name in ("hdf5-serial", "hdf5"):
        asked = ["pkg-config", "--cflags", "--libs", name]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return shlex.split(done.stdout)
    return ["-lhdf5"]


def compiled(source: Path, run: Callable[[list[str], Path], object]) -> Path:
    """The program of a source, linked with the library as a user links it. Skips the test where
    there is no compiler.

    run: runs a command in a folder, and raises where it fails.
    """
    compiler, *options = COMPILERS[source.suffix]
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    libraries, program = BUILD / "lib", source.with_suffix("")
    command = [compiler, *options, str(source), "-o", str(program), f"-I{ROOT / 'include'}"]
    if source.suffix == ".f90":
        fortran = BUILD / "fortran"
        command += [f"-I{fortran / 'modules'}", str(fortran / "libcaesura_fortran.a")]
    command += [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lcaesura"]
    run([*command, *words_of_hdf5(), "-lm"], source.parent)
    return program
