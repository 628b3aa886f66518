"""Bounds that differ from place to place.

    tight = (
        caesura.BoundMap()
        .in_box(offset=(0, 0, 40), extent=(64, 64, 16), bound=1e-5)
        .of_values(1e3, math.inf, bound=1e-4)
        .where_steep(change=0.5, bound=0)  # exact
    )
    rho = writer.define_field("rho", numpy.float32, (64, 64, 64), absolute=1e-2, bound_map=tight)

A value under several rules is held to the tightest, one under none to the field's own bound. The
file has the map as JSON in the attribute caesura_bound_map.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class BoundMap:
    """Rules that say what some values are held to: absolute, in units of the field; 0 is exact."""

    boxes: list[tuple[list[int], list[int], float]] = field(default_factory=list)
    values: list[tuple[float, float, float]] = field(default_factory=list)
    steep: list[tuple[float, float]] = field(default_factory=list)

    def in_box(self, offset: Sequence[int], extent: Sequence[int], bound: float) -> BoundMap:
        """Values at these places."""
        if any(int(at) < 0 for at in (*offset, *extent)):
            raise ValueError(f"bound map: box at {tuple(offset)} of {tuple(extent)} is below zero")
        self.boxes.append(([int(n) for n in offset], [int(n) for n in extent], float(bound)))
        return self

    def of_values(self, lowest: float, highest: float, bound: float) -> BoundMap:
        """Values from lowest to highest, both included."""
        self.values.append((float(lowest), float(highest), float(bound)))
        return self

    def where_steep(self, change: float, bound: float) -> BoundMap:
        """Values that differ by `change` or more from a neighbour in their block."""
        self.steep.append((float(change), float(bound)))
        return self

    def rules(self) -> dict[str, list[Any]]:
        """What the library takes."""
        return {"boxes": self.boxes, "values": self.values, "steep": self.steep}

    @property
    def loosest(self) -> float:
        """Of its rules."""
        return max([rule[-1] for rule in (*self.boxes, *self.values, *self.steep)], default=0.0)


@dataclass(frozen=True)
class MappedBounds:
    """A map as a file has it: with the field's own bound, resolved."""

    rules: BoundMap
    elsewhere: float

    def at(self, block: np.ndarray, where: tuple[slice, ...]) -> np.ndarray:
        """The bound of every value of a block, float64. where: its place in the field."""
        bounds = np.full(block.shape, np.inf)
        for offset, extent, bound in self.rules.boxes:
            inside = tuple(
                slice(max(0, at - part.start), max(0, at + n - part.start))
                for at, n, part in zip(offset, extent, where, strict=True)
            )
            bounds[inside] = np.minimum(bounds[inside], bound)
        values = block.astype(np.float64)
        for lowest, highest, bound in self.rules.values:
            bounds[(values >= lowest) & (values <= highest) & (bounds > bound)] = bound
        if self.rules.steep:
            change = largest_change(values)
            for least, bound in self.rules.steep:
                bounds[(change >= least) & (bounds > bound)] = bound
        bounds[np.isinf(bounds)] = self.elsewhere
        return bounds


def largest_change(values: np.ndarray) -> np.ndarray:
    """From each value to its neighbours along the axes; NaN counts as no change."""
    most = np.zeros(values.shape)
    with np.errstate(invalid="ignore"):
        for axis in range(values.ndim):
            along = np.moveaxis(most, axis, 0)
            change = np.moveaxis(
                np.nan_to_num(np.abs(np.diff(values, axis=axis)), nan=0.0, posinf=np.inf), axis, 0
            )
            np.maximum(along[:-1], change, out=along[:-1])
            np.maximum(along[1:], change, out=along[1:])
    return most


def map_in(attributes: Any) -> MappedBounds | None:
    """Of a dataset, by its attributes. Raises ValueError where they make no sense."""
    text = attributes.get("caesura_bound_map")
    if text is None:
        return None
    text = text.decode() if isinstance(text, bytes) else str(text)
    try:
        found = json.loads(text)
        rules = BoundMap()
        for rule in found["boxes"]:
            rules.in_box(rule["offset"], rule["extent"], rule["bound"])
        for rule in found["values"]:
            lowest, highest = rule["lowest"], rule["highest"]
            rules.of_values(
                -math.inf if lowest is None else lowest,
                math.inf if highest is None else highest,
                rule["bound"],
            )
        for rule in found["steep"]:
            rules.where_steep(rule["change"], rule["bound"])
        return MappedBounds(rules, float(found["elsewhere"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"attribute caesura_bound_map is no map of bounds: {error}") from error
