"""The code of the README, the tutorial and the guides of codec and openPMD runs as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import caesura
import numpy
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(caesura.__file__).absolute().parent.parent

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
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
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
    """Its programs and commands, as a reader types them; then what its pictures are made of."""
    examples("docs/guide/tutorial.md")
    sys.path.insert(0, str(ROOT / "tools" / "pages"))
    import tutorial

    said = tutorial.run(tmp_path, PACKAGE)
    ((bound, largest),) = re.findall(r"^ +heat +4,423,680 +(\S+) +(\S+)", said, re.MULTILINE)
    assert 0 < float(largest) <= float(bound)
    assert "after iteration 16" in said
    with caesura.open(tmp_path / "run.h5") as file:
        assert sorted(file["data"], key=int) == [str(4 * n) for n in range(8)]
    for made in ("report.html", "bound.svg", "timeline.svg"):
        assert (tmp_path / made).stat().st_size > 1000
    assert tutorial.error_picture(tmp_path).count("<image") == 3
    for picture in re.findall(r"\]\(\.\./pictures/(\S+)\)", tutorial.PAGE.read_text()):
        assert (ROOT / "docs" / "pictures" / picture).exists()


def test_the_page_of_openpmd_reads_what_a_writer_wrote(tmp_path):
    """With openPMD-api, in a Python without Caesura."""
    python = os.environ.get("CAESURA_READERS_PYTHON")
    if not python:
        pytest.skip("CAESURA_READERS_PYTHON names no Python of foreign readers (make test does)")
    (example,) = examples("docs/guide/openpmd.md")
    heat = numpy.linspace(300, 400, 32**3, dtype=numpy.float32).reshape(32, 32, 32)
    with caesura.Writer(tmp_path / "run.h5", absolute=0.1) as writer:
        field = writer.define_field("heat", numpy.float32, heat.shape)
        with writer.iteration(16) as iteration:
            iteration.begin_dump(time=1.6).put(field, heat)
    numpy.save(tmp_path / "heat.npy", heat)
    check = "import numpy\nassert abs(values - numpy.load('heat.npy')).max() <= 0.1\n"
    elsewhere = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-c", example + check], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=elsewhere | {"HDF5_PLUGIN_PATH": caesura.plugin_path()},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
