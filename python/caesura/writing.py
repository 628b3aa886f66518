"""Writing from Python: numpy arrays in, one standard HDF5 (openPMD) file out.

    with caesura.Writer("run.h5", absolute=1e-3) as writer:
        rho = writer.define_field("rho", numpy.float32, (64, 64, 64))
        for n in range(10):
            with writer.iteration(n) as iteration:
                with iteration.busy("compress"):
                    compute()
                if n % 2 == 0:
                    iteration.begin_dump(time=0.1 * n).put(rho, array, offset=(0, 0, 0))

Which calls are collective is said at each; the rules are those of caesura/writer.hpp.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from caesura import _core, communicator, lambdas
from caesura.attributes import attribute_value, owner_of
from caesura.bfloat16 import BFLOAT16, STAND_IN, as_bits, is_floating, name_of
from caesura.bound_maps import BoundMap
from caesura.bounds import bound_of
from caesura.device_arrays import device_array
from caesura.particles import Record, Species, check_options, storable

_LANES = {"compress": 0, "write": 1}


@dataclass(frozen=True)
class Field:
    """Handle of a field; valid for the life of its Writer."""

    index: int
    name: str
    dtype: np.dtype
    shape: tuple[int, ...]


class _Ratio:
    """What follows from a report's members."""

    @property
    def ratio(self) -> float:
        """Raw over stored bytes; 1 before anything was stored."""
        return self.raw_bytes / self.stored_bytes if self.stored_bytes else 1.0


# Its members are those of WriterReport in caesura/writer.hpp, which says what each is; the module
# lists them (python/bindings/writer_report.hpp).
WriterReport = make_dataclass("WriterReport", _core.WRITER_REPORT, bases=(_Ratio,), frozen=True)
WriterReport.__module__ = __name__
WriterReport.__doc__ = (
    "Counters of this rank since the writer was made, in bytes, seconds or counts; "
    "caesura/writer.hpp says what each is."
)


# Options of WriterOptions that few need: how space in the file is kept, how the lanes run.
_MORE = {
    "reserve": str,
    "reserve_sigmas": float,
    "slot_space": float,
    "slot_speed_weight": float,
    "reserve_factor": float,
    "stripe_bytes": int,
    "idle_priority": bool,
    "cooperative": bool,
    "balance_writes": bool,
    "max_delay": float,
    "transport": str,
    "analyses": list,
    "layout": str,
    "dumps_per_file": int,
    "pending_files": int,
}


def _more_options(more: dict[str, Any]) -> dict[str, Any]:
    """What is not given keeps the default of WriterOptions. "_open" is Writer.open's own."""
    opening = more.pop("_open", {})
    for name in more:
        if name not in _MORE:
            raise TypeError(f"Writer has no option {name!r}; beside the named ones: {list(_MORE)}")
    return opening | {name: _MORE[name](value) for name, value in more.items() if value is not None}


class Dump:
    """One dump being handed over; lives inside its iteration."""

    def __init__(self, core: Any, writer: Writer, number: int) -> None:
        self._core = core
        self._writer = writer
        self._number = number

    def put(
        self,
        field: Field,
        array: Any,
        offset: Sequence[int] | None = None,
        *,
        borrow: bool = False,
    ) -> None:
        """Hand over this rank's part of `field`, which begins at `offset` of the global array.

        Without borrow the values are copied and the array is yours again at once. With borrow it
        must stay unchanged until `Writer.released(iteration)`; a copy is still made if it is not
        contiguous or lies in a device. An array of CUDA (cupy, torch, ...) is fetched into the copy
        that is kept, where the library was built with CUDA. Local: no other rank is waited for.
        A masked array of numpy is put with its fill_value at masked places, which are missing then.

        Raises ValueError naming field, rank and value.
        """
        who = f"field '{field.name}'"
        there = device_array(array)
        values = None if there else dense_values(who, field.dtype, array)
        if np.ma.is_masked(array):
            self._core.declare_missing(field.index, _number(array.fill_value))
        axes = len(there.shape) if there else values.ndim
        begin = [0] * axes if offset is None else [int(at) for at in offset]
        if any(at < 0 for at in begin):
            raise ValueError(f"{who}: offset {tuple(begin)} is below zero")
        if there:
            check_type(who, field.dtype, there.dtype)
            name = name_of(there.dtype)
            self._core.put_address(field.index, there.address, there.shape, begin, name)
            return
        self._core.put(field.index, as_bits(values), begin, borrow, name_of(values.dtype))
        if borrow:
            self._writer._keep(self._number, values)

    def put_particles(self, record: Record, array: Any, *, borrow: bool = False) -> None:
        """Hand over what this rank's particles have in `record`: an array of one axis.

        Several puts follow each other. All records of a species have as many values on each rank,
        0 included; a record that is not to be in this dump is put by no rank. borrow: as put's.

        Raises ValueError naming record, rank and value.
        """
        values = dense_values(f"record '{record.name}'", record.dtype, array)
        self._core.put_particles(record.index, as_bits(values), borrow, name_of(values.dtype))
        if borrow:
            self._writer._keep(self._number, values)

    def set_attribute(
        self,
        name: str,
        value: Any,
        *,
        group: str | None = None,
        record: Field | Record | None = None,
        field: Field | Record | None = None,
        species: Species | None = None,
    ) -> None:
        """As Writer.set_attribute, in this dump alone, where it wins; by default of the iteration.

        An error costs the dump.
        """
        of = owner_of(group, record, field, species, "iteration")
        self._core.set_attribute(of, name, *attribute_value(name, value))


class Iteration:
    """One time step; made by Writer.iteration() or Writer.begin_iteration()."""

    def __init__(self, core: Any, writer: Writer, number: int) -> None:
        self._core = core
        self._writer = writer
        self.number = number

    @contextmanager
    def busy(self, lane: str) -> Iterator[None]:
        """While inside, the application needs that lane's resource.

        "compress": this rank's core. "write": network, MPI or the file system. Local.
        """
        if lane not in _LANES:
            raise ValueError(f'lane is {lane!r}; use "compress" or "write"')
        mark = self._core.busy(_LANES[lane])
        try:
            yield
        finally:
            mark.end()

    def compress_for(self, seconds: float) -> float:
        """Compress on this thread, which would wait anyway, for at most so long; seconds spent.

        For Writer(cooperative=True), which has no compress threads. Local.
        """
        return self._core.compress_for(float(seconds))

    def wait_until(self, done: Callable[[], bool], at_most_s: float) -> bool:
        """Wait until done() is true or the time is up, compressing meanwhile; what done() said.

        Local.
        """
        return self._core.wait_until(done, float(at_most_s))

    def begin_dump(self, time: float, dt: float = 1.0, time_unit_si: float = 1.0) -> Dump:
        """At most one dump an iteration, at this physical time. Local."""
        return Dump(
            self._core.begin_dump(float(time), float(dt), float(time_unit_si)),
            self._writer,
            self.number,
        )

    def end(self) -> None:
        """The one collective of an iteration; raises the first error of any rank, on all ranks."""
        self._core.end()
        self._writer._forget_released()


class Writer:
    """Belongs to a group of ranks; writes their fields into one file while they compute."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        comm: Any = None,
        *,
        codec: str = "caesura",
        cd_values: Sequence[int] = (),
        verify: bool | None = None,
        absolute: float | None = None,
        relative: float | None = None,
        bound: Any = None,
        chunk_bytes: int = 8 << 20,
        memory_bytes: int = 0,
        write_buffer_bytes: int = 20 << 20,
        planning: bool = True,
        algorithm: str = "default",
        compress_threads: int = 1,
        durable: bool = True,
        calibration: str | os.PathLike[str] = "",
        trace: str | os.PathLike[str] = "",
        author: str = "",
        software: str = "caesura",
        root_attributes: dict[str, Any] | None = None,
        on_message: Callable[[str], None] | None = None,
        **more: Any,
    ) -> None:
        """Collective. Creates (truncates) `path`; "run_%06T.h5" makes a file for each dump.

        comm: an mpi4py communicator, or None for this process alone. absolute, relative: the error
        bound of fields that give none; neither means lossless. bound: the same as a value, for the
        other kinds too: caesura.pointwise_relative(1e-3), caesura.psnr(80). codec: "caesura" (also
        "caesura:fast", ":strong", ":planes", ":regions"), "none", or that of an HDF5 filter plugin:
        "sz3", "zfp", "zstd", ... verify: decode lossy blocks again; None: where the codec does not
        check every value itself. calibration: a profile of `caesura calibrate`; "": where that puts
        it, "none": built-in times. trace: a Chrome trace a rank, "%r" becomes the rank. on_message:
        None: rank 0's stderr has what must be known, once. more: "transport" ("service:ADDRESS":
        `caesura serve` compresses and writes), "analyses" (calls, which it runs on values that
        pass), "layout" ("/step_%06T/{field}"), "dumps_per_file", ... (caesura/writer.hpp).
        Raises OSError (path not writable), ValueError (option), RuntimeError (plugin missing).
        """
        find_plugins()
        self._bound = bound_of(absolute, relative, bound) or ("lossless", 0.0)
        wrapped = communicator.wrap(comm)
        self._own_comm = wrapped if wrapped is not comm else None
        self.rank, self.size = int(getattr(wrapped, "rank", 0)), int(getattr(wrapped, "size", 1))
        self._borrowed: dict[int, list[np.ndarray]] = {}
        self._core = _core.Writer(
            os.fspath(path),
            wrapped,
            {
                "codec": codec,
                "cd_values": [int(value) for value in cd_values],
                "verify": None if verify is None else bool(verify),
                "bound": self._bound,
                "chunk_bytes": int(chunk_bytes),
                "memory_bytes": int(memory_bytes),
                "write_buffer_bytes": int(write_buffer_bytes),
                "planning": bool(planning),
                "algorithm": algorithm,
                **_more_options(more),
                "compress_threads": int(compress_threads),
                "durable": bool(durable),
                "calibration": os.fspath(calibration),
                "trace": os.fspath(trace),
                "author": author,
                "software": software,
                "root_attributes": _values(root_attributes or {}),
                "on_message": on_message,
            },
        )

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        comm: Any = None,
        *,
        after: int | None = None,
        **options: Any,
    ) -> Writer:
        """Collective. Goes on with a file that a Writer made, also on another number of ranks.

        A file whose run was killed is recovered first. after: the iteration of the last dump that
        is kept; what was dumped after it is dropped. None: after the last committed dump.
        `committed` then says after which iteration it goes on. Fields and species are defined as
        for a new file, alike or not. options: those of Writer.

        Raises OSError (no such file, no permission, another process has it open), ValueError (an
        iteration that is not there; an option), CorruptError (not of Caesura, or damaged),
        RuntimeError (an application's file, checkpoints, transport).
        """
        return cls(path, comm, _open={"open": None if after is None else int(after)}, **options)

    def define_field(
        self,
        name: str,
        dtype: Any,
        shape: Sequence[int],
        *,
        absolute: float | None = None,
        relative: float | None = None,
        lossless: bool = False,
        bound: Any = None,
        codec: str | None = None,
        cd_values: Sequence[int] = (),
        bound_map: BoundMap | None = None,
        chain: str | None = None,
        **options: Any,
    ) -> Field:
        """Define a global array; the same calls in the same order on all ranks.

        name: an openPMD mesh name; "velocity/x" is component x of the record "velocity". options:
        unit_si, unit_dimension, axis_labels, grid_spacing, grid_offset, grid_unit_si, geometry,
        geometry_parameters, data_order, position, time_offset and attributes (a dictionary, as by
        set_attribute); partial=True: the boxes of a dump cover any part of the shape, and readers
        find fill_value (0) elsewhere, as of a refined level; missing: a value, or several, that
        mark a place without data: exact, in no range, in the file _FillValue or missing_value.
        dtype: float16, "bfloat16",
        float32, float64, complex64, complex128 (each part is held to the bound), or
        bool and integers of 8 to 64 bits, which are stored without loss: they have no bound but
        lossless, and none need be said. bound_map: bounds of some values, in units of the field;
        the field's own is that of all others. chain: "caesura(bound=1e-3, mode=fast)" or
        "zstd(level=9)" in place of codec and bound.

        Raises ValueError (name, type, shape or bound), RuntimeError (plugin missing).
        """
        kind = storable(f"field '{name}'", dtype)
        check_options(f"field '{name}'", options, _FIELD_OPTIONS)
        if "attributes" in options:
            options["attributes"] = _values(options["attributes"])
        own = ("lossless", 0.0) if lossless else bound_of(absolute, relative, bound)
        if chain is not None:
            if codec is not None or own is not None:
                raise ValueError(f"field '{name}': a chain says codec and bound; name no other")
            codec, cd_values, own = lambdas.file_codec(chain)
        if codec is not None:
            options |= {"codec": codec, "cd_values": [int(value) for value in cd_values]}
        if bound_map is not None:
            options |= {"bound_map": bound_map.rules()}
        extents = tuple(int(extent) for extent in shape)
        if any(extent < 1 for extent in extents):
            raise ValueError(f"field '{name}' has shape {extents}; every extent must be 1 or more")
        if "fill_value" in options and isinstance(options["fill_value"], np.integer):
            options["fill_value"] = int(options["fill_value"])
        if options.get("missing") is not None:
            options["missing"] = [_number(one) for one in np.atleast_1d(options["missing"])]
        else:
            options.pop("missing", None)
        usual = self._bound if is_floating(kind) else ("lossless", 0.0)
        index = self._core.define_field(name, name_of(kind), extents, own or usual, options)
        return Field(index, name, kind, extents)

    def reshape(
        self, field: Field, shape: Sequence[int], grid_offset: Sequence[float] = ()
    ) -> Field:
        """The field with another shape, of as many axes, from the next put on.

        grid_offset: replaces that of define_field. The same calls in the same order on all ranks.
        Raises ValueError (shape; the field has been put into the open dump).
        """
        extents = tuple(int(extent) for extent in shape)
        if any(extent < 1 for extent in extents):
            raise ValueError(f"field '{field.name}': shape {extents}; every extent must be >= 1")
        self._core.reshape(field.index, extents, [float(value) for value in grid_offset])
        return Field(field.index, field.name, field.dtype, extents)

    def define_species(
        self, name: str, *, order: str = "given", keep_index: bool = False
    ) -> Species:
        """A species of particles; the same calls in the same order on all ranks.

        Before the first dump; of a series of files ("run_%06T.h5") before the first dump of any
        file, in which it then is from that file on. After Writer.open too all are defined again.
        name: openPMD's, without "/". Not collective by itself: the next end() says what differs.

        order="any": particles of a chunk may change places for a better ratio, all records of a
        particle together. keep_index: a record "index" then says what their order was.
        Raises ValueError (name, order, defined already; a dump has begun, of a series one of this
        file).
        """
        if order not in ("given", "any"):
            raise ValueError(f"species '{name}': order is {order!r}; use given or any")
        index = self._core.define_species(name, order == "any", bool(keep_index))
        return Species(self._core, index, name, self._bound)

    def set_attribute(
        self,
        name: str,
        value: Any,
        *,
        group: str | None = None,
        record: Field | Record | None = None,
        field: Field | Record | None = None,
        species: Species | None = None,
    ) -> None:
        """The attribute has this value in all dumps from the next end() on.

        value: an integer, a float, a string, or a list of one of these. group: "file" (the default;
        before its first dump), "iteration" or "meshes". record: the group of this component and its
        siblings. field: the dataset; what openPMD asks of a record ("geometry") goes to the record.
        Both may be of particles. species: its group.
        The same on all ranks: end() raises the first difference.
        Raises ValueError naming attribute and object (a name that the library needs, a value that
        openPMD does not allow, too long).
        """
        of = owner_of(group, record, field, species, "file")
        self._core.set_attribute(of, name, *attribute_value(name, value))

    def begin_iteration(self, number: int, label: str = "") -> Iteration:
        """Local. End it with Iteration.end(); `iteration()` does so by itself.

        label: what kind of iteration this is ("regrid"), if there are several: what is expected of
        the next one is taken from those of its kind.
        """
        return Iteration(self._core.begin_iteration(int(number), str(label)), self, int(number))

    @contextmanager
    def iteration(self, number: int, label: str = "") -> Iterator[Iteration]:
        """An iteration that ends with the block. Collective at the end.

        An exception inside leaves without the collective: other ranks may never come to it.
        """
        iteration = self.begin_iteration(number, label)
        yield iteration
        iteration.end()

    @property
    def committed(self) -> int | None:
        """Iteration number of the last dump known to be in the file; None before the first."""
        return self._core.committed()

    def released(self, iteration: int) -> bool:
        """May arrays borrowed for this iteration be changed?"""
        return self._core.released(int(iteration))

    def report(self) -> WriterReport:
        return WriterReport(**self._core.report())

    def finish_by(self, seconds: float) -> None:
        """Collective, for a job that is told to end: commit what can be committed in about so many
        seconds, and go on. `committed` says how far it came."""
        self._core.finish_by(float(seconds))

    def close(self) -> None:
        """Collective. Finishes and commits everything; raises the first error."""
        try:
            self._core.close()
        finally:
            self._borrowed.clear()
        if self._own_comm is not None:  # not after an error: ranks may no longer agree
            self._own_comm.free()
            self._own_comm = None

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close; after an exception on one of several ranks, leave instead: close() is collective
        and the others may never come. `caesura recover` then finishes the file."""
        if kind is None:
            self.close()
        elif self.size == 1:
            # The exception that is on its way already says what went wrong.
            with contextlib.suppress(Exception):
                self.close()

    def _keep(self, number: int, values: np.ndarray) -> None:
        self._borrowed.setdefault(number, []).append(values)

    def _forget_released(self) -> None:
        for number in [n for n in self._borrowed if self._core.released(n)]:
            del self._borrowed[number]


_FIELD_OPTIONS = {
    "unit_si",
    "unit_dimension",
    "axis_labels",
    "grid_spacing",
    "grid_offset",
    "grid_unit_si",
    "geometry",
    "geometry_parameters",
    "data_order",
    "position",
    "time_offset",
    "attributes",
    "partial",
    "fill_value",
    "missing",
}


def _number(value: Any) -> int | float:
    """As C++ takes it: integers stay such."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
        return int(value)
    return float(value)


def _values(attributes: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    return {str(name): attribute_value(name, value) for name, value in attributes.items()}


def dense_values(who: str, dtype: np.dtype, array: Any) -> np.ndarray:
    """The array as it is handed over. Raises ValueError: it has another type."""
    values = host_array(array)
    if values.dtype == STAND_IN:
        values = values.view(BFLOAT16)
    check_type(who, dtype, values.dtype)
    return np.ascontiguousarray(values)


def check_type(who: str, dtype: np.dtype, found: np.dtype) -> None:
    """Raises ValueError: an array has another type than what it is put into."""
    if found != dtype:
        raise ValueError(
            f"{who} is {dtype}, the array {found}; convert it with array.astype(numpy.{dtype})"
        )


def host_array(array: Any) -> np.ndarray:
    """A numpy view where possible (numpy, DLPack on the host), else a copy (cupy, torch, lists)."""
    if isinstance(array, np.ma.MaskedArray):
        return _without_mask(array)
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "detach"):  # torch: leave autograd and the device
        array = array.detach().cpu()
    elif hasattr(array, "get") and hasattr(array, "__cuda_array_interface__"):  # cupy
        return array.get()
    elif hasattr(array, "copy_to_host"):  # numba
        return array.copy_to_host()
    if hasattr(array, "__dlpack__"):
        return np.from_dlpack(array)
    return np.asarray(array)


def _without_mask(array: np.ma.MaskedArray) -> np.ndarray:
    """The array with its fill value at masked places, and what lies under the mask nowhere."""
    if not np.ma.is_masked(array):
        return np.asarray(array.data)
    return array.filled()


def find_plugins() -> None:
    """Tell the library where hdf5plugin's filters are, without importing it (it would load h5py).

    Not through HDF5_PLUGIN_PATH: h5py's own HDF5 would then find the plugins by itself, hdf5plugin
    would take them for registered and not connect them, and h5py could no longer write with them.
    """
    spec = importlib.util.find_spec("hdf5plugin")
    if spec is None or spec.origin is None:
        return
    ours = str(Path(spec.origin).parent / "plugins")
    earlier = os.environ.get("CAESURA_PLUGIN_PATH", "")
    if ours not in earlier.split(os.pathsep):
        os.environ["CAESURA_PLUGIN_PATH"] = os.pathsep.join([*filter(None, [earlier]), ours])
