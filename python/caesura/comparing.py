"""Is what a file holds what was handed in? Every value, against a reference.

The bound holds if |x - x'| <= bound for every finite x that is not missing. NaN stays NaN, and
missing values and infinities stay what they were. A bound of 0 means bit for bit. Differences are
taken in double precision, in which the difference of two float32 values is exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import h5py
import hdf5plugin  # noqa: F401  registers the filters
import numpy as np

from caesura.bound_maps import MappedBounds
from caesura.missing import places

_MESH = re.compile(r"^/data/(\d+)/(?:meshes|fields)/(.+)$")
_SLAB_BYTES = 16 << 20  # read at once where a dataset has no chunks


class ComparisonError(Exception):
    """Two things cannot be compared; the message says why and what to do."""


@dataclass
class FieldResult:
    """What comparing one dataset found."""

    path: str
    bound: float
    values: int = 0
    max_error: float = 0.0
    violations: int = 0  # finite values beyond the bound
    special_changed: int = 0  # NaN or infinities that are not what they were
    first_violation: str = ""
    pointwise: bool = False  # bound and errors are shares of each value
    mapped: MappedBounds | None = None  # says the bound of each value; `bound` is the loosest
    missing: tuple[Any, ...] = ()  # values that are no data: exact, and counted in no error
    max_share: float = 0.0  # mapped: largest error over the bound of its value

    @property
    def ok(self) -> bool:
        return self.violations == 0 and self.special_changed == 0

    @property
    def max_error_over_bound(self) -> float:
        if self.mapped is not None:
            return self.max_share
        return self.max_error / self.bound if self.bound > 0 else 0.0

    def sentence(self) -> str:
        if self.violations and self.mapped is not None:
            return (
                f"{self.path}: {self.violations} of {self.values} values differ by more than the "
                f"map of bounds allows them (up to {self.max_share:g} times it, "
                f"first at {self.first_violation})"
            )
        if self.violations:
            return (
                f"{self.path}: {self.violations} of {self.values} values differ by more than the "
                f"bound {self.bound:g} (largest difference {self.max_error:g}, "
                f"first at {self.first_violation})"
            )
        return (
            f"{self.path}: {self.special_changed} missing, NaN or infinite values are not what "
            f"they were "
            f"(first at {self.first_violation})"
        )


class Reference(Protocol):
    def find(self, path: str, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """Something that takes slices and gives values; ComparisonError if it is not there."""


class Hdf5Reference:
    """An HDF5 file with a dataset at the same path, or at the same iteration and field."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = h5py.File(path, "r")
        self._meshes: dict[tuple[str, str], h5py.Dataset] = {}
        for name, dataset in datasets(self._file):
            if match := _MESH.match(name):
                self._meshes[match.group(1), match.group(2)] = dataset

    def find(self, path: str, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        found = self._file.get(path)
        if found is None and (match := _MESH.match(path)):
            found = self._meshes.get((match.group(1), match.group(2)))
        if not isinstance(found, h5py.Dataset):
            raise ComparisonError(f"{self.path} has no dataset {path} to compare with")
        if found.shape != shape or found.dtype != dtype:
            raise ComparisonError(
                f"{path} is {dtype} {shape} here and {found.dtype} {found.shape} in {self.path}"
            )
        return found


class RawReference:
    """A directory of FIELD_ITERATION.bin: values as they lie in memory, C order."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def find(self, path: str, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        match = _MESH.match(path)
        stem = f"{match.group(2)}_{match.group(1)}" if match else path.strip("/")
        source = self.path / f"{stem.replace('/', '_')}.bin"
        wanted = int(np.prod(shape)) * dtype.itemsize
        if not source.is_file():
            raise ComparisonError(f"{source} does not exist, so {path} has nothing to compare with")
        if source.stat().st_size != wanted:
            raise ComparisonError(
                f"{source} has {source.stat().st_size} bytes, {path} needs {wanted}"
            )
        return np.memmap(source, dtype=dtype, mode="r", shape=shape)


def open_reference(path: Path) -> Reference:
    """By what it is: a directory or an HDF5 file. Raises OSError naming the path."""
    if path.is_dir():
        return RawReference(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; give an HDF5 file or a directory")
    return Hdf5Reference(path)


def datasets(file: h5py.File) -> Iterator[tuple[str, h5py.Dataset]]:
    """All datasets of numbers or bool with their absolute paths, in order of name, iterations by
    number. One of a null dataspace has neither shape nor values, and is none of them."""
    found: list[tuple[str, h5py.Dataset]] = []

    def visit(name: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset) or item.shape is None:
            return
        if item.dtype.kind in "fiubc":
            found.append((f"/{name}", item))

    file.visititems(visit)
    yield from sorted(found, key=lambda pair: _order(pair[0]))


def _order(path: str) -> tuple[int, str]:
    match = _MESH.match(path)
    return (int(match.group(1)), path) if match else (-1, path)


def mesh_of(path: str) -> tuple[int, str]:
    """Iteration and field of a dataset; iteration 0 and the path where it is not openPMD."""
    match = _MESH.match(path)
    return (int(match.group(1)), match.group(2)) if match else (0, path)


def blocks(dataset: h5py.Dataset) -> Iterator[tuple[slice, ...]]:
    """The dataset's chunks, or slabs of about 16 MB where it has none."""
    if dataset.chunks is not None:
        yield from dataset.iter_chunks()
        return
    if dataset.ndim == 0:
        yield ()
        return
    plane_bytes = max(1, dataset.nbytes // max(1, dataset.shape[0]))
    step = max(1, _SLAB_BYTES // plane_bytes)
    for begin in range(0, dataset.shape[0], step):
        rest = tuple(slice(0, extent) for extent in dataset.shape[1:])
        yield (slice(begin, min(begin + step, dataset.shape[0])), *rest)


def compare_block(
    result: FieldResult, original: np.ndarray, stored: np.ndarray, where: tuple[slice, ...]
) -> None:
    """Adds one block to the result. Complex numbers are compared part by part."""
    if original.dtype.kind == "c":
        for part in ("real", "imag"):
            compare_block(result, getattr(original, part), getattr(stored, part), where)
        return
    result.values += original.size
    if original.tobytes() == stored.tobytes():
        return
    finite = np.isfinite(original)
    if result.missing and original.dtype.kind == "f":
        finite &= ~places(original, result.missing)
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.abs(original.astype(np.float64) - stored.astype(np.float64))
    # A finite value that became NaN or infinite differs by more than any bound.
    difference = np.where(finite, np.nan_to_num(difference, nan=np.inf, posinf=np.inf), 0.0)
    if result.pointwise:  # zeros may not move at all
        size = np.abs(np.where(finite, original, 1.0).astype(np.float64))
        broken = difference > result.bound * size
        with np.errstate(divide="ignore", invalid="ignore"):
            difference = np.where(difference > 0, difference / size, 0.0)
    elif result.mapped is not None:
        bounds = result.mapped.at(original, where)
        broken = np.where(bounds > 0, difference > bounds, _differ(original, stored) & finite)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(difference > 0, difference / bounds, 0.0)
        result.max_share = max(result.max_share, float(shares.max(initial=0.0)))
    elif result.bound > 0:
        broken = difference > result.bound
    else:
        broken = _differ(original, stored) & finite
    same_special = (np.isnan(original) & np.isnan(stored)) | (original == stored)
    special = ~finite & ~same_special
    result.max_error = max(result.max_error, float(difference.max(initial=0.0)))
    result.violations += int(np.count_nonzero(broken))
    result.special_changed += int(np.count_nonzero(special))
    if not result.first_violation and (broken.any() or special.any()):
        index = np.unravel_index(int(np.argmax(broken | special)), original.shape)
        position = [int(at) + part.start for at, part in zip(index, where, strict=True)]
        before, after = _text(original[index]), _text(stored[index])
        result.first_violation = f"{position}: {before} became {after}"


def _text(value: np.generic) -> str:
    return str(value) if value.dtype.kind in "iub" else f"{float(value):g}"


def _differ(original: np.ndarray, stored: np.ndarray) -> np.ndarray:
    """Bit for bit, so that -0.0 and payloads of NaN count."""
    width = np.dtype(f"u{original.dtype.itemsize}")
    return np.ascontiguousarray(original).view(width) != np.ascontiguousarray(stored).view(width)


def bound_of(dataset: h5py.Dataset) -> float:
    """The absolute bound the writer promised (a share of each value where is_pointwise()); 0 for
    lossless and for files that say nothing."""
    return float(dataset.attrs.get("caesura_bound", 0.0))


def is_pointwise(dataset: h5py.Dataset) -> bool:
    """Is the bound a share of each value?"""
    kind = dataset.attrs.get("caesura_bound_kind", "")
    return (kind.decode() if isinstance(kind, bytes) else str(kind)) == "pointwise_relative"
