"""Packages of PyPI whose suites run under the connector, compiled against its HDF5.

Each lies with what it needs in a directory of the user's cache, which PYTHONPATH names; the suites'
Python (suite_sources.python) brings parallel h5py, numpy and pytest. openPMD-api is its C++ library
with its test programs; Catch2 and toml11 come from Debian's source packages.

Standard library only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import hdf5
import suite_sources
from stages import LOGS, ROOT, run_stage
from suite_sources import Unavailable, kept

BUILD_REQUIREMENTS = ROOT / "tools" / "requirements-suites-build.txt"
NETCDF4, H5NETCDF, CFTIME = "netCDF4==1.7.5.1.post1", "h5netcdf==1.8.2", "cftime==1.6.6.1"
TABLES, OPENPMD = "tables==3.11.1", "openPMD-api==0.17.1.post4"
# Newer headers of blosc2 lack a constant that PyTables 3.11.1 uses.
BESIDE_TABLES = (
    *("blosc2==4.0.0", "ndindex", "msgpack", "numexpr", "typing_extensions"),
    *("requests", "urllib3", "idna", "charset_normalizer", "certifi"),
)
# It writes files for many minutes and asserts nothing that the others do not.
LONG_TESTS = ("write_and_read_many_iterations",)
OPENPMD_OPTIONS = {
    "CMAKE_BUILD_TYPE": "None",
    "CMAKE_CXX_FLAGS": "-O0 -w",
    "openPMD_USE_MPI": "ON",
    "openPMD_USE_HDF5": "ON",
    "openPMD_USE_ADIOS2": "OFF",
    "openPMD_USE_PYTHON": "OFF",
    "openPMD_USE_INTERNAL_JSON": "OFF",
    "openPMD_BUILD_CLI_TOOLS": "OFF",
    "openPMD_BUILD_EXAMPLES": "OFF",
    "openPMD_BUILD_TESTING": "ON",
    "HDF5_PREFER_PARALLEL": "ON",
}


def version_of(requirement: str) -> str:
    """What stands behind ==."""
    return requirement.partition("==")[2]


def pip(what: str, arguments: list[object], **variables: str) -> None:
    """pip of the suites' Python. Raises Unavailable where it fails."""
    command = [suite_sources.python(), "-m", "pip", *arguments, "--no-input", "--quiet"]
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"suite-{what}-pip.log"
    with log.open("a") as said:
        done = subprocess.run(
            [*map(str, command), "--disable-pip-version-check"],
            env=os.environ | variables,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    if done.returncode != 0:
        raise Unavailable(f"{what} cannot be made from PyPI, see out/logs/{log.name}")


def for_compiling(place: Path) -> dict[str, str]:
    """The tools for it in `place`/tools, and the variables that lead to them and to HDF5."""
    pip("tools", ["install", "--target", place / "tools", "-r", BUILD_REQUIREMENTS])
    return {
        "PYTHONPATH": str(place / "tools"),
        "CC": hdf5.mpicc(),
        "CFLAGS": "-O1 -g0",
        "HDF5_DIR": str(suite_sources.root()),
    }


def source_of(place: Path, requirement: str, **variables: str) -> Path:
    """The unpacked source archive of PyPI in `place`."""
    name = requirement.partition("==")[0]
    alone = ["download", "--no-deps", "--no-binary", name]
    pip(name, [*alone, "--dest", place, requirement], **variables)
    archive = next(place.glob("*.tar.gz"))
    subprocess.run(["tar", "xf", str(archive), "-C", str(place)], check=True)
    archive.unlink()
    return next(path for path in place.iterdir() if (path / "PKG-INFO").exists())


def install(place: Path, what: str, wanted: list[str], **variables: str) -> None:
    """Into `place`/site, without dependencies: h5py must stay the one that is there."""
    into = ["install", "--no-deps", "--no-build-isolation", "--target", place / "site"]
    pip(what, [*into, *wanted], **variables)


def netcdf4() -> Path:
    """netCDF4-python and h5netcdf; `test` holds the former's tests. Raises Unavailable."""
    built = suite_sources.netcdf()

    def make(place: Path) -> None:
        installed = place / "netcdf"
        command = ["cmake", "--install", str(built / "build"), "--prefix", str(installed)]
        run_stage("suites: install netCDF", command, log="suite-netcdf-install")
        config = installed / "bin" / "nc-config"
        config.write_text(config.read_text().replace("/usr/local", str(installed)))
        variables = for_compiling(place) | {
            "NC_CONFIG": str(config),
            "NETCDF4_DIR": str(installed),
            "PATH": f"{config.parent}:{os.environ['PATH']}",
        }
        source = source_of(place, NETCDF4, **variables)
        install(place, "netCDF4", [str(source), CFTIME, H5NETCDF, "certifi"], **variables)
        shutil.move(source / "test", place / "test")

    return kept("netcdf4-python", [NETCDF4, H5NETCDF, CFTIME, str(built)], make)


def netcdf4_variables() -> dict[str, str]:
    """What programs need to find netCDF4-python, its libraries and ncdump."""
    place, library = netcdf4(), suite_sources.root() / "lib"
    return {
        "PYTHONPATH": f"{place / 'site'}:.",
        "LD_LIBRARY_PATH": f"{place / 'netcdf' / 'lib'}:{library}",
        "PATH": f"{place / 'netcdf' / 'bin'}:{os.environ['PATH']}",
        "NO_NET": "1",  # no test opens what lies in the internet
    }


def tables() -> Path:
    """PyTables, whose tests lie in it. Raises Unavailable."""

    def make(place: Path) -> None:
        variables = for_compiling(place)
        pip("blosc2", ["install", "--no-deps", "--target", place / "site", *BESIDE_TABLES])
        shutil.copytree(place / "tools" / "cpuinfo", place / "site" / "cpuinfo")
        paths = f"{place / 'tools'}:{place / 'site'}"
        variables |= {"PYTHONPATH": paths, "BLOSC2_DIR": str(place / "site" / "blosc2")}
        # A package that pip has kept may be compiled against another HDF5.
        alone = ["--no-cache-dir", "--no-binary", "tables", TABLES]
        install(place, "tables", alone, **variables)

    return kept("tables", [TABLES, *BESIDE_TABLES], make)


def tables_variables() -> dict[str, str]:
    """What programs need to find PyTables and its libraries."""
    site, library = tables() / "site", suite_sources.root() / "lib"
    return {
        "PYTHONPATH": str(site),
        "LD_LIBRARY_PATH": f"{site / 'blosc2' / 'lib'}:{library}",
    }


def openpmd() -> Path:
    """openPMD-api's test programs in `build/bin`. Raises Unavailable."""
    installed = suite_sources.root()

    def make(place: Path) -> None:
        source = source_of(place, OPENPMD, **for_compiling(place))
        settings = OPENPMD_OPTIONS | {
            "HDF5_ROOT": str(installed),
            "CMAKE_PREFIX_PATH": str(installed),
        }
        for package, setting in (("catch2", "catch"), ("toml11", "toml11")):
            suite_sources.debian_source(package, place, "--tar-only")
            archive = next(place.glob(f"{package}_*.orig.tar.*"))
            found = place / package
            found.mkdir()
            unpack = ["tar", "xf", str(archive), "-C", str(found), "--strip-components=1"]
            subprocess.run(unpack, check=True)
            settings[f"openPMD_{setting}_src"] = str(found)
        if shutil.which("ccache"):
            settings["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
        options = [f"-D{name}={value}" for name, value in settings.items()]
        tree = str(place / "build")
        configure = ["cmake", "-G", "Ninja", "-S", str(source), "-B", tree, *options]
        run_stage("suites: configure openPMD-api", configure, log="suite-openpmd-configure")
        jobs = os.environ.get("JOBS", "1")
        run_stage("suites: openPMD-api", ["ninja", "-C", tree, "-j", jobs], log="suite-openpmd")
        suite_sources.with_mpi(place)

    return kept("openpmd", [OPENPMD, *map("=".join, sorted(OPENPMD_OPTIONS.items()))], make)
