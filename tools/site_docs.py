"""`make docs`: the documentation site, from the repository's own Markdown (docs/site/conf.py)."""

from __future__ import annotations

import argparse
from pathlib import Path

import machine
from stages import OUT, ROOT, run_stage

SITE = OUT / "site"


def command(python: str, site: Path, made: Path) -> list[str]:
    """Sphinx. A warning is an error, and a link that leads nowhere is a warning."""
    return [
        python,
        *("-m", "sphinx", "-q", "-W", "--keep-going"),
        *("-c", str(ROOT / "docs" / "site"), "-d", str(made / "doctrees"), str(ROOT), str(site)),
    ]


def docs(_: argparse.Namespace) -> int:
    """Build out/site."""
    machine.ensure_docs()
    made = OUT / "site-made"
    run_stage("site", command(str(machine.DOCS_PYTHON), SITE, made), log="docs")
    print(f"the front page is {(SITE / 'index.html').relative_to(ROOT)}")
    return 0
