"""Caesura's own codec, once per mode, behind the same interface as its peers.

Invariant: one thread, no shared table set, checksum on: what a block costs by itself.
"""

from __future__ import annotations

import importlib

import numpy as np
from peers import Codec

MODES = ("auto", "strong", "fast", "planes")


def find() -> tuple[list[Codec], list[str]]:
    """A codec per mode, or a line that says why not."""
    try:
        module = importlib.import_module("caesura.codec")
        package = importlib.import_module("caesura")
    except ImportError as error:
        return [], [f"caesura.codec: {error} (make bench builds it)"]

    def codec(mode: str) -> Codec:
        def compress(values: np.ndarray, bound: float) -> object:
            return module.compress(values, bound, mode=mode)

        def decompress(data: object, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
            return module.decompress(data)

        return Codec(f"Caesura {mode}", package.__version__, "ours", compress, decompress)

    return [codec(mode) for mode in MODES], []
