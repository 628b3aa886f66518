"""Runs programs where Caesura is not installed: .venv-readers, or $CAESURA_READERS_PYTHON."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import caesura

ROOT = Path(__file__).resolve().parents[2]
READERS_PYTHON = Path(
    os.environ.get("CAESURA_READERS_PYTHON", ROOT / ".venv-readers" / "bin" / "python")
)
NONE = f"no environment of foreign readers at {READERS_PYTHON}"


def run_elsewhere(*command: object, plugins: str | None) -> str:
    """What the command prints, which has to succeed.

    plugins: HDF5_PLUGIN_PATH; none without. OUR_PLUGIN is the directory of our own in any case.
    """
    taken = ("PYTHONPATH", "HDF5_PLUGIN_PATH", "CAESURA_PLUGIN_PATH")
    environment = {key: value for key, value in os.environ.items() if key not in taken}
    environment["OUR_PLUGIN"] = caesura.plugin_path()
    if plugins is not None:
        environment["HDF5_PLUGIN_PATH"] = plugins
    answer = subprocess.run(
        [str(READERS_PYTHON), *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=300,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout
