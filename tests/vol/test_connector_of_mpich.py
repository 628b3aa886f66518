"""Connector and MPI layer are built for an MPI; here for MPICH, beside the build's Open MPI: HDF5,
connector, PMPI library and programs of plain parallel HDF5 in a tree of their own, and their tests.

The first run takes minutes: it compiles an HDF5 for MPICH, which is kept as the other one is.
Without CAESURA_NIGHTLY the PMPI library alone, which needs no HDF5.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# CAESURA_PYTEST_SERIAL: it compiles with all cores, and starts ranks that spin while they wait.
# CAESURA_PYTEST_TIMEOUT_S=1500: without a compiler cache on a slow machine.
ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["CAESURA_BUILD"])
NIGHTLY = "CAESURA_NIGHTLY" in os.environ
# Beside the build's tree and at the same depth, so that a compiler cache has what knows no MPI.
TREE = BUILD.with_name(BUILD.name + ("-mpich" if NIGHTLY else "-pmpich"))
# A plotfile's layout, several communicators, and selections of many shapes.
PROGRAMS = ("amrex_like", "communicators", "select_unions")
CONNECTOR = ("caesura_vol", "h5caesura", "vol_without_bounds", *(f"vol_{p}" for p in PROGRAMS))
SETTINGS = {
    "MPI_EXECUTABLE_SUFFIX": ".mpich",
    "CAESURA_CUDA": "OFF",
    "CAESURA_FORTRAN": "OFF",
    "CAESURA_LAB": "OFF",
    "CAESURA_MINIAPPS": "OFF",
    "CAESURA_SERVICE": "OFF",
}


def run(*command: object, **environment: str) -> str:
    """What it prints on stdout; all of it, where it fails."""
    env = {name: value for name, value in os.environ.items() if name != "HDF5_ROOT"}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        env={**env, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def setting(tree: Path, name: str) -> str:
    """Of a tree's CMakeCache.txt; empty if it is not there."""
    found = re.search(rf"^{name}:[A-Z]+=(.*)$", (tree / "CMakeCache.txt").read_text(), re.MULTILINE)
    return found[1] if found else ""


@pytest.fixture(scope="module")
def tree() -> Path:
    """Configured and compiled for MPICH."""
    if not setting(BUILD, "HDF5_VOL_ROOT"):
        pytest.skip("the build has no connector: HDF5_VOL_ROOT is not set")
    if shutil.which("mpicc.mpich") is None:
        assert not os.environ.get("CI"), "tools/packages-mpich.txt is not installed"
        pytest.skip("no mpicc.mpich: tools/packages-mpich.txt names what this test needs")
    given = {"CAESURA_H5DIFF": setting(BUILD, "CAESURA_H5DIFF"), **SETTINGS}
    if NIGHTLY:
        root = run(sys.executable, "tools/hdf5.py", "--library", MPICC="mpicc.mpich")
        given["HDF5_VOL_ROOT"] = root.strip()
        given["HDF5_HIDDEN_ROOT"] = setting(BUILD, "HDF5_HIDDEN_ROOT")
    else:  # nothing that is built is linked to it
        root = run("pkg-config", "--libs-only-L", "hdf5-serial")
        given["HDF5_PARALLEL_ROOT"] = root.strip().removeprefix("-L")
    for kept in ("CMAKE_BUILD_TYPE", "CAESURA_DEBUG_INFO", "Python_EXECUTABLE"):
        if value := setting(BUILD, kept):
            given[kept] = value
    run("cmake", "-S", ROOT, "-B", TREE, "-G", "Ninja", *(f"-D{k}={v}" for k, v in given.items()))
    run("cmake", "--build", TREE, "--target", "pmpi_test", *(CONNECTOR if NIGHTLY else ()))
    return TREE


def passed(tree: Path, tests: str) -> int:
    """How many tests of this name ran; none failed or was left out."""
    said = run("ctest", "--test-dir", tree, "--output-on-failure", "-R", tests)
    assert "Skipped" not in said and "Not Run" not in said, said
    return int(re.search(r"tests passed, 0 tests failed out of (\d+)", said)[1])


def test_the_tree_is_one_of_mpich_alone(tree):
    for library in ("src/pmpi/libcaesura_pmpi.so", *(["vol/libcaesura_vol.so"] * NIGHTLY)):
        needed = run("ldd", tree / library)
        assert "libmpi.so.40" not in needed, f"{library}: that is Open MPI\n{needed}"
        assert "libmpich.so" in needed, f"{library}: that is no MPICH\n{needed}"


@pytest.mark.skipif(not NIGHTLY, reason="CAESURA_NIGHTLY is not set: see .ci/nightly")
def test_unmodified_programs_write_the_same_files_under_the_connector(tree):
    """h5diff finds them equal to what plain HDF5 writes, or within the bound."""
    names = "|".join(PROGRAMS)
    assert passed(tree, rf"^vol\.(native|connector)\.({names})$") == 2 * len(PROGRAMS)


def test_the_mpi_layer_sees_the_pauses_of_ranks(tree):
    assert passed(tree, r"^pmpi\.") >= 3
