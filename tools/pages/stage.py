"""What the site is built from: a folder with the repository's pages, and those that are generated.

Pages keep the places that they have in the repository, so that a link that holds on a forge holds
on the site. Links to sources lead to pages that show them. Files are written only when they change:
the next build then does little.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path, PurePosixPath

import header_pages
import headers
import notebook
import python_api

GENERATED = "docs/site/api"
NOTEBOOKS = "examples/notebooks/"
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(?=(?:#[^)\s]*)?\))")
PICTURES = (".svg", ".png")
LANGUAGES = {
    ".c": "c",
    ".cpp": "cpp",
    ".cu": "cuda",
    ".f90": "fortran",
    ".h": "c",
    ".hpp": "cpp",
    ".json": "json",
    ".py": "python",
    ".service": "ini",
    ".sh": "bash",
    ".toml": "toml",
}


class Stage:
    """The folder; what was not written in this run is removed at the end."""

    def __init__(self, root: Path, where: Path) -> None:
        self.root, self.where = root, where
        self.kept: set[Path] = set()

    def write(self, name: str, text: str) -> None:
        """A file of this text; an equal one stays untouched."""
        path = self.where / name
        self.kept.add(path)
        if path.exists() and path.read_text(encoding="utf-8") == text:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def copy(self, name: str) -> None:
        """A picture."""
        path = self.where / name
        self.kept.add(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != (self.root / name).read_bytes():
            shutil.copyfile(self.root / name, path)

    def drop_the_rest(self) -> None:
        """Remove files of earlier runs."""
        for path in self.where.rglob("*"):
            if path.is_file() and path not in self.kept:
                path.unlink()


def source_page(name: str, text: str) -> str:
    """A page that shows a source."""
    language = LANGUAGES.get(PurePosixPath(name).suffix, "text")
    fence = "`" * 4
    return f"---\norphan: true\n---\n\n# {name}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"


def place_of(page: str, link: str) -> str:
    """Where in the repository a page's link leads."""
    return os.path.normpath((PurePosixPath(page).parent / link).as_posix())


def links_of(text: str) -> list[str]:
    """The files that a page links to, outside of code."""
    prose = re.sub(r"^( *)```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    return LINK.findall(prose)


def stage_page(stage: Stage, page: str, text: str) -> None:
    """A page, the pictures it shows and the sources it links to."""
    for link in sorted(set(links_of(text))):
        place = place_of(page, link)
        if place.endswith(PICTURES):
            stage.copy(place)
        elif not place.endswith(".md") and (stage.root / place).is_file():
            source = (stage.root / place).read_text(encoding="utf-8")
            stage.write(f"{place}.md", source_page(place, source))
            text = re.sub(rf"(?<=\]\(){re.escape(link)}(?=[)#])", f"{link}.md", text)
    stage.write(page, text)


def fill(root: Path, where: Path, xml: Path, pages: list[str]) -> None:
    """All pages: `pages` are the repository's Markdown files, `xml` is what doxygen has made."""
    stage = Stage(root, where)
    for page in pages:
        text = (root / page).read_text(encoding="utf-8")
        if page.startswith(NOTEBOOKS):
            stage.write(str(PurePosixPath(page).with_suffix(".ipynb")), notebook.as_ipynb(text))
            outputs = notebook.kept(PurePosixPath(page).stem, root / notebook.OUTPUTS)
            text = notebook.site_page(page, text, outputs)
        stage_page(stage, page, text)
    found = header_pages.declarations(xml)
    stage.write(f"{GENERATED}/cpp.md", header_pages.page("C++", ".hpp", found))
    stage.write(f"{GENERATED}/c.md", header_pages.page("C", ".h", found))
    stage.write(f"{GENERATED}/python.md", python_api.page(root / "python" / "caesura"))
    stage.drop_the_rest()


def build(root: Path, made: Path, pages: list[str]) -> None:
    """Pages in made/pages, doxygen's XML in made/doxygen."""
    headers.run_doxygen(root / "include", made / "doxygen")
    fill(root, made / "pages", made / "doxygen" / "xml", pages)
