"""The documentation site builds without a warning, and needs nothing from elsewhere."""

from __future__ import annotations

import html.parser
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import site_docs  # noqa: E402

pytestmark = pytest.mark.skipif(
    "CAESURA_DOCS_PYTHON" not in os.environ, reason="`make docs` makes the environment"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("site")
    command = site_docs.command(os.environ["CAESURA_DOCS_PYTHON"], place / "html", place / "made")
    environment = {**os.environ, "CAESURA_SITE_MADE": str(place / "made")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "html"


class Loaded(html.parser.HTMLParser):
    """What a browser fetches with a page."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and given.get("rel") not in ("stylesheet", "icon", "preload"):
            return
        if tag in ("script", "img", "link", "iframe"):
            self.places += [place for key in ("src", "href") if (place := given.get(key))]


def test_pages_load_nothing_from_elsewhere_and_all_they_load_is_there(site):
    pages = [*site.glob("*.html"), *(site / "docs").rglob("*.html")]
    assert len(pages) > 80
    for page in pages:
        loaded = Loaded()
        loaded.feed(page.read_text(encoding="utf-8"))
        for place in loaded.places:
            assert "//" not in place, f"{page}: {place}"
            target = page.parent / place.split("?")[0].split("#")[0]
            assert place.startswith("data:") or target.exists(), f"{page}: {place}"


def test_search_finds_names_of_all_faces(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    for word in ("caesura_put", "define_field", "finish_by", "tutorial"):
        assert word in index, word


def test_the_reference_has_what_the_headers_say(site):
    api = site / "docs" / "site" / "api"
    assert "Everything the library has to say to a person" in (api / "cpp_writer.html").read_text()
    assert "caesura_writer_create" in (api / "c.html").read_text()
    assert "define_field" in (api / "python.html").read_text()
