"""Verify: every block's checksum through the store, every block decoded the stock way (h5py with
hdf5plugin's filters), and on demand every value against a reference.

A block whose checksum is wrong is not decoded: some decoders end the process on bytes they did not
write.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from caesura import _core
from caesura.bound_maps import map_in
from caesura.comparing import (
    ComparisonError,
    FieldResult,
    Reference,
    bound_of,
    compare_block,
    is_pointwise,
    mesh_of,
)
from caesura.components import components_of, members_in, own_bound, parts_of, stretches
from caesura.contents import PlainDataset, contents_of, is_cut_off, listing_of
from caesura.missing import declared
from caesura.reading import looks_like_hdf5

_SLAB_BYTES = 32 << 20

Progress = Callable[[int], None]  # told the raw bytes of each block that is done


@dataclass
class Verification:
    """What verifying one file found; `findings` are sentences, empty when all is well."""

    path: str
    datasets: int = 0
    blocks: int = 0
    blocks_without_checksum: int = 0
    raw_bytes: int = 0
    stored_bytes: int = 0
    what: str = ""  # the kind of file, where it is not one of dumps
    never_written: int = 0  # blocks that HDF5 fills in
    findings: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)  # what reading needs and is not here
    fields: dict[str, FieldResult] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return not self.findings

    def by_field(self) -> dict[str, FieldResult]:
        """Results of all iterations of a field taken together."""
        merged: dict[str, FieldResult] = {}
        for result in self.fields.values():
            name = mesh_of(result.path)[1]
            into = merged.setdefault(name, FieldResult(name, result.bound))
            into.bound = max(into.bound, result.bound)
            into.values += result.values
            into.violations += result.violations
            into.special_changed += result.special_changed
            into.max_error = max(into.max_error, result.max_error)
            into.max_share = max(into.max_share, result.max_share)
            into.mapped = into.mapped or result.mapped
        return merged

    def as_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "ok": self.ok,
            "datasets": self.datasets,
            "blocks": self.blocks,
            "blocks_without_checksum": self.blocks_without_checksum,
            "raw_bytes": self.raw_bytes,
            "stored_bytes": self.stored_bytes,
            "what": self.what,
            "never_written": self.never_written,
            "unchecked": self.unchecked,
            "findings": self.findings,
            "fields": {
                name: {
                    "bound": result.bound,
                    "values": result.values,
                    "max_error": finite_or_none(result.max_error),
                    "max_error_over_bound": finite_or_none(result.max_error_over_bound),
                    "violations": result.violations,
                    "special_changed": result.special_changed,
                }
                for name, result in self.by_field().items()
            },
        }


def finite_or_none(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None


def raw_bytes_of(path: Path) -> int:
    """How much there is to verify, for a progress bar."""
    if path.is_file() and is_cut_off(path):
        return 0
    return sum(dataset["raw_bytes"] for dataset in listing_of(_core, path)["datasets"])


def verify(
    path: Path, reference: Reference | None = None, progress: Progress = lambda _: None
) -> Verification:
    """Raises OSError or CorruptError when the file cannot even be listed."""
    if path.is_file() and (said := is_cut_off(path)):
        return Verification(str(path), findings=[said])
    info = listing_of(_core, path)
    store = _core.OpenFile(str(path)) if info["datasets"] else None
    contents = contents_of(path, info)
    result = Verification(str(path), datasets=len(info["datasets"]))
    if not contents.has_dumps:
        result.what = contents.sentence()
    if info["needs_recover"]:
        result.findings.append(
            f"{path} has an unfinished commit or uncommitted blocks; run `caesura recover {path}`"
        )
    if not looks_like_hdf5(path) and contents.ours:
        result.findings.append(f"{path} holds no dataset; was a dump ever committed?")
        return result
    needs = {one.path: one.needs for one in contents.datasets if one.needs}
    result.unchecked += [f"{name} needs {what}, which is not here" for name, what in needs.items()]
    written = written_blocks(store) if store is not None and contents.ours else []
    with h5py.File(path, "r") as file:
        for number, dataset in enumerate(info["datasets"]):
            if dataset["path"] in needs:
                continue
            _count_blocks(dataset, file[dataset["path"]], written, result)
            _verify_dataset(store, number, dataset, file, reference, result, progress)
        listed = {dataset["path"] for dataset in info["datasets"]}
        for one in contents.datasets:
            if one.path not in listed and one.path not in needs:
                _read_plain(file[one.path], one, reference, result)
    return result


def _read_plain(
    dataset: h5py.Dataset, one: PlainDataset, reference: Reference | None, result: Verification
) -> None:
    """A dataset without listed blocks: HDF5 gives its values, or it does not."""
    result.datasets += 1
    result.raw_bytes += one.raw_bytes
    result.stored_bytes += one.stored_bytes
    if dataset.shape is None or dataset.size == 0 or one.dtype == "unknown to h5py":
        return
    rows = max(1, _SLAB_BYTES // max(1, one.raw_bytes // max(1, dataset.shape[0]))) if (
        dataset.shape
    ) else 1  # fmt: skip
    try:
        for begin in range(0, dataset.shape[0] if dataset.shape else 1, rows):
            dataset[begin : begin + rows] if dataset.shape else dataset[()]
    except (OSError, RuntimeError) as error:
        result.findings.append(f"{one.path} does not decode: {error}")


def written_blocks(store: Any) -> list[dict[str, Any]]:
    """What the regions say was written, where they can be read."""
    try:
        return store.written()
    except (_core.CorruptError, OSError):
        return []  # the listing says what is wrong with the file


def _count_blocks(
    info: dict[str, Any],
    dataset: h5py.Dataset,
    written: list[dict[str, Any]],
    result: Verification,
) -> None:
    """Blocks that are not there: nobody wrote them, or they are lost."""
    grid = [-(-n // c) for n, c in zip(info["shape"], info["chunk"], strict=True)]
    expected, there = math.prod(grid), {chunk["chunk"] for chunk in info["chunks"]}
    if len(there) == expected:
        return
    if _must_be_whole(dataset):
        result.findings.append(f"{info['path']} has {len(there)} of {expected} blocks")
        return
    lost = _lost_blocks(info, dataset, written, grid, there)
    result.never_written += expected - len(there) - len(lost)
    if lost:
        result.findings.append(
            f"{info['path']} has lost {len(lost)} of {expected} blocks: they were written, and the "
            f"file's index does not have them (first at "
            f"{[part.start for part in chunk_slices(min(lost), info['shape'], info['chunk'])]})"
        )


def _must_be_whole(dataset: h5py.Dataset) -> bool:
    """The Writer says of a field that boxes tile that there is nothing to fill."""
    never = dataset.id.get_create_plist().get_fill_time() == h5py.h5d.FILL_TIME_NEVER
    return never and "caesura_codec" in dataset.attrs


def _lost_blocks(
    info: dict[str, Any],
    dataset: h5py.Dataset,
    written: list[dict[str, Any]],
    grid: list[int],
    there: set[int],
) -> set[int]:
    """Numbers of blocks of this very dataset that the regions have and the index has not."""
    header = h5py.h5o.get_info(dataset.id).addr
    lost: set[int] = set()
    for one in written:
        axes = len(info["shape"])
        if one["path"] != info["path"] or one["header"] not in (0, header):
            continue
        if len(one["shape"]) != axes or tuple(one["chunk"]) != tuple(info["chunk"]):
            continue  # seen with other axes: not to be compared
        for number in one["chunks"]:
            where = chunk_slices(number, one["shape"], one["chunk"])
            at = [part.start // side for part, side in zip(where, one["chunk"], strict=True)]
            if all(index < count for index, count in zip(at, grid, strict=True)):
                lost.add(int(np.ravel_multi_index(at, grid)))
    return lost - there


def _verify_dataset(
    store: Any,
    number: int,
    info: dict[str, Any],
    file: h5py.File,
    reference: Reference | None,
    result: Verification,
    progress: Progress,
) -> None:
    path = info["path"]
    dataset = file[path]
    result.raw_bytes += info["raw_bytes"]
    result.stored_bytes += info["stored_bytes"]
    original = None
    comparisons: list[FieldResult] = []
    if reference is not None:
        try:
            original = reference.find(path, dataset.shape, dataset.dtype)
            comparisons = _comparisons(store, number, info, dataset)
            said = declared(dataset)
            if isinstance(original, h5py.Dataset):
                said += declared(original)
            for one in comparisons:
                one.missing = said
        except ComparisonError as error:
            result.findings.append(str(error))
    for index, chunk in enumerate(info["chunks"]):
        where = chunk_slices(chunk["chunk"], info["shape"], info["chunk"])
        block = _verify_block(store, number, index, chunk, dataset, where, result)
        if block is not None and original is not None:
            _compare(comparisons, original[where], *block, where, dataset)
        progress(math.prod(part.stop - part.start for part in where) * dataset.dtype.itemsize)
    result.fields.update({one.path: one for one in comparisons if one.values > 0})
    result.findings.extend(one.sentence() for one in comparisons if not one.ok)


def _comparisons(
    store: Any, number: int, info: dict[str, Any], dataset: h5py.Dataset
) -> list[FieldResult]:
    """One, or one for each component and one for blocks that do not say which they hold."""
    components = components_of(dataset.attrs)
    if components:
        named = [
            FieldResult(
                f"{dataset.name} [{one.name}]",
                one.bound,
                pointwise=one.kind == "pointwise_relative",
            )
            for one in components
        ]
        units = [one.bound for one in components if one.kind != "pointwise_relative"]
        rest = FieldResult(f"{dataset.name} [rewritten]", max(units, default=0.0))
        return [*named, rest]
    try:
        mapped = map_in(dataset.attrs)
    except ValueError as error:
        raise ComparisonError(f"{dataset.name}: {error}") from error
    if mapped is not None:
        return [FieldResult(dataset.name, bound_of(dataset), mapped=mapped)]
    if "caesura_bound" in dataset.attrs:
        return [FieldResult(dataset.name, bound_of(dataset), pointwise=is_pointwise(dataset))]
    bound, pointwise = _loosest_bound(store, number, info)
    return [FieldResult(dataset.name, bound, pointwise=pointwise)]


def _loosest_bound(store: Any, number: int, info: dict[str, Any]) -> tuple[float, bool]:
    """What the blocks say, where the dataset does not. A block that was rewritten in part says it
    is exact, and keeps values that are off by the bound of before."""
    bounds = [(0.0, False)]
    for index in range(len(info["chunks"])):
        try:
            stored = store.read_chunk(number, index)
            bounds += [(part.bound, part.pointwise) for part in parts_of(stored)]
            bounds.append(own_bound(stored))
        except (_core.CorruptError, OSError):
            continue  # a finding of its own
    return max(bounds)


def _compare(
    comparisons: list[FieldResult],
    original: np.ndarray,
    stored: bytes,
    values: np.ndarray,
    where: tuple[slice, ...],
    dataset: h5py.Dataset,
) -> None:
    """One block."""
    members = members_in(original)
    if len(comparisons) == 1 or len(members) > 1:
        for number, (before, after) in enumerate(zip(members, members_in(values), strict=True)):
            comparison = comparisons[number if len(comparisons) > 1 else 0]
            compare_block(comparison, before, after, where)
        return
    for one in stretches(stored, where, dataset.attrs):
        comparison = comparisons[-1 if one.component is None else one.component]
        compare_block(comparison, original[one.inside], values[one.inside], one.where)


def _verify_block(
    store: Any,
    number: int,
    index: int,
    chunk: dict[str, Any],
    dataset: h5py.Dataset,
    where: tuple[slice, ...],
    result: Verification,
) -> tuple[bytes, np.ndarray] | None:
    """The stored bytes and the decoded values; None, with a finding, when checksum or decoder
    object."""
    result.blocks += 1
    if not chunk["has_checksum"]:
        result.blocks_without_checksum += 1
    try:
        stored = store.read_chunk(number, index)
    except (_core.CorruptError, OSError) as error:
        result.findings.append(str(error))
        return None
    try:
        return stored, dataset[where]
    except (OSError, RuntimeError) as error:
        begin = [part.start for part in where]
        result.findings.append(
            f"{dataset.name}: the block at {begin} has the right checksum but does not decode: "
            f"{error}"
        )
        return None


def chunk_slices(number: int, shape: tuple[int, ...], chunk: tuple[int, ...]) -> tuple[slice, ...]:
    """The part of the array that chunk `number` of the row-major chunk grid holds."""
    parts: list[slice] = []
    for extent, side in zip(reversed(shape), reversed(chunk), strict=True):
        number, at = divmod(number, -(-extent // side))
        parts.append(slice(at * side, min((at + 1) * side, extent)))
    return tuple(reversed(parts))
