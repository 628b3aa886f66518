"""Numbers as people read them."""

from __future__ import annotations

import math


def bytes_text(count: float) -> str:
    """1536 -> "1.5 kB" (decimal units, as disks and networks have them)."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(value) < 999.5 or unit == "TB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}"
        value /= 1000.0
    raise AssertionError("unreachable")


def duration_text(seconds: float) -> str:
    """Two or three significant digits in the units that fit; below a nanosecond is none."""
    if abs(seconds) < 1e-9:
        return "0 s"
    if abs(seconds) < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    if abs(seconds) < 1.0:
        return f"{seconds * 1e3:.3g} ms"
    if abs(seconds) < 120.0:
        return f"{seconds:.3g} s"
    minutes, rest_s = divmod(int(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {rest_s:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def ratio_text(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if value < 1000 else f"{value:.0f}"


def about(ratio: float) -> str:
    """In a sentence: three figures, and never a power of ten."""
    return f"{ratio:.3g}" if ratio < 1000 else f"{ratio:.0f}"


def nice_step(span: float, wanted: int) -> float:
    """A step of 1, 2 or 5 times a power of ten that cuts `span` into about `wanted` parts."""
    if span <= 0:
        return 1.0
    rough = span / max(wanted, 1)
    power = 1e-12
    while power * 10 <= rough:
        power *= 10
    for factor in (1, 2, 5, 10):
        if power * factor >= rough * 0.999:
            return power * factor
    return power * 10


def share_text(share: float) -> str:
    """Rounded down: an error just below its bound must not read as one that reached it."""
    return f"{math.floor(share * 1e5) / 1e5:.5f}"
