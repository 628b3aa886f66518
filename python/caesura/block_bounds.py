"""What each block of a file is held to, as the headers of its frames say: values stay unread.

The file is mapped into memory, so that only the pages are read in which headers lie.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from caesura import _core
from caesura.components import bound_in, components_of, parts_of
from caesura.verifying import chunk_slices


@dataclass(frozen=True)
class ArrayBound:
    """One array in a block; as a rule the block is one."""

    component: str | None  # None: the dataset is of one quantity, or the block does not say
    kind: str  # absolute, pointwise_relative, or lossless where every value is exact
    bound: float  # in units of the values; pointwise_relative: of each value; lossless: 0


@dataclass
class BoundRange:
    """All arrays of one kind."""

    kind: str
    min: float
    max: float
    arrays: int


class Blocks:
    """The blocks of one file, of which `info()` of _core.OpenFile says where they lie."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._bytes.madvise(mmap.MADV_RANDOM)

    def __enter__(self) -> Blocks:
        return self

    def __exit__(self, *_: object) -> None:
        self._bytes.close()

    def bounds_of(self, dataset: Mapping[str, Any], chunk: Mapping[str, Any]) -> list[ArrayBound]:
        """Of the arrays of a block, in their order. Empty: it is not of our codec, or damaged."""
        pipeline = dataset["pipeline"]
        if len(pipeline) != 1 or "caesura" not in pipeline[0]["name"]:
            return []
        names = [one.name for one in components_of(dataset["attributes"])]
        axis = dataset["attributes"].get("caesura_component_axis")
        alone = None
        if names and axis is not None:
            where = chunk_slices(chunk["chunk"], dataset["shape"], dataset["chunk"])
            alone = names[where[int(axis)].start]
        if chunk["filter_mask"] & 1:  # stored without the codec
            return [_array_bound(alone, 0.0, False)]
        begin = chunk["address"]
        with memoryview(self._bytes) as whole, whole[begin : begin + chunk["bytes"]] as block:
            try:
                parts = parts_of(block)
                if not parts:
                    info = _core.codec_info(block)
                    own = bound_in(info["bound"], info["absolute_bound"])
                    return [_array_bound(alone, *own)]
            except (_core.CorruptError, OSError, ValueError, RuntimeError):
                return []
        return [
            _array_bound(
                names[part.component] if part.component < len(names) else None,
                part.bound,
                part.pointwise,
            )
            for part in parts
        ]


def _array_bound(component: str | None, bound: float, pointwise: bool) -> ArrayBound:
    kind = "lossless" if bound == 0 else "pointwise_relative" if pointwise else "absolute"
    return ArrayBound(component, kind, bound)


def ranges_of(arrays: Iterable[ArrayBound]) -> list[BoundRange]:
    """Smallest and largest bound of each kind."""
    found: dict[str, BoundRange] = {}
    for array in arrays:
        one = found.setdefault(array.kind, BoundRange(array.kind, array.bound, array.bound, 0))
        one.min, one.max = min(one.min, array.bound), max(one.max, array.bound)
        one.arrays += 1
    return [found[kind] for kind in sorted(found)]


def add_bounds(path: Path, listing: dict[str, Any], each_block: bool) -> None:
    """To each dataset, and to each of its components, as "bounds", what ranges_of() all blocks is;
    with `each_block` to each chunk, as "arrays", the bound of each array in it."""
    if not any(dataset["chunks"] for dataset in listing["datasets"]):
        return
    with Blocks(path) as blocks:
        for dataset in listing["datasets"]:
            all_arrays: list[ArrayBound] = []
            for chunk in dataset["chunks"]:
                arrays = blocks.bounds_of(dataset, chunk)
                if each_block:
                    chunk["arrays"] = [asdict(array) for array in arrays]
                all_arrays += arrays
            dataset["bounds"] = [asdict(one) for one in ranges_of(all_arrays)]
            for component in dataset.get("components", []):
                own = (array for array in all_arrays if array.component == component["name"])
                component["bounds"] = [asdict(one) for one in ranges_of(own)]
