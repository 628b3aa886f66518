"""Under which conditions a figure was measured: machine, compiler, commit, load, versions."""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]


def _output(*command: str) -> str:
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return answer.stdout.strip() if answer.returncode == 0 else ""


def _processor() -> dict:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return {"model": platform.processor()}
    model = re.search(r"model name\s*:\s*(.*)", text)
    family = re.search(r"cpu family\s*:\s*(\d+)", text)
    number = re.search(r"\nmodel\s*:\s*(\d+)", text)
    clock = re.search(r"cpu MHz\s*:\s*([\d.]+)", text)
    flags = set((re.search(r"flags\s*:\s*(.*)", text) or [None, ""])[1].split())
    return {
        "model": model.group(1) if model else platform.machine(),
        "family": int(family.group(1)) if family else None,
        "model_number": int(number.group(1)) if number else None,
        "mhz": float(clock.group(1)) if clock else None,
        "vector": [f for f in ("sse4_2", "avx2", "avx512f", "avx512_vbmi2") if f in flags],
    }


def _compiler() -> str:
    """What built the module under test, from the build tree's CMake cache."""
    build = Path(os.environ.get("CAESURA_BUILD", ROOT / "build"))
    try:
        cache = (build / "CMakeCache.txt").read_text()
    except OSError:
        return "unknown"
    compiler = re.search(r"CMAKE_CXX_COMPILER:\w+=(.*)", cache)
    kind = re.search(r"CMAKE_BUILD_TYPE:\w+=(.*)", cache)
    name = Path(compiler.group(1)).name if compiler else "c++"
    version = _output(compiler.group(1), "-dumpfullversion") if compiler else ""
    return f"{name} {version}, {kind.group(1) if kind and kind.group(1) else 'RelWithDebInfo'}"


def conditions() -> dict:
    """For the head of every result file."""
    commit = _output("git", "rev-parse", "HEAD")
    changed = _output("git", "status", "--porcelain", "--untracked-files=no", "src", "include")
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit + ("+changes" if changed else ""),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load_average": [round(x, 2) for x in os.getloadavg()],
        "compiler": _compiler(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "clock": "CPU time of the calling thread, CLOCK_THREAD_CPUTIME_ID",
    }
