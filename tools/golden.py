#!/usr/bin/env python3
"""The golden bytes of our formats, and the list of their hashes, tests/golden.sha256.

Golden are the files of tests/golden, and C++ tests that hold bytes as text: those named
..._are_pinned. tools/golden_test.py fails where list and tree differ.

    tools/golden.py             say what differs
    tools/golden.py --update    write the list anew, for a commit that says why
    tools/golden.py --freeze    add what is new in tests/golden to the frozen list

What the frozen list names never changes: those are files of version 1 of the format, which every
later reader has to read (docs/reference/format_promise.md). Lines are only added to it.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

LIST = "tests/golden.sha256"
FROZEN = "tests/golden.frozen.sha256"
FOLDER = "tests/golden"
# A line for each frame; new frames add lines, so each line is frozen by itself.
LINES = "tests/golden/decoded.txt"
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


def frozen_hashes(root: Path) -> dict[str, str]:
    """Name and SHA-256 of each golden file, and of each line of the one that grows."""
    found = {name: value for name, value in golden_hashes(root).items() if name.startswith(FOLDER)}
    if found.pop(LINES, None):
        for line in (root / LINES).read_text(encoding="utf-8").splitlines():
            frame = line.split(" ", 1)[0]
            found[f"{LINES} {frame}"] = hashlib.sha256(line.encode()).hexdigest()
    return found


def listed_hashes(root: Path, listing: str = LIST) -> dict[str, str]:
    """What a list says: lines of a hash, two spaces, a name; # begins a comment."""
    listed = {}
    for line in (root / listing).read_text(encoding="utf-8").splitlines():
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


def thawed(root: Path) -> list[str]:
    """A sentence for each frozen thing that is not as it was, or that nobody has frozen yet."""
    found, listed = frozen_hashes(root), listed_hashes(root, FROZEN)
    said = [f"{name} is frozen and missing" for name in sorted(listed.keys() - found.keys())]
    said += [
        f"{name} is frozen and has changed"
        for name in sorted(found.keys() & listed.keys())
        if found[name] != listed[name]
    ]
    new = sorted(found.keys() - listed.keys())
    return said + [f"{name} is new: 'tools/golden.py --freeze' freezes it" for name in new]


def freeze(root: Path) -> None:
    """Add what is new to the end of the frozen list; what stands there stays."""
    listed = listed_hashes(root, FROZEN)
    new = {name: value for name, value in frozen_hashes(root).items() if name not in listed}
    with (root / FROZEN).open("a", encoding="utf-8") as out:
        out.writelines(f"{value}  {name}\n" for name, value in sorted(new.items()))


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
    if "--freeze" in sys.argv[1:]:
        freeze(root)
        return 0
    said = thawed(root) + differences(root)
    for sentence in said:
        print(sentence)
    if said:
        print(WHY)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
