"""What a measurement was made on: processor, memory, kernel, compiler and commit."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from caesura.checkout import commit, first_line


def describe(build: Path) -> dict[str, Any]:
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": f"{platform.system()} {platform.release()}",
        "compiler": _compiler(build),
        "build_type": _cached(build, "CMAKE_BUILD_TYPE"),
        "mpi": first_line(["mpirun", "--version"]),
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
    return first_line([path, "--version"]) if path else "unknown"
