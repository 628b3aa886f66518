"""Any HDF5 file for xarray, by the rules of netCDF-4, as xarray's engine "h5netcdf" shows it.

Dimensions come from dimension scales, else from sizes ("phony_dim_0", as netCDF calls them).
Values are decoded by all cores where the Reader knows the dataset, else read by h5py. Datasets in
groups below the one that is opened are variables too: "group/name" becomes "group_name".
What xarray cannot hold (references, opaque values, null spaces) is named in attrs["left_out"].
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from caesura.reader import Reader
from caesura.reading import open as open_file

_NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"
_NON_COORD = "_nc4_non_coord_"
_HIDDEN = {
    "CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "DIMENSION_LABELS", "_Netcdf4Dimid",
    "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties",
}  # fmt: skip


class _Values(BackendArray):
    """One dataset, read where it is indexed."""

    def __init__(self, reader: Reader, path: str, dataset: h5py.Dataset) -> None:
        self.reader = reader
        self.path = path
        self.shape = dataset.shape
        self.is_text = (
            h5py.check_string_dtype(dataset.dtype) is not None and dataset.dtype == object
        )
        self.dtype = np.dtype(object) if self.is_text else dataset.dtype
        self.field = next((one for one in reader.fields if one.path == path), None)
        field = self.field
        alike = field is not None and (field.shape, field.dtype) == (self.shape, self.dtype)
        self.by_reader = alike and len(self.shape) > 0

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.BASIC, self._read
        )

    def _read(self, key: tuple[Any, ...]) -> Any:
        if self.by_reader:
            return self.field[key]
        # h5py takes no slices that go backwards.
        forwards, turned = [], []
        for part, n in zip(key, self.shape, strict=True):
            if not isinstance(part, slice):
                forwards.append(part)
                continue
            indices = range(n)[part]
            back = indices.step < 0 and len(indices) > 0
            one = indices[::-1] if back else indices
            forwards.append(slice(one.start, one.stop, one.step) if len(one) else slice(0, 0))
            turned.append(slice(None, None, -1 if back else 1))
        with open_file(self.reader.path) as file:
            dataset = file[self.path]
            values = (dataset.asstr() if self.is_text else dataset)[tuple(forwards)]
        return np.asarray(values, self.dtype)[tuple(turned)]


class _Dimensions:
    """Names of dimensions over all groups; one name has one size."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.unlimited: set[str] = set()
        self._by_id: dict[int, tuple[str, int]] = {}
        self._phony: list[str] = []

    def learn(self, scale: h5py.Dataset) -> None:
        """Some scales of netCDF have numbers, by which arrays of several axes name them."""
        number = scale.attrs.get("_Netcdf4Dimid")
        if number is not None and scale.ndim >= 1:
            self._by_id[int(number)] = (_variable_name(scale.name), scale.shape[0])

    def of(self, dataset: h5py.Dataset) -> list[str]:
        names: list[str] = []
        numbers = np.atleast_1d(dataset.attrs.get("_Netcdf4Coordinates", []))
        for axis, n in enumerate(dataset.shape):
            name = self._scale_of(dataset, axis)
            if name is None and axis < len(numbers) and int(numbers[axis]) in self._by_id:
                name = self._by_id[int(numbers[axis])][0]
            names.append(self._phony_of(n, names) if name is None else self._sized(name, n, names))
            if dataset.maxshape[axis] is None:
                self.unlimited.add(names[-1])
        return names

    @staticmethod
    def _scale_of(dataset: h5py.Dataset, axis: int) -> str | None:
        is_scale = h5py.h5ds.is_scale(dataset.id)
        if is_scale:
            return _variable_name(dataset.name) if dataset.ndim == 1 else None
        try:
            scales = dataset.dims[axis].values()
        except (RuntimeError, KeyError, OSError):  # a scale that is not there any more
            return None
        return _variable_name(scales[0].name) if scales and scales[0].name else None

    def _sized(self, name: str, n: int, beside: list[str]) -> str:
        """Groups may use a name again for another size, and an array twice for the same."""
        chosen, count = name, 0
        while self.sizes.get(chosen, n) != n or chosen in beside:
            count += 1
            chosen = f"{name}_{count}"
        self.sizes[chosen] = n
        return chosen

    def _phony_of(self, n: int, beside: list[str]) -> str:
        for name in self._phony:
            if self.sizes[name] == n and name not in beside:
                return name
        number = len(self._phony)
        while f"phony_dim_{number}" in self.sizes:
            number += 1
        self._phony.append(f"phony_dim_{number}")
        self.sizes[self._phony[-1]] = n
        return self._phony[-1]


def _variable_name(path: str) -> str:
    return posixpath.basename(path).removeprefix(_NON_COORD)


def _datasets(group: h5py.Group, prefix: str = "") -> Iterator[tuple[str, h5py.Dataset | None]]:
    """Of the group first, then of those below it; None: a link that leads nowhere."""
    seen = {h5py.h5o.get_info(group.id).addr}
    queue = [(prefix, group)]
    while queue:
        before, parent = queue.pop(0)
        below = []
        for name in parent:
            try:
                one = parent[name]
            except (KeyError, OSError, RuntimeError):
                yield before + name, None
                continue
            if isinstance(one, h5py.Dataset):
                yield before + name, one
            elif isinstance(one, h5py.Group):
                address = h5py.h5o.get_info(one.id).addr
                if address not in seen:  # a group may hold itself
                    seen.add(address)
                    below.append((f"{before}{name}/", one))
        queue += below


def _attribute(value: Any) -> Any:
    """As netCDF has it: a list of one is a number, text is str."""
    if isinstance(value, h5py.Empty):
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind == "S":
        value = np.char.decode(value, "utf-8", "replace")
    if value.size == 1:
        one = value.reshape(())[()]
        return one.decode("utf-8", "replace") if isinstance(one, bytes) else one
    if value.dtype.kind in "OU":
        return [_attribute(one) for one in value.ravel().tolist()]
    return value


def _attributes(of: h5py.HLObject) -> dict[str, Any]:
    found = {}
    for name in of.attrs:
        if name in _HIDDEN:
            continue
        try:
            value = of.attrs[name]
        except (OSError, TypeError, ValueError, RuntimeError):
            continue  # of a type that h5py does not know
        kept = _attribute(value)
        references = isinstance(kept, (h5py.Reference, h5py.RegionReference))
        if not references and not (isinstance(kept, np.ndarray) and kept.dtype.kind in "VO"):
            found[name] = kept
    return found


def _can_be_held(dataset: h5py.Dataset) -> bool:
    dtype = dataset.dtype
    if dataset.shape is None:
        return False
    if h5py.check_string_dtype(dtype) is not None:
        return True
    return dtype.kind in "biufc" or (dtype.kind == "V" and dtype.names is not None)


def _encoding(dataset: h5py.Dataset, dims: list[str]) -> dict[str, Any]:
    encoding: dict[str, Any] = {"original_shape": dataset.shape}
    if dataset.chunks:
        encoding["chunksizes"] = dataset.chunks
        encoding["preferred_chunks"] = dict(zip(dims, dataset.chunks, strict=True))
    return encoding


def _is_dimension_alone(dataset: h5py.Dataset) -> bool:
    name = dataset.attrs.get("NAME", b"")
    return bytes(name if isinstance(name, bytes) else str(name).encode()).startswith(_NO_VARIABLE)


def variables_of(
    reader: Reader, group: str | None
) -> tuple[dict[str, xr.Variable], dict[str, Any], set[str]]:
    """Not decoded by CF yet; the attributes of the group, and its unlimited dimensions."""
    variables: dict[str, xr.Variable] = {}
    left_out: list[str] = []
    dimensions = _Dimensions()
    with open_file(reader.path) as file:
        top = file["/"] if group is None else file.get(group)
        if not isinstance(top, h5py.Group):
            raise ValueError(f"{reader.path}: there is no group {group!r}")
        found = list(_datasets(top))
        for _, dataset in found:
            if dataset is not None and h5py.h5ds.is_scale(dataset.id):
                dimensions.learn(dataset)
        for name, dataset in found:
            if dataset is not None and _is_dimension_alone(dataset):
                continue
            if dataset is None or not _can_be_held(dataset):
                left_out.append(name)
                continue
            parent, _, last = name.rpartition("/")
            flat = f"{parent}/{last.removeprefix(_NON_COORD)}".strip("/")
            key = flat.replace("/", "_")
            dims = dimensions.of(dataset)
            values = indexing.LazilyIndexedArray(_Values(reader, dataset.name, dataset))
            while key in variables:  # "g_rho" and "g/rho"
                key += "_"
            variables[key] = xr.Variable(
                dims, values, _attributes(dataset), _encoding(dataset, dims)
            )
        attrs = _attributes(top)
    if left_out:
        attrs["left_out"] = left_out
    return _without_clashes(variables), attrs, dimensions.unlimited


def _without_clashes(variables: dict[str, xr.Variable]) -> dict[str, xr.Variable]:
    """A variable keeps its name. A dimension called like a number without axes gets another."""
    dims = {dim for one in variables.values() for dim in one.dims}
    names = {dim: f"{dim}_axis" for dim in dims if dim in variables and not variables[dim].dims}
    out = {}
    for key, one in variables.items():
        dims = [names.get(dim, dim) for dim in one.dims]
        out[key] = xr.Variable(dims, one._data, one.attrs, one.encoding) if names else one
    return out
