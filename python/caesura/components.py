"""Datasets of several quantities: which value belongs to which, and what bound it has.

An application may keep density, momenta and temperature in one dataset: along an axis, or as arrays
one after the other. The connector says in attributes what they are called and what was asked for,
and every block says of each array in it which component it is and what bound it keeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from caesura import _core


@dataclass(frozen=True)
class Component:
    """One quantity of a dataset, by its attributes."""

    name: str
    kind: str  # of the bound that was asked for
    requested: float
    bound: float  # the loosest that any block has: in units, pointwise_relative: of each value


@dataclass(frozen=True)
class Part:
    """One array in a block, in the order of the block's values."""

    component: int
    values: int
    stored_bytes: int
    bound: float  # in units; 0: exact, or pointwise


def components_of(attributes: Mapping[str, Any]) -> list[Component]:
    """Empty: the dataset is one quantity, or all of it is exact."""
    if "caesura_components" not in attributes:
        return []
    columns = (
        [_text(name) for name in attributes["caesura_components"]],
        [_text(kind) for kind in attributes["caesura_bound_kind"]],
        [float(value) for value in attributes["caesura_bound_requested"]],
        [float(value) for value in attributes["caesura_bound"]],
    )
    return [Component(*row) for row in zip(*columns, strict=True)]


def parts_of(block: bytes) -> list[Part]:
    """The arrays in a stored block; empty: it is one. Raises CorruptError."""
    return [
        Part(part["component"], part["values"], part["stored_bytes"], part["absolute_bound"])
        for part in _core.codec_parts(block)
    ]


def divide(
    values: np.ndarray, block: bytes, where: tuple[slice, ...], attributes: Mapping[str, Any]
) -> Iterator[tuple[int, np.ndarray, tuple[slice, ...]]]:
    """A block's values by component: its number, the values, and where in the dataset they lie."""
    parts = parts_of(block)
    if not parts:
        axis = int(attributes.get("caesura_component_axis", 0))
        yield where[axis].start, values, where
        return
    at = 0
    for part in parts:
        begin = where[0].start + at
        yield part.component, values[at : at + part.values], (slice(begin, begin + part.values),)
        at += part.values


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
