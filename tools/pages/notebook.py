"""Notebooks that are kept as text: run them, and show them on the site with what they printed.

notebook.py PAGE OUTPUTS runs the code cells of a page (MyST's notebook format; jupytext opens it)
in a Jupyter kernel of this Python and keeps in the directory OUTPUTS what they printed and drew:
NAME.json, NAME_1.png, ... Those of the repository lie in docs/pictures. Running needs nbclient and
ipykernel, everything else the standard library alone.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

OUTPUTS = "docs/pictures"
FRONT = re.compile(r"\A---\n.*?\n---\n+", re.DOTALL)
CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


@dataclass
class Output:
    """Of a code cell."""

    text: str = ""
    pictures: list[str] = field(default_factory=list)  # PNG in base64, or names of files


def parts(page: str) -> list[tuple[str, str]]:
    """("markdown" or "code", text), in the page's order and without its front matter."""
    found: list[tuple[str, str]] = []
    pieces = CELL.split(FRONT.sub("", page))
    for number, piece in enumerate(pieces):
        if piece.strip():
            found.append(("code" if number % 2 else "markdown", piece.strip("\n")))
    return found


def as_ipynb(page: str) -> str:
    """What Jupyter opens: no outputs, and the same text for the same page."""
    cells: list[dict[str, Any]] = []
    for number, (kind, text) in enumerate(parts(page)):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1) + "\n"


def execute(page: str, folder: Path) -> list[Output]:
    """Run it from top to bottom in a kernel that works in `folder`; what each code cell put out.

    Raises nbclient's CellExecutionError, with the cell and its traceback.
    """
    import nbclient
    import nbformat

    notebook = nbformat.reads(as_ipynb(page), as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
    found = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        out = Output()
        for one in cell.outputs:
            if one.output_type == "stream":
                out.text += one.text if one.name == "stdout" else ""  # stderr: warnings of others
            elif "image/png" in one.data:
                out.pictures.append(one.data["image/png"])
        found.append(out)
    return found


def keep(name: str, found: list[Output], folder: Path) -> None:
    """Write NAME.json and the pictures that it names."""
    drawn = 0
    kept = []
    for out in found:
        names = []
        for picture in out.pictures:
            drawn += 1
            names.append(f"{name}_{drawn}.png")
            (folder / names[-1]).write_bytes(base64.b64decode(picture))
        kept.append({"text": out.text, "pictures": names})
    (folder / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def kept(name: str, folder: Path) -> list[Output]:
    """What `keep` wrote; pictures by their names."""
    return [Output(**one) for one in json.loads((folder / f"{name}.json").read_text("utf-8"))]


def site_page(place: str, page: str, outputs: list[Output]) -> str:
    """A page of the site: below each code cell what it printed and drew, below the title the file.

    place: of the page in the repository.
    """
    up = "../" * (len(PurePosixPath(place).parts) - 1)
    name = PurePosixPath(place).stem
    link = f"\n{{download}}`As a notebook for Jupyter <{name}.ipynb>`\n"
    text, waiting = "", iter(outputs)
    for kind, part in parts(page):
        if kind == "markdown":
            text += part + "\n\n"
            continue
        out = next(waiting)
        text += f"```python\n{part}\n```\n\n"
        if out.text:
            text += f"```text\n{out.text.rstrip()}\n```\n\n"
        for picture in out.pictures:
            text += f"![what the cell above draws]({up}{OUTPUTS}/{picture})\n\n"
    title, rest = text.split("\n", 1)
    return f"{title}\n{link}{rest}"


def main() -> int:
    """Run the page and keep its outputs."""
    page, folder = (Path(given).absolute() for given in sys.argv[1:])
    with tempfile.TemporaryDirectory() as place:
        keep(page.stem, execute(page.read_text(encoding="utf-8"), Path(place)), folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
