"""Which values of a dataset are missing: the rule of docs/reference/missing_values.md, for tools.

Declared ones are the fill value that the application set, the attributes _FillValue and
missing_value, and what the user names. NaN is always missing. A suspected fill is an extreme value
that repeats far away from all others. Values are compared bit for bit, in the dataset's type.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import h5py
import numpy as np

_ATTRIBUTES = ("_FillValue", "missing_value")
_MOST_SUSPECTS = 4
_USUAL_SPREADS, _USUAL_REPEATS = 4.0, 2
_OTHER_TIMES, _OTHER_LEAST, _OTHER_REPEATS = 1e6, 1e6, 16
_USUAL = (
    *(sign * (10.0**k - 1) for k in range(3, 10) for sign in (1, -1)),
    *(sign * 10.0**k for k in range(15, 39) for sign in (1, -1)),
    *(
        -1e10,
        999.9,
        -999.9,
        -999.25,
        -32767.0,
        -32768.0,
        2147483647.0,
        -2147483647.0,
        -2147483648.0,
    ),
    *(9.96920996838686904688e36, 9.999e20, 2.0**100, 1.7e38, -1.7e38),
)


def bits_of(values: np.ndarray) -> np.ndarray:
    """The same memory as unsigned integers."""
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}").reshape(values.shape)


def declared(
    dataset: h5py.Dataset, named: Iterable[float] = (), dtype: np.dtype | None = None
) -> tuple[Any, ...]:
    """What is said to be missing, as scalars of the dataset's type (in this machine's byte order),
    each once. Nothing for types without an error bound. dtype: of one of its quantities."""
    dtype = dtype or dataset.dtype.newbyteorder("=")
    if dtype.kind != "f":
        return ()
    found: list[Any] = []
    plist = dataset.id.get_create_plist()
    has_fill = plist.fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED
    if has_fill and dataset.dtype.kind == "f" and dataset.fillvalue != 0:
        found.append(dataset.fillvalue)
    for name in _ATTRIBUTES:
        value = dataset.attrs.get(name)
        if value is not None and np.asarray(value).dtype.kind in "iuf":
            found += list(np.asarray(value).ravel())
    found += list(named)
    with np.errstate(over="ignore"):
        scalars = [np.asarray(value).astype(dtype)[()] for value in found]
    once = {int(bits_of(np.asarray([one]))[0]): one for one in scalars}
    return tuple(once.values())


def places(values: np.ndarray, missing: Sequence[Any]) -> np.ndarray:
    """True where a value is one of the missing ones, bit for bit. NaN is not looked for."""
    found = np.zeros(values.shape, bool)
    bits = bits_of(values)
    for one in missing:
        found |= bits == bits_of(np.asarray([one], values.dtype))[0]
    return found


def suspects(values: np.ndarray, missing: Sequence[Any] = ()) -> list[Any]:
    """Suspected fills among the finite values that are not missing."""
    flat = values.ravel()
    left = flat[np.isfinite(flat) & ~places(flat, missing)]
    found: list[Any] = []
    while len(found) < _MOST_SUSPECTS and left.size > 1:
        for extreme in (left.min(), left.max()):
            others = left[left != extreme]
            if others.size and _is_fill(extreme, left.size - others.size, others):
                found.append(extreme)
                left = others
                break
        else:
            break
    return found


def _is_fill(value: Any, repeats: int, others: np.ndarray) -> bool:
    low, high, at = float(others.min()), float(others.max()), float(value)
    distance = low - at if at < low else at - high
    if _is_usual(value):
        return repeats >= _USUAL_REPEATS and distance > _USUAL_SPREADS * (high - low)
    largest = max(abs(low), abs(high))
    return repeats >= _OTHER_REPEATS and abs(at) >= max(_OTHER_TIMES * largest, _OTHER_LEAST)


def _is_usual(value: Any) -> bool:
    dtype = np.asarray(value).dtype
    limits = np.finfo(dtype)
    if value in (limits.max, limits.min):
        return True
    with np.errstate(over="ignore"):
        return bool(np.any(np.asarray(_USUAL).astype(dtype) == value))


def words(missing: Sequence[Any]) -> str:
    """For people: "9.96921e+36, -999"."""
    return ", ".join(f"{float(one):g}" for one in missing)
