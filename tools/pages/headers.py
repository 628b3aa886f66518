"""Headers as doxygen wants them: their comments marked as documentation, the code as it is.

The headers say what they are in plain comments, and C's comments before a declaration or behind a
member are plain too, because people read them there. Doxygen takes none of these. Copies of the
headers in which they are marked go to a folder.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

DOXYFILE = """
PROJECT_NAME = Caesura
INPUT = {headers}
STRIP_FROM_PATH = {headers}
OUTPUT_DIRECTORY = {out}
RECURSIVE = YES
FILE_PATTERNS = *.h *.hpp
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
QUIET = YES
WARNINGS = YES
WARN_IF_UNDOCUMENTED = NO
WARN_IF_INCOMPLETE_DOC = NO
WARN_AS_ERROR = FAIL_ON_WARNINGS
ENABLE_PREPROCESSING = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = "CAESURA_API=" "CAESURA_LAMBDA_EXPORT=" "__attribute__(x)="
EXCLUDE_SYMBOLS = caesura::detail caesura::detail::*
AUTOLINK_SUPPORT = NO
SORT_MEMBER_DOCS = NO
"""


def escaped(text: str) -> str:
    """A comment's text, so that doxygen takes nothing in it for a command of its own or for HTML.

    What stands in backticks and what @param and @return begin is left to it; so is an example,
    which is indented.
    """
    if text.lstrip("*/ ") and re.match(r" ?\*? {5}", text):
        return text
    parts = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r'[<>%#"&]', lambda m: "\\" + m.group(), parts[i])
    return "".join(parts)


def marked_hpp(name: str, lines: list[str]) -> list[str]:
    """C++: the opening comment becomes the file's; `///` is doxygen's already."""
    marked = []
    opening = True
    for number, line in enumerate(lines):
        if opening and line.startswith("//"):
            text = escaped(line[2:])
            marked += ["/// @file " + name, "///"] if number == 0 else []
            marked.append("///" + text)
            continue
        opening = False
        code, mark, text = line.partition("///")
        if mark and text.startswith("<"):
            marked.append(code + "///<" + escaped(text[1:]))
        else:
            marked.append(code + mark + escaped(text))
    return marked


def marked_h(name: str, lines: list[str]) -> list[str]:
    """C: a comment that begins its line is of what follows, one behind code is of that code."""
    marked, inside = [], False
    for number, line in enumerate(lines):
        if inside:
            marked.append(escaped(line))
            inside = "*/" not in line
            continue
        code, mark, text = line.partition("/*")
        if not mark or line.startswith("#"):
            marked.append(line)
            continue
        opening = "/**<" if code.strip() else "/**"
        if number == 0:
            opening = f"/** @file {name}\n *\n *"
        marked.append(code + opening + escaped(text))
        inside = "*/" not in text
    return marked


def untypedefed(text: str) -> str:
    """C's `typedef struct name {...} name;` as one declaration: it is one entry of the page."""
    pattern = r"typedef ((?:struct|enum) (\w+) \{.*?^\}|enum (\w+) \{[^}]*\}) (?:\2|\3);"
    return re.sub(pattern, r"\1;", text, flags=re.MULTILINE | re.DOTALL)


def copy_marked(headers: Path, where: Path) -> None:
    """The public headers with their comments marked."""
    for path in sorted(headers.rglob("*.h*")):
        lines = path.read_text(encoding="utf-8").splitlines()
        name = path.relative_to(headers)
        mark = marked_hpp if path.suffix == ".hpp" else marked_h
        marked = mark(name.as_posix(), lines)
        copy = where / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = "\n".join(marked) + "\n"
        copy.write_text(untypedefed(text) if path.suffix == ".h" else text, encoding="utf-8")


def run_doxygen(headers: Path, out: Path) -> None:
    """The XML of the headers in out/xml; what doxygen warns of is an error."""
    copy_marked(headers, out / "headers")
    settings = out / "Doxyfile"
    settings.write_text(DOXYFILE.format(headers=out / "headers", out=out), encoding="utf-8")
    subprocess.run(["doxygen", str(settings)], check=True)
