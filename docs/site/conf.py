"""The documentation site's settings for Sphinx, which tools/pages/build.py calls.

The pages are those of the repository, in the places that they have there. What is added is a front
page (index.md), their order, a search, and a reference made from headers (doxygen, breathe) and
docstrings (tools/pages). Nothing is loaded from elsewhere when a page is read.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
MADE = Path(os.environ["CAESURA_SITE_MADE"])
PACKAGE = HERE.parents[1] / "python" / "caesura" / "__init__.py"

project = "Caesura"
author = "the authors of Caesura"
project_copyright = "the authors of Caesura, BSD-3-Clause"
version = release = re.findall(r'__version__ = "(.*)"', PACKAGE.read_text(encoding="utf-8"))[0]
root_doc = "docs/site/index"
extensions = ["myst_parser", "breathe"]
myst_heading_anchors = 5
myst_enable_extensions = ["colon_fence", "fieldlist"]
highlight_language = "none"

html_theme = "furo"
html_title = f"Caesura {release}"
html_static_path = ["caesura.css"]
html_css_files = ["caesura.css"]
html_search_scorer = str(HERE / "scorer.js")
html_extra_path = ["front"]  # leads from / to the front page
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False

breathe_projects = {"caesura": str(MADE / "doxygen" / "xml")}
breathe_default_project = "caesura"
breathe_default_members = ("members", "undoc-members")
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}
add_module_names = False
maximum_signature_line_length = 90
# With every call in it the navigation, which each page has, takes most of the time of a build.
toc_object_entries = False
