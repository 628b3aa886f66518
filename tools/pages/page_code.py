"""The code of the pages, as the tests run it (tests/test_page_code.py).

A fenced block is run in one of two ways:

- A *frame* is a file of tests/pages that is named after a page (docs/guide/c.md: guide_c.c). Its
  lines `# block python 2`, with the comment sign of its own language, stand for the page's second
  block of Python. What the page takes for granted stands around them. A frame of a shell may take
  blocks of any language into files.
- A page without a frame for Python or shell runs as a reader would type it, from top to bottom in
  an empty folder. A block of Python that begins with `# name.py` becomes that file; the others are
  one program, which runs first.

A block that cannot run says why, in the line before it: `<!-- not run: needs Slurm -->`. One that
another test runs names it: `<!-- run by: tests/install/test_install.py -->`; that test names the
page. `text` is what a program prints, or how a command is called. There are no other blocks.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FRAMES = ROOT / "tests" / "pages"
# What a reader sees. Records show commands of their day; packaging has tests of its own.
PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/guide/*.md", "docs/reference/*.md",
         "docs/contributing/*.md", "docs/how/*.md", "docs/evidence/*.md", "docs/site/*.md",
         "bench/*/README.md", "lab/README.md", "lab/*/README.md", "miniapps/*/README.md",
         "src/vol/README.md")  # fmt: skip
# Languages, the suffix of their frames, and how a comment begins there.
SUFFIXES = {"python": ".py", "sh": ".sh", "cpp": ".cpp", "c": ".c", "fortran": ".f90"}
COMMENTS = {".py": "#", ".sh": "#", ".cpp": "//", ".c": "/*", ".f90": "!"}
# Their blocks are taken into files by a frame of a shell.
CARRIED = ("console", "cmake", "toml", "json", "xml")
SHOWN = ("text", "{toctree}")
EXCUSE = re.compile(r"<!-- (not run|run by): (.+?) -->")
# What Python is given for the command `caesura`; a test may give it another way to the same.
CAESURA = "-m caesura "
COMMAND = re.compile(
    r"(?:\$ |(?:make|mpirun|cmake|ninja|pip|python3?|export|source|ctest|spack|apt-get|git) )"
)


@dataclass(frozen=True)
class Block:
    """A fenced block. `number` counts those of its language on the page, from 1."""

    page: str
    line: int
    language: str
    number: int
    text: str
    excuse: tuple[str, str] | None = None

    def __str__(self) -> str:
        return f"{self.page}:{self.line} ({self.language or 'no language'} {self.number})"


def blocks_of(page: str, text: str) -> list[Block]:
    """All fenced blocks of a page, with what the line before each says about it."""
    found: list[Block] = []
    before, fence, language, begin, lines = "", "", "", 0, []
    for at, line in enumerate(text.splitlines(), 1):
        if fence:
            if line.strip() == fence:
                number = 1 + sum(block.language == language for block in found)
                said = EXCUSE.fullmatch(before)
                excuse = (said.group(1), said.group(2)) if said else None
                body = "".join(one + "\n" for one in lines)
                found.append(Block(page, begin, language, number, body, excuse))
                fence, before = "", ""
            else:
                lines.append(line)
        elif opened := re.match(r"\s*(```+)(\S*)", line):
            fence, language, begin, lines = opened.group(1), opened.group(2), at, []
        elif line.strip():
            before = line.strip()
    if fence:
        raise ValueError(f"{page}:{begin}: this block has no end")
    return found


def pages() -> dict[str, list[Block]]:
    """The blocks of every page that has any."""
    found = {}
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            name = str(path.relative_to(ROOT))
            if blocks := blocks_of(name, path.read_text(encoding="utf-8")):
                found[name] = blocks
    return found


def stem_of(page: str) -> str:
    """How its frames are called."""
    return page.removeprefix("docs/").removesuffix(".md").replace("/", "_")


def frames_of(page: str) -> list[Path]:
    """Its frames, of all languages."""
    return sorted(path for path in FRAMES.glob(f"{stem_of(page)}.*") if path.suffix in COMMENTS)


def marks_in(frame: Path, text: str) -> Iterator[tuple[int, str, str, int]]:
    """The lines of a frame that stand for blocks: line, indentation, language, number."""
    sign = re.escape(COMMENTS[frame.suffix])
    mark = re.compile(rf"( *){sign} block (\w+) (\d+)(?: \*/)?")
    for at, line in enumerate(text.splitlines()):
        if found := mark.fullmatch(line):
            yield at, found.group(1), found.group(2), int(found.group(3))


def typed(block: Block) -> str:
    """What a reader types of it: of a console's block the commands."""
    if block.language != "console":
        return block.text
    return "".join(line[2:] + "\n" for line in block.text.splitlines() if line.startswith("$ "))


def filled(frame: Path, blocks: list[Block]) -> str:
    """The frame's program, with the page's blocks in it."""
    lines = frame.read_text(encoding="utf-8").splitlines()
    known = {(block.language, block.number): block for block in blocks}
    for at, indent, language, number in marks_in(frame, "\n".join(lines)):
        if (language, number) not in known:
            raise ValueError(f"{frame.name}: the page has no block {language} {number}")
        block = known[language, number]
        text = "".join(indent + line if line.strip() else line
                       for line in typed(block).splitlines(keepends=True))  # fmt: skip
        if frame.suffix in (".c", ".cpp"):  # a compiler then names the page's line
            text = f'#line {block.line + 1} "{block.page}"\n{text}#line {at + 2} "{frame.name}"\n'
        lines[at] = text.removesuffix("\n")
    return "\n".join(lines) + "\n"


def framed(page: str) -> set[tuple[str, int]]:
    """Language and number of the blocks that stand in a frame of the page."""
    return {
        (language, number)
        for frame in frames_of(page)
        for _, _, language, number in marks_in(frame, frame.read_text(encoding="utf-8"))
    }


def as_typed(page: str, blocks: list[Block]) -> dict[str, list[Block]]:
    """What runs without a frame: a page's Python and shell, unless a frame has some of it."""
    taken = {language for language, _ in framed(page)}
    return {
        language: rest
        for language in ("python", "sh")
        if language not in taken
        and (rest := [b for b in blocks if b.language == language and not b.excuse])
    }


def complaints(page: str, blocks: list[Block]) -> list[str]:
    """A sentence for each block that is neither run nor excused."""
    said = []
    taken, free = framed(page), as_typed(page, blocks)
    for block in blocks:
        known = (*SUFFIXES, *CARRIED, *SHOWN)
        if block.language not in known:
            said.append(f"{block}: its language is none of {', '.join(known)}")
        elif block.language in SHOWN:
            if block.language == "text" and any(map(COMMAND.match, block.text.splitlines())):
                said.append(f"{block}: a command is there: call the block sh or console")
        elif block.excuse:
            kind, why = block.excuse
            if (block.language, block.number) in taken:
                said.append(f"{block}: it says '{kind}: {why}', and a frame has it")
            elif kind == "run by" and not names(why, page):
                said.append(f"{block}: {why} is no test that names {page}")
        elif (block.language, block.number) not in taken and block.language not in free:
            said.append(
                f"{block}: nothing runs it. Give it a frame in tests/pages, or say in the line "
                "before it why not: <!-- not run: needs Slurm -->"
            )
    return said


def names(test: str, page: str) -> bool:
    """Whether there is such a test, and it speaks of the page."""
    path = ROOT / test
    if not path.is_file():
        return False
    text = path.read_text(encoding="utf-8")
    return page in text or Path(page).name in text


def commands_in(folder: Path) -> str:
    """A PATH with `python` and `caesura` as an activated environment has them."""
    place = folder / ".commands"
    place.mkdir(exist_ok=True)
    for name, words in (("python", ""), ("caesura", CAESURA)):
        command = place / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n', encoding="utf-8")
        command.chmod(0o755)
    return f"{place}:{os.environ['PATH']}"


def execute(command: list[str], folder: Path, **more: str) -> str:
    """What it prints; an error with all of that where it fails."""
    env = {**os.environ, **more, "PATH": commands_in(folder), "COLUMNS": "120"}
    done = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)[:200]}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def run_as_typed(page: str, blocks: list[Block], folder: Path, **more: str) -> str:
    """Do in `folder` what the page says; what its programs and commands printed."""
    free = as_typed(page, blocks)
    program = []
    for block in free.get("python", []):
        named = re.match(r"# (\w+\.py)\n", block.text)
        if named:
            (folder / named.group(1)).write_text(block.text, encoding="utf-8")
        else:
            program.append(block.text)
    said = execute([sys.executable, "-c", "".join(program)], folder, **more) if program else ""
    if "sh" in free:
        commands = "".join(block.text for block in free["sh"])
        said += execute(["bash", "-ec", commands], folder, **more)
    return said
