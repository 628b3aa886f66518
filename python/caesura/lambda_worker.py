"""The process that runs the operator's Python functions for a service (src/lambda/python_worker).

    python -P -s -B -m caesura.lambda_worker FILE.py ...

Descriptor 3 is the connection to the service, descriptor 4 the memory in which it puts values. Each
message is its length (4 bytes, little-endian), a letter, and a body:

    from the service   C  a call, N  the next region (or none), as JSON
    from here          H  what functions there are (JSON), N  the next region, please,
                       R  results, E  an error, M  an error for want of memory

Results are in the byte form of src/lambda/results.cpp. The files were checked by the service:
nobody but the operator can write them. It sets the limits of this process, and ends it.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import mmap
import os
import socket
import struct
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from caesura.lambda_functions import MARK, Region, describe

CONNECTION, VALUES = 3, 4
RESULTS_MAGIC = 0x31524C43
LONGEST_ERROR = 2000


class Connection:
    """Messages to and from the service; the process ends where the service is gone."""

    def __init__(self) -> None:
        self._socket = socket.socket(fileno=CONNECTION)

    def send(self, letter: str, body: bytes = b"") -> None:
        self._socket.sendall(struct.pack("<I", len(body) + 1) + letter.encode() + body)

    def receive(self) -> tuple[str, Any]:
        (length,) = struct.unpack("<I", self._exactly(4))
        message = self._exactly(length)
        return chr(message[0]), json.loads(message[1:])

    def _exactly(self, n: int) -> bytes:
        parts = []
        while n > 0:
            part = self._socket.recv(min(n, 1 << 20))
            if not part:
                os._exit(0)
            parts.append(part)
            n -= len(part)
        return b"".join(parts)


def load(path: str) -> dict[str, Callable[..., Any]]:
    """The marked functions of a file, by the name that the service knows them by."""
    stem = Path(path).stem
    name_of_module = f"lambda_file_{stem}"  # of its own: a file may be called numpy.py
    spec = importlib.util.spec_from_file_location(name_of_module, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name_of_module] = module
    spec.loader.exec_module(module)
    return {
        f"{stem}.{name}": function
        for name, function in vars(module).items()
        if callable(function) and hasattr(function, MARK)
    }


def region_of(described: dict[str, Any]) -> Region:
    """A region with its values in the shared memory."""
    dtype = np.dtype(described["dtype"])
    extent = tuple(described["extent"])
    count = int(np.prod(extent, dtype=np.int64))
    if count > 0:
        memory = mmap.mmap(VALUES, count * dtype.itemsize, access=mmap.ACCESS_READ)
        values = np.frombuffer(memory, dtype, count).reshape(extent)
    else:
        values = np.empty(extent, dtype)
    return Region(
        object=described["object"],
        id=described["id"],
        shape=tuple(described["shape"]),
        offset=tuple(described["offset"]),
        extent=extent,
        time=float("nan") if described["time"] is None else described["time"],
        owner=described["owner"],
        tags=dict(described["tags"]),
        values=values,
    )


def regions_of(connection: Connection) -> Iterator[Region]:
    """The regions that the service gives one after the other."""
    while True:
        connection.send("N")
        _, described = connection.receive()
        if described is None:
            return
        yield region_of(described)


def argument(kind: str, text: str) -> Any:
    """A value as the service writes it."""
    if kind == "flag":
        return text == "true"
    return {"whole": int, "number": float, "text": str}[kind](text)


def value_bytes(name: str, value: Any) -> bytes:
    """A value in the byte form of results. Raises TypeError."""
    if isinstance(value, np.ndarray):
        value = value.ravel().tolist()
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int):
        return struct.pack("<Bq", 0, value)
    if isinstance(value, float):
        return struct.pack("<Bd", 1, value)
    if isinstance(value, str):
        text = value.encode()
        return struct.pack("<BI", 2, len(text)) + text
    if isinstance(value, list | tuple):
        plain = [one.item() if isinstance(one, np.generic) else one for one in value]
        if all(isinstance(one, int) for one in plain):
            return struct.pack(f"<BQ{len(plain)}q", 3, len(plain), *plain)
        if all(isinstance(one, int | float) for one in plain):
            return struct.pack(f"<BQ{len(plain)}d", 4, len(plain), *plain)
    raise TypeError(
        f"'{name}' is a {type(value).__name__}; results are int, float, str, or lists or arrays of "
        "int or float"
    )


def results_bytes(results: Any) -> bytes:
    """The byte form of what a function returned. Raises TypeError."""
    if not isinstance(results, dict):
        raise TypeError(f"it returned {type(results).__name__}, not a dict of results")
    parts = [struct.pack("<II", RESULTS_MAGIC, len(results))]
    for name, value in results.items():
        if not isinstance(name, str):
            raise TypeError(f"a name of its results is {name!r}, not a text")
        text = name.encode()
        try:
            parts += [struct.pack("<I", len(text)), text, value_bytes(name, value)]
        except (struct.error, OverflowError) as error:
            raise TypeError(f"'{name}' does not fit 64 bits: {error}") from error
    return b"".join(parts)


def run(connection: Connection, functions: dict[str, Callable[..., Any]], call: Any) -> None:
    """One call, and its answer."""
    try:
        function = functions[call["function"]]
        given = {name: argument(*value) for name, value in call["arguments"].items()}
        if getattr(function, MARK) == "iterative":
            found = function(regions_of(connection), **given)
        else:
            found = function(region_of(call["region"]), **given)
        answer = "R", results_bytes(found)
    except Exception as error:  # whatever it is, the caller hears of it
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            connection.send("M", str(error).encode(errors="replace"))
            return
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f" ({Path(place.filename).name}:{place.lineno})"
        text = f"{type(error).__name__}: {error}{where}"
        answer = "E", text[:LONGEST_ERROR].encode(errors="replace")
    connection.send(*answer)


def main() -> None:
    """Say what there is, then answer calls until the service ends."""
    connection = Connection()
    functions: dict[str, Callable[..., Any]] = {}
    described, errors = [], []
    for path in sys.argv[1:]:
        try:
            found = load(path)
            described += [describe(name, function) for name, function in found.items()]
            functions.update(found)
        except Exception as error:  # one file does not keep the others away
            errors.append(f"{Path(path).name}: {type(error).__name__}: {error}"[:LONGEST_ERROR])
    connection.send("H", json.dumps({"functions": described, "errors": errors}).encode())
    while True:
        _, call = connection.receive()
        run(connection, functions, call)


if __name__ == "__main__":
    main()
