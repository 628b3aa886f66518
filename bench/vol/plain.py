"""Plain HDF5 programs of this repository, natively and under the connector: how they are started,
and whether their files hold the same.

The connector's variables go to the program alone, by `env`: mpirun and the readers stay stock.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

# What Open MPI needs as root, in a container, on few cores; the user's own goes first.
MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
# Modes of running a program of plain HDF5.
PLAIN = ("native", "connector")


class MissingError(Exception):
    """Something that the build should have made is not there."""


def program(build: Path, name: str) -> Path:
    """Of this build, made only where it has an HDF5 for the connector."""
    path = build / name
    if not path.exists():
        raise MissingError(f"{path} is missing: build with HDF5_VOL_ROOT (tools/dev.py build does)")
    return path


def h5diff_of(build: Path) -> str:
    """That of the HDF5 that the connector was built for."""
    cache = (build / "CMakeCache.txt").read_text()
    root = re.search(r"HDF5_VOL_ROOT:\w+=(.+)", cache)
    beside = Path(root.group(1)) / "bin" / "h5diff" if root else None
    found = str(beside) if beside and beside.exists() else shutil.which("h5diff")
    if not found:
        raise MissingError("there is no h5diff")
    return found


def configuration(bounds: dict[str, float], **keys: object) -> str:
    """TOML with an absolute bound for each dataset's name."""
    lines = [f"{key} = {value}" for key, value in keys.items()]
    for name, bound in bounds.items():
        lines += ["", "[[dataset]]", f'path = "{name}"', f"bound = {bound!r}"]
    return "\n".join(lines) + "\n"


def connector_variables(build: Path, config: Path) -> list[str]:
    """NAME=value for `env`."""
    program(build, "vol/libcaesura_vol.so")
    return [
        f"HDF5_PLUGIN_PATH={build / 'vol'}:{build / 'plugins'}",
        f"HDF5_VOL_CONNECTOR=caesura config={config}",
    ]


def differences(build: Path, native: Path, ours: Path, bounds: dict[str, float]) -> list[str]:
    """What a stock h5diff finds beyond the bounds; all that has no bound must be equal.

    @param bounds  by dataset path.
    """
    env = {**os.environ, "HDF5_PLUGIN_PATH": str(build / "plugins")}
    h5diff = h5diff_of(build)
    found = []
    with tempfile.TemporaryDirectory(dir=ours.parent) as place:
        # h5diff compares attributes, and the connector says there what the bounds are.
        plain = shutil.copy(ours, place)
        most = max(bounds.values(), default=0.0)
        said = [str(program(build, "tests/vol/vol_without_bounds")), repr(most)]
        calls = [["-c", *(f"--exclude-path={path}" for path in bounds), str(native), plain]]
        calls += [["-c", f"--delta={b!r}", str(native), plain, path] for path, b in bounds.items()]
        for call in [[*said, plain], *([h5diff, *call] for call in calls)]:
            answer = subprocess.run(call, capture_output=True, text=True, env=env)
            if answer.returncode != 0:
                found.append(f"{' '.join(call)}\n{(answer.stdout + answer.stderr)[:2000]}")
    return found
