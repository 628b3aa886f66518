"""`make docs`: the documentation site, from the repository's own Markdown."""

from __future__ import annotations

import argparse
from pathlib import Path

import machine
from stages import OUT, ROOT, run_stage

SITE = OUT / "site"


def command(python: str, site: Path, made: Path) -> list[str]:
    """Doxygen and Sphinx. Warnings are errors, and a link that leads nowhere is a warning."""
    return [python, str(ROOT / "tools" / "pages" / "build.py"), str(site), str(made)]


def docs(_: argparse.Namespace) -> int:
    """Build out/site."""
    machine.ensure_docs()
    made = OUT / "site-made"
    run_stage("site", command(str(machine.DOCS_PYTHON), SITE, made), log="docs")
    print(f"the front page is {(SITE / 'index.html').relative_to(ROOT)}: any browser opens it")
    return 0
