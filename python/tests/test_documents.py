"""The Python of the README, of the tutorial and of the codec's guide runs as it stands."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import caesura
import pytest

ROOT = Path(__file__).resolve().parents[2]

# What the README's example takes for granted: a size, an array, and where it lies.
BEFORE = """
import numpy
nz, ny, nx = 16, 16, 16
steps, dt, offset = 12, 0.5, (0, 0, 0)

def compute(n):
    return numpy.full((nz, ny, nx), n, numpy.float32)

"""
AFTER = """
with caesura.open("run.h5") as file:
    assert sorted(file["data"]) == ["0", "10"]
    assert abs(file["data/10/meshes/density"][...] - 10).max() <= 0.2
"""


def examples(page: str) -> list[str]:
    path = ROOT / page
    if not path.exists():
        pytest.skip("the documents are not beside the tests")
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def run(text: str, folder: Path) -> None:
    package = Path(caesura.__file__).absolute().parent.parent
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(package)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_readmes_ten_lines_run(tmp_path):
    (example,) = examples("README.md")
    # mpi4py is optional, here as there; without it a process writes alone.
    alone = example.replace("from mpi4py import MPI  # optional\n", "").replace(
        ", comm=MPI.COMM_WORLD", ""
    )
    assert alone != example
    run(BEFORE + alone + AFTER, tmp_path)


def test_the_codecs_guide_runs(tmp_path):
    compress, write = examples("docs/guide/codec.md")
    run(compress + write, tmp_path)


def test_the_tutorial_runs_from_top_to_bottom(tmp_path):
    """Its Python in one process, then its commands on what that has written."""
    page = ROOT / "docs/guide/tutorial.md"
    run("\n".join(examples("docs/guide/tutorial.md")), tmp_path)
    with caesura.open(tmp_path / "run.h5") as file:
        assert sorted(file["data"], key=int) == [str(n) for n in range(7)]
    package = Path(caesura.__file__).absolute().parent.parent
    commands = re.findall(r"(?<=[`\n])caesura (?:info|verify|report|tune|doctor) [^`\n]*", page.read_text())
    assert len(commands) == 5
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(command)], cwd=tmp_path, capture_output=True,
            text=True, check=False, env={**os.environ, "PYTHONPATH": str(package)},
        )  # fmt: skip
        # doctor's status says what this machine lacks
        assert done.returncode == 0 or command.startswith("caesura doctor"), done.stderr
    for made in ("report.html", "bound.svg"):
        assert (tmp_path / made).stat().st_size > 1000
