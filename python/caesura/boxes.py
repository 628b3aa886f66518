"""Arrays cut into the blocks that they are compressed in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np


def boxes(shape: Sequence[int], item_bytes: int, block_bytes: int) -> Iterator[tuple[slice, ...]]:
    """Cut an array into equal boxes of at most block_bytes, longest axes first."""
    extent = list(shape)
    parts = [1] * len(extent)
    while math.prod(extent) * item_bytes > block_bytes and max(extent) > 1:
        axis = extent.index(max(extent))
        parts[axis] += 1
        extent[axis] = -(-shape[axis] // parts[axis])
    for where in np.ndindex(*(-(-n // e) for n, e in zip(shape, extent, strict=True))):
        yield tuple(
            slice(i * e, min(n, (i + 1) * e)) for i, e, n in zip(where, extent, shape, strict=True)
        )
