"""The values that programs/check.c makes. Part of the tests beside it; no test by itself."""

from __future__ import annotations

import numpy as np


def field(rows: int, width: int) -> np.ndarray:
    """Row after row, as field() of check.c."""
    x = np.arange(width)[None, :] / width
    y = np.arange(rows)[:, None] * 0.05
    return np.sin(6.0 * x + y) + 0.5 * np.cos(3.0 * y - 2.0 * x) + 0.01 * y
