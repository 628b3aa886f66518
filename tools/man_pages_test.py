"""The man pages say what the commands' help says, and are pages that man can show."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import man_pages

ROOT = Path(__file__).resolve().parent.parent
REQUESTS = {"TH", "SH", "TP", "PP", "B", "nf", "fi"}


def test_pages_are_as_the_help_says():
    said = man_pages.differences(ROOT)
    assert not said, "\n".join([*said, man_pages.WHY])


def test_a_changed_a_missing_and_a_foreign_page_are_noticed(tmp_path):
    man_pages.write_pages(tmp_path)
    assert man_pages.differences(tmp_path) == []
    folder = tmp_path / man_pages.FOLDER
    (folder / "caesura-info.1").write_text("another")
    (folder / "caesura-tune.1").unlink()
    (folder / "caesura-sing.1").write_text("a command that is not there")
    assert man_pages.differences(tmp_path) == [
        "docs/man/caesura-tune.1 is missing",
        "docs/man/caesura-sing.1 has no command",
        "docs/man/caesura-info.1 is outdated",
    ]


def test_every_page_has_its_sections_and_no_unknown_request():
    pages = man_pages.pages()
    assert {"caesura.1", "caesura-info.1", "caesura-recover.1", "caesura-serve.1"} <= pages.keys()
    for name, text in pages.items():
        assert text.startswith(".TH ") and "\n.SH NAME\n" in text, name
        assert set(re.findall(r"^[.'](\w*)", text, re.MULTILINE)) <= REQUESTS, name
        assert not re.search(r"^\s*$", text.replace(".nf", "").replace(".fi", "")), name


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff here")
def test_groff_has_nothing_to_warn_about():
    for name, text in man_pages.pages().items():
        shown = subprocess.run(
            ["groff", "-man", "-ww", "-z"], input=text, text=True, capture_output=True
        )
        assert (shown.returncode, shown.stderr) == (0, ""), name
