"""The notebook runs in Jupyter from top to bottom, and the site shows what it prints and draws.

It runs in the environment of foreign readers, which has xarray, dask and yt; ours lies beside.
"""

from __future__ import annotations

import json
import os
import re
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


def test_every_cell_runs_and_the_site_shows_what_it_prints_and_draws(tmp_path):
    page = PAGE
    if "CAESURA_NIGHTLY" not in os.environ:
        page = tmp_path / PAGE.name
        page.write_text(changed(*ONE_PROCESS), encoding="utf-8")
    done = elsewhere(TOOL, page, tmp_path)
    assert done.returncode == 0, done.stderr
    made, shown = (notebook.kept(PAGE.stem, at) for at in (tmp_path, ROOT / notebook.OUTPUTS))
    assert made == shown, f"run tools/pages/notebook.py {PAGE.relative_to(ROOT)} docs/pictures"
    pictures = [picture for out in made for picture in out.pictures]
    assert len(pictures) == 3
    far = elsewhere("-c", FARTHEST, tmp_path, ROOT / notebook.OUTPUTS, *pictures)
    assert far.returncode == 0, far.stderr
    for picture, off in zip(pictures, far.stdout.split(), strict=True):
        assert float(off) < 0.02, f"{picture} is off by {off}"


# A process imports dask anew, and its program.
ONE_PROCESS = ('"processes", num_workers=2', '"processes", num_workers=1')
BY_THREADS = ('"processes", num_workers=2', '"threads", num_workers=2')


def changed(words: str, others: str, text: str = "") -> str:
    """The page, or this text of it, with other words in the place of some."""
    text = text or PAGE.read_text(encoding="utf-8")
    assert words in text
    return text.replace(words, others)


@pytest.mark.skipif("CAESURA_NIGHTLY" not in os.environ, reason="see .ci/nightly")
def test_values_that_break_their_bound_stop_it(tmp_path):
    (tmp_path / "broken.md").write_text(
        changed("absolute=BOUND", "absolute=2 * BOUND"), encoding="utf-8"
    )
    done = elsewhere(TOOL, tmp_path / "broken.md", tmp_path)
    assert done.returncode != 0
    assert "exact_mean" in done.stderr and "AssertionError" in done.stderr
    assert not (tmp_path / "broken.json").exists()


def test_its_code_stops_where_values_break_their_bound(tmp_path):
    """Without Jupyter, up to the first cell that holds values against exact ones."""
    text = changed(*BY_THREADS, changed("absolute=BOUND", "absolute=2 * BOUND"))
    cells = [part for kind, part in notebook.parts(text) if kind == "code"]
    last = next(n for n, cell in enumerate(cells) if "exact_mean" in cell)
    (tmp_path / "cells.py").write_text("\n".join(cells[: last + 1]), encoding="utf-8")
    done = elsewhere(tmp_path / "cells.py", cwd=tmp_path)
    assert done.returncode == 1
    assert re.search(r"assert .*exact_mean.*<= BOUND\n", done.stderr), done.stderr


def test_what_jupyter_opens_holds_the_pages_cells_in_their_order():
    page = "---\na: b\n---\n\n# Title\n\n```{code-cell} python\nx = 1\n```\n\nMore.\n"
    cells = [
        (cell["cell_type"], cell["source"]) for cell in json.loads(notebook.as_ipynb(page))["cells"]
    ]
    assert cells == [("markdown", "# Title"), ("code", "x = 1"), ("markdown", "More.")]
