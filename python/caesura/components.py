"""Datasets of several quantities: which value belongs to which, and what bound it has.

An application may keep density, momenta and temperature in one dataset: along an axis, as arrays
one after the other, or as members of a compound type. The connector says in attributes what they
are called and what was asked for, and every block says of each array in it which component it is
and what bound it keeps.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

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
    bound: float  # in units, or of each value; 0: exact
    pointwise: bool


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
        Part(
            part["component"],
            part["values"],
            part["stored_bytes"],
            *bound_in(part["bound"], part["absolute_bound"]),
        )
        for part in _core.codec_parts(block)
    ]


def bound_in(asked: tuple[str, float], absolute: float) -> tuple[float, bool]:
    """What a frame is held to, and whether that is a share of each value."""
    kind, value = asked
    return (value, True) if kind == "pointwise_relative" else (absolute, False)


def own_bound(block: bytes) -> tuple[float, bool]:
    """The same of a block that is one array. Exact, or no block of our codec's: 0."""
    try:
        frame = _core.codec_info(block)
    except (_core.CorruptError, OSError, ValueError, RuntimeError):
        return 0.0, False
    return bound_in(frame["bound"], frame["absolute_bound"])


@dataclass(frozen=True)
class Stretch:
    """Values of a block that are of one component."""

    component: int | None  # None: the block does not say
    inside: tuple[slice, ...]  # the block
    where: tuple[slice, ...]  # the dataset


def stretches(
    block: bytes, where: tuple[slice, ...], attributes: Mapping[str, Any]
) -> Iterator[Stretch]:
    """All values of a block, in order. where: its place in the dataset."""
    parts = parts_of(block)
    if not parts:
        axis = attributes.get("caesura_component_axis")
        component = None if axis is None else where[int(axis)].start
        yield Stretch(component, (slice(None),) * len(where), where)
    at = 0
    for part in parts:
        end = at + part.values
        place = slice(where[0].start + at, where[0].start + end)
        yield Stretch(part.component, (slice(at, end),), (place,))
        at = end


def members_in(values: np.ndarray) -> list[np.ndarray]:
    """The values of each member of a compound type, in the order in which they lie; of other types
    the values themselves. h5py shows a compound of r and i as complex numbers."""
    if values.dtype.kind == "c":
        return [values.real, values.imag]
    fields = values.dtype.fields
    if fields is None:
        return [values]
    return [values[name] for name in sorted(fields, key=lambda name: fields[name][1])]


_MAGIC, _HEADER_BYTES, _LINE = b"\x8aCBN", 24, struct.Struct("<II")


def stored_bytes_of(file: BinaryIO) -> list[tuple[int, int]]:
    """Component and stored bytes of each array of the block that begins here; nothing where it is
    no bundle. Reads the lines alone (docs/reference/block_frame.md), unchecked."""
    header = file.read(_HEADER_BYTES)
    if header[:4] != _MAGIC:
        return []
    lines = file.read(_LINE.size * int.from_bytes(header[16:20], "little"))
    return [(component, stored) for stored, component in _LINE.iter_unpack(lines)]


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
