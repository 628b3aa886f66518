"""What the words of our HDF5 filter say (docs/reference/filter_parameters.md)."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

_KINDS = ("lossless", "absolute", "relative", "pointwise_relative", "psnr")


def bound_words_in(pipeline: Sequence[Mapping[str, Any]]) -> tuple[str, float] | None:
    """Kind and number of the bound that was asked for; None: it is another filter's pipeline."""
    words = pipeline[0]["cd_values"] if pipeline and "caesura" in pipeline[0]["name"] else []
    if len(words) < 5 or words[2] >= len(_KINDS):
        return None
    (value,) = struct.unpack("<d", struct.pack("<II", words[3], words[4]))
    return _KINDS[words[2]], value
