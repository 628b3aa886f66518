"""What a measurement was made on: processor, memory, kernel, compiler and commit."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any


def describe(build: Path) -> dict[str, Any]:
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": f"{platform.system()} {platform.release()}",
        "compiler": _compiler(build),
        "build_type": _cached(build, "CMAKE_BUILD_TYPE"),
        "mpi": _first_line(["mpirun", "--version"]),
        "commit": commit(),
    }


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _cached(build: Path, variable: str) -> str:
    try:
        for line in (build / "CMakeCache.txt").read_text().splitlines():
            name, _, value = line.partition("=")
            if name.partition(":")[0] == variable:
                return value
    except OSError:
        pass
    return ""


def _compiler(build: Path) -> str:
    path = _cached(build, "CMAKE_CXX_COMPILER")
    return _first_line([path, "--version"]) if path else "unknown"


def commit(file: Path | None = None) -> str:
    """Short hash of the sources that this package is run from, with + where the working tree
    differs; "unknown" where git does not have them: an installed package may lie in somebody
    else's repository."""
    own = (file or Path(__file__)).resolve()
    git = ["git", "-C", str(own.parent)]
    if not _first_line([*git, "ls-files", "--error-unmatch", own.name]):
        return "unknown"
    answer = _first_line([*git, "rev-parse", "--short", "HEAD"])
    changed = _first_line([*git, "status", "--porcelain", "-uno"])
    return answer + ("+" if changed else "")


def _first_line(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        return ""
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = answer.stdout.splitlines()
    return lines[0].strip() if answer.returncode == 0 and lines else ""
