"""Reading: the values of any box of any field of any dump, decoded by all cores.

    reader = caesura.Reader("run.h5")
    list(reader), reader.iterations                    # names of fields, numbers of dumps
    reader["E/x", 3][10:20, ...]                       # a numpy array; no more is read than that
    reader["E/x"][3].bound                             # the same field: dumps of one name
    caesura.read("run.h5", "E/x", 3)                   # all of it at once

Names, types, and what is read how: docs/reference/reading.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from caesura import _core, communicator
from caesura.bfloat16 import as_bits, number_type

if TYPE_CHECKING:
    from mpi4py import MPI

_ROUND_BYTES = 64 << 20


def numpy_type(name: str, members: list[str]) -> np.dtype:
    """Of a field; a compound of r and i, as h5py stores complex numbers, is complex."""
    number = number_type(name)
    if not members:
        return number
    if members == ["r", "i"] and number.kind == "f" and number.itemsize in (4, 8):
        return np.dtype(f"c{2 * number.itemsize}")
    return np.dtype([(member, number) for member in members])


class StoredField:
    """One field in one dump: an array that is read where it is indexed."""

    def __init__(self, reader: Reader, number: int, info: dict[str, Any]) -> None:
        self._reader = reader
        self._number = number
        self.kind: str = info["kind"]  # "mesh", "particles", "other"
        self.name: str = info["name"]
        self.path: str = info["path"]
        self.iteration: int = info["iteration"]
        self.dtype = numpy_type(info["dtype"], info["members"])
        self.shape: tuple[int, ...] = info["shape"]
        self.chunks: tuple[int, ...] = info["chunk"]
        self.codec: str = info["codec"]
        self.bound: tuple[str, float] | None = info["bound"]
        self.raw_bytes: int = info["raw_bytes"]
        self.stored_bytes: int = info["stored_bytes"]
        # Of its record, where that is a group, and its own over them.
        self.attrs: dict[str, Any] = {**info["record_attributes"], **info["attributes"]}
        self.unit_si: float = info["unit_si"]
        self.axis_labels: list[str] = info["axis_labels"]
        self.grid_spacing: list[float] = info["grid_spacing"]
        self.grid_offset: list[float] = info["grid_offset"]
        self.grid_unit_si: float = info["grid_unit_si"]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"<{self.path}: {shape} {self.dtype}, {self.codec}>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = self[...]
        return values if dtype is None else values.astype(dtype, copy=False)

    def __getitem__(self, key: Any) -> Any:
        """By integers, slices of any step, and an ellipsis, as numpy does it."""
        return self.read(key)

    def read(self, key: Any = ..., out: np.ndarray | None = None, together: bool = False) -> Any:
        """The values at `key`, into `out` if given.

        out: of the field's type and the shape of the result, in any memory order. together: on all
        ranks of the Reader's communicator at once, each with a key of its own.
        """
        offset, extent, rest = _box(key, self.shape, self.path)
        if out is None:
            values = np.empty(extent, self.dtype)
            self._reader._core.read(self._number, offset, as_bits(values), together)
            return values[rest]
        kept = tuple(n for n, r in zip(extent, rest, strict=True) if isinstance(r, slice))
        steps = [r.step for r in rest if isinstance(r, slice) and r.step not in (None, 1)]
        if out.dtype != self.dtype or (not steps and out.shape != kept):
            raise ValueError(
                f"dataset {self.path}: out is {out.shape} of {out.dtype}, the box {kept} of "
                f"{self.dtype}"
            )
        if steps or any(stride < 0 for stride in out.strides):
            out[...] = self.read(key, together=together)
            return out
        whole = np.expand_dims(
            out, tuple(axis for axis, r in enumerate(rest) if not isinstance(r, slice))
        )
        self._reader._core.read(self._number, offset, as_bits(whole), together)
        return out


def _box(
    key: Any, shape: tuple[int, ...], path: str
) -> tuple[list[int], tuple[int, ...], tuple[Any, ...]]:
    """The box of a key, and what to take of it to have what the key means."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if sum(part is ... for part in keys) > 1:
        raise IndexError(f"dataset {path}: more than one ellipsis")
    if ... not in [part for part in keys if part is ...]:
        keys.append(...)
    at = next(i for i, part in enumerate(keys) if part is ...)
    missing = len(shape) - len(keys) + 1
    if missing < 0:
        raise IndexError(f"dataset {path}: {len(keys) - 1} indices for {len(shape)} axes")
    keys[at : at + 1] = [slice(None)] * missing
    offset, extent, rest = [], [], []
    for axis, (part, n) in enumerate(zip(keys, shape, strict=True)):
        if isinstance(part, slice):
            indices = range(n)[part]
            first = min(indices[0], indices[-1]) if indices else 0
            offset.append(first)
            extent.append(abs(indices[-1] - indices[0]) + 1 if indices else 0)
            rest.append(slice(None, None, indices.step if indices else None))
            continue
        try:
            index = part.__index__()
        except AttributeError:
            raise TypeError(
                f"dataset {path}: an index of type {type(part).__name__}; integers and slices go"
            ) from None
        if not -n <= index < n:
            raise IndexError(f"dataset {path}: index {index} of axis {axis}, which has {n}")
        offset.append(index % n)
        extent.append(1)
        rest.append(0)
    return offset, tuple(extent), tuple(rest)


class Reader(Mapping[str, dict[int, StoredField]]):
    """What a file holds. A mapping: by name, the field in each dump that has it.

    With a communicator of mpi4py, making it and refresh() are collective. threads: that decode side
    by side, 0 for one a core. Any threads may read at once.

    Raises OSError, caesura.CorruptError (damaged, with dataset and chunk), ValueError (no such
    field), RuntimeError (a filter that is not there).
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        comm: MPI.Comm | None = None,
        *,
        threads: int = 0,
        verify: bool = True,
        round_bytes: int = _ROUND_BYTES,
    ) -> None:
        self._how = (os.fspath(path), threads, verify, round_bytes)
        self._alone = comm is None
        self._core = _core.Reader(
            os.fspath(path),
            communicator.wrap(comm) if comm is not None else None,
            threads,
            verify,
            round_bytes,
        )
        self._list()

    def _list(self) -> None:
        self.fields = [
            StoredField(self, number, info) for number, info in enumerate(self._core.fields())
        ]
        self._names: dict[str, dict[int, StoredField]] = {}
        for field in self.fields:
            self._names.setdefault(field.name, {})[field.iteration] = field
        self.dumps: dict[int, dict[str, Any]] = {
            dump["iteration"]: dump for dump in self._core.dumps()
        }
        self.attrs: dict[str, Any] = self._core.attributes()
        self.unreadable: list[str] = self._core.unreadable()

    def __getstate__(self) -> tuple[Any, ...]:
        if not self._alone:
            raise TypeError("a Reader with a communicator cannot be pickled")
        return self._how

    def __setstate__(self, how: tuple[Any, ...]) -> None:
        path, threads, verify, round_bytes = how
        self.__init__(path, threads=threads, verify=verify, round_bytes=round_bytes)

    @property
    def path(self) -> str:
        return self._how[0]

    @property
    def iterations(self) -> list[int]:
        return list(self.dumps)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, key: object) -> bool:
        return key in self._names

    def __getitem__(self, key: Any) -> Any:
        """reader[name]: {iteration: field}; reader[name, iteration]: the field; so by its path."""
        if isinstance(key, tuple):
            name, iteration = key
            return self.fields[self._core.find(name, iteration)]
        if key in self._names:
            return self._names[key]
        if key.startswith("/"):
            return self.fields[self._core.find_path(key)]
        raise KeyError(f"{self.path} has no field {key!r}; it has {', '.join(self._names)}")

    def read(
        self,
        field: str,
        iteration: int | None = None,
        box: Any = ...,
        out: np.ndarray | None = None,
    ) -> Any:
        """The values of a box (slices, as an array is indexed) of a field. None: its last dump."""
        return self._find(field, iteration).read(box, out)

    def read_all(
        self,
        field: str,
        iteration: int | None = None,
        box: Any = ...,
        out: np.ndarray | None = None,
    ) -> Any:
        """The same on all ranks at once, each with a field and box of its own: collective.

        Each chunk is read and decoded by one rank, which hands its parts to whom they concern. What
        is wrong with a name or a key on one rank is raised there, before the others know.
        """
        return self._find(field, iteration).read(box, out, together=True)

    def _find(self, field: str, iteration: int | None) -> StoredField:
        if iteration is not None:
            return self[field, iteration]
        found = self[field]
        return found if isinstance(found, StoredField) else found[max(found)]

    def refresh(self) -> bool:
        """Go on to what is committed by now; True: there is more. Fields got before are void."""
        changed: bool = self._core.refresh()
        self._list()
        return changed


def read(
    path: str | os.PathLike[str],
    field: str,
    iteration: int | None = None,
    box: Any = ...,
    *,
    out: np.ndarray | None = None,
    threads: int = 0,
) -> Any:
    """The values of a field as a numpy array; of its last dump, where no iteration is named."""
    return Reader(path, threads=threads).read(field, iteration, box, out)
