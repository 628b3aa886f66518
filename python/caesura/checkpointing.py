"""Checkpoints of a simulation on a GPU: made one after the other, restored in any order.

    device = caesura.EmulatedDevice(128 << 20, 25e9, 500e9, curve)
    with caesura.Checkpointer(device, state.shape, state.dtype, cache_bytes=128 << 20,
                              link_bytes_per_s=25e9, compress_curve=curve,
                              bound=1e-3, path="run.h5", host_bytes=1 << 30) as checkpointer:
        for n in range(steps):
            checkpointer.checkpoint(n, state)
        for n in reversed(range(steps)):
            checkpointer.restore(n, out=state)

What the calls do, cost and promise is in caesura/checkpointer.hpp and docs/guide/checkpoints.md. A
Checkpointer and its device are used by one thread at a time; other threads run meanwhile. Nothing
here is collective: each process has its own device, Checkpointer and file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from caesura import _core, together
from caesura.bounds import as_bound, lossless
from caesura.device_arrays import is_dense

_FLOATS = ("float32", "float64")
_MAX_AXES = 4
_LOSSLESS = lossless()


class EmulatedDevice:
    """A device in host memory with a virtual clock, where there is no GPU: it really copies and
    compresses, and every step takes the time that a model says. Its arrays are numpy's."""

    on_host = True

    def __init__(
        self,
        memory_bytes: int,
        link_bytes_per_s: float,
        copy_bytes_per_s: float,
        compress_curve: Sequence[tuple[float, float]],
    ) -> None:
        """memory_bytes: what may be allocated, the cache included. compress_curve: (bytes, seconds)
        of compressing so much at once, ascending bytes. ValueError naming the value."""
        curve = [(float(size), float(seconds)) for size, seconds in compress_curve]
        self._core = _core.emulated_device(
            memory_bytes=memory_bytes,
            link_bytes_per_s=link_bytes_per_s,
            copy_bytes_per_s=copy_bytes_per_s,
            compress_curve=curve,
        )

    def work(self, seconds: float) -> None:
        """The application computes for so long."""
        self._core.work(seconds)

    @property
    def now_s(self) -> float:
        """Seconds of its clock."""
        return self._core.now_s()


class CudaDevice:
    """A GPU of CUDA; compiled and linked, not yet run on a GPU. Its arrays are whatever has
    __cuda_array_interface__ (cupy, numba, torch), or addresses."""

    on_host = False

    def __init__(self, ordinal: int = 0, stream: int = 0) -> None:
        """ordinal: as CUDA counts. stream: the address of the application's stream on it, which
        must outlive the device; 0: the default one.

        RuntimeError saying what is missing: CUDA in this build, the driver, the GPU."""
        self._core = _core.cuda_device(ordinal=ordinal, stream=stream)
        self.stream = stream

    @property
    def now_s(self) -> float:
        """Seconds of its clock; waits until the stream is idle."""
        return self._core.now_s()


@dataclass(frozen=True)
class CheckpointerReport:
    """What a Checkpointer has done, in bytes, counts, and seconds of the device's clock."""

    word: str  # U, C, A or X for each checkpoint: docs/how/checkpoints.md
    checkpoint_s: float
    restore_s: float
    raw_bytes: int
    link_bytes: int  # what the checkpoints came to on the link
    restores: int
    prefetched: int
    peak_cache_bytes: int
    peak_host_bytes: int
    written_bytes: int  # to the file
    reads: int
    read_ahead: int
    store_wait_s: float  # of real time
    trouble: str  # why the file could not be written at the last attempt; nothing is lost by it


class Checkpointer:
    """Makes checkpoints of one array and brings them back. A context manager: leaving it saves
    where there is a file, unless an exception is under way."""

    def __init__(
        self,
        device: EmulatedDevice | CudaDevice,
        shape: Sequence[int],
        dtype: Any = np.float32,
        *,
        cache_bytes: int = 0,
        link_bytes_per_s: float = 0.0,
        compress_curve: Sequence[tuple[float, float]] = (),
        profile: together.Profile | None = None,
        checkpoints: int = 0,
        bound: Any = _LOSSLESS,
        path: str | os.PathLike[str] | None = None,
        mode: str = "w",
        host_bytes: int | None = None,
        write_all: bool = False,
        durable: bool = True,
        commit_every_s: float = 1.0,
    ) -> None:
        """A checkpoint is an array of `shape` and `dtype`.

        cache_bytes: what Caesura may have of the device's memory. link_bytes_per_s,
        compress_curve: of the machine. profile: another run's recorded(), in place of these three.
        checkpoints: how many are going to be made; 0: nobody knows. It may be wrong.
        bound: a number, lossless() or absolute(); float32 and float64 only.
        path: the HDF5 file for what the host has no room for. mode: "w" empties it, once the other
        arguments are accepted; "r+" goes on with the file of an earlier process, killed or not.
        host_bytes: memory of the host for checkpoints, at least three times the cache; None: no
        limit. write_all: everything is written, as soon as it has arrived. durable=False: safe
        against the end of the process only.

        ValueError naming the value, OSError (the file, or another process that writes it),
        caesura.CorruptError, RuntimeError (a bound of another kind; no file of checkpoints).
        """
        if mode not in ("w", "r+"):
            raise ValueError(f"mode is {mode!r}; use 'w' or 'r+'")
        if mode == "r+" and path is None:
            raise ValueError("mode 'r+' needs a path")
        self.dtype, self.shape = np.dtype(dtype), tuple(int(extent) for extent in shape)
        self._bytes = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
        if profile is None:
            curve = [(float(size), float(seconds)) for size, seconds in compress_curve]
            profile = together.Profile(
                self._bytes, [], [], curve, link_bytes_per_s, cache_bytes, 0
            )  # header_bytes 0: what the device needs
        kind, axes = self._content()
        self._device, self._has_file = device, path is not None
        self._core = _core.Checkpointer(
            device._core,
            profile._profile,
            dtype=kind,
            shape=axes,
            bound=tuple(as_bound(bound)),
            path=None if path is None else os.fspath(path),
            reopens=mode == "r+",
            host_bytes=host_bytes,
            write_all=write_all,
            durable=durable,
            commit_every_s=commit_every_s,
            checkpoints=checkpoints,
        )

    def _content(self) -> tuple[str, list[int]]:
        """Type and axes as the library has them; no axes: bytes, in values of the type's size."""
        if self.dtype.name not in _FLOATS or not self.dtype.isnative:
            return ("float64" if self.dtype.itemsize % 8 == 0 else "float32"), []
        if 1 <= len(self.shape) <= _MAX_AXES:
            return self.dtype.name, list(self.shape)
        return self.dtype.name, [self._bytes // self.dtype.itemsize]

    def checkpoint(self, number: int, data: Any) -> None:
        """Make one; `data` may change on return.

        data: an array of the device: numpy's for an emulated one, anything with
        __cuda_array_interface__ for a GPU, which names no stream or the device's; or its address.
        OSError when the disk is full: nothing has happened, and it may be called again. ValueError
        for a number that exists, and for an array of another kind or stream.
        """
        self._core.checkpoint(number, self._address(data, writable=False))

    def restore(self, number: int, out: Any = None) -> Any:
        """Bring one back into `out`, an array or address as in checkpoint(), and return that; into
        a new numpy array of an emulated device where there is none."""
        if out is None:
            if not self._device.on_host:
                raise ValueError("restore needs an array of the GPU: give it as out")
            out = np.empty(self.shape, self.dtype)
        self._core.restore(number, self._address(out, writable=True))
        return out

    def flush(self) -> None:
        """Everything made so far is at the host."""
        self._core.flush()

    def save(self) -> None:
        """Everything made so far is in the file, committed: it outlives the process."""
        self._core.save()

    @property
    def numbers(self) -> list[int]:
        """Of all checkpoints, in the order in which they were made, those of the file first."""
        return self._core.ids()

    def recorded(self) -> together.Profile:
        """This run, for the next one of the ensemble; together.Profile.to_json() keeps it."""
        return together.parse(self._core.recorded(), "this run")

    @property
    def report(self) -> CheckpointerReport:
        """What was done so far."""
        return CheckpointerReport(**self._core.report())

    def close(self) -> None:
        """Ends it and gives the file free. Saves nothing."""
        self._core.close()

    def __enter__(self) -> Checkpointer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None and self._has_file:
                self.save()
        finally:
            self.close()

    def _address(self, data: Any, *, writable: bool) -> int:
        """Where the data lie, after a look at what they are."""
        if isinstance(data, int) and not isinstance(data, bool):
            return data
        interface = getattr(data, "__cuda_array_interface__", None)
        if self._device.on_host:
            if interface is not None:
                raise ValueError("an array of a GPU, and an emulated device: copy it to numpy")
            # Of a list, say, numpy would make an array that is gone before its address is used.
            if not isinstance(data, np.ndarray):
                raise ValueError(f"a {type(data).__name__} is no numpy array")
            interface = data.__array_interface__
            if not data.flags.c_contiguous:
                raise ValueError("the array is not contiguous in C order; copy it first")
        elif interface is None:
            raise ValueError(f"a {type(data).__name__} is no array of a GPU")
        elif not is_dense(interface):
            raise ValueError("the array is not contiguous in C order; copy it first")
        else:
            self._check_stream(interface.get("stream"))
        dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
        if dtype != self.dtype or shape != self.shape:
            raise ValueError(
                f"an array of {dtype} and shape {shape}; checkpoints are of {self.dtype} and "
                f"shape {self.shape}"
            )
        address, read_only = interface["data"]
        if writable and read_only:
            raise ValueError("out is read-only")
        return address

    def _check_stream(self, stream: int | None) -> None:
        """Work on the array may be under way in the stream that it names (version 3 of the
        interface; None: in none). The device's own is waited for, another would not be."""
        if stream is None:
            return
        default = (0, 1)  # 1 is the interface's name of the legacy default stream, CUDA's 0
        own = self._device.stream
        if stream != own and not (stream in default and own in default):
            raise ValueError(
                f"the array is in the hands of stream {stream}, the device works in {own}: "
                "synchronise that stream and give the array's address, or make the CudaDevice "
                "with that stream"
            )
