"""The notebook runs in Jupyter from top to bottom, and the site shows what it prints and draws.

It runs in the environment of foreign readers, which has xarray, dask and yt; ours lies beside.
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
# Mean distance of two pictures, black and white being 1 apart, seen from far away: single errors
# within the bound may differ from run to run.
FARTHEST = """
import sys
import numpy as np
from matplotlib.image import imread
one, other = (imread(path)[..., :3] for path in sys.argv[1:])
if one.shape != other.shape:
    sys.exit(f"{one.shape} and {other.shape}")
rows, columns = (20 * (n // 20) for n in one.shape[:2])
off = (one - other)[:rows, :columns].reshape(rows // 20, 20, columns // 20, 20, 3)
print(np.abs(off.mean(axis=(1, 3))).mean())
"""


def elsewhere(*command: object) -> subprocess.CompletedProcess:
    environment = {key: value for key, value in os.environ.items() if key != "HDF5_PLUGIN_PATH"}
    environment["PYTHONPATH"] = str(PACKAGE)
    return subprocess.run(
        [str(READERS_PYTHON), *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
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
    done = elsewhere(TOOL, PAGE, tmp_path)
    assert done.returncode == 0, done.stderr
    made, shown = (notebook.kept(PAGE.stem, at) for at in (tmp_path, ROOT / notebook.OUTPUTS))
    assert made == shown, f"run tools/pages/notebook.py {PAGE.relative_to(ROOT)} docs/pictures"
    pictures = [picture for out in made for picture in out.pictures]
    assert len(pictures) == 3
    for picture in pictures:
        far = elsewhere("-c", FARTHEST, tmp_path / picture, ROOT / notebook.OUTPUTS / picture)
        assert far.returncode == 0, f"{picture}: {far.stderr}"
        assert float(far.stdout) < 0.02, f"{picture} is off by {far.stdout}"


def test_values_that_break_their_bound_stop_it(tmp_path):
    text = PAGE.read_text(encoding="utf-8")
    broken = text.replace("absolute=BOUND", "absolute=2 * BOUND")
    assert broken != text
    (tmp_path / "broken.md").write_text(broken, encoding="utf-8")
    done = elsewhere(TOOL, tmp_path / "broken.md", tmp_path)
    assert done.returncode != 0
    assert "exact_mean" in done.stderr and "AssertionError" in done.stderr
    assert not (tmp_path / "broken.json").exists()


def test_what_jupyter_opens_holds_the_pages_cells_in_their_order():
    page = "---\na: b\n---\n\n# Title\n\n```{code-cell} python\nx = 1\n```\n\nMore.\n"
    cells = [
        (cell["cell_type"], cell["source"]) for cell in json.loads(notebook.as_ipynb(page))["cells"]
    ]
    assert cells == [("markdown", "# Title"), ("code", "x = 1"), ("markdown", "More.")]
