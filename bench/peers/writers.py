"""The peers, each behind the same four calls: open, begin, dump, close.

Invariants:
 - Each is used as its documentation says, with its defaults, one process, one file. What is set
   differently stands beside it.
 - dump() may return before the data are safe; close() may not.
 - verify() reads the file back with the peer's own reader, without the emulated disk.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import ClassVar

import numpy as np

# The absolute bounds that the papers use for Nyx's fields.
BOUNDS = {
    "baryon_density": 0.2,
    "dark_matter_density": 0.4,
    "temperature": 1e3,
    "velocity_x": 2e5,
    "velocity_y": 2e5,
    "velocity_z": 2e5,
}
Fields = dict[str, np.ndarray]


class Output:
    """No output: what the others are compared with."""

    lossy = False
    suffix = ""

    def __init__(self, path: Path, fields: Fields, bound_scale: float = 1.0) -> None:
        self.path, self.fields = path.with_suffix(self.suffix), fields
        self.bounds = {name: bound * bound_scale for name, bound in BOUNDS.items()}

    def prepare(self) -> None:
        """Import what is needed: not charged."""

    def open(self) -> None:
        """Create the file."""

    def begin(self, number: int) -> None:
        """An iteration begins."""

    def busy(self):
        """Around what the host computes."""
        return nullcontext()

    def dump(self, number: int) -> None:
        """Hand all fields over; the application then goes on to change them."""

    def end(self) -> None:
        """The iteration ends."""

    def close(self) -> None:
        """Everything is in the file."""

    def read(self, number: int, name: str) -> np.ndarray:
        """A field as the file has it."""
        raise NotImplementedError

    def report(self) -> dict:
        """The library's own account, if it has one."""
        return {}


class H5py(Output):
    """h5py, contiguous datasets."""

    suffix = ".h5"

    def prepare(self) -> None:
        import h5py
        import hdf5plugin

        self._h5py, self._hdf5plugin = h5py, hdf5plugin

    def open(self) -> None:
        self._file = self._h5py.File(self.path, "w")

    def _options(self, name: str) -> dict:
        return {}

    def dump(self, number: int) -> None:
        for name, values in self.fields.items():
            self._file.create_dataset(f"{number}/{name}", data=values, **self._options(name))

    def close(self) -> None:
        self._file.close()

    def read(self, number: int, name: str) -> np.ndarray:
        with self._h5py.File(self.path, "r") as file:
            return file[f"{number}/{name}"][()]


class H5pySz3(H5py):
    """h5py with SZ3's filter of hdf5plugin: one chunk a field, as Caesura's blocks are."""

    lossy = True

    def _options(self, name: str) -> dict:
        return {
            "chunks": self.fields[name].shape,
            **self._hdf5plugin.SZ3(absolute=self.bounds[name]),
        }


class Bp5(Output):
    """ADIOS2's BP5 engine."""

    suffix = ".bp"
    parameters: ClassVar[dict[str, str]] = {}

    def prepare(self) -> None:
        import adios2

        self._adios2 = adios2

    def open(self) -> None:
        self._adios = self._adios2.Adios()
        io = self._adios.declare_io("dump")
        io.set_engine("BP5")
        io.set_parameters(self.parameters)
        self._variables = {
            name: io.define_variable(
                name, values, list(values.shape), [0] * values.ndim, list(values.shape)
            )
            for name, values in self.fields.items()
        }
        self._engine = io.open(str(self.path), self._adios2.bindings.Mode.Write)

    def dump(self, number: int) -> None:
        self._engine.begin_step()
        for name, values in self.fields.items():
            self._engine.put(self._variables[name], values)  # deferred: taken at end_step
        self._engine.end_step()

    def close(self) -> None:
        self._engine.close()

    def read(self, number: int, name: str) -> np.ndarray:
        with self._adios2.FileReader(str(self.path)) as file:
            variable = file.inquire_variable(name)
            variable.set_step_selection([dumps_before(number), 1])
            return file.read(variable).reshape(self.fields[name].shape)


class Bp5Async(Bp5):
    """BP5 with AsyncWrite: a thread of ADIOS2 writes."""

    parameters: ClassVar[dict[str, str]] = {"AsyncWrite": "On"}


class Zarr(Output):
    """zarr 3: a directory, zstd, one chunk a field."""

    suffix = ".zarr"

    def prepare(self) -> None:
        # numcodecs cannot read the version of zfpy that bench/codec needs; zarr needs no zfpy.
        sys.modules["numcodecs.zfpy"] = None  # type: ignore[assignment]
        import zarr

        self._zarr = zarr

    def open(self) -> None:
        self._root = self._zarr.open_group(str(self.path), mode="w")

    def dump(self, number: int) -> None:
        group = self._root.create_group(str(number))
        for name, values in self.fields.items():
            group.create_array(name, data=values, chunks=values.shape)

    def read(self, number: int, name: str) -> np.ndarray:
        return self._zarr.open_group(str(self.path), mode="r")[f"{number}/{name}"][...]


class Caesura(Output):
    """Caesura as it comes; the host's work is marked, as its documentation asks for."""

    lossy = True
    suffix = ".h5"
    options: ClassVar[dict] = {}

    def prepare(self) -> None:
        import caesura
        import caesura.communicator  # what the first Writer would import

        self._caesura = caesura
        self._make = caesura.Writer  # likewise

    def open(self) -> None:
        self._writer = self._make(self.path, **self.options)
        self._fields = {
            name: self._writer.define_field(
                name, values.dtype, values.shape, absolute=self.bounds[name]
            )
            for name, values in self.fields.items()
        }

    def begin(self, number: int) -> None:
        self._iteration = self._writer.begin_iteration(number)

    def busy(self):
        return self._iteration.busy("compress")

    def dump(self, number: int) -> None:
        dump = self._iteration.begin_dump(float(number))
        for name, values in self.fields.items():
            dump.put(self._fields[name], values)

    def end(self) -> None:
        self._iteration.end()

    def close(self) -> None:
        self._writer.close()

    def report(self) -> dict:
        report = self._writer.report()
        keys = ("put_s", "end_s", "close_s", "compress_s", "write_s", "plan_s", "stored_bytes")
        return {key: getattr(report, key) for key in keys}

    def read(self, number: int, name: str) -> np.ndarray:
        with self._caesura.open(self.path) as file:
            return file[f"data/{number}/meshes/{name}"][()]


class CaesuraUnplanned(Caesura):
    """Blocks as they come, writes at once; the operating system does the rest."""

    options: ClassVar[dict] = {"planning": False}


class CaesuraNormal(Caesura):
    """The same with compress threads at normal priority."""

    options: ClassVar[dict] = {"planning": False, "idle_priority": False}


DUMP_EVERY = 4


def dumps_at(number: int) -> bool:
    """Also at the last iteration: that dump has no iteration left to be written in."""
    return number % DUMP_EVERY == DUMP_EVERY - 1


def dumps_before(number: int) -> int:
    """How many iterations before this one have dumped."""
    return sum(dumps_at(n) for n in range(number))


OUTPUTS: dict[str, type[Output]] = {
    "compute": Output,
    "h5py": H5py,
    "h5py-sz3": H5pySz3,
    "zarr": Zarr,
    "bp5": Bp5,
    "bp5-async": Bp5Async,
    "caesura": Caesura,
    "caesura-unplanned": CaesuraUnplanned,
    "caesura-normal": CaesuraNormal,
}
