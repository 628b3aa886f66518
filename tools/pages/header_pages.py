"""The pages of the C++ and C headers: which declarations stand on them, in the headers' order.

Doxygen's XML says what each header declares; breathe's directives show it. A page of directives is
written for each language, so that every class has a heading and nothing is declared twice.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HEAD = """# {title}

Generated from the headers in `include/caesura/`.
[What each language has](../../reference/faces.md) compares C++, C, Python and Fortran.
[The Writer's guide](../../guide/writer.md) explains the calls in their order.

"""
DIRECTIVES = {
    "class": "doxygenclass",
    "struct": "doxygenstruct",
    "enum": "doxygenenum",
    "function": "doxygenfunction",
    "typedef": "doxygentypedef",
    "variable": "doxygenvariable",
    "define": "doxygendefine",
}
HEADED = ("class", "struct")
NOT_FOR_USERS = ("_H", "_API", "_EXPORT")  # macros


@dataclass(frozen=True)
class Declaration:
    """One entry of a page."""

    header: str
    line: int
    kind: str
    name: str
    arguments: str  # of a function in C++, which may be overloaded

    def directive(self) -> str:
        """With a heading if it is a class."""
        short = self.name.removeprefix("caesura::")
        members = ":members:\n" if self.kind in HEADED else ""
        head = f"### {short}\n\n" if self.kind in HEADED else ""
        call = f"{DIRECTIVES[self.kind]}}} {self.name}{self.arguments}"
        return f"{head}```{{{call}\n{members}```\n\n"


def _at(node: ElementTree.Element) -> tuple[str, int]:
    location = node.find("location")
    assert location is not None
    return location.get("declfile") or location.get("file", ""), int(location.get("line", "0"))


def _members(compound: ElementTree.Element) -> Iterator[Declaration]:
    """What stands in a namespace or, in C, in a file."""
    space = compound.findtext("compoundname", "") if compound.get("kind") == "namespace" else ""
    for member in compound.iter("memberdef"):
        kind, name = member.get("kind", ""), member.findtext("name", "")
        if kind not in DIRECTIVES or not name or name.endswith(NOT_FOR_USERS):
            continue
        header, line = _at(member)
        arguments = member.findtext("argsstring", "") if kind == "function" and space else ""
        name = f"{space}::{name}" if space else name
        yield Declaration(header, line, kind, name, arguments)


def declarations(xml: Path) -> list[Declaration]:
    """All of all headers, in their order; members of classes are part of these."""
    found = set()
    for path in sorted(xml.glob("*.xml")):
        compound = ElementTree.parse(path).getroot().find("compounddef")
        if compound is None:
            continue
        kind, name = compound.get("kind", ""), compound.findtext("compoundname", "")
        if kind in ("namespace", "file") and not name.startswith("std"):
            found.update(_members(compound))
        elif kind in HEADED and compound.get("prot") == "public" and "<" not in name:
            outer = name.rpartition("::")[0]
            header, line = _at(compound)
            file = outer.replace("::", "_1_1").replace("_", "__").replace("__1__1", "_1_1")
            if not any((xml / f"{outer_kind}{file}.xml").exists() for outer_kind in HEADED):
                found.add(Declaration(header, line, kind, name, ""))
    return sorted(found, key=lambda d: (d.header, d.line, d.name, d.arguments))


def page(title: str, suffix: str, found: list[Declaration]) -> str:
    """All headers with this suffix: what each says of itself, then what it declares."""
    text = HEAD.format(title=title)
    for header in sorted({d.header for d in found if d.header.endswith(suffix)}):
        text += f"## {header}\n\n```{{doxygenfile}} {header.rpartition('/')[2]}\n"
        text += ":sections: briefdescription detaileddescription\n```\n\n"
        text += "".join(d.directive() for d in found if d.header == header)
    return text
