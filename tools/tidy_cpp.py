"""What tidy needs to know about C and C++ text: code without comments, includes, functions.

A scanner, not a parser. It assumes clang-formatted sources; where it cannot tell, it errs towards
saying nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^()\s\\]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)
_DIGIT_SEPARATOR = re.compile(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
_SCOPE = re.compile(r"\b(namespace|class|struct|union|extern)\b")
_CONTROL = re.compile(r"^\s*(if|for|while|switch|catch|else|do|try|return|enum)\b")
_MEMBER_INIT = re.compile(r"\)[^()]*[^:]:(?!:)(?:.*[,:])?\s*[\w:<>]+\s*$", re.DOTALL)


@dataclass(frozen=True)
class Include:
    """One #include."""

    line: int
    name: str
    quoted: bool


@dataclass(frozen=True)
class Function:
    """One function with a body, from the first line of its head to its closing brace."""

    line: int
    name: str
    n_lines: int


def _blank(text: str) -> str:
    """As many lines, and nothing in them."""
    return "\n" * text.count("\n")


def without_comments(text: str) -> str:
    """The code with comments and the insides of literals removed; line numbers stay."""

    def replace(match: re.Match[str]) -> str:
        token = match.group()
        if token.startswith("/"):
            return " " + _blank(token)
        return '""' + _blank(token)

    return _TOKEN.sub(replace, _DIGIT_SEPARATOR.sub("", text))


def includes(text: str) -> list[Include]:
    """Every #include that is not inside a comment."""

    def blank_comment(match: re.Match[str]) -> str:
        return _blank(match.group()) if match.group().startswith("/") else match.group()

    code = _TOKEN.sub(blank_comment, text)
    return [
        Include(code.count("\n", 0, m.start()) + 1, m.group(2), m.group(1) == '"')
        for m in _INCLUDE.finditer(code)
    ]


def _outside_parentheses(head: str) -> str:
    """`f(int a = 1) const` -> `f() const`; template heads go too."""
    out, depth = [], 0
    for char in head:
        depth -= char == ")"
        if depth == 0:
            out.append(char)
        depth += char == "("
    flat = "".join(out)
    while True:
        start = re.search(r"\btemplate\s*<", flat)
        if not start:
            return flat
        depth, at = 1, start.end()
        while at < len(flat) and depth > 0:
            depth += {"<": 1, ">": -1}.get(flat[at], 0)
            at += 1
        flat = flat[: start.start()] + flat[at:]


def _kind(head: str) -> str:
    """What a brace opens at namespace or class level: scope, init, function or other."""
    flat = _outside_parentheses(head)
    if _MEMBER_INIT.search(flat):
        return "init"
    if "(" not in flat:
        return "scope" if _SCOPE.search(flat) else "other"
    plain = re.sub(r"\boperator\s*[^\s\w(]+", "operator", flat)
    plain = re.sub(r"==|<=|>=|!=", "", plain)
    if "=" in plain or _CONTROL.search(plain):
        return "other"
    return "function"


def _name(head: str) -> str:
    """The last identifier before the first parenthesis; for TEST(Suite, name) both."""
    test = re.search(r"\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)", head)
    if test:
        return f"{test.group(1)}.{test.group(2)}"
    found = re.search(r"([\w:~]+|operator\s*\S+)\s*\(", head)
    return found.group(1) if found else "?"


def _ends_access(code: str, at: int) -> bool:
    """Whether the colon of `public:` and the like stands here."""
    return code[at] == ":" and bool(
        re.search(r"\b(public|private|protected)\s*$", code[max(0, at - 20) : at])
    )


def functions(text: str) -> list[Function]:
    """Every function body at namespace or class level; lambdas belong to what holds them."""
    code = _DIRECTIVE.sub(lambda m: _blank(m.group()), without_comments(text))
    found: list[Function] = []
    stack: list[tuple[str, int, str]] = []  # kind, first line of the head, name
    head_begin, depth_parens, line = 0, 0, 1

    def in_scope() -> bool:
        return all(kind == "scope" for kind, _, _ in stack)

    for at, char in enumerate(code):
        line += char == "\n"
        depth_parens += (char == "(") - (char == ")")
        if char == "{":
            kind = "other"
            if depth_parens == 0 and in_scope():
                kind = _kind(code[head_begin:at])
            head = code[head_begin:at]
            first = line - head.lstrip().count("\n")
            stack.append((kind, first, _name(head) if kind == "function" else ""))
            if kind in ("scope", "function"):
                head_begin = at + 1
        elif char == "}" and stack:
            kind, first, name = stack.pop()
            if kind == "function":
                found.append(Function(first, name, line - first + 1))
            if kind != "init" and depth_parens == 0:
                head_begin = at + 1
        elif in_scope() and depth_parens == 0 and (char == ";" or _ends_access(code, at)):
            head_begin = at + 1
    return found
