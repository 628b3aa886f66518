"""bfloat16, which numpy has not: the type of ml_dtypes where that is installed, else a stand-in.

The stand-in is a structure of one member, the 16 bits: dtype([("bfloat16", "<u2")]). Fields take
and give either.
"""

from __future__ import annotations

from typing import Any

import numpy as np

NAME = "bfloat16"
STAND_IN = np.dtype([(NAME, np.uint16)])


def _find() -> np.dtype:
    try:
        import ml_dtypes
    except ImportError:
        return STAND_IN
    return np.dtype(ml_dtypes.bfloat16)


BFLOAT16 = _find()


def number_type(dtype: Any) -> np.dtype:
    """numpy's type of a name or type; "bfloat16" too."""
    if isinstance(dtype, str) and dtype == NAME:
        return BFLOAT16
    kind = np.dtype(dtype)
    return BFLOAT16 if kind == STAND_IN else kind


def name_of(dtype: np.dtype) -> str:
    """What the library calls it."""
    return NAME if dtype in (BFLOAT16, STAND_IN) else dtype.name


def is_floating(dtype: np.dtype) -> bool:
    """May it have an error bound?"""
    return dtype.kind in "fc" or name_of(dtype) == NAME


def as_bits(values: np.ndarray) -> np.ndarray:
    """bfloat16 as the integers that its bits are; all else as it is."""
    return values.view(np.uint16) if name_of(values.dtype) == NAME else values
