#!/usr/bin/env python3
"""What the shared libraries export, and the lists of it in tests/abi.

A list has the soname and every exported symbol, demangled. Both flavours of libcaesura export the
same, so they share one. tools/abi_test.py fails where a library and its list differ.

    tools/abi.py             say what differs
    tools/abi.py --update    write the lists anew, for a commit that says why

CAESURA_BUILD names the build tree; without it, build.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path("tests/abi")
# List, and library in the build tree.
LIBRARIES = {
    "libcaesura": "lib/libcaesura.so",
    "libcaesura_parallel": "lib/libcaesura_parallel.so",
    "libcaesura_pmpi": "src/pmpi/libcaesura_pmpi.so",
    "libcaesura_vol": "vol/libcaesura_vol.so",
    "libcaesura_completion": "vol/caesura/libcaesura_completion.so",
    "libh5caesura": "plugins/libh5caesura.so",
}
SAME = {"libcaesura_parallel": "libcaesura"}
WHY = (
    "Programs are linked to these symbols. If this change is meant: run 'tools/abi.py --update', "
    "say in that commit what it means for programs that are there, add a line to CHANGELOG.md, and "
    "where a symbol has gone or means something else, raise CAESURA_ABI in "
    "cmake/CaesuraShared.cmake (once a release)."
)


def run(*command: str) -> str:
    """What a tool of the system prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def dynamic(library: Path, tag: str) -> list[str]:
    """The values of one tag of the dynamic section: SONAME, NEEDED, RUNPATH, RPATH."""
    said = run("readelf", "-dW", str(library))
    return re.findall(rf"\({tag}\).*\[(.*)\]", said)


def symbols(library: Path) -> list[str]:
    """Exported symbols, demangled, with their version; those of versions themselves left out."""
    said = run("nm", "-DC", "--defined-only", str(library)).splitlines()
    found = {" ".join(line.split()[2:]) for line in said if line.split()[1] != "A"}
    return sorted(re.sub(r"@+\w+$", "", name) for name in found)


def listed(library: Path) -> str:
    """What the list of this library has to say."""
    soname = dynamic(library, "SONAME") or [library.name]
    return "\n".join([f"# {soname[0]}", *symbols(library)]) + "\n"


def differences(root: Path, build: Path) -> list[str]:
    """A sentence for each symbol, soname or list that is not as it was."""
    said = []
    for name, place in LIBRARIES.items():
        if not (build / place).exists():
            said.append(f"{place} is not built")
            continue
        path = root / FOLDER / f"{SAME.get(name, name)}.txt"
        old = path.read_text().splitlines() if path.exists() else [f"# no list {path.name}"]
        new = listed(build / place).splitlines()
        if name in SAME:  # but for the soname
            new[0] = new[0].replace(name, SAME[name])
        if old[0] != new[0]:
            said.append(f"{place}: the soname is {new[0][2:]}, the list has {old[0][2:]}")
        said += [f"{place}: has no more {symbol}" for symbol in sorted(set(old[1:]) - set(new[1:]))]
        said += [f"{place}: new is {symbol}" for symbol in sorted(set(new[1:]) - set(old[1:]))]
    return said


def write_lists(root: Path, build: Path) -> None:
    """All lists anew."""
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    for name, place in LIBRARIES.items():
        if name not in SAME:
            (root / FOLDER / f"{name}.txt").write_text(listed(build / place))


def main() -> int:
    """Compare or update."""
    root = Path(__file__).resolve().parent.parent
    build = Path(os.environ.get("CAESURA_BUILD", root / "build"))
    if sys.argv[1:] == ["--update"]:
        write_lists(root, build)
    elif said := differences(root, build):
        print("\n".join([*said, WHY]))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
