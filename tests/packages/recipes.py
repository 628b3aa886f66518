"""What packaging/ says, as data: the recipes of Debian, conda and Spack."""

from __future__ import annotations

import ast
import fnmatch
import re
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
DEBIAN = PACKAGING / "debian"
CONDA = PACKAGING / "conda"
SPACK = PACKAGING / "spack" / "packages" / "caesura" / "package.py"
TRIPLET = "x86_64-linux-gnu"


def project_version() -> str:
    """As CMake has it."""
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(caesura VERSION ([\d.]+)", text)[1]


# ---------------------------------------------------------------------------------------- Debian


def paragraphs(path: Path) -> list[dict[str, str]]:
    """A control file's: fields with their values, lines joined."""
    found = []
    for text in re.split(r"\n\s*\n", path.read_text().strip()):
        fields: dict[str, str] = {}
        name = ""
        for line in text.splitlines():
            if line[0] in " \t":
                fields[name] += "\n" + line.strip()
            else:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
        found.append(fields)
    return found


def relations(text: str) -> dict[str, str]:
    """Packages of a field like Depends, the first of alternatives: name and what must hold."""
    found = {}
    for one in text.replace("\n", " ").split(","):
        if match := re.match(r"\s*([\w.+-]+)\s*(?:\(([^)]*)\))?", one):
            found[match[1]] = match[2] or ""
    return found


def build_depends() -> dict[str, str]:
    """Debian's Build-Depends."""
    return relations(paragraphs(DEBIAN / "control")[0]["Build-Depends"])


def binary_packages() -> list[str]:
    """Names of Debian's packages."""
    return [one["Package"] for one in paragraphs(DEBIAN / "control")[1:]]


def rule_settings() -> dict[str, str]:
    """-DNAME=VALUE of debian/rules, with make's variables put in."""
    text = (DEBIAN / "rules").read_text()
    found = dict(re.findall(r"-D(\w+)=(\S+)", text))
    variables = {
        **dict(re.findall(r"^(\w+) = (\S+)$", text, re.MULTILINE)),
        "LIB": f"lib/{TRIPLET}",
    }
    for name, value in variables.items():
        found = {one: given.replace(f"$({name})", value) for one, given in found.items()}
    return found


@dataclass(frozen=True)
class Listed:
    """One line of a list such as PACKAGE.install: what it takes, and for whom."""

    package: str
    pattern: str

    def takes(self, path: str) -> bool:
        """As debhelper understands it: a pattern, or a directory whole."""
        parts, wanted = path.split("/"), self.pattern.split("/")
        return len(parts) >= len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


def listed_files() -> list[Listed]:
    """What the lists of files beside debian/control take of what was installed."""
    found = []
    for kind in ("install", "manpages", "examples"):
        for path in DEBIAN.glob(f"*.{kind}"):
            for line in path.read_text().split("\n"):
                if line.strip() and not line.startswith("#"):
                    pattern = line.split()[0].removeprefix("debian/tmp/")
                    pattern = pattern.replace("${DEB_HOST_MULTIARCH}", TRIPLET)
                    found.append(Listed(path.name.removesuffix(f".{kind}"), pattern))
    for line in (DEBIAN / "not-installed").read_text().split():
        found.append(Listed("", line))
    return found


# ------------------------------------------------------------------------------------------ conda


def conda() -> dict:
    """The recipe, unrendered."""
    return yaml.safe_load((CONDA / "recipe.yaml").read_text())


def conda_requirements(output: str, kind: str) -> dict[str, str]:
    """Names and bounds of an output's build, host or run requirements, for all variants."""
    (chosen,) = (one for one in conda()["outputs"] if one["package"]["name"] == output)
    found: dict[str, str] = {}
    left = list(chosen["requirements"][kind])
    while left:
        one = left.pop()
        if isinstance(one, dict):
            for branch in ("then", "else"):
                lines = one.get(branch, [])
                left += lines if isinstance(lines, list) else [lines]
        elif one.startswith("${{ mpi }}"):
            found["mpi"] = ""
        elif not one.startswith("${{"):
            name, _, rest = one.partition(" ")
            found[name] = rest
    return found


# ------------------------------------------------------------------------------------------ Spack


def spack_calls(name: str) -> list[list[str]]:
    """Arguments without a name of each call of a directive in the class: depends_on, version."""
    tree = ast.parse(SPACK.read_text())
    return [
        [one.value for one in node.args if isinstance(one, ast.Constant)]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name
    ]


def spack_depends() -> dict[str, list[str]]:
    """Names of what Spack's package depends on, with all specs given for each."""
    found: dict[str, list[str]] = {}
    for arguments in spack_calls("depends_on") + spack_calls("extends"):
        name, rest = re.match(r"([\w-]+)(.*)", arguments[0]).groups()
        found.setdefault(name, []).append(rest)
    return found
