"""What the measurements of S4's figures share: how long, where, and programs that hand data in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results import BUILD, ROOT

sys.path[:0] = [str(ROOT / "bench" / "vol"), str(ROOT / "tests" / "transit")]

from plain import MPI  # noqa: E402
from service_process import Service  # noqa: E402

HERE = Path(__file__).resolve().parent
SERVE = str(BUILD / "bin" / "caesura-serve")
TIMEOUT_S = 240.0
BUCKET = f"caesura-figures-{os.getpid()}"
# That of .venv, which has mpi4py; the figures run with .venv-bench's.
PYTHON = ROOT / ".venv" / "bin" / "python"


@dataclass(frozen=True)
class Plan:
    """place: an empty directory, in memory where there is one."""

    quick: bool
    rounds: int
    cores: int
    place: Path


def shim(place: Path, bandwidth: float | None) -> list[str]:
    """NAME=value for `env`: the emulated file system at `place`; none without a bandwidth."""
    if bandwidth is None:
        return []
    return [
        f"LD_PRELOAD={BUILD / 'bench' / 'pfs' / 'libpfs.so'}",
        f"PFS_ROOT={place}",
        f"PFS_BANDWIDTH={bandwidth:.0f}",
        f"PFS_BUCKET={BUCKET}",
    ]


def pfs_stat(*options: str) -> dict[str, float]:
    """What the emulated file system has counted; `--remove`: an idle link, counters at zero."""
    told = subprocess.run(
        [str(BUILD / "bench" / "pfs" / "pfs_stat"), *options],
        env={**os.environ, "PFS_BUCKET": BUCKET},
        capture_output=True,
        text=True,
    )
    return {name: float(value) for name, value in map(str.split, told.stdout.splitlines())}


def serve(place: Path, bandwidth: float | None = None, tables: str = "", **keys: Any) -> Service:
    """A caesura-serve whose clients write below `place`; with [[device]] tables."""
    command = ["env", *shim(place, bandwidth), SERVE]
    # Its client waits for it and computes nothing: no reason to stand back.
    return Service(command, place, tables=tables, lease_s=10, idle_priority=False, **keys)


def hand_in(
    said: dict[str, Any], ranks: int = 0, bandwidth: float | None = None, python: Path | None = None
) -> dict[str, Any]:
    """hand_in.py, by itself or on `ranks`; what it prints."""
    command = ["mpirun", "--bind-to", "none", "-n", str(ranks)] if ranks else []
    place = Path(said["path"]).parent
    command += ["env", *shim(place, bandwidth)] if bandwidth else []
    command += [str(python or PYTHON), str(HERE / "hand_in.py"), json.dumps(said)]
    done = subprocess.run(
        command,
        # The filter for HDF5 by itself; the Writer finds it without.
        # OMPIO's collective writes on 4 ranks pass the emulated file system by; ROMIO's do not.
        env={
            **MPI,
            **os.environ,
            "HDF5_PLUGIN_PATH": str(BUILD / "plugins"),
            "OMPI_MCA_io": "romio321",
        },
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    if done.returncode != 0:
        raise SystemExit(f"{said['mode']}: {done.stdout[-1000:]}{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def check_charged(path: Path) -> None:
    """Every byte of a file has passed the emulated file system."""
    charged, size = pfs_stat()["file_bytes"], path.stat().st_blocks * 512
    if charged < 0.95 * size - 65536:  # holes, and pages that are not full
        raise SystemExit(f"{charged:.0f} bytes were charged for a file of {size}")


def clean(place: Path) -> None:
    """No files, an idle link."""
    for left in place.iterdir():
        left.unlink()
    pfs_stat("--remove")
