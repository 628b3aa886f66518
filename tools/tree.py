"""The build tree: where it is, in which environment its programs run, how it is made.

Standard library only, because this runs before any environment exists.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import hdf5
import hdf5_archive
import machine
import parallel_python
import sanitizers
from stages import OUT, ROOT, cores, note, run_stage


def build_dir(sanitize: str = "") -> Path:
    """build/, or build-address/ and build-thread/."""
    return ROOT / (f"build-{sanitize}" if sanitize else "build")


def data_dir() -> Path | None:
    """Real simulation data for tests that can use them: $CAESURA_DATA or a shared/data nearby."""
    if "CAESURA_DATA" in os.environ:
        return Path(os.environ["CAESURA_DATA"])
    for place in (ROOT / "shared" / "data", ROOT.parent / "shared" / "data"):
        if place.is_dir():
            return place
    return None


def environment(sanitize: str = "") -> dict[str, str]:
    """The environment in which everything that was built runs."""
    build = build_dir(sanitize)
    env = dict(os.environ)
    env.update(CAESURA_BUILD=str(build), CAESURA_OUT=str(OUT), PYTHONDONTWRITEBYTECODE="1")
    # mpirun refuses root and more ranks than cores unless told; spinning ranks starve each other.
    # Cross-memory attach is forbidden in most containers; Open MPI then warns on every message.
    for name, value in {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    }.items():
        env.setdefault(name, value)
    if data := data_dir():
        env["CAESURA_DATA"] = str(data)
    for name, value in sanitizers.environment(sanitize).items():
        env.setdefault(name, value)
    if not sanitize:
        plugins = machine.ask_python("import hdf5plugin; print(hdf5plugin.PLUGINS_PATH)")
        earlier = [env["HDF5_PLUGIN_PATH"]] if env.get("HDF5_PLUGIN_PATH") else []
        env["HDF5_PLUGIN_PATH"] = ":".join([*earlier, plugins])
        earlier = [env["PYTHONPATH"]] if env.get("PYTHONPATH") else []
        env["PYTHONPATH"] = ":".join([str(build / "python"), *earlier])
    if not sanitize and (python := parallel_python.there()):
        env["CAESURA_PARALLEL_PYTHON"] = str(python)
    if machine.READERS_PYTHON.exists():
        env["CAESURA_READERS_PYTHON"] = str(machine.READERS_PYTHON)
    if machine.DOCS_PYTHON.exists():
        env["CAESURA_DOCS_PYTHON"] = str(machine.DOCS_PYTHON)
    return env


# ------------------------------------------------------------------------------ set-up and build


def setup() -> None:
    """System packages and the Python environment."""
    machine.ensure_packages()
    machine.ensure_python()
    machine.ensure_command(build_dir() / "python")


def source_files(suffixes: tuple[str, ...]) -> list[Path]:
    """Paths relative to the root of our files with these suffixes, new ones included."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode == 0:
        names = listed.stdout.splitlines()
    else:  # an unpacked archive
        skipped = {"build", "out", ".venv", ".venv-readers"}
        names = [
            str(p.relative_to(ROOT))
            for p in ROOT.rglob("*")
            if p.is_file() and p.relative_to(ROOT).parts[0] not in skipped
        ]
    return [Path(name) for name in names if name.endswith(suffixes) and (ROOT / name).exists()]


def cmake_arguments(sanitize: str, connector: bool) -> list[str]:
    """What distinguishes this build tree from a bare `cmake -S . -B build`.

    connector: it is going to be built, so that its HDF5 is built too, if need be. An HDF5 that is
    there is named in any case: a tree is not configured one way and another in turn.
    """
    arguments = ["-G", "Ninja", f"-DPython_EXECUTABLE={machine.VENV_PYTHON}"]
    arguments += [f"-D{name}={value}" for name, value in hdf5.mpi_settings().items()]
    if sanitize in sanitizers.ROOMS:
        return arguments + sanitizers.of_rooms(sanitize)
    if sanitize:
        return arguments + sanitizers.of_vol(
            sanitize, hdf5.ensure(), hdf5_archive.ensure(), build_dir() / "plugins"
        )
    nanobind = machine.ask_python("import nanobind; print(nanobind.cmake_dir())")
    arguments += ["-DCAESURA_PYTHON=ON", "-DCAESURA_MPI=ON", f"-Dnanobind_DIR={nanobind}"]
    root = hdf5.ensure() if connector else hdf5.known()
    # The archive is for the connector alone.
    hidden = None
    if root:
        hidden = hdf5_archive.ensure() if connector else hdf5_archive.known()
    return [*arguments, f"-DHDF5_VOL_ROOT={root or ''}", f"-DHDF5_HIDDEN_ROOT={hidden or ''}"]


def configure(sanitize: str, connector: bool) -> None:
    """Run CMake when its arguments or the set of its input files have changed.

    Ninja notices a changed file by itself; a new room (`if(EXISTS ...)`) it cannot see.
    """
    build = build_dir(sanitize)
    arguments = cmake_arguments(sanitize, connector)
    digest = hashlib.sha256("\n".join(arguments).encode())
    for path in sorted(source_files((".txt", ".cmake"))):
        digest.update(str(path).encode())
    stamp = build / "caesura-stamp"
    label = f"configure {build.name}/"
    if (
        (build / "build.ninja").exists()
        and stamp.exists()
        and stamp.read_text() == digest.hexdigest()
    ):
        note(label, "there")
        return
    run_stage(
        label,
        ["cmake", "-S", str(ROOT), "-B", str(build), *arguments],
        log=f"configure-{build.name}",
    )
    stamp.write_text(digest.hexdigest())


def build(sanitize: str = "", *targets: str) -> None:
    """Set up, configure and compile: these targets, or all there are, the connector among them."""
    setup()
    configure(sanitize, connector=not targets)
    tree = build_dir(sanitize)
    jobs = os.environ.get("JOBS", str(cores()))
    run_stage(
        f"compile in {tree.name}/ ({jobs} jobs)",
        ["ninja", "-C", str(tree), "-j", jobs, *(targets or ["all"])],
        log=f"compile-{tree.name}",
    )
