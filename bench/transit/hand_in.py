"""One process, or one rank of several, that puts a field and waits until its file is whole.

    hand_in.py JSON

JSON: mode ("hdf5": the HDF5 library alone, "writer": caesura.Writer), path, field (a .npy file, of
each rank), bound, dumps, chunk (shape), and of "hdf5" filter (null, or number and values), of
"writer" transport, codec ("none": uncompressed). Rank 0 prints one line of JSON: seconds between
two barriers around opening, writing and closing, and what the Writer counted.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict

import numpy as np


def communicator():
    """None for a process by itself."""
    if "OMPI_COMM_WORLD_SIZE" not in os.environ:
        return None
    from mpi4py import MPI

    return MPI.COMM_WORLD


def prepare(said: dict, values: np.ndarray, comm) -> object:
    """What writes it all when it is called; imports are not charged."""
    rank, size = (comm.rank, comm.size) if comm else (0, 1)
    layers = values.shape[0]
    shape = (size * layers, *values.shape[1:])
    if said["mode"] == "hdf5":
        import h5py

        def by_hdf5() -> dict:
            options = {"driver": "mpio", "comm": comm} if comm else {}
            with h5py.File(said["path"], "w", **options) as file:
                for number in range(said["dumps"]):
                    keys = {}
                    if said["filter"]:
                        keys = {
                            "chunks": tuple(said["chunk"]),
                            "compression": said["filter"][0],
                            "compression_opts": tuple(said["filter"][1]),
                        }
                    made = file.create_dataset(
                        f"{number}/field", shape, values.dtype, fillvalue=None, **keys
                    )
                    if comm:
                        with made.collective:
                            made[rank * layers : (rank + 1) * layers] = values
                    else:
                        made[...] = values
            return {}

        return by_hdf5
    import caesura
    import caesura.communicator

    def by_writer() -> dict:
        exact = said["codec"] == "none"
        with caesura.Writer(
            said["path"],
            comm,
            transport=said.get("transport", ""),
            codec=said["codec"],
            chunk_bytes=int(np.prod(said["chunk"])) * values.itemsize,
            memory_bytes=2 * said["dumps"] * values.nbytes,
        ) as writer:
            field = writer.define_field(
                "field",
                values.dtype,
                shape,
                **({"lossless": True} if exact else {"absolute": said["bound"]}),
            )
            for number in range(said["dumps"]):
                with writer.iteration(number) as iteration:
                    offset = (rank * layers, *([0] * (values.ndim - 1)))
                    iteration.begin_dump(number).put(field, values, offset=offset)
        return asdict(writer.report())

    return by_writer


def main() -> None:
    """Once."""
    said = json.loads(sys.argv[1])
    values = np.load(said["field"])
    comm = communicator()
    write = prepare(said, values, comm)
    if comm:
        comm.Barrier()
    begin_s = time.monotonic()
    report = write()
    if comm:
        comm.Barrier()
    if not comm or comm.rank == 0:
        print(json.dumps({**report, "elapsed_s": time.monotonic() - begin_s}))


if __name__ == "__main__":
    main()
