"""HDF5, its plugins, MPI and UCX."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from caesura import __version__, hdf5, prefix, vol
from caesura.doctor.finding import ABSENT, MUST_SET, NOTE, OK, Ask, Finding, ask_program, check

OPEN_MPI, MPICH = "Open MPI", "MPICH"
_OLDEST = (1, 14)  # HDF5 that the connector can be loaded by
_TIMEOUT_S = 60


def _probe(*question: str) -> dict[str, Any]:
    """Raises RuntimeError with what the process printed."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("probe.py").resolve()), *question],
        capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise RuntimeError(last[0])
    return json.loads(done.stdout)


def _core() -> tuple[str, int]:
    """The compiled module and the filter's number; RuntimeError: it is not there."""
    spec = importlib.util.find_spec("caesura._core")
    if spec is None or spec.origin is None:
        raise RuntimeError("the compiled module caesura._core is missing")
    try:
        from caesura import _core
    except ImportError as error:
        raise RuntimeError(f"the compiled module cannot be loaded: {error}") from None
    return spec.origin, _core.FILTER_ID


def launcher() -> tuple[str, str]:
    """Which MPI mpirun (or mpiexec) starts, and its version; empty: there is none."""
    for name in ("mpirun", "mpiexec"):
        try:
            said = ask_program(name, "--version")
        except RuntimeError:
            return f"an MPI whose {name} does not run", ""
        if said is None:
            continue
        number = (re.search(r"\d+\.\d+[\w.]*", said) or [""])[0]
        if "Open MPI" in said or "OpenRTE" in said or "PRRTE" in said:
            return OPEN_MPI, number
        if "HYDRA" in said or "MPICH" in said or "Intel(R) MPI" in said:
            return MPICH, number
        return said.splitlines()[0] if said else name, ""
    return "", ""


@check("HDF5", "it writes and reads the files; the connector needs a parallel one from 1.14 on")
def hdf5_found(ask: Ask) -> Finding:
    try:
        core, number = _core()
    except RuntimeError as error:
        return Finding(MUST_SET, str(error), "Build or install Caesura: `pip install .`.")
    answer = _probe("filter", core, str(number))
    parts = [f"Caesura uses {answer['version']} ({answer['library']})"]
    wrapper = shutil.which("h5pcc")
    said = ask_program("h5pcc", "-showconfig")
    if said is None:
        parts.append("no h5pcc on the PATH, so no parallel HDF5 is known")
        return Finding(OK, "; ".join(parts))
    version = re.search(r"HDF5 Version:\s*(\d+)\.(\d+)([\w.-]*)", said)
    if version is None:
        return Finding(NOTE, "; ".join([*parts, f"{wrapper} does not say its version"]))
    parts.append(f"parallel {version[1]}.{version[2]}{version[3]} ({wrapper})")
    if (int(version[1]), int(version[2])) >= _OLDEST:
        return Finding(OK, "; ".join(parts))
    do = "For unmodified applications build them with a parallel HDF5 from 1.14 on."
    return Finding(NOTE, "; ".join(parts), do)


@check("filter plugin", "h5dump, h5py without Caesura, ParaView and others read files through it")
def filter_plugin(ask: Ask) -> Finding:
    path = os.environ.get("HDF5_PLUGIN_PATH", "")
    missing = [place for place in path.split(":") if place and not Path(place).is_dir()]
    shown = f"HDF5_PLUGIN_PATH={path}" if path else "HDF5_PLUGIN_PATH is not set"
    if missing:
        shown += f" (no directory: {', '.join(missing)}; HDF5 may look no further)"
    core, number = _core()
    answer = _probe("filter", core, str(number))
    if answer["found"]:
        found = f"HDF5 finds it ({', '.join(answer['plugins']) or 'built in'}); {shown}"
        return Finding(OK, found, variables={"HDF5_PLUGIN_PATH": path} if path else {})
    try:
        own = hdf5.plugin_path()
    except RuntimeError as error:
        return Finding(MUST_SET, f"{error}; {shown}", "Build the target h5caesura.")
    # HDF5 1.10 looks no further than a directory that is not there.
    kept = [place for place in path.split(":") if place and place not in (*missing, own)]
    value = ":".join([own, *kept])
    found = f"HDF5 does not find it; {shown}"
    if not path:  # Python needs none, and hdf5plugin connects its filters only without it
        return Finding(NOTE, found, f"For programs other than Python: HDF5_PLUGIN_PATH={value}.")
    do = f"export HDF5_PLUGIN_PATH={value}, or unset it where only Python reads."
    return Finding(MUST_SET, found, do, {"HDF5_PLUGIN_PATH": value})


@check("VOL connector", "unmodified HDF5 applications write through it")
def connector(ask: Ask) -> Finding:
    asked = os.environ.get("HDF5_VOL_CONNECTOR", "")
    shown = f"HDF5_VOL_CONNECTOR={asked}" if asked else "HDF5_VOL_CONNECTOR is not set"
    unset = "Unset HDF5_VOL_CONNECTOR, or set HDF5_PLUGIN_PATH to the connector's directory."
    try:
        directory = vol.connector_path()
    except RuntimeError:
        found = f"no {vol.LIBRARY} in HDF5_PLUGIN_PATH or beside the package; {shown}"
        return Finding(MUST_SET, found, unset) if asked else Finding(ABSENT, found)
    answer = vol.check()
    if "error" in answer:
        return Finding(MUST_SET if asked else NOTE, f"{answer['error']}; {shown}",
                       unset if asked else "`caesura vol check` says more.")  # fmt: skip
    if not answer["loaded"]:
        found = f"{directory}: HDF5 takes {answer['connector'] or 'none'}; {shown}"
        return Finding(MUST_SET, found, "`caesura vol check` says what HDF5 printed. " + unset)
    found = f"loads, from {directory}, with HDF5 {answer['hdf5']}; {shown}"
    if asked:
        do = "Give HDF5_VOL_CONNECTOR to the application alone: other HDF5 programs here meet it."
        return Finding(NOTE, found, do)
    needed = " ".join(f"{name}={value}" for name, value in answer["environment"].items())
    return Finding(OK, found, f"An unmodified HDF5 program, and it alone, gets {needed}.")


@check(
    "MPI libraries", "connector, libcaesura_pmpi.so and service are made for one MPI and one HDF5"
)
def mpi_libraries(ask: Ask) -> Finding:
    try:
        found = prefix.find()
    except RuntimeError as error:
        return Finding(MUST_SET, str(error), f"Correct {prefix.ROOT}.")
    if found is None:
        package = Path(prefix.__file__).parent
        own = [name for name in ("vol", "lib") if (package / name).is_dir()]
        if own:
            return Finding(OK, f"the package has its own: {package}/{{{','.join(own)}}}")
        return Finding(ABSENT, "none; a Writer with `comm` needs mpi4py alone. " + prefix.NONE)
    has = {"connector": found.connector, prefix.PMPI: found.pmpi}
    parts = ", ".join(name for name, place in has.items() if place) or "neither connector nor PMPI"
    said = f"Caesura {found.version} in {found.path} ({found.named_by}): {parts}"
    if found.version != __version__:
        return Finding(NOTE, said, f"This package is {__version__}: install one version of both.")
    return Finding(OK, said)


@check("MPI", "ranks meet through it; an mpirun of another MPI starts N programs of one rank each")
def mpi(ask: Ask) -> Finding:
    family, version = launcher()
    if not family:
        return Finding(ABSENT, "no mpirun or mpiexec on the PATH; a Writer works on one process")
    found = f"{family} {version}".rstrip() + f" ({shutil.which('mpirun') or 'mpiexec'})"
    try:
        of_connector = _probe("maps", f"{vol.connector_path()}/{vol.LIBRARY}")["mpi"]
    except RuntimeError:
        of_connector = []
    if not of_connector:
        return Finding(OK, found)
    found += f"; the connector uses {of_connector[0]}"
    # The ABI's number: 12 is that of MPICH and its relatives, 20 and more are Open MPI's.
    number = re.search(r"\.so\.(\d+)", of_connector[0])
    its = MPICH if "mpich" in of_connector[0] or (number and number[1] == "12") else OPEN_MPI
    if family in (OPEN_MPI, MPICH) and its != family:
        do = f"Put the mpirun of {its} first on the PATH, or build Caesura with {family}."
        return Finding(MUST_SET, found, do)
    return Finding(OK, found)


@check("root", "Open MPI's mpirun refuses to run as root unless told")
def root(ask: Ask) -> Finding:
    if os.geteuid() != 0:
        return Finding(OK, "you are not root")
    names = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
    if launcher()[0] != OPEN_MPI:
        return Finding(OK, "you are root; there is no Open MPI to refuse that")
    if all(os.environ.get(name) == "1" for name in names):
        found = "you are root, and Open MPI is told to run all the same"
        return Finding(OK, found, variables=dict.fromkeys(names, "1"))
    do = "In a container: export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1."
    return Finding(MUST_SET, "you are root: mpirun will refuse", do, dict.fromkeys(names, "1"))


@check("UCX", "the service (`caesura serve`) and its clients speak through it")
def ucx(ask: Ask) -> Finding:
    answer = _probe("ucx")
    if not answer["version"]:
        return Finding(ABSENT, "no libucp.so.0; Writers need none, the service does")
    return Finding(OK, f"{answer['version']} ({answer['library']})")
