"""Objects of a service: arrays by name, on their way into files and in them.

    from caesura import service

    with service.connect("service:unix:/run/user/1000/caesura.sock") as objects:
        id = objects.create("my run", "rho", np.float32, (64, 64))
        objects.put(id, part, offset=(0, 32)).wait()
        objects.run(id, "stats")                        # {"min": ..., "max": ..., ...}
        objects.create("my run", "p", np.float32, (64,), chain="caesura(bound=1e-3) | zstd")
        for field in objects.find(container="/scratch/me/run.h5", values=(1e3, 1e4)).objects:
            print(field.name, field.range, field.results)

docs/reference/objects.md says what objects are. Mistakes are a ValueError, a service that is gone
or a file that cannot be read an OSError, values that are not there (yet) a CorruptError.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from caesura import _core
from caesura.bfloat16 import name_of, number_type


@dataclass(frozen=True)
class Region:
    """A box of an object. place: "memory", "device", "sink", "member", "file" or "passing".
    range: its smallest and largest finite value, None if not known. stored_bytes: where it lies, 0
    if not known."""

    offset: tuple[int, ...]
    extent: tuple[int, ...]
    place: str
    range: tuple[float, float] | None
    stored_bytes: int = 0


@dataclass(frozen=True)
class Object:
    """What the service says of an object. values: how many are there. chain: what its regions go
    through at chain_at ("client", "service"), "" if nothing."""

    id: int
    origin: str
    container: str
    name: str
    dtype: str
    shape: tuple[int, ...]
    time: float
    owner: str
    tags: dict[str, str]
    values: int
    range: tuple[float, float] | None
    results: dict[str, dict[str, Any]]
    regions: list[Region] = field(default_factory=list)
    chain: str = ""
    chain_at: str = "client"
    stored_bytes: int = 0


@dataclass(frozen=True)
class Found:
    """Objects, and how many regions a value range has kept and skipped."""

    objects: list[Object]
    regions_kept: int
    regions_skipped: int


class Ticket:
    """A put, or the making of a file, that goes on in the service."""

    def __init__(self, core: Any) -> None:
        self._core = core

    def wait(self) -> None:
        """Until it is done; raises what went wrong."""
        self._core.wait()

    @property
    def done(self) -> bool:
        return self._core.is_done()


class Objects:
    """A connection to a service. Any thread."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self._held: list[tuple[Any, Any]] = []  # arrays that are being sent
        self._dtypes: dict[int, np.dtype] = {}  # of objects that were made or found here

    def __enter__(self) -> Objects:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Waits for what is under way, then ends the connection."""
        self._core = None
        self._held = []

    def create(
        self,
        container: str,
        name: str,
        dtype: Any,
        shape: Sequence[int],
        *,
        time: float = 0.0,
        absolute: float | None = None,
        keep: bool = False,
        tags: Mapping[str, str] | None = None,
        chain: str = "",
        chain_at: str = "client",
    ) -> int:
        """The id of a new object, or of that which is there with the same type and shape.

        absolute: values may come back so far from what was put. keep: it stays when this
        connection ends. chain: transforms that regions go through, such as "zstd | aead" or
        "caesura@deflate(bound=1e-3)": here ("client"), or in the service ("service").
        """
        if chain_at not in ("client", "service"):
            raise ValueError(f"chain_at is {chain_at!r}; it is 'client' or 'service'")
        bound = ("lossless", 0.0) if absolute is None else ("absolute", float(absolute))
        id = self._core.create(
            container, name, name_of(number_type(dtype)), list(shape), float(time), bound, keep,
            list((tags or {}).items()), chain, chain_at == "service",
        )  # fmt: skip
        self._dtypes[id] = number_type(dtype)
        return id

    def put(self, id: int, array: Any, offset: Sequence[int] | None = None) -> Ticket:
        """Values of a box that begins at `offset`. The array must not change until it is done."""
        array = np.ascontiguousarray(array)
        offset = [0] * array.ndim if offset is None else list(offset)
        core = self._core.put(
            id, offset, list(array.shape), name_of(array.dtype), array.reshape(-1).view(np.uint8)
        )
        self._held = [one for one in self._held if not one[0].is_done()]
        self._held.append((core, array))
        return Ticket(core)

    def get(
        self,
        id: int,
        offset: Sequence[int],
        extent: Sequence[int],
        dtype: Any = None,
    ) -> np.ndarray:
        """The values of a box. dtype: the object's; as a rule it is known, but float32 is taken
        of an object that this connection has neither made nor found."""
        if dtype is None:
            dtype = self._dtypes.get(id, np.float32)
        array = np.empty(tuple(extent), number_type(dtype))
        flat = array.reshape(-1).view(np.uint8)
        self._core.get(id, list(offset), list(extent), name_of(array.dtype), flat).wait()
        return array

    def run(
        self,
        id: int,
        call: str,
        box: tuple[Sequence[int], Sequence[int]] | None = None,
    ) -> dict[str, Any]:
        """An analysis of the object, or of a box: offset and extent."""
        return self._core.run(id, call, None if box is None else (list(box[0]), list(box[1])))

    def find(
        self,
        container: str = "",
        name: str = "",
        *,
        tags: Mapping[str, str] | None = None,
        times: tuple[float, float] | None = None,
        values: tuple[float, float] | None = None,
        regions: bool = False,
    ) -> Found:
        """Objects by what is said of them; name with * and ?. values: with a region that may have
        such a value. regions: list them; none of an object of which more are found than an answer
        holds (some 300,000)."""
        listed, kept, skipped = self._core.find(
            container, name, list((tags or {}).items()), times, values, regions
        )
        objects = [
            Object(**{**one, "regions": [Region(*region) for region in one["regions"]]})
            for one in listed
        ]
        self._dtypes |= {one.id: number_type(one.dtype) for one in objects}
        return Found(objects, kept, skipped)

    def persist(
        self,
        path: str | os.PathLike[str],
        ids: int | Sequence[int] = (),
        *,
        container: str = "",
        codec: str = "caesura",
        absolute: float | None = None,
        lossless: bool = False,
    ) -> Ticket:
        """Objects that were put become datasets of a new HDF5 file: these, or all of a container.

        The ticket is done once the file has committed them. absolute, lossless: instead of each
        object's own bound. A path that is not absolute begins in this process's directory.
        """
        if absolute is not None and lossless:
            raise ValueError("absolute and lossless: give one of them")
        bound = ("lossless", 0.0) if lossless else None
        if absolute is not None:
            bound = ("absolute", float(absolute))
        ids = [int(ids)] if np.ndim(ids) == 0 else [int(one) for one in ids]
        if not ids and not container:
            raise ValueError("neither objects nor a container")
        return Ticket(self._core.persist(os.path.abspath(path), container, ids, codec, bound))

    def remove(self, id: int) -> None:
        """An object that was put."""
        self._core.remove(id)

    def functions(self) -> str:
        """What can be run, as text."""
        return self._core.functions()


def connect(
    service: str,
    application: str = "python",
    *,
    key: str | os.PathLike[str] | None = None,
    encrypted_only: bool = False,
) -> Objects:
    """service: "service:ADDRESS", as `caesura serve` prints it.

    key: a file of 32 bytes that its owner alone may read, for `aead` in chains at the client.
    encrypted_only: put and get nothing but objects that such a chain encrypts.
    """
    if not hasattr(_core, "Objects"):
        raise RuntimeError(
            "built without the service, as wheels are: install UCX and libsodium (libucx-dev, "
            "libsodium-dev), then `pip install . -C cmake.define.CAESURA_SERVICE=ON` in a checkout"
        )
    path = "" if key is None else os.fspath(key)
    return Objects(_core.Objects.connect(service, application, path, encrypted_only))
