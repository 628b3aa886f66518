"""Attributes that a user sets: any value of Python or numpy as a type and what HDF5 can keep."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["attribute_value", "owner_of"]

_GROUPS = ("file", "iteration", "meshes")
_LISTS = {"i": "int64s", "u": "uint64s", "f": "float64s"}


def attribute_value(name: str, value: Any) -> tuple[str, Any]:
    """The pair the library takes: the name of a type, and the value as plain Python has it."""
    if isinstance(value, str):
        return ("string", str(value))
    array = np.asarray(value)
    kind = array.dtype.kind
    if kind == "U" and array.ndim == 0:
        return ("string", str(array))
    if kind == "U" and array.ndim == 1 and all(isinstance(text, str) for text in value):
        return ("strings", [str(text) for text in array])
    wide = array.dtype.itemsize > 8  # of more digits than a double has
    if kind not in _LISTS or wide or array.ndim > 1:
        raise ValueError(
            f"attribute '{name}' is {_described(value, array)}; use an integer, a float, a string "
            "or a list of one of these"
        )
    plain = value if isinstance(value, (list, tuple)) else [value]
    if kind == "f" and any(isinstance(one, int) and float(one) != one for one in plain):
        raise ValueError(f"attribute '{name}': no type of a list holds all of its integers")
    if array.ndim == 1:
        return (_LISTS[kind], array.tolist())
    if array.dtype == np.float32:
        return ("float32", float(array))
    return (_LISTS[kind][:-1], array.item())


def owner_of(
    group: str | None, record: Any, field: Any, species: Any, default: str
) -> tuple[str, int]:
    """What an attribute is set on, of which at most one is named; and its number."""
    if sum(given is not None for given in (group, record, field, species)) > 1:
        raise ValueError("give one of group, record, field and species, not several")
    if species is not None:
        return ("species", species.index)
    if record is not None:
        return ("record", record.index)
    if field is not None:
        return ("field", field.index)
    if group is not None and group not in _GROUPS:
        raise ValueError(f"group is {group!r}; use one of {', '.join(_GROUPS)}")
    return (group or default, 0)


def _described(value: Any, array: np.ndarray) -> str:
    if array.ndim > 1:
        return f"an array of {array.ndim} axes"
    if array.dtype.kind == "O":
        return f"of type {type(value).__name__}"
    return f"of type {array.dtype}"
