#!/usr/bin/env python3
"""The house rules that a program can check. `make lint` runs it; tidy_test.py tests it.

Prints one line per violation, `path:line: rule: message`, and exits 1 if there is any.
Standard library only.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import tidy_cpp
import tidy_docs
import tidy_rooms
from tidy_rooms import Graph, Violation

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 70
MAX_COLUMNS = 100

ROOMS_FILE = "src/rooms.ini"
ARCHITECTURE = "docs/how/architecture.md"
# What is in lab/ may know the insides of these, and nobody knows what is in lab/.
LAB = {"base", "codec", "plan", "predict", "device", "checkpoint"}
# What is built on the insides of rooms with them: these may include their headers. An application,
# such as those of miniapps/, has include/caesura alone.
INSIDERS = ("bench/", "programs/", "python/bindings/", "tests/")
OUTSIDE = ("fortran", "python", "miniapps", "bench", "programs", "tests", "tools")
# Whose Python may import caesura_lab.
LAB_USERS = ("lab/", "bench/", "tests/")

# Beside the rooms that src/rooms.ini lets see them.
HDF5_PLACES = ("miniapps/", "bench/", "tests/")
MPI_PLACES = ("include/caesura/mpi.h", "examples/", "miniapps/", "bench/", "tests/")

CPP = (".cpp", ".hpp", ".c", ".h", ".cu", ".cuh")
PYTHON = (".py",)
TEXT = (
    *CPP,
    *PYTHON,
    ".md",
    ".txt",
    ".cmake",
    ".ini",
    ".toml",
    ".yml",
    ".yaml",
    ".json",
    ".sh",
    ".csv",
    "Makefile",
    "run",
)

PAPERS = tidy_docs.PAPERS  # the map from the papers to functions and tests

# Written in pieces so that this file passes its own rules.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b|simplified" r" for now", re.IGNORECASE)
MACHINE = re.compile(
    r"(?<![\w.])/(?:ho"
    r"me|wo"
    r"rk|ro"
    r"ot|Us"
    r"ers)/"
    r"|py"
    r"pi\.org|python"
    r"hosted\.org|deb\.deb"
    r"ian\.org|docker\.i"
    r"o|ghcr\.i"
    r"o"
)
PRINTING = re.compile(
    r"\b(?:printf|fprintf|vfprintf|puts|fputs|putchar|perror|abort|exit|_exit|quick_exit)\s*\("
    r"|std::(?:cout|cerr|clog)\b|fmt::print(?:ln)?\s*\(|std::print(?:ln)?\s*\("
)
SOURCE = re.compile(r"Source:(.*)")
SOURCE_KEY = re.compile(r"\bS[0124](?:-\w+|\s*§\s*[\d.]*\d)?")


class File:
    """One source file, read once."""

    def __init__(self, root: Path, path: str, graph: Graph) -> None:
        self.root = root
        self.path = path
        self.graph = graph
        self.text = (root / path).read_text(encoding="utf-8", errors="replace")

    @cached_property
    def lines(self) -> list[str]:
        """Without line ends."""
        return self.text.splitlines()

    @cached_property
    def code(self) -> str:
        """C++ without comments and literals."""
        return tidy_cpp.without_comments(self.text)

    @property
    def is_cpp(self) -> bool:
        """C, C++ or CUDA."""
        return self.path.endswith(CPP)

    @property
    def is_python(self) -> bool:
        """A Python module or script."""
        return self.path.endswith(PYTHON)

    @property
    def is_lab(self) -> bool:
        """Research kept beside the product."""
        return self.path.startswith("lab/")

    @property
    def is_test(self) -> bool:
        """A test or benchmark beside its source."""
        return bool(re.search(r"_(test|bench)\.\w+$", self.path))

    @property
    def room(self) -> str | None:
        """The room of a file in src/ or of a public header."""
        return self.graph.room_of(self.path)

    def violation(self, line: int, rule: str, message: str) -> Violation:
        """A violation in this file."""
        return Violation(self.path, line, rule, message)


def list_files(root: Path) -> list[str]:
    """Our files: what git knows or would add; everything where there is no git."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, text=True
    )
    inside = subprocess.run(
        ["git", "rev-parse", "--show-toplevel"], cwd=root, capture_output=True, text=True
    )
    if inside.returncode == 0 and Path(inside.stdout.strip()) == root.resolve():
        names = set(listed.stdout.splitlines())
    else:
        names = {
            str(p.relative_to(root))
            for p in root.rglob("*")
            if not re.match(r"(build|out|\.venv|\.git)", str(p.relative_to(root)))
        }
    return sorted(n for n in names if n.endswith(TEXT) and (root / n).is_file())


# ------------------------------------------------------------------------------------------ rules


def check_includes(file: File) -> Iterator[Violation]:
    """Rooms know only the rooms they may know; HDF5 and MPI headers stay where they belong."""
    if not file.is_cpp:
        return
    for include in tidy_cpp.includes(file.text):
        name = include.name
        if re.match(r"(hdf5(_hl)?|H5\w*)\.h$", name):
            # A test may be the stock reader that checks what its room wrote.
            places = (*file.graph.places_that_see("HDF5"), *HDF5_PLACES)
            if not file.path.startswith(places) and not file.is_test:
                message = f"{name}: only {', '.join(places)} see HDF5"
                yield file.violation(include.line, "include", message)
        elif name in ("mpi.h", "caesura/mpi.hpp"):
            places = (*file.graph.places_that_see("MPI"), *MPI_PLACES)
            if not file.path.startswith(places):
                message = f"{name}: only {', '.join(places)} see MPI"
                yield file.violation(include.line, "include", message)
        elif include.quoted or name.startswith("caesura/"):
            message = _wrong_include(file, name)
            if message:
                yield file.violation(include.line, "include", message)
        elif file.path.startswith("include/") and "/" in name and not name.startswith("sys/"):
            yield file.violation(
                include.line,
                "include",
                f"<{name}>: public headers need nothing but the standard library",
            )


def _wrong_include(file: File, name: str) -> str | None:
    """Why this file may not include our header `name`, or None."""
    if (file.root / "lab" / name).exists():
        return None if file.is_lab else f'"{name}": nobody outside lab/ knows the lab'
    target = file.graph.room_of_include(name)
    if name.startswith("caesura/"):
        if not (file.root / "include" / name).exists():
            return f'"{name}": there is no such public header'
        if target is None:
            return f'"{name}": {ROOMS_FILE} does not say whose header this is'
        if file.room is None:
            return None
    elif target is not None and (file.root / "src" / name).exists():
        if file.is_lab:
            allowed = ", ".join(sorted(LAB))
            return None if target in LAB else f'"{name}": lab may know {allowed}, not {target}'
        if file.room is None:
            if file.path.startswith(INSIDERS):
                return None
            return f'"{name}": outside src/ only public headers'
        if file.path.startswith("include/"):
            return f'"{name}": a public header cannot include a private one'
    elif file.room is not None:
        return f'"{name}": write it as "room/file.hpp" or "caesura/file.hpp"'
    elif file.path.split("/")[0] in OUTSIDE or (file.is_lab and "/" not in name):
        return None
    elif file.is_lab and (file.root / "bench" / name).exists():
        return None  # what a bench of the lab shares with one of the product
    else:
        return f'"{name}": no such file'
    return file.graph.wrong_edge(file.room, target, name)


def check_lab_imports(file: File) -> Iterator[Violation]:
    """The product works where the lab is not installed; its command line alone asks for it."""
    if not file.is_python or file.path.startswith(LAB_USERS):
        return
    for number, line in enumerate(file.lines, 1):
        if re.match(r"\s*(?:from|import)\s+caesura_lab\b", line):
            yield file.violation(
                number, "lab", f"only {', '.join(LAB_USERS)} import caesura_lab; see cli/lab.py"
            )


def check_size(file: File) -> Iterator[Violation]:
    """Files, functions and lines that fit."""
    if not (file.is_cpp or file.is_python):
        return
    if len(file.lines) > MAX_FILE_LINES:
        yield file.violation(1, "file-length", f"{len(file.lines)} lines, at most {MAX_FILE_LINES}")
    for number, line in enumerate(file.lines, 1):
        if len(line) > MAX_COLUMNS:
            yield file.violation(
                number, "line-length", f"{len(line)} columns, at most {MAX_COLUMNS}"
            )
    for name, line, n_lines in _functions(file):
        if n_lines > MAX_FUNCTION_LINES:
            yield file.violation(
                line, "function-length", f"{name}: {n_lines} lines, at most {MAX_FUNCTION_LINES}"
            )


def _functions(file: File) -> Iterator[tuple[str, int, int]]:
    if file.is_cpp:
        for function in tidy_cpp.functions(file.text):
            yield function.name, function.line, function.n_lines
        return
    try:
        tree = ast.parse(file.text)
    except SyntaxError:
        return  # ruff says so, with the place
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1


def check_words(file: File) -> Iterator[Violation]:
    """Nothing unfinished, and no path or host of one particular machine."""
    for number, line in enumerate(file.lines, 1):
        if found := UNFINISHED.search(line):
            yield file.violation(number, "unfinished", f"'{found.group()}'")
        if found := MACHINE.search(line):
            yield file.violation(
                number, "machine", f"'{found.group()}' is a place of one machine or network"
            )


def check_printing(file: File) -> Iterator[Violation]:
    """A library returns what it has to say; it does not print, exit or abort."""
    if not (file.path.startswith(("src/", "include/", "lab/")) and file.is_cpp) or file.is_test:
        return
    for number, line in enumerate(file.code.splitlines(), 1):
        if found := PRINTING.search(line):
            yield file.violation(
                number, "printing", f"'{found.group().rstrip('( ')}' in a library: return a Status"
            )


def check_opening(file: File) -> Iterator[Violation]:
    """A file opens by saying what it is; a .cpp may leave that to the first header it includes."""
    if file.is_python:
        body = [line for line in file.lines if not line.startswith("#!")]
        if not body or not re.match(r'(#|r?"""|r?\'\'\')', body[0]):
            yield file.violation(1, "opening", "begin with a docstring that says what this is")
    elif file.is_cpp and not _opens_with_comment(file.text):
        own = next((i.name for i in tidy_cpp.includes(file.text) if i.quoted), None)
        if own and file.path.endswith((".cpp", ".c", ".cu")):
            places = [file.root / place / own for place in ("include", "src", "lab")]
            places.append((file.root / file.path).parent / own)
            if any(p.is_file() and _opens_with_comment(p.read_text()) for p in places):
                return
        yield file.violation(1, "opening", "begin with a comment that says what this file is")


def _opens_with_comment(text: str) -> bool:
    return text.lstrip().startswith(("//", "/*"))


def check_graph(graph: Graph, files: list[File]) -> Iterator[Violation]:
    """src/rooms.ini says what is there and no more; the architecture page says the same."""
    includes = {
        file.path: [include.name for include in tidy_cpp.includes(file.text)]
        for file in files
        if file.is_cpp and file.room
    }
    page = next((file.lines for file in files if file.path == ARCHITECTURE), [])
    yield from graph.unused(includes)
    yield from graph.differences(ARCHITECTURE, page)


def check_papers(root: Path, files: list[File]) -> Iterator[Violation]:
    """docs/evidence/papers.md and the code name each other: functions, tests, sources."""
    by_path = {file.path: file for file in files}
    mentions = [(file, number, key) for file in files for number, key in _source_keys(file)]
    papers = by_path.get(PAPERS)
    if papers is None:
        if mentions:
            yield Violation(
                PAPERS,
                1,
                "papers",
                f"missing; {len(mentions)} 'Source:' lines of the code need it",
            )
        return
    text = re.sub(r"\s+", "", papers.text)
    for file, number, key in mentions:
        if not re.search(re.escape(re.sub(r"\s+", "", key)) + r"(?!\w)", text):
            yield file.violation(number, "papers", f"{key} is not in {PAPERS}")
    for number, line in enumerate(papers.lines, 1):
        for word in re.findall(r"`([^`\s]+)`", line):
            if message := _dead_reference(root, by_path, word):
                yield papers.violation(number, "papers", message)


def _source_keys(file: File) -> Iterator[tuple[int, str]]:
    """The papers' parts that a file's `Source:` lines name: (line, "S0 §3.4" or "S1-Eq1")."""
    if not (file.is_cpp or file.is_python) or file.path.startswith("tools/tidy"):
        return
    for number, line in enumerate(file.lines, 1):
        for mention in SOURCE.findall(line):
            for key in SOURCE_KEY.findall(mention):
                yield number, key


def _dead_reference(root: Path, by_path: dict[str, File], word: str) -> str | None:
    """Why `path:function`, `Suite.name` or `test_file.test_name` leads nowhere, or None."""
    place = re.fullmatch(r"([\w./-]+\.(?:cpp|hpp|h|c|cu|py)):([\w:~]+)", word)
    if place:
        path, function = place.groups()
        if path not in by_path:
            return f"{path} does not exist"
        short = re.escape(function.split("::")[-1])
        if not re.search(rf"\b{short}\b", by_path[path].text):
            return f"{path} has no {function}"
    elif test := re.fullmatch(r"(test_\w+)\.(test_\w+)", word):
        if not any(
            path.endswith(f"/{test.group(1)}.py") and f"def {test.group(2)}(" in file.text
            for path, file in by_path.items()
        ):
            return f"no {test.group(1)}.py has {test.group(2)}"
    elif test := re.fullmatch(r"([A-Z]\w+)\.(\w+)", word):
        suite, name = test.groups()
        if (root / word).exists() or suite.isupper():
            return None
        pattern = re.compile(rf"\bTEST(?:_F|_P)?\(\s*{suite}\s*,\s*{name}\s*\)")
        if not any(
            path.endswith("_test.cpp") and pattern.search(file.text)
            for path, file in by_path.items()
        ):
            return f"no *_test.cpp has TEST({suite}, {name})"
    return None


def check_documents(root: Path, files: list[File]) -> Iterator[Violation]:
    """Links, pages and decisions that are named, the README's length: see tidy_docs.py."""
    decisions = tidy_docs.decisions_of(root)
    for file in files:
        for line, rule, message in tidy_docs.check(root, file.path, file.text, decisions):
            yield file.violation(line, rule, message)


def check_changelog(root: Path) -> Iterator[Violation]:
    """The next release has a place to be described in."""
    path = root / "CHANGELOG.md"
    if not path.exists() or not re.search(r"^## \[?Unreleased", path.read_text(), re.MULTILINE):
        yield Violation("CHANGELOG.md", 1, "changelog", "needs a section '## Unreleased'")


FILE_RULES = (
    check_includes,
    check_lab_imports,
    check_size,
    check_words,
    check_printing,
    check_opening,
)


def check(root: Path) -> list[Violation]:
    """Every violation in the tree, sorted."""
    graph = tidy_rooms.read(root / ROOMS_FILE)
    files = [File(root, path, graph) for path in list_files(root)]
    found = [violation for file in files for rule in FILE_RULES for violation in rule(file)]
    found += check_graph(graph, files)
    found += check_papers(root, files)
    found += check_documents(root, files)
    found += check_changelog(root)
    return sorted(set(found))


def main() -> int:
    """Check the tree this file stands in."""
    violations = check(Path(__file__).resolve().parent.parent)
    for violation in violations:
        print(violation)
    if violations:
        print(f"tidy: {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
