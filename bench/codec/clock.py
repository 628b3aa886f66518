"""How fast the core's clock runs at this instant, from bench/codec/clock.cpp.

Invariant: None wherever it cannot be told; nothing else depends on it.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def _library() -> ctypes.CDLL | None:
    build = Path(os.environ.get("CAESURA_BUILD", ROOT / "build"))
    try:
        library = ctypes.CDLL(str(build / "bench" / "codec" / "libbench_clock.so"))
    except OSError:
        return None
    library.caesura_bench_clock_hz.restype = ctypes.c_double
    return library


def hz() -> float | None:
    """Cycles per second of this thread's core; takes about 60 us."""
    library = _library()
    return library.caesura_bench_clock_hz() if library else None
