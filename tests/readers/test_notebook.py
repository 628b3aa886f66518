"""The notebook runs from top to bottom, and the site shows what it prints and draws.

It runs in the environment of foreign readers, which has xarray, dask and yt; ours lies beside. For
every change it runs there as a program, where CAESURA_NIGHTLY is set in Jupyter too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import caesura
import pytest
from elsewhere import NONE, READERS_PYTHON

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "examples" / "notebooks" / "analysis.md"
TOOL = ROOT / "tools" / "pages" / "notebook.py"
sys.path.insert(0, str(TOOL.parent))
import notebook  # noqa: E402

PACKAGE = Path(caesura.__file__).absolute().parent.parent
# Mean distances of pictures of two folders, black and white being 1 apart, seen from far away:
# single errors within the bound may differ from run to run.
FARTHEST = """
import sys
import numpy as np
from matplotlib.image import imread
for name in sys.argv[3:]:
    one, other = (imread(f"{folder}/{name}")[..., :3] for folder in sys.argv[1:3])
    if one.shape != other.shape:
        sys.exit(f"{name}: {one.shape} and {other.shape}")
    rows, columns = (20 * (n // 20) for n in one.shape[:2])
    off = (one - other)[:rows, :columns].reshape(rows // 20, 20, columns // 20, 20, 3)
    print(np.abs(off.mean(axis=(1, 3))).mean())
"""


def elsewhere(*command: object, cwd: Path | None = None) -> subprocess.CompletedProcess:
    environment = {key: value for key, value in os.environ.items() if key != "HDF5_PLUGIN_PATH"}
    environment["PYTHONPATH"] = str(PACKAGE)
    return subprocess.run(
        [str(READERS_PYTHON), *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=cwd,
        timeout=300,
    )


def readers_have_its_packages() -> bool:
    wanted = "import dask, ipykernel, matplotlib, nbclient, xarray, yt"
    return READERS_PYTHON.exists() and elsewhere("-c", wanted).returncode == 0


pytestmark = [
    pytest.mark.skipif(not READERS_PYTHON.exists(), reason=NONE),
    pytest.mark.skipif(
        "CI" not in os.environ and not readers_have_its_packages(),
        reason="the foreign readers lack packages of tools/requirements-readers.txt",
    ),
]


nightly = pytest.mark.skipif(
    "CAESURA_NIGHTLY" not in os.environ, reason="CAESURA_NIGHTLY is not set: see .ci/nightly"
)


def is_what_the_site_shows(folder: Path) -> None:
    """What the notebook printed and drew, in this folder."""
    made, shown = (notebook.kept(PAGE.stem, at) for at in (folder, ROOT / notebook.OUTPUTS))
    assert made == shown, f"run tools/pages/notebook.py {PAGE.relative_to(ROOT)} docs/pictures"
    pictures = [picture for out in made for picture in out.pictures]
    assert len(pictures) == 3
    far = elsewhere("-c", FARTHEST, folder, ROOT / notebook.OUTPUTS, *pictures)
    assert far.returncode == 0, far.stderr
    for picture, off in zip(pictures, far.stdout.split(), strict=True):
        assert float(off) < 0.02, f"{picture} is off by {off}"


def changed(words: str, others: str, text: str = "") -> str:
    """The page, or this text of it, with other words in the place of some."""
    text = text or PAGE.read_text(encoding="utf-8")
    assert words in text
    return text.replace(words, others)


@nightly
def test_every_cell_runs_in_jupyter_and_the_site_shows_what_it_prints_and_draws(tmp_path):
    done = elsewhere(TOOL, PAGE, tmp_path)
    assert done.returncode == 0, done.stderr
    is_what_the_site_shows(tmp_path)


@nightly
def test_values_that_break_their_bound_stop_it_in_jupyter(tmp_path):
    (tmp_path / "broken.md").write_text(
        changed("absolute=BOUND", "absolute=2 * BOUND"), encoding="utf-8"
    )
    done = elsewhere(TOOL, tmp_path / "broken.md", tmp_path)
    assert done.returncode != 0
    assert "exact_mean" in done.stderr and "AssertionError" in done.stderr
    assert not (tmp_path / "broken.json").exists()


# A new process takes 2 s to import dask. So this test packs the task, unpacks it and computes it
# here.
BY_PROCESSES = """with dask.config.set(scheduler="processes", num_workers=2):
    by_processes = mean.compute()"""
AS_IF_SENT = """import cloudpickle
by_processes = cloudpickle.loads(cloudpickle.dumps(mean)).compute(scheduler="threads")"""
# Runs pages in one process, where what they import is loaded once. Each is named and has a folder;
# what it printed and drew is kept there as if Jupyter had run it, or the line that stopped it.
AS_A_PROGRAM = """
import base64, contextlib, io, os, sys, traceback
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
import notebook

def outputs(page):
    names = {"__name__": "cells"}
    for kind, cell in notebook.parts(page):
        if kind != "code":
            continue
        cell = cell.replace("%matplotlib inline", "").replace("plt.show()", "")
        printed, pictures = io.StringIO(), []
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(cell, "cell", "exec"), names)
        except AssertionError as error:
            at = traceback.extract_tb(error.__traceback__)[-1].lineno
            Path("stopped").write_text(cell.splitlines()[at - 1])
            return
        for number in plt.get_fignums():
            png = io.BytesIO()
            plt.figure(number).savefig(png, bbox_inches="tight")
            pictures.append(base64.b64encode(png.getvalue()).decode())
        plt.close("all")
        yield notebook.Output(printed.getvalue(), pictures)

for page in map(Path, sys.argv[2:]):
    os.chdir(page.parent)
    found = list(outputs(page.read_text(encoding="utf-8")))
    if not Path("stopped").exists():
        notebook.keep(page.stem, found, page.parent)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> dict[str, Path]:
    """Folders of two runs: of the page, and of one whose values break their bound."""
    whole = changed(BY_PROCESSES, AS_IF_SENT)
    pages = {"broken": changed("absolute=BOUND", "absolute=2 * BOUND", whole), "whole": whole}
    folders = {name: tmp_path_factory.mktemp(name) for name in pages}
    for name, text in pages.items():
        (folders[name] / PAGE.name).write_text(text, encoding="utf-8")
    at = [folder / PAGE.name for folder in folders.values()]
    done = elsewhere("-c", AS_A_PROGRAM, TOOL.parent, *at)
    assert done.returncode == 0, done.stderr
    return folders


def test_every_cell_runs_and_the_site_shows_what_it_prints_and_draws(run):
    assert not (run["whole"] / "stopped").exists()
    is_what_the_site_shows(run["whole"])


def test_values_that_break_their_bound_stop_it(run):
    stopped = (run["broken"] / "stopped").read_text(encoding="utf-8")
    assert stopped.startswith("assert ") and "exact_mean" in stopped and "<= BOUND" in stopped


def test_what_jupyter_opens_holds_the_pages_cells_in_their_order():
    page = "---\na: b\n---\n\n# Title\n\n```{code-cell} python\nx = 1\n```\n\nMore.\n"
    cells = [
        (cell["cell_type"], cell["source"]) for cell in json.loads(notebook.as_ipynb(page))["cells"]
    ]
    assert cells == [("markdown", "# Title"), ("code", "x = 1"), ("markdown", "More.")]
