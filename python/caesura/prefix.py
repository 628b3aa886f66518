"""An installed Caesura (`cmake --install`) beside a package that came by pip.

A wheel has no MPI in it. What is made for one MPI and one parallel HDF5 comes from such a prefix:
the VOL connector, libcaesura_pmpi.so, the service. It is found by CAESURA_ROOT, which names it;
else as the prefix that this package itself lies in; else through CMAKE_PREFIX_PATH; else through
pkg-config.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = "CAESURA_ROOT"
BUILD = "CAESURA_BUILD"
PMPI = "libcaesura_pmpi.so"
NONE = (
    f"there is no installed Caesura: {ROOT} is not set, and neither CMAKE_PREFIX_PATH nor "
    "pkg-config leads to one. docs/guide/install.md says how to install what is made for your MPI"
)
_TIMEOUT_S = 20  # pkg-config on a file system that hangs


@dataclass(frozen=True)
class Prefix:
    """What pkg-config's files of an installation say."""

    path: Path
    named_by: str  # what led to it
    version: str
    libraries: Path
    connector: Path | None  # the directory of libcaesura_vol.so
    pmpi: Path | None  # libcaesura_pmpi.so
    programs: Path


def find() -> Prefix | None:
    """The first that is there. Raises RuntimeError if CAESURA_ROOT names none."""
    if named := os.environ.get(ROOT):
        prefix = next(_below(Path(named), ROOT), None)
        if prefix is None:
            raise RuntimeError(
                f"{ROOT}={named}: there is no lib/pkgconfig/caesura.pc in it; name the prefix that "
                "Caesura was installed to with `cmake --install`, or unset it"
            )
        return prefix
    return next(_candidates(), None)


def places(in_package: str, in_tree: str, of: Callable[[Prefix], Path | None]) -> list[Path]:
    """Where a thing that is made for one MPI may lie: in the package (a wheel built with MPI), in
    the build tree that CAESURA_BUILD names, where `of` says of an installed Caesura, and in the
    build tree around the package. Raises as find() does."""
    tree, prefix = build_tree(), find()
    found = [tree and tree / in_tree, prefix and of(prefix)]
    if BUILD not in os.environ:
        found.reverse()
    return [Path(__file__).parent / in_package, *(place for place in found if place)]


def build_tree() -> Path | None:
    """CAESURA_BUILD, or the build tree that this package lies in."""
    if build := os.environ.get(BUILD):
        return Path(build)
    above = Path(__file__).parent.parent.parent
    return above if (above / "CMakeCache.txt").exists() else None


def hdf5_of(connector: Path) -> Path | None:
    """The prefix of the HDF5 that a connector, in this directory, was configured for.

    An installed one's pkg-config file says it, and the CMakeCache.txt of a build tree; None:
    neither does.
    """
    for libraries in connector.resolve().parents:
        said = _variables(libraries / "pkgconfig" / "caesura_vol.pc")
        if said and Path(said["plugindir"]).resolve() == connector.resolve():
            return Path(said["hdf5root"]) if "hdf5root" in said else None
    try:
        cache = (connector.parent / "CMakeCache.txt").read_text(errors="replace")
    except OSError:
        return None
    root = re.search(r"^HDF5_VOL_ROOT:[A-Z]+=(.+)$", cache, re.MULTILINE)
    return Path(root[1]) if root else None


def pmpi_path() -> str:
    """libcaesura_pmpi.so. Raises RuntimeError if there is none."""
    there = places(f"lib/{PMPI}", f"src/pmpi/{PMPI}", lambda prefix: prefix.pmpi)
    for place in there:
        if place.exists():
            return str(place)
    prefix = find()
    raise RuntimeError(
        f"no {PMPI} in {', '.join(str(place.parent) for place in there)}; "
        + (f"the Caesura in {prefix.path} was built without MPI" if prefix else NONE)
    )


def _candidates() -> Iterator[Prefix]:
    # <libraries>/pythonX.Y/site-packages/caesura
    for libraries in Path(__file__).resolve().parents[3:4]:
        yield from _in(libraries, "the package lies in it")
    for path in os.environ.get("CMAKE_PREFIX_PATH", "").split(os.pathsep):
        if path:
            yield from _below(Path(path), "CMAKE_PREFIX_PATH")
    if libraries := _ask_pkg_config():
        yield from _in(libraries, "pkg-config")


def _below(prefix: Path, named_by: str) -> Iterator[Prefix]:
    for pattern in ("lib", "lib64", "lib/*-*-*"):
        for libraries in sorted(prefix.glob(pattern)):
            yield from _in(libraries, named_by)


def _in(libraries: Path, named_by: str) -> Iterator[Prefix]:
    said = _variables(libraries / "pkgconfig" / "caesura.pc")
    if not said:
        return
    vol = _variables(libraries / "pkgconfig" / "caesura_vol.pc")
    pmpi = libraries / PMPI
    path = Path(said["prefix"]).resolve()
    yield Prefix(
        path=path,
        named_by=named_by,
        version=said.get("Version", ""),
        libraries=libraries.resolve(),
        connector=Path(vol["plugindir"]).resolve() if "plugindir" in vol else None,
        pmpi=libraries.resolve() / PMPI if pmpi.exists() else None,
        programs=path / "bin",
    )


def _variables(file: Path) -> dict[str, str]:
    """Variables and fields of pkg-config's file, variables in them put in; none without the file.

    Read here, so that a prefix that somebody names needs no pkg-config.
    """
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return {}
    said = {"pcfiledir": str(file.parent.resolve())}
    for line in lines:
        if entry := re.fullmatch(r"(\w+)\s*[=:]\s*(.*)", line.strip()):
            value = re.sub(r"\$\{(\w+)\}", lambda name: said.get(name[1], ""), entry[2])
            said[entry[1]] = value
    return said if "prefix" in said else {}


def _ask_pkg_config() -> Path | None:
    if shutil.which("pkg-config") is None:
        return None
    command = ["pkg-config", "--variable=libdir", "caesura"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Path(done.stdout.strip()) if done.returncode == 0 and done.stdout.strip() else None
