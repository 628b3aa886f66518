"""Run under mpirun by test_mpi_writer.py: uneven boxes, a rank with nothing, one shared file."""

from __future__ import annotations

import json
import sys

import caesura
import numpy as np
from mpi4py import MPI

SHAPE = (100, 30, 20)


def whole(n):
    """What the ranks together hand over in iteration n; every rank can make it."""
    grid = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE)
    return np.sin(grid * 1e-3 + n, dtype=np.float32)


def my_part(rank, size):
    """Rank 0 takes the larger share; the last of three or more has nothing."""
    owners = size if size < 3 else size - 1
    edges = np.linspace(0, SHAPE[0], owners + 1).astype(int)
    if owners > 1:
        edges[1] += 3
    return (edges[rank], edges[rank + 1]) if rank < owners else (0, 0)


def main():
    path, bound = sys.argv[1], float(sys.argv[2])
    transport = sys.argv[3] if len(sys.argv) > 3 else ""
    comm = MPI.COMM_WORLD
    begin, end = my_part(comm.rank, comm.size)
    options = {"comm": comm, "transport": transport}
    with caesura.Writer(path, **options, absolute=bound, chunk_bytes=1 << 16) as writer:
        field = writer.define_field("rho", np.float32, SHAPE)
        for n in range(4):
            with writer.iteration(n) as iteration:
                with iteration.busy("write"):
                    comm.Barrier()
                dump = iteration.begin_dump(time=n)
                if end > begin:
                    dump.put(field, whole(n)[begin:end], offset=(begin, 0, 0))
    for _ in range(30):  # communicators are given back
        with caesura.Writer(path + ".small", **options, codec="none") as small:
            field = small.define_field("x", np.float32, (comm.size, 4))
            with small.iteration(0) as iteration:
                values = np.full((1, 4), comm.rank, np.float32)
                iteration.begin_dump(time=0.0).put(field, values, offset=(comm.rank, 0))
    committed = comm.gather(writer.committed)
    raw_bytes = comm.reduce(writer.report().raw_bytes)
    if comm.rank == 0:
        print(json.dumps({"committed": committed, "raw_bytes": raw_bytes}))


if __name__ == "__main__":
    main()
