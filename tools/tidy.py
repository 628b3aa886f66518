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
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import tidy_cpp
import tidy_docs

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 70
MAX_COLUMNS = 100

# The table of docs/how/architecture.md: which rooms a room may know. Everybody may know base.
ROOMS: dict[str, set[str]] = {
    "base": set(),
    "codec": {"base"},
    "filter": {"base", "codec"},
    "block": {"base", "codec", "filter"},
    "plan": {"base"},
    "predict": {"base", "codec"},
    "store": {"base"},
    "run": {"base", "codec", "block", "plan"},
    "device": {"base", "codec"},
    "checkpoint": {"base", "plan", "device"},
    "spill": {"base", "codec", "filter", "store", "device", "checkpoint"},
    "writer": {"base", "codec", "block", "plan", "predict", "store", "run", "device"},
    "vol": {"base", "store", "writer", "filter"},
    "transit": {"base", "writer", "device"},
    "capi": {"base", "writer", "run", "plan", "device", "checkpoint", "spill"},
    "pmpi": set(),
}
# What is in lab/ may know the insides of these, and nobody knows what is in lab/.
LAB = {"base", "codec", "plan", "predict", "device", "checkpoint"}
# Public headers that are not named after their room.
PUBLIC_ROOM = {
    "caesura.h": "capi",
    "mpi.h": "capi",
    "wait.hpp": "capi",
    "cuda.hpp": "capi",
    "mpi.hpp": "base",
    "host.hpp": "base",
    "times.hpp": "predict",
    "together.hpp": "plan",
    "horizon.hpp": "plan",
    "checkpointer.hpp": "checkpoint",
    "checkpointer.h": "capi",
    "checkpoint_store.hpp": "checkpoint",
    "checkpoint_file.hpp": "spill",
    "who.hpp": "plan",
    "cuda_device.hpp": "device",
    "device_calibration.hpp": "checkpoint",
}
# Tests that hold private parts of two rooms, of writer
# and store, against each other in the place of the VOL connector.
TWINS = {
    "tests/application_file.hpp",
    "tests/open_writer_test.cpp",
    "tests/open_writer_errors_test.cpp",
}
OUTSIDE = ("python", "miniapps", "bench", "tests", "tools")
# Whose Python may import caesura_lab.
LAB_USERS = ("lab/", "bench/", "tests/")

# In block only the adaptor of HDF5 filter plugins and what loads them for it.
HDF5_PLACES = (
    "src/store/",
    "src/filter/",
    "src/vol/",
    "src/block/hdf5_",
    "src/block/plugin_loader",
    "miniapps/",
    "bench/",
    "tests/",
)
MPI_PLACES = ("include/caesura/mpi.h", "src/vol/", "src/pmpi/", "miniapps/", "bench/", "tests/")

CPP = (".cpp", ".hpp", ".c", ".h", ".cu", ".cuh")
PYTHON = (".py",)
TEXT = (
    *CPP,
    *PYTHON,
    ".md",
    ".txt",
    ".cmake",
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


@dataclass(frozen=True, order=True)
class Violation:
    """One broken rule."""

    path: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


class File:
    """One source file, read once."""

    def __init__(self, root: Path, path: str) -> None:
        self.root = root
        self.path = path
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
        parts = self.path.split("/")
        if parts[0] == "src" and len(parts) > 2:
            return parts[1]
        if self.path.startswith("include/caesura/"):
            return public_room(parts[-1])
        return None

    def violation(self, line: int, rule: str, message: str) -> Violation:
        """A violation in this file."""
        return Violation(self.path, line, rule, message)


def public_room(header: str) -> str:
    """Whose public header include/caesura/<header> is."""
    return PUBLIC_ROOM.get(header, Path(header).stem)


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
            if file.path.startswith(HDF5_PLACES) or file.is_test:
                continue
            yield file.violation(
                include.line, "include", f"{name}: only {', '.join(HDF5_PLACES)} see HDF5"
            )
        elif name in ("mpi.h", "caesura/mpi.hpp"):
            if not file.path.startswith(MPI_PLACES):
                yield file.violation(
                    include.line, "include", f"{name}: only {', '.join(MPI_PLACES)} see MPI"
                )
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
    first = name.split("/")[0]
    if (file.root / "lab" / name).exists():
        return None if file.is_lab else f'"{name}": nobody outside lab/ knows the lab'
    if first == "caesura":
        header = name.split("/", 1)[1]
        if not (file.root / "include" / name).exists():
            return f'"{name}": there is no such public header'
        target = public_room(header)
        if file.room is None:
            return None
    elif (file.root / "src" / name).exists() and first in ROOMS:
        target = first
        if file.is_lab:
            allowed = ", ".join(sorted(LAB))
            return None if target in LAB else f'"{name}": lab may know {allowed}, not {target}'
        if file.room is None:
            if file.path.startswith("tests/") and (target == "base" or file.path in TWINS):
                return None
            return f'"{name}": outside src/ only public headers'
        if file.path.startswith("include/"):
            return f'"{name}": a public header cannot include a private one'
    elif file.room is not None:
        return f'"{name}": write it as "room/file.hpp" or "caesura/file.hpp"'
    elif file.path.split("/")[0] in OUTSIDE or (file.is_lab and "/" not in name):
        return None
    else:
        return f'"{name}": no such file'
    if file.room not in ROOMS:
        return f"{file.room}: this room is not in the table of tools/tidy.py"
    if target != file.room and target not in ROOMS[file.room]:
        allowed = ", ".join(sorted(ROOMS[file.room])) or "nobody"
        return f'"{name}": {file.room} may know {allowed}, not {target}'
    return None


def check_room_deps(file: File) -> Iterator[Violation]:
    """DEPS of caesura_room() and lab_room() keep to the same tables."""
    if not re.fullmatch(r"(src|lab)/\w+/CMakeLists\.txt", file.path):
        return
    code = re.sub(r"#[^\n]*", "", file.text)
    for call in re.finditer(r"\b(?:caesura|lab)_room\(\s*(\w+)(.*?)\)", code, re.DOTALL):
        room = call.group(1)
        line = file.text.count("\n", 0, file.text.find(call.group().split("\n")[0])) + 1
        if room not in ROOMS and not file.is_lab:
            yield file.violation(line, "include", f"{room}: not in the table of tools/tidy.py")
            continue
        allowed = LAB if file.is_lab else ROOMS[room]
        deps = re.search(r"\bDEPS\s+([\w\s]+?)(?=\s+(?:LIBS|SOURCES|HDF5)\b|\s*$)", call.group(2))
        for dep in deps.group(1).split() if deps else []:
            if dep not in allowed and not (file.is_lab and dep.startswith("lab_")):
                yield file.violation(line, "include", f"{room} may not depend on {dep}")


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
    check_room_deps,
    check_lab_imports,
    check_size,
    check_words,
    check_printing,
    check_opening,
)


def check(root: Path) -> list[Violation]:
    """Every violation in the tree, sorted."""
    files = [File(root, path) for path in list_files(root)]
    found = [violation for file in files for rule in FILE_RULES for violation in rule(file)]
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
