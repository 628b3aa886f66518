"""Of which sources this package is, as git says."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def commit(file: Path | None = None) -> str:
    """Short hash of the sources that this package is run from, with + where the working tree
    differs; "unknown" where git does not have them: an installed package may lie in somebody
    else's repository."""
    own = (file or Path(__file__)).resolve()
    git = ["git", "-C", str(own.parent)]
    if not first_line([*git, "ls-files", "--error-unmatch", own.name]):
        return "unknown"
    answer = first_line([*git, "rev-parse", "--short", "HEAD"])
    changed = first_line([*git, "status", "--porcelain", "-uno"])
    return answer + ("+" if changed else "")


def first_line(command: list[str]) -> str:
    """What a command answers first; nothing where it is missing or fails."""
    if shutil.which(command[0]) is None:
        return ""
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = answer.stdout.splitlines()
    return lines[0].strip() if answer.returncode == 0 and lines else ""
