"""The page of the Python module, from its source alone: what `caesura.__all__` names.

Nothing is imported, so that the page needs no build. Docstrings are taken as Markdown.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

HEAD = """# Python

What `import caesura` has, generated from the docstrings.
[What each language has](../../reference/faces.md) says how it compares with C++, C and Fortran.

"""
# Modules of the package that are part of its face without being in caesura.__all__.
COMPILED = "_core"
MORE_MODULES = ("service", "analyses")


@dataclass(frozen=True)
class Home:
    """Where a public name is defined."""

    module: str
    name: str


def _tree(package: Path, module: str) -> ast.Module:
    path = package / (module.replace(".", "/") + ".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def _strings(node: ast.expr) -> list[str]:
    return [item.value for item in getattr(node, "elts", []) if isinstance(item, ast.Constant)]


def all_of(tree: ast.Module) -> list[str]:
    """The names in `__all__`; without it those that begin no underscore and are defined there."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return _strings(node.value)
    defined = (n for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef))
    return [node.name for node in defined if not node.name.startswith("_")]


def homes(tree: ast.Module) -> dict[str, Home]:
    """Where each name comes from that the package imports, those for type checkers included."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("caesura"):
            module = (node.module or "").removeprefix("caesura").lstrip(".")
            for name in node.names:
                found[name.asname or name.name] = Home(module, name.name)
    return found


def text_of(docstring: str | None) -> str:
    """A docstring as Markdown: what stands between angle brackets is no HTML."""
    lines = []
    for line in (docstring or "").splitlines():
        if not line.startswith("    "):
            parts = re.split(r"(`[^`]*`)", line)
            parts[::2] = [re.sub(r"([<*_])", r"\\\1", part) for part in parts[::2]]
            line = "".join(parts)
        elif lines and lines[-1].strip() and not lines[-1].startswith("    "):
            lines.append("")  # an example in a docstring stands right below its sentence
        lines.append(line)
    return "\n".join(lines)


def _signature(node: ast.FunctionDef, *, method: bool) -> str:
    arguments = node.args
    if method and not any(ast.unparse(d) == "staticmethod" for d in node.decorator_list):
        arguments.args = arguments.args[1:]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"({ast.unparse(arguments)}){returns}"


def _directive(kind: str, name: str, body: str, fence: int, *options: str) -> str:
    marks = ":" * fence
    head = "".join(f":{option}\n" for option in options)
    return f"{marks}{{py:{kind}}} {name}\n{head}\n{body}\n{marks}\n\n"


def _member(node: ast.stmt) -> str:
    """A method, a property or a field of a dataclass; nothing of what is private."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        if node.target.id.startswith("_"):
            return ""
        return _directive(
            "attribute", node.target.id, "", 4, f"type: {ast.unparse(node.annotation)}"
        )
    if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
        return ""
    marks = {ast.unparse(decorator) for decorator in node.decorator_list}
    text = text_of(ast.get_docstring(node))
    if marks & {"property", "cached_property", "functools.cached_property"}:
        kind = [f"type: {ast.unparse(node.returns)}"] if node.returns else []
        return _directive("property", node.name, text, 4, *kind)
    options = [mark for mark in ("classmethod:", "staticmethod:") if mark[:-1] in marks]
    return _directive("method", node.name + _signature(node, method=True), text, 4, *options)


def _class(node: ast.ClassDef, name: str) -> str:
    made = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    signature = _signature(made[0], method=True).removesuffix(" -> None") if made else ""
    text = text_of(ast.get_docstring(node))
    if made and (more := ast.get_docstring(made[0])):
        text += "\n\n" + text_of(more)
    members = "".join(_member(member) for member in node.body)
    return _directive("class", name + signature, f"{text}\n\n{members}", 5)


def _assigned(tree: ast.Module, name: str, shown: str) -> str:
    """A class that is made by a call: what is assigned to its __doc__."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == f"{name}.__doc__":
            return _directive("class", shown, text_of(ast.literal_eval(node.value)), 5)
    return ""


def entry(package: Path, home: Home, shown: str) -> str:
    """The directive of one public name; empty if it is not in Python."""
    if home.module == COMPILED:
        return _directive("class", shown, "Of the compiled module: `help()` describes it.", 5)
    tree = _tree(package, home.module)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == home.name:
            return _class(node, shown)
        if isinstance(node, ast.FunctionDef) and node.name == home.name:
            text = text_of(ast.get_docstring(node))
            return _directive("function", shown + _signature(node, method=False), text, 5)
    return _assigned(tree, home.name, shown)


def made_by_others(package: Path, known: dict[str, Home]) -> str:
    """Public classes that nobody imports by name: what the calls of public ones return."""
    text = ""
    for module in sorted({home.module for home in known.values()} - {"", COMPILED}):
        for node in _tree(package, module).body:
            public = isinstance(node, ast.ClassDef) and not node.name.startswith("_")
            if public and Home(module, node.name) not in known.values():
                text += _class(node, f"caesura.{module}.{node.name}")
    return text


def module_section(package: Path, module: str) -> str:
    """A module that is public as a whole."""
    tree = _tree(package, module)
    text = f"## caesura.{module}\n\n{text_of(ast.get_docstring(tree))}\n\n"
    known = homes(tree)
    for name in all_of(tree):
        text += entry(package, known.get(name, Home(module, name)), f"caesura.{module}.{name}")
    return text


def page(package: Path) -> str:
    """All of it, in the order of `__all__`."""
    tree = _tree(package, "__init__")
    known, modules, text = homes(tree), [], HEAD
    for name in all_of(tree):
        if name in known and known[name].module:
            text += entry(package, known[name], f"caesura.{name}")
        else:
            modules.append(name)
    text += "## What these return\n\n" + made_by_others(package, known)
    return text + "".join(module_section(package, name) for name in (*modules, *MORE_MODULES))
