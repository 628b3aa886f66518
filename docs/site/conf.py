"""The documentation site: `make docs` runs Sphinx with this file over the Markdown of the repository.

The pages are those that lie in the repository, read where they lie; what is added is a front page
(index.md), their order, a search, and a reference made from headers (doxygen, breathe) and
docstrings (autodoc2, which reads the sources and imports nothing). Nothing is loaded from elsewhere
when a page is read.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MADE = Path(os.environ.get("CAESURA_SITE_MADE", ROOT / "out" / "site-made"))

project = "Caesura"
author = "the authors of Caesura"
version = release = "0.1.0"
root_doc = "docs/site/index"
extensions = ["myst_parser", "breathe", "autodoc2"]
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/**",
    "[a-z]*/README.md",
    "[a-z]*/*/README.md",
]
exclude_patterns = ["build*", "out", ".venv*", "tests"]

html_theme = "furo"
html_extra_path = ["front"]  # leads from / to the front page
html_title = "Caesura"
html_copy_source = False
html_show_sourcelink = False
myst_heading_anchors = 5
myst_enable_extensions = ["colon_fence", "fieldlist"]

# ------------------------------------------------------------------------- headers and docstrings

DOXYGEN = f"""
INPUT = {ROOT / "include" / "caesura"}
OUTPUT_DIRECTORY = {MADE}
GENERATE_XML = YES
GENERATE_HTML = NO
GENERATE_LATEX = NO
EXTRACT_ALL = YES
EXTRACT_STATIC = NO
QUIET = YES
WARNINGS = NO
MACRO_EXPANSION = YES
PREDEFINED = CAESURA_API= __GNUC__=12 __cplusplus=202002L "__attribute__(x)="
AUTOLINK_SUPPORT = NO
MARKDOWN_SUPPORT = YES
"""
breathe_projects = {"caesura": str(MADE / "xml")}
breathe_default_project = "caesura"
breathe_default_members = ("members",)
# breathe writes each namespace down again for each header, and C's names in C++'s table.
suppress_warnings = ["duplicate_declaration.cpp", "duplicate_declaration.c"]

autodoc2_packages = [{"path": "python/caesura", "auto_mode": False}]
autodoc2_hidden_objects = ["private", "inherited"]


def setup(app: object) -> None:
    """Doxygen first: breathe reads what it says."""
    MADE.mkdir(parents=True, exist_ok=True)
    said = subprocess.run(["doxygen", "-"], input=DOXYGEN, text=True, capture_output=True)
    if said.returncode != 0:
        raise RuntimeError(f"doxygen failed:\n{said.stderr}")
