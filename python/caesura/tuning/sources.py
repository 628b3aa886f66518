"""The dumps of one field in HDF5 files: found by name, looked through once, read as a whole."""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  registers the filters
import numpy as np

from caesura import comparing, contents, missing
from caesura.boxes import boxes

MOST_AXES = 4
_SLAB_BYTES = 32 << 20
_ITERATION = re.compile(r"^/data/(\d+)/(?:meshes/|fields/)?(.+)$")
_LISTED = 12  # names in a message

Watch = Callable[[int], None]  # is told bytes done


@contextmanager
def _opened(path: Path, dataset: str = "") -> Iterator[h5py.File]:
    """HDF5's errors do not say of which file they speak."""
    try:
        with h5py.File(path, "r") as file:
            yield file
    except OSError as error:
        where = f"{path}: {dataset}" if dataset else str(path)
        raise OSError(
            f"{where} cannot be read ({error}); it is damaged, so copy it again, or it needs a "
            "filter of HDF5 that is not installed here"
        ) from error


@dataclass(frozen=True)
class Dump:
    """One array, not yet read."""

    file: Path
    path: str  # of the dataset
    label: str  # iteration, or path where there is none
    name: str  # of the field: without the iteration, where there is one
    shape: tuple[int, ...]  # in the file
    dtype: np.dtype  # native
    earlier_bound: float  # that the file's writer kept; 0: lossless, or nothing is said
    missing: tuple[Any, ...] = ()  # values that are no data, as declared or suspected

    @property
    def axes(self) -> tuple[int, ...]:
        """As it is compressed: of more than four axes the first ones are one."""
        first = max(0, len(self.shape) - MOST_AXES + 1)
        if first < 2:
            return self.shape
        return (math.prod(self.shape[:first]), *self.shape[first:])

    @property
    def raw_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def slabs(self) -> Iterator[np.ndarray]:
        """All values, in parts of the first axis, whole chunks at a time. Missing ones are NaN: so
        they are exact, and count in no range and no quality."""
        with _opened(self.file, self.path) as file:
            dataset = file[self.path]
            row_bytes = max(1, self.raw_bytes // self.shape[0])
            step = max(1, _SLAB_BYTES // row_bytes)
            if dataset.chunks:
                step = -(-step // dataset.chunks[0]) * dataset.chunks[0]
            for begin in range(0, self.shape[0], step):
                yield self._without_missing(dataset[begin : begin + step])

    def _without_missing(self, values: np.ndarray) -> np.ndarray:
        values = np.ascontiguousarray(values, self.dtype)
        if self.missing:
            values[missing.places(values, self.missing)] = np.nan
        return values

    def whole(self) -> np.ndarray:
        """Raises OSError (a file that cannot be read), MemoryError."""
        values = np.empty(self.shape, self.dtype)
        begin = 0
        for slab in self.slabs():
            values[begin : begin + slab.shape[0]] = slab
            begin += slab.shape[0]
        return values.reshape(self.axes)

    def pieces(self, budget_bytes: int, block_bytes: int) -> list[np.ndarray]:
        """All of it if that is not more than the budget, else equal blocks spread over it."""
        if self.raw_bytes <= budget_bytes or self.axes != self.shape:
            return [self.whole()]
        cut = list(boxes(self.shape, self.dtype.itemsize, block_bytes))
        full = [box for box in cut if _extent(box) == _extent(cut[0])]
        count = min(len(full), max(1, budget_bytes // block_bytes))
        chosen = [full[(2 * i + 1) * len(full) // (2 * count)] for i in range(count)]
        with _opened(self.file, self.path) as file:
            dataset = file[self.path]
            return [self._without_missing(dataset[box]) for box in chosen]


def _extent(box: tuple[slice, ...]) -> tuple[int, ...]:
    return tuple(part.stop - part.start for part in box)


# ------------------------------------------------------------------------------------------ finding


def find(files: Sequence[Path], field: str | None, named: Sequence[float] = ()) -> list[Dump]:
    """The dumps of the field, of each file by iteration.

    field: a dataset's path, an openPMD name ("density", "velocity/x"), the end of a path, or a
    pattern ("step_*/rho"), all of whose datasets are dumps of one field; None: the only one there.
    named: missing values beside those that the datasets declare.
    Raises OSError (a file), ValueError (no such field, several, or no floats).
    """
    found = [one for path in files for one in _datasets(path, named)]
    chosen = [one for one in found if field is None or _matches(one, field)]
    if field is None:  # that there are integers too leaves no doubt
        chosen = [one for one in chosen if one.dtype.kind == "f"]
    if not chosen:
        what = f"no field '{field}'" if field is not None else "no field of floats"
        for path in files if field is not None else ():
            _refuse_other(path, field)
        raise ValueError(f"{_names(files)}: there is {what}; {_listed(found)}")
    fields = sorted({one.name for one in chosen})
    if len(fields) > 1 and (field is None or not _is_pattern(field)):
        exact = [one for one in chosen if one.name.strip("/") == (field or "").strip("/")]
        if not exact:
            flag = "give --field" if field is None else f"'{field}' is the end of several names"
            raise ValueError(f"{_names(files)}: {flag}; {_listed(chosen)}")
        chosen = exact
    for one in chosen:
        _check(one)
        with _opened(one.file) as file:
            needs = contents.needs_of(file[one.path], one.file)
        if needs:
            raise OSError(f"{one.file}: {one.path} needs {needs}, which is not here")
    return chosen


def _datasets(path: Path, named: Sequence[float]) -> list[Dump]:
    with path.open("rb"):
        pass  # h5py's own errors do not say what is wrong
    contents.check_is_hdf5(path)
    contents.check_is_whole(path)
    if not h5py.is_hdf5(path):
        raise OSError(f"{path} is no HDF5 file yet: its run has committed nothing")
    found = []
    with _opened(path) as file:
        for name, dataset in comparing.datasets(file):
            match = _ITERATION.match(name)
            earlier = dataset.attrs.get("caesura_bound", 0.0)
            found.append(
                Dump(
                    path, name, match[1] if match else name, match[2] if match else name,
                    tuple(dataset.shape), dataset.dtype.newbyteorder("="),
                    float(np.max(earlier, initial=0.0)), missing.declared(dataset, named),
                )
            )  # fmt: skip
    return found


def _refuse_other(path: Path, field: str) -> None:
    """What is there by that name but holds no numbers."""
    with _opened(path) as file:
        other = file.get(field)
        if not isinstance(other, h5py.Dataset):
            return
        if other.shape is None or other.dtype.names is None:
            raise ValueError(f"{path}: {field} holds no numbers; name another field")
        raise ValueError(
            f"{path}: {field} holds several quantities ({', '.join(other.dtype.names)}), which are "
            "not taken apart; copy what you want into a dataset of numbers"
        )


def _matches(one: Dump, field: str) -> bool:
    wanted = field.strip("/")
    names = {one.path.strip("/"), one.name.strip("/")}
    if _is_pattern(field):
        return any(fnmatch.fnmatchcase(name, wanted) for name in names)
    return any(name == wanted or name.endswith(f"/{wanted}") for name in names)


def _is_pattern(field: str) -> bool:
    return any(mark in field for mark in "*?[")


def _check(one: Dump) -> None:
    where = f"{one.file}: {one.path}"
    if one.dtype.kind in "iub":
        raise ValueError(
            f"{where} holds {one.dtype}: integers and bool are stored without loss, whatever the "
            "bound, so there is nothing to choose"
        )
    if one.dtype.kind == "c":
        raise ValueError(
            f"{where} holds complex numbers; tune the real and the imaginary part as two datasets, "
            "and take the tighter bound"
        )
    if one.dtype.itemsize not in (2, 4, 8):
        raise ValueError(f"{where} holds {one.dtype}, which has no error bound")
    if not one.shape or math.prod(one.shape) < 2:
        raise ValueError(f"{where} has shape {one.shape}: too few values to tune for")


def _names(files: Sequence[Path]) -> str:
    return str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"


def _listed(found: Sequence[Dump]) -> str:
    names = sorted({one.name for one in found})
    if not names:
        return "it holds no dataset of numbers"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return "there are " + ", ".join(names[:_LISTED]) + more


# ------------------------------------------------------------------------------- looking through it


@dataclass(frozen=True)
class Survey:
    """What all values of a dump say."""

    smallest: float  # finite ones
    largest: float
    not_finite: int  # missing ones too
    suspects: tuple[Any, ...] = ()  # values that nobody declared

    @property
    def span(self) -> float:
        return self.largest - self.smallest


def survey(dump: Dump, needs_finite: bool, quality: str, watch: Watch) -> Survey:
    """Raises ValueError where nothing can be chosen: nothing finite, a range beyond a double, or
    NaN where the quality is not defined then."""
    smallest, largest, not_finite = math.inf, -math.inf, 0
    suspected: list[Any] = []
    for slab in dump.slabs():
        fills = missing.suspects(slab, suspected)
        suspected += fills
        if fills:
            slab[missing.places(slab, fills)] = np.nan
        finite = np.isfinite(slab)
        good = slab if finite.all() else slab[finite]
        not_finite += slab.size - good.size
        smallest = min(smallest, float(good.min(initial=np.inf)))
        largest = max(largest, float(good.max(initial=-np.inf)))
        watch(slab.nbytes)
    if suspected:  # a slab before may have had a single one
        known = replace(dump, missing=(*dump.missing, *suspected))
        seen = survey(known, needs_finite, quality, lambda _: None)
        return replace(seen, suspects=(*suspected, *seen.suspects))
    where = f"{dump.file}: {dump.path}"
    if smallest > largest:
        raise ValueError(f"{where} has no finite value")
    if not_finite and needs_finite:
        raise ValueError(
            f"{where} has {not_finite} values that are missing, NaN or infinite, for which "
            f"{quality} is not defined; ask for psnr, ssim or gradient, which leave them out"
        )
    if math.isinf(largest - smallest):
        raise ValueError(
            f"{where} spans from {smallest:g} to {largest:g}, a range that no float64 can say; "
            "leave it lossless"
        )
    return Survey(smallest, largest, not_finite)


def that_vary(
    dumps: Sequence[Dump], surveys: Sequence[Survey]
) -> tuple[list[Dump], list[Survey], list[Dump]]:
    """The dumps that can be tuned for with their surveys, and the constant ones: these take next to
    nothing even without loss. Raises ValueError where all are constant."""
    pairs = list(zip(dumps, surveys, strict=True))
    vary = [pair for pair in pairs if pair[1].span > 0]
    if not vary:
        first, seen = pairs[0]
        raise ValueError(
            f"{first.file}: {first.path} is constant ({seen.smallest:g}): it takes next to nothing "
            "even without loss, and no quality can be measured; leave it lossless"
        )
    constant = [dump for dump, seen in pairs if seen.span == 0]
    return [dump for dump, _ in vary], [seen for _, seen in vary], constant
