"""Build the site: build.py SITE MADE. Needs doxygen and the environment .venv-docs.

The pages are gathered in MADE, then Sphinx makes SITE of them. A warning of either is an error.
`make docs` calls it, and so does the test of the site.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx_build

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import stage  # noqa: E402 - beside this file, which needs the path
from tree import ROOT, source_files  # noqa: E402


NO_PAGES = ("tests",)  # what their READMEs say is for who changes them


def pages() -> list[str]:
    """The repository's Markdown that people read."""
    found = [path for path in source_files((".md",)) if path.parts[0] not in NO_PAGES]
    return [path.as_posix() for path in found]


def main() -> int:
    """Sphinx's exit status."""
    site, made = (Path(name).absolute() for name in sys.argv[1:])
    stage.build(ROOT, made, pages())
    os.environ["CAESURA_SITE_MADE"] = str(made)
    options = ["-b", "html", "-W", "--keep-going", "-j", "2", "-c", str(ROOT / "docs" / "site")]
    return sphinx_build([*options, "-d", str(made / "doctrees"), str(made / "pages"), str(site)])


if __name__ == "__main__":
    sys.exit(main())
