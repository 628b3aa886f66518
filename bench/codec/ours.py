"""Caesura's own codec, once per mode, behind the same interface as its peers.

Invariant: one thread, no shared table set, checksum on: what a block costs by itself.
"""

from __future__ import annotations

import importlib

import numpy as np
from peers import Codec

MODES = ("auto", "strong", "fast", "planes")
# Mode and entropy coder: keys of codec_ratio.csv.
CASES = (
    ("auto", "rans"),
    ("fast", "rans"),
    ("strong", "rans"),
    ("planes", "rans"),
)
TARGETS = ("avx512", "avx2", "sse4", "scalar")


def cap_target(name: str) -> None:
    """Let the codec use no instruction set above `name`, from the next call on."""
    importlib.import_module("caesura._core").limit_instruction_set(name)


def bound(kind: str, value: float) -> object:
    """What compress() takes: ("absolute", 0.2), ("lossless", 0.0), ..."""
    return (kind, value)


def compress(values: np.ndarray, asked: object, mode: str = "auto", threads: int = 1) -> bytes:
    """A frame."""
    from caesura import codec

    return codec.compress(values, asked, mode=mode, threads=threads)


def decompress(frame: bytes, threads: int = 1) -> np.ndarray:
    """The array."""
    from caesura import codec

    return codec.decompress(frame, threads=threads)


def find() -> tuple[list[Codec], list[str]]:
    """A codec per mode, or a line that says why not."""
    try:
        module = importlib.import_module("caesura.codec")
        package = importlib.import_module("caesura")
    except ImportError as error:
        return [], [f"caesura.codec: {error} (make bench builds it)"]

    def codec(mode: str) -> Codec:
        def estimate(values: np.ndarray, limit: float) -> int:
            return int(module.estimate(values, bound("absolute", limit), mode=mode, threads=1))

        return Codec(
            f"Caesura {mode}",
            package.__version__,
            "ours",
            lambda values, limit: compress(values, bound("absolute", limit), mode),
            lambda data, _dtype, _shape: decompress(data),
            estimate=estimate,
        )

    return [codec(mode) for mode in MODES], []
