"""The documentation site builds without a warning, and needs nothing from elsewhere."""

from __future__ import annotations

import ast
import html.parser
import os
import subprocess
import sys
import urllib.parse
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "python" / "tests")]
import browser  # noqa: E402
import site_docs  # noqa: E402

pytestmark = [
    pytest.mark.skipif(
        "CAESURA_DOCS_PYTHON" not in os.environ, reason="`make docs` makes the environment"
    ),
    # More than two minutes. `make lint` looks at the pages' links and names in every run.
    pytest.mark.skipif(
        "CAESURA_NIGHTLY" not in os.environ, reason="CAESURA_NIGHTLY is not set: see .ci/nightly"
    ),
]


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


class Ids(html.parser.HTMLParser):
    """A page's places, and the links from it that stay on the site."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if name := given.get("id"):
            self.ids.add(name)
        link = given.get("href") or ""
        if tag == "a" and link and "://" not in link and not link.startswith("mailto:"):
            self.links.append(urllib.parse.unquote(link))

    @classmethod
    def of(cls, page: Path) -> Ids:
        """Those of a file."""
        found = cls()
        found.feed(page.read_text(encoding="utf-8"))
        return found


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


@pytest.mark.skipif(browser.browser_path() is None, reason="no Chromium")
def test_search_gives_guides_before_calls_and_calls_before_records(site, tmp_path):
    with browser.Browser(tmp_path) as page:
        page.open(site / "search.html")
        found = {
            word: page.evaluate(
                f"Search._performSearch(...Search._parseQuery('{word}')).map(one => one[0])"
            )[::-1]  # the best is last there
            for word in ("bound", "finish_by", "flock")
        }
    assert found["bound"][0] == "docs/guide/bounds"
    assert found["finish_by"][0] == "docs/guide/writer"
    assert "docs/site/api/cpp" in found["finish_by"]
    assert "docs/reference/operations" in found["flock"][:4]


def test_the_reference_has_what_headers_and_docstrings_say(site):
    api = site / "docs" / "site" / "api"
    cpp, c, python = (api / f"{name}.html" for name in ("cpp", "c", "python"))
    assert "Everything the library has to say to a person" in cpp.read_text()
    assert "Finishes, commits, closes and frees the writer" in c.read_text()
    assert "Hand over this rank’s part of" in python.read_text()
    package = ast.parse((ROOT / "python" / "caesura" / "__init__.py").read_text())
    (names,) = (
        ast.literal_eval(node.value)
        for node in package.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    for name in names:
        assert f'id="caesura.{name}"' in python.read_text() or f'id="caesura-{name}"' in (
            python.read_text()
        ), name


def test_links_lead_to_pages_and_places_that_are_there(site):
    places = {page: Ids.of(page) for page in site.rglob("*.html")}
    for page, found in places.items():
        for link in found.links:
            name, _, place = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            assert target.exists(), f"{page}: {link}"
            if place and target in places:
                assert place in places[target].ids, f"{page}: {link}"
