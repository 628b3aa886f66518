#!/usr/bin/env python3
"""The HDF5 that the VOL connector is built for: parallel, 1.14 or newer.

$HDF5_ROOT, where it is set; else the system's; else Debian's next release's source package, built
once and kept in the user's cache by version and by what it was built with. $MPICC says for which
MPI: the compiler of another one than `mpicc` is, as mpicc.mpich.

    python3 tools/hdf5.py             prints its prefix, or nothing and says why
    python3 tools/hdf5.py --library   the library alone will do: half the time to build

Invariants: the system's package sources are read and never changed; what lies in the cache under
its final name is complete (built beside it, renamed at the end); a lock lets one process build
while others wait for it.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import functools
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from stages import LOGS, cores, fail, note, run_stage

OLDEST = (1, 14)
SUITE = "trixie"  # Debian's release with HDF5 1.14
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
OPTIONS = {
    "CMAKE_BUILD_TYPE": "Release",
    "CMAKE_INSTALL_RPATH": "$ORIGIN/../lib",
    "HDF5_ENABLE_PARALLEL": "ON",
    "HDF5_ENABLE_THREADSAFE": "ON",
    "ALLOW_UNSUPPORTED": "ON",  # threads together with the high-level library, which h5py needs
    "HDF5_BUILD_HL_LIB": "ON",
    "HDF5_BUILD_HL_TOOLS": "OFF",
    "HDF5_BUILD_TOOLS": "ON",
    "HDF5_ENABLE_Z_LIB_SUPPORT": "ON",
    "HDF5_ENABLE_SZIP_SUPPORT": "OFF",
    "HDF5_BUILD_EXAMPLES": "OFF",
    "BUILD_STATIC_LIBS": "OFF",
    "BUILD_TESTING": "OFF",
}
# What the connector and programs of C need.
LIBRARY = OPTIONS | {"HDF5_BUILD_HL_LIB": "OFF", "HDF5_BUILD_TOOLS": "OFF"}
LABEL = "HDF5 1.14 for the connector"
LOG = "hdf5"


def mpicc() -> str:
    """The C compiler of the MPI that is wanted."""
    return os.environ.get("MPICC") or "mpicc"


def mpi_settings() -> dict[str, str]:
    """For CMake's FindMPI: all programs of the MPI that $MPICC names; nothing without it."""
    if not os.environ.get("MPICC"):
        return {}
    found = shutil.which(mpicc())
    if found is None:
        fail(f"MPICC={mpicc()}: there is no such program.")
    name = Path(found).name
    return {
        "MPI_C_COMPILER": found,
        "MPI_HOME": str(Path(found).parents[1]),
        # Debian's mpicc.mpich has mpicxx.mpich and mpiexec.mpich beside it.
        "MPI_EXECUTABLE_SUFFIX": name.removeprefix("mpicc") if name.startswith("mpicc") else "",
    }


@functools.cache
def macros_of(compiler: str) -> str:
    """What mpi.h defines; empty without such a compiler."""
    if shutil.which(compiler) is None:
        return ""
    command = [compiler, "-E", "-dM", "-include", "mpi.h", "-x", "c", "/dev/null"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def version_of(root: Path) -> tuple[int, int] | None:
    """Major and minor version of the parallel HDF5 under a prefix; None where there is none."""
    try:
        text = (root / "include" / "H5pubconf.h").read_text()
    except OSError:
        return None
    version = re.search(r'#define H5_VERSION "(\d+)\.(\d+)', text)
    if not version or not re.search(r"^#define H5_HAVE_PARALLEL 1", text, re.MULTILINE):
        return None
    return int(version[1]), int(version[2])


def own_root(root: Path) -> Path:
    """The user's choice, checked."""
    version = version_of(root)
    if version is None:
        fail(f"HDF5_ROOT={root}: there is no parallel HDF5 (include/H5pubconf.h) under it.")
    if version < OLDEST:
        fail(f"HDF5_ROOT={root} is HDF5 {version[0]}.{version[1]}; the connector needs 1.14.")
    return root


def system_root() -> Path | None:
    """The prefix of the system's parallel HDF5 for this MPI, if that is new enough."""
    mpi = "mpich" if "#define MPICH_VERSION" in macros_of(mpicc()) else "openmpi"
    for directory in sorted(Path("/usr/lib").glob(f"*/hdf5/{mpi}")):
        version = version_of(directory)
        if version and version >= OLDEST:
            return directory
    return None


def cache() -> Path:
    """Where builds are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "caesura"


def build_key(options: dict[str, str] = OPTIONS) -> str:
    """Hash of the options, the compiler and the MPI: what their headers define."""
    macros = macros_of(mpicc())
    parts = [platform.machine(), SUITE, *map("=".join, sorted(options.items())), macros]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def kept(key: str) -> Path | None:
    """A finished build in the cache."""
    places = sorted(cache().glob(f"hdf5-*-{key}"))
    return places[-1] if places else None


@contextlib.contextmanager
def locked(name: str, label: str) -> Iterator[None]:
    """Alone among all processes that would make the same thing in the cache."""
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / f"{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note(label, "waits for another build of it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def apt_options(place: Path) -> list[str]:
    """A private apt: our sources, our lists, our cache; proxies and certificates are the system's.

    Raises RuntimeError where the machine has no sources of Debian.
    """
    wanted = ["--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"]
    targets = subprocess.run(
        ["apt-get", "indextargets", "--no-release-info", *wanted],
        capture_output=True,
        text=True,
        check=True,
    )
    release = platform.freedesktop_os_release()
    suites = dict(line.split()[::-1] for line in targets.stdout.splitlines())
    mirror = suites.get(release.get("VERSION_CODENAME", ""))
    if release.get("ID") != "debian" or not mirror:
        raise RuntimeError("the package sources of this machine are not Debian's")
    for directory in ("etc/parts", "state/lists/partial", "cache/archives/partial"):
        (place / directory).mkdir(parents=True)
    signed = f"[signed-by={KEYRING}] " if KEYRING.exists() else ""
    sources = place / "etc" / "sources.list"
    sources.write_text(f"deb-src {signed}{mirror} {SUITE} main\n")
    settings = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": place / "etc" / "parts",
        "Dir::State": place / "state",
        "Dir::Cache": place / "cache",
        "APT::Sandbox::User": "root",  # the place is private to this user
    }
    return [word for item in settings.items() for word in ("-o", "{}={}".format(*item))]


def fetch(place: Path) -> Path:
    """The unpacked source package below `place`. Raises RuntimeError where it cannot be had."""
    LOGS.mkdir(parents=True, exist_ok=True)
    if not shutil.which("apt-get"):
        raise RuntimeError("this machine has no apt")
    options = apt_options(place)
    with (LOGS / f"{LOG}-source.log").open("w") as log:
        for command in (["update"], ["source", "hdf5"]):
            answer = subprocess.run(
                ["apt-get", *options, *command],
                cwd=place,
                env={**os.environ, "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            if answer.returncode != 0:
                raise RuntimeError(
                    f"its source package cannot be had, see out/logs/{LOG}-source.log"
                )
    return next(path for path in place.glob("hdf5-*") if path.is_dir())


def compile_commands(source: Path, target: Path, options: dict[str, str] = OPTIONS) -> str:
    """Shell text that builds for `target` and installs below `source`/root instead."""
    settings = " ".join(f"-D{name}='{value}'" for name, value in options.items())
    if shutil.which("ccache"):
        settings += " -DCMAKE_C_COMPILER_LAUNCHER=ccache"
    tree = source / "out"
    jobs = os.environ.get("JOBS", str(cores()))
    return (
        f"set -e; export LC_ALL=C.UTF-8\n"
        f"cmake -G Ninja -S '{source}' -B '{tree}' -DCMAKE_INSTALL_PREFIX='{target}' {settings}\n"
        f"ninja -C '{tree}' -j {jobs}\n"
        f"DESTDIR='{source}/root' ninja -C '{tree}' install\n"
    )


def build(key: str, options: dict[str, str] = OPTIONS) -> Path:
    """Fetch, compile and put into the cache. Raises RuntimeError without a source."""
    place = cache() / f"building-{key}"
    shutil.rmtree(place, ignore_errors=True)  # what a killed build left
    place.mkdir(mode=0o700)
    try:
        source = fetch(place)
        version = re.search(r"\d+(\.\d+)+", source.name)
        if version is None:
            fail(f"No version is in the name of the source package's directory, {source.name}.")
        target = cache() / f"hdf5-{version[0]}-{key}"
        commands = compile_commands(source, target, options | mpi_settings())
        run_stage(LABEL, ["sh", "-c", commands], log=LOG)
        built = source / "root" / target.relative_to("/")
        if version_of(built) is None:
            fail(f"What was built is no parallel HDF5; see out/logs/{LOG}.log.")
        built.rename(target)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return target


def known() -> Path | None:
    """What ensure() would give without building anything."""
    if own := os.environ.get("HDF5_ROOT"):
        return own_root(Path(own))
    return system_root() or (kept(build_key()) if shutil.which(mpicc()) else None)


@functools.cache
def ensure(library: bool = False) -> Path | None:
    """The prefix of an HDF5 for the connector, built if need be; None (said) without one.

    @param library: nothing but the library is wanted; what has more is taken where it is there.
    """
    if own := os.environ.get("HDF5_ROOT"):
        return own_root(Path(own))
    if system := system_root():
        return system
    options = LIBRARY if library else OPTIONS
    key = build_key(options)
    if there := kept(build_key()) or kept(key):
        note(LABEL, "there")
        return there
    with locked(f"hdf5-{key}", LABEL):
        if there := kept(key):
            return there
        try:
            return build(key, options)
        except RuntimeError as reason:
            text = (
                f"the VOL connector is skipped: {reason}. "
                "Set HDF5_ROOT to a parallel HDF5 of 1.14 or newer."
            )
            if os.environ.get("CI"):
                fail(f"CI skips nothing, but {text}")
            note(LABEL, text)
            return None


def main() -> None:
    """Standard output is the prefix alone."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", action="store_true", help="without tools, quick to build")
    options = parser.parse_args()
    with contextlib.redirect_stdout(sys.stderr):
        root = ensure(options.library)
    print(root or "")


if __name__ == "__main__":
    main()
