"""One binary of the library serves every MPI: what was built with one MPI around runs with MPICH,
of Debian and of PyPI, and writes the same values as with the MPI of the build."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from outside import run
from test_install import lib, prefix, sums  # noqa: F401  (two of them are fixtures)

READERS = Path(os.environ.get("CAESURA_READERS_PYTHON", "/none")).parent
DEBIAN = shutil.which("mpicxx.mpich"), shutil.which("mpiexec.mpich")
PYPI = READERS / "mpicxx", READERS / "mpiexec"
RANKS = 3
PROGRAM = """
import sys
import caesura
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
assert comm.size == 3 and "MPICH" in MPI.Get_library_version(), MPI.Get_library_version()
with caesura.Writer(sys.argv[1], comm) as writer:
    field = writer.define_field("temperature", np.float64, (30, 40), absolute=1e-3)
    for n in range(3):
        with writer.iteration(n) as iteration:
            mine = np.full((10, 40), float(comm.rank + n))
            iteration.begin_dump(time=n).put(field, mine, offset=(10 * comm.rank, 0))
"""


def heat(prefix, lib, place: Path, compiler, launcher) -> dict[str, float]:  # noqa: F811
    """The example of C++ with an MPI: the sums of its dumps."""
    source = prefix / "share" / "doc" / "caesura" / "examples" / "cpp" / "heat.cpp"
    found = run("pkg-config", "--cflags", "--libs", "caesura", PKG_CONFIG_PATH=lib / "pkgconfig")
    program = place / "heat"
    flags = ["-std=c++20", "-DHEAT_WITH_MPI", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    link = [*found.split(), f"-Wl,-rpath,{lib}"]
    run(compiler, *flags, source, "-o", program, *link)
    needed = run("readelf", "-d", program)
    assert "libcaesura.so.0" in needed and "libcaesura_parallel" not in needed
    run(launcher, "-n", RANKS, program, place / "heat.h5")
    return sums(lib, place / "heat.h5")


@pytest.fixture(scope="module")
def written(prefix, lib, tmp_path_factory) -> dict[str, float]:  # noqa: F811
    """With the MPI of the build."""
    if shutil.which("mpicxx") is None:
        pytest.skip("no mpicxx")
    place = tmp_path_factory.mktemp("build")
    launcher = place / "mpirun"
    launcher.write_text('#!/bin/sh\nexec mpirun --oversubscribe "$@"\n')
    launcher.chmod(0o755)
    return heat(prefix, lib, place, "mpicxx", launcher)


@pytest.mark.parametrize(
    ("compiler", "launcher"), [DEBIAN, PYPI], ids=["mpich of Debian", "mpich of PyPI"]
)
def test_one_library_serves_both(prefix, lib, tmp_path, written, compiler, launcher):  # noqa: F811
    if compiler is None or not Path(compiler).exists():
        pytest.skip("tools/packages-mpich.txt and tools/requirements-readers.txt are not there")
    assert heat(prefix, lib, tmp_path, compiler, launcher) == written
    assert "libmpi.so.40" not in run("ldd", tmp_path / "heat"), "that is Open MPI"


def test_the_package_writes_with_mpich_and_mpi4py(prefix, lib, tmp_path):  # noqa: F811
    launcher = PYPI[1]
    if not launcher.exists():
        pytest.skip("tools/requirements-readers.txt is not there")
    (packages,) = lib.glob("python*/site-packages")
    python = READERS / "python"
    command = (launcher, "-n", RANKS, python, "-c", PROGRAM, tmp_path / "run.h5")
    run(*command, PYTHONPATH=packages)
    expected = {str(n): float(sum(400 * (rank + n) for rank in range(RANKS))) for n in range(3)}
    assert sums(lib, tmp_path / "run.h5") == pytest.approx(expected, abs=1200 * 1e-3)
