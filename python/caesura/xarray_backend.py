"""xarray: `xarray.open_dataset("run.h5", engine="caesura")`, lazily.

Variables are fields ("E/x" becomes "E_x"), coordinates come from grid spacing, offset and position,
times from the dumps. With `chunks={}` dask's chunks are the stored ones. Fields whose shape differs
from dump to dump, or that not all dumps have, need `iteration=`; attrs["left_out"] names them.
Where a field is called as an axis is, the axis "x" becomes "x_axis"; "iteration" and "time" become
"dump_iteration" and "dump_time". Missing values are masked as CF says it.

Files without dumps (neither openPMD's nor a Writer's) open as by engine="h5netcdf":
caesura/xarray_plain.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from caesura.reader import Reader, StoredField
from caesura.xarray_plain import variables_of

# What xarray does by CF's conventions, unless it is told otherwise.
_DECODERS = {
    "mask_and_scale": True,
    "decode_times": True,
    "concat_characters": True,
    "decode_coords": True,
    "use_cftime": None,
    "decode_timedelta": None,
}


class _Values(BackendArray):
    """One field over its dumps, read where it is indexed."""

    def __init__(self, reader: Reader, name: str, iterations: list[int], stacked: bool) -> None:
        self.reader = reader
        self.name = name
        self.iterations = iterations
        self.stacked = stacked
        first = reader[name, iterations[0]]
        self.dtype = first.dtype
        self.shape = (len(iterations), *first.shape) if stacked else first.shape

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.BASIC, self._read
        )

    def _read(self, key: tuple[Any, ...]) -> Any:
        if not self.stacked:
            return self.reader[self.name, self.iterations[0]][key]
        which, *inside = key
        chosen = np.asarray(self.iterations)[which]
        if np.ndim(chosen) == 0:
            return self.reader[self.name, int(chosen)][tuple(inside)]
        parts = [self.reader[self.name, int(one)][tuple(inside)] for one in chosen]
        if not parts:
            empty = self.reader[self.name, self.iterations[0]][tuple(inside)]
            return np.empty((0, *np.shape(empty)), self.dtype)
        return np.stack(parts)


class _Axes:
    """Dimensions and coordinates: fields that lie on the same points share them."""

    def __init__(self, taken: set[str]) -> None:
        self.coords: dict[str, Any] = {}
        self._taken = taken  # names of variables
        self._meaning: dict[str, tuple[Any, ...]] = {}

    def of(self, field: StoredField) -> tuple[str, ...]:
        if field.kind == "particles":
            labels = [field.name.split("/")[0]] + [f"axis_{n}" for n in range(1, field.ndim)]
        elif len(field.axis_labels) == field.ndim:
            labels = list(field.axis_labels)
        else:
            labels = [f"axis_{n}" for n in range(field.ndim)]
        return tuple(self._name(field, axis, label) for axis, label in enumerate(labels))

    def _name(self, field: StoredField, axis: int, label: str) -> str:
        n = field.shape[axis]
        meaning: tuple[Any, ...] = (n,)
        if len(field.grid_spacing) == len(field.grid_offset) == field.ndim:
            position = np.atleast_1d(field.attrs.get("position", 0.0))
            if field.attrs.get("dataOrder") == "F":
                position = position[::-1]
            shift = float(position[axis]) if len(position) == field.ndim else 0.0
            step = field.grid_spacing[axis]
            meaning = (n, field.grid_offset[axis] + shift * step, step, field.grid_unit_si)
        if self._meaning.get(self._free(label), meaning) != meaning:
            label = f"{label}_{field.name.replace('/', '_')}"
        label = self._free(label)
        while self._meaning.get(label, meaning) != meaning:
            label += "_"
        self._meaning[label] = meaning
        if len(meaning) > 1:
            _, first, step, unit_si = meaning
            self.coords[label] = (label, first + step * np.arange(n), {"unitSI": unit_si})
        return label

    def _free(self, label: str) -> str:
        """A variable keeps its name, and the axis gets another one."""
        while label in self._taken:
            label += "_axis"
        return label


class CaesuraBackend(BackendEntrypoint):
    """engine="caesura"."""

    description = "Files of Caesura, and other HDF5 files, decoded by all cores"
    open_dataset_parameters = (
        *("filename_or_obj", "drop_variables", "iteration", "threads", "group"),
        *_DECODERS,
    )

    def open_dataset(
        self,
        filename_or_obj: str | os.PathLike[str],
        *,
        drop_variables: str | Iterable[str] | None = None,
        iteration: int | None = None,
        threads: int = 0,
        group: str | None = None,
        **decoders: Any,
    ) -> xr.Dataset:
        """iteration: one dump; None: all of them, along the dimension "iteration". group: of a file
        without dumps. decoders: mask_and_scale, decode_times and their like, as xarray has them."""
        reader = Reader(filename_or_obj, threads=threads)
        dropped = (
            [drop_variables] if isinstance(drop_variables, str) else list(drop_variables or [])
        )
        is_there = iteration in reader.dumps or (iteration == 0 and not _has_dumps(reader))
        if iteration is not None and not is_there:
            raise ValueError(
                f"{reader.path}: there is no dump of iteration {iteration}; there are "
                f"{', '.join(map(str, reader.iterations))}"
            )
        if _has_dumps(reader):
            if group is not None:
                raise ValueError(
                    f"{reader.path}: group={group!r} is for files without dumps; fields of this "
                    "one are chosen by their names"
                )
            variables, coords, attrs = _of_dumps(reader, iteration, dropped)
            unlimited: set[str] = set()
        else:
            variables, attrs, unlimited = variables_of(reader, group)
            coords = {}
        decoded, attrs, names = xr.conventions.decode_cf_variables(
            variables, attrs, drop_variables=dropped, **{**_DECODERS, **decoders}
        )
        data = xr.Dataset(decoded, coords=coords, attrs=attrs)
        data = data.set_coords(set(names) & set(decoded))
        if unlimited:
            data.encoding["unlimited_dims"] = unlimited & set(data.dims)
        return data

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Never: these are HDF5 files, which others open too. Say engine="caesura"."""
        return False


def _has_dumps(reader: Reader) -> bool:
    """Is it openPMD's, or of a layout of the Writer's own, or are there iterations in its paths?"""
    said = {"openPMD", "caesura_layout"} & set(reader.attrs)
    return bool(said) or "%" in os.path.basename(reader.path) or set(reader.dumps) > {0}


def _of_dumps(
    reader: Reader, iteration: int | None, dropped: list[str]
) -> tuple[dict[str, xr.Variable], dict[str, Any], dict[str, Any]]:
    """Variables, coordinates and attributes."""
    chosen = reader.iterations if iteration is None else [iteration]
    kept: dict[str, StoredField] = {}
    left_out: list[str] = []
    for name, dumps in reader.items():
        variable = name.replace("/", "_")
        if variable in dropped or name in dropped or not set(chosen) & set(dumps):
            continue
        fields = [dumps[one] for one in chosen if one in dumps]
        like = fields[0]
        same = all((f.shape, f.dtype) == (like.shape, like.dtype) for f in fields)
        if len(fields) < len(chosen) or not same:
            left_out.append(name)
            continue
        kept[name if variable in kept else variable] = like
    axes = _Axes(set(kept))
    dump = {name: name if name not in kept else f"dump_{name}" for name in ("iteration", "time")}
    stacked = dump["iteration"] if iteration is None else None
    variables = {
        key: _variable(reader, field, chosen, stacked, axes.of(field))
        for key, field in kept.items()
    }
    attrs = dict(reader.attrs)
    if left_out:
        attrs["left_out"] = left_out
    times = [reader.dumps[one]["time"] for one in chosen]
    coords = dict(axes.coords)
    coords[dump["iteration"]] = (stacked, chosen) if stacked else iteration
    coords[dump["time"]] = (stacked, times) if stacked else times[0]
    return variables, coords, attrs


def _variable(
    reader: Reader,
    field: StoredField,
    chosen: list[int],
    stacked: str | None,
    dims: tuple[str, ...],
) -> xr.Variable:
    values = indexing.LazilyIndexedArray(_Values(reader, field.name, chosen, stacked is not None))
    # A chunk of no values is no chunk to dask.
    chunks = {dim: max(1, n) for dim, n in zip(dims, field.chunks, strict=True)}
    if stacked is not None:
        dims, chunks = (stacked, *dims), {stacked: 1, **chunks}
    attrs = {**field.attrs, "name": field.name, "codec": field.codec}
    return xr.Variable(dims, values, attrs, encoding={"preferred_chunks": chunks})
