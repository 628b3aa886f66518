"""The files that a path with openPMD's "%T" names: "out/run_%06T.h5" (docs/reference/series.md)."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable
from pathlib import Path

_MARK = re.compile(r"%(0\d*)?T")


def files_of_series(pattern: Path) -> list[Path]:
    """Those that are there, by number; as the Reader finds them."""
    mark = _MARK.search(pattern.name)
    if mark is None:
        return []
    digits = int(mark.group(1) or 0)
    number = rf"(\d{{{digits}}}|[1-9]\d{{{digits},}})" if digits else r"(\d+)"
    before, after = (
        re.escape(part) for part in (pattern.name[: mark.start()], pattern.name[mark.end() :])
    )
    name = re.compile(before + number + after)
    found = []
    for path in pattern.parent.iterdir():
        match = name.fullmatch(path.name)
        if match is not None:
            found.append((int(match.group(1)), path))
    return [path for _, path in sorted(found)]


def files_of(paths: Iterable[Path]) -> list[Path]:
    """Each path, or the files that it stands for: of a series, or as a shell's pattern.

    A file of just that name is meant by it. Raises FileNotFoundError where a pattern finds none.
    """
    files: list[Path] = []
    for path in paths:
        is_series = _MARK.search(path.name) is not None
        if path.exists() or not (is_series or glob.has_magic(path.name)):
            files.append(path)
            continue
        found = files_of_series(path) if is_series else sorted(path.parent.glob(path.name))
        if not found:
            raise FileNotFoundError(f"{path}: there is no such file; check the directory")
        files += found
    return files


def is_pattern(path: Path) -> bool:
    """Does it stand for any number of files?"""
    return not path.exists() and (_MARK.search(path.name) is not None or glob.has_magic(path.name))
