"""Functions on data: analyses whose parts merge, and chains of transforms with their way back.

    from caesura import lambdas
    lambdas.run("histogram(bins=64)", array)           # {"low": ..., "high": ..., "counts": [...]}
    print(lambdas.help())                              # all functions, parameters and variants

    state = lambdas.Analysis("stats")                  # region by region, in any order
    state.add(part, offset=(0, 32), shape=(64, 64))
    other = lambdas.Analysis.from_bytes(data)          # a state from somewhere else
    state.merge(other)
    state.finish()

    data = lambdas.apply("shuffle | zstd", array)      # bytes that say how to undo them
    array = lambdas.restore(data, array.dtype, array.shape)

What a transit service does with data on their way is the same code. Arrays are float32 or float64,
of 1 to 4 axes. Calls are text, and a mistake in it is a ValueError that names what there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from caesura import _core

Place = tuple[str, int, str, list[int], list[int], list[int], float]


def functions() -> list[dict[str, Any]]:
    """All built-in functions: name, kind, help, parameters, variants."""
    return _core.lambda_functions()


def help() -> str:
    """The same as text."""
    return _core.lambda_help()


def _place(
    dtype: Any,
    extent: Sequence[int],
    offset: Sequence[int] | None = None,
    shape: Sequence[int] | None = None,
    name: str = "",
    time: float = 0.0,
) -> Place:
    extent = list(extent)
    return (
        name,
        0,
        str(np.dtype(dtype)),
        extent if shape is None else list(shape),
        [0] * len(extent) if offset is None else list(offset),
        extent,
        time,
    )


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def run(call: str, array: Any) -> dict[str, Any]:
    """An analysis of a whole array."""
    array = np.asarray(array)
    return _core.lambda_run(call, _place(array.dtype, array.shape), _bytes(array))


class Analysis:
    """The state of an analysis over the regions of one array."""

    def __init__(self, call: str) -> None:
        self._state = _core.AnalysisState.start(call)

    @classmethod
    def from_bytes(cls, data: bytes) -> Analysis:
        """What bytes() gave, here or elsewhere."""
        made = cls.__new__(cls)
        made._state = _core.AnalysisState.from_bytes(data)
        return made

    def bytes(self) -> bytes:
        """The state, to be kept or sent."""
        return self._state.bytes()

    def add(self, part: Any, offset: Sequence[int], shape: Sequence[int]) -> None:
        """A region: `part` lies at `offset` of an array of this shape."""
        part = np.asarray(part)
        self._state.add(_place(part.dtype, part.shape, offset, shape), _bytes(part))

    def merge(self, other: Analysis) -> None:
        """Take over what another state of the same call has seen."""
        self._state.merge(other._state)

    @property
    def passes_left(self) -> int:
        """Passes over all regions after this one; next_pass() begins it."""
        return self._state.passes_left

    def next_pass(self) -> None:
        """All regions were seen by the states merged here; they come again."""
        self._state.next_pass()

    def finish(self) -> dict[str, Any]:
        """The results."""
        return self._state.finish()


def file_codec(chain: str) -> tuple[str, list[int], tuple[str, float]]:
    """Codec, cd_values and bound that a chain means for a field of a file. Few fit one: what any
    HDF5 program undoes, without a key."""
    codec, cd_values, kind, value = _core.file_codec(chain)
    return codec, cd_values, (kind, value)


def apply(
    chain: str, array: Any, *, name: str = "", time: float = 0.0, key_file: str = ""
) -> bytes:
    """What a chain of transforms makes of an array. `aead` needs the file of a key, and binds name
    and time."""
    array = np.asarray(array)
    place = _place(array.dtype, array.shape, name=name, time=time)
    return _core.lambda_apply(chain, place, _bytes(array), key_file)


def restore(
    data: bytes,
    dtype: Any,
    shape: Sequence[int],
    *,
    name: str = "",
    time: float = 0.0,
    key_file: str = "",
) -> np.ndarray:
    """The array. Raises CorruptError for broken bytes."""
    values = _core.lambda_restore(data, _place(dtype, shape, name=name, time=time), key_file)
    return np.frombuffer(values, dtype).reshape(shape)
