"""What tidy.py checks of the documents: links and places lead somewhere, the README is short.

Text in, (line, rule, message) out; tidy.py makes violations of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

README_LINES = 120
DECISIONS = "docs/how/decisions.md"
PAPERS = "docs/evidence/papers.md"  # tidy.py checks its places, with tests
RECORDS = "docs/records/"  # of their day: names in them are not kept up

Finding = tuple[int, str, str]

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*?)\s*$")
# `src/room/file.cpp` or `src/room/file.cpp:function`, in a page.
PLACE = re.compile(
    r"`((?:src|include|tests|bench|tools|python|miniapps)/[\w./-]+"
    r"\.(?:cpp|hpp|h|c|cu|py|md|toml|json))(?::(\w+))?`"
)
# A page named in a comment, a docstring or a message.
MENTION = re.compile(r"(?<![\w/.-])docs/[\w./-]+\.(?:md|svg|json)\b")
DECISION = re.compile(r"\bdecision (D\d+)\b", re.IGNORECASE)
OLD_DESIGN = re.compile(r"\bdesign D\d+\b|\bdesign\.md\b")


def anchors(text: str) -> set[str]:
    """The anchors that a page's headings have, as GitHub makes them."""
    found: set[str] = set()
    for line in _outside_code(text):
        if heading := HEADING.match(line):
            name = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).lower()
            name = re.sub(r"[^\w\- ]", "", name).replace(" ", "-")
            while name in found:
                name += "-1"
            found.add(name)
    return found


def _outside_code(text: str) -> list[str]:
    """The lines, blank where they are part of a fenced block."""
    lines, fenced = [], False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        lines.append("" if fenced or fence else line)
        fenced ^= fence
    return lines


def check_links(root: Path, path: str, text: str) -> Iterator[Finding]:
    """Each relative link of a page leads to a file, and its anchor to a heading there."""
    for number, line in enumerate(_outside_code(text), 1):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            there = (root / path).parent / name if name else root / path
            if not there.exists():
                yield number, "link", f"{target}: there is no such file"
            elif anchor and there.suffix == ".md" and anchor not in anchors(there.read_text()):
                yield number, "link", f"{target}: {there.name} has no heading of that name"


def check_mentions(root: Path, text: str, decisions: Collection[str]) -> Iterator[Finding]:
    """Pages and decisions that code and documents name are there."""
    for number, line in enumerate(text.splitlines(), 1):
        for page in MENTION.findall(line):
            if not (root / page).exists():
                yield number, "link", f"{page}: there is no such page"
        for decision in DECISION.findall(line):
            if decision not in decisions:
                yield number, "link", f"decision {decision} is not in {DECISIONS}"
        if found := OLD_DESIGN.search(line):
            yield number, "link", f"'{found.group()}': cite it as 'decision D<n>' of {DECISIONS}"


def check_places(root: Path, path: str, text: str) -> Iterator[Finding]:
    """Files that pages name in backticks are there, and so are functions as `file.cpp:function`."""
    if not path.startswith("docs/") or path.startswith(RECORDS) or path == PAPERS:
        return
    for number, line in enumerate(_outside_code(text), 1):
        for name, function in PLACE.findall(line):
            file = root / name
            if not file.is_file():
                yield number, "place", f"{name}: there is no such file"
            elif function and not re.search(rf"\b{function}\b", file.read_text()):
                yield number, "place", f"{name} has no {function}"


def decisions_of(root: Path) -> set[str]:
    """The ids D1, D2, ... that docs/how/decisions.md gives headings to."""
    page = root / DECISIONS
    text = page.read_text() if page.is_file() else ""
    return set(re.findall(r"^#+ +(D\d+)\b", text, re.MULTILINE))


def check_readme(path: str, text: str) -> Iterator[Finding]:
    """The README fits two screens, and explains itself without the papers' code names."""
    if path != "README.md":
        return
    lines = text.splitlines()
    if len(lines) > README_LINES:
        yield 1, "readme", f"{len(lines)} lines, at most {README_LINES}"
    for number, line in enumerate(lines, 1):
        if name := re.search(r"\bS[0124]\b", line):
            yield number, "readme", f"{name.group()}: say what it means instead of naming a paper"


def check(root: Path, path: str, text: str, decisions: Collection[str]) -> Iterator[Finding]:
    """Everything of one file."""
    if PurePosixPath(path).name.startswith("tidy"):
        return
    if path.endswith(".md"):
        yield from check_links(root, path, text)
        yield from check_places(root, path, text)
    yield from check_mentions(root, text, decisions)
    yield from check_readme(path, text)
