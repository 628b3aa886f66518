"""Numbers from repeated times: medians, and how far the repeats lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

# An overhead below this is within the noise of a run; dividing by it would invent a factor.
SMALLEST_OVERHEAD_PERCENT = 1.0


def overheads_percent(walls_s: Sequence[float], compute_s: Sequence[float]) -> list[float]:
    """Per repeat, against the compute-only run of the same repeat: slow drifts cancel."""
    return [(wall / base - 1.0) * 100.0 for wall, base in zip(walls_s, compute_s, strict=True)]


def half_range(values: Sequence[float]) -> float:
    """Half the distance between the largest and the smallest."""
    return (max(values) - min(values)) / 2.0


def improvement(overhead_percent: float, ours_percent: float) -> float:
    """How many times smaller our overhead is; ours counts as 1 % at least."""
    return overhead_percent / max(ours_percent, SMALLEST_OVERHEAD_PERCENT)


__all__ = ["half_range", "improvement", "median", "overheads_percent"]
