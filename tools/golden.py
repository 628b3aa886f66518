#!/usr/bin/env python3
"""The golden bytes of our formats, and the list of their hashes, tests/golden.sha256.

Golden are the files of tests/golden, and C++ tests that hold bytes as text: those named
..._are_pinned. tools/golden_test.py fails where list and tree differ.

    tools/golden.py             say what differs
    tools/golden.py --update    write the list anew, for a commit that says why
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

LIST = "tests/golden.sha256"
FOLDER = "tests/golden"
PINNED = re.compile(r"^TEST(?:_F|_P)?\((\w+), (\w+_are_pinned)\) \{\n.*?^\}\n", re.MULTILINE | re.S)
WHY = (
    "Golden bytes are what files on users' disks look like. If this change is meant, run "
    "'python3 tools/golden.py --update' and say in that commit why old files may stay unread."
)


def golden_hashes(root: Path) -> dict[str, str]:
    """Name and SHA-256 of everything golden: "tests/golden/a.cae", "Suite.bytes_are_pinned"."""
    found = {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((root / FOLDER).rglob("*"))
        if path.is_file()
    }
    # Named by suite and test, not by file: rooms may move, bytes may not.
    for place in ("src", "tests"):
        for path in sorted((root / place).rglob("*_test.cpp")):
            for test in PINNED.finditer(path.read_text(encoding="utf-8")):
                name = f"{test.group(1)}.{test.group(2)}"
                words = " ".join(test.group().split())  # its layout does not count
                found[name] = hashlib.sha256(words.encode()).hexdigest()
    return found


def listed_hashes(root: Path) -> dict[str, str]:
    """What the list says: lines of a hash, two spaces, a name; # begins a comment."""
    listed = {}
    for line in (root / LIST).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            value, name = line.split("  ", 1)
            listed[name] = value
    return listed


def differences(root: Path) -> list[str]:
    """A sentence for each golden thing that changed, is missing or is not in the list."""
    found, listed = golden_hashes(root), listed_hashes(root)
    said = [f"{name} is missing" for name in sorted(listed.keys() - found.keys())]
    said += [f"{name} is not in {LIST}" for name in sorted(found.keys() - listed.keys())]
    said += [
        f"{name} has changed: {found[name][:12]} instead of {listed[name][:12]}"
        for name in sorted(found.keys() & listed.keys())
        if found[name] != listed[name]
    ]
    return said


def write_list(root: Path) -> None:
    """Make the list say what is there."""
    head = "# SHA-256 of all golden bytes: tools/golden.py. A commit that changes one says why.\n"
    lines = [f"{value}  {name}\n" for name, value in sorted(golden_hashes(root).items())]
    (root / LIST).write_text(head + "".join(lines), encoding="utf-8")


def main() -> int:
    """Compare, or update."""
    root = Path(__file__).resolve().parent.parent
    if "--update" in sys.argv[1:]:
        write_list(root)
        return 0
    said = differences(root)
    for sentence in said:
        print(sentence)
    if said:
        print(WHY)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
