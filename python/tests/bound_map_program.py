"""Run by test_bound_map.py, under mpirun or alone: a field with a map of bounds, by several ranks
with boxes that straddle blocks."""

from __future__ import annotations

import sys

import caesura
import numpy as np

SHAPE = (96, 48, 48)


def values(n):
    rng = np.random.default_rng(n)
    field = np.cumsum(rng.normal(scale=0.02, size=SHAPE), axis=2)
    field[40:44] += np.where(rng.random(SHAPE[1:]) > 0.9, 5.0, 0.0)
    field[3, 4, 5] = np.nan
    field[90, 1, 1] = np.inf
    return field.astype(np.float32)


def bound_map():
    return (
        caesura.BoundMap()
        .in_box((70, 0, 0), (9, 20, 48), 1e-4)
        .of_values(1.5, float("inf"), 1e-3)
        .where_steep(2.0, 0)
    )


def main():
    path = sys.argv[1]
    comm = None
    rank, size = 0, 1
    if len(sys.argv) > 2:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
        rank, size = comm.rank, comm.size
    edges = [0, 31, 59, SHAPE[0]] if size == 3 else [0, 53, SHAPE[0]] if size == 2 else [0, 96]
    with caesura.Writer(path, comm=comm, chunk_bytes=1 << 20) as writer:
        rho = writer.define_field("rho", np.float32, SHAPE, absolute=1e-1, bound_map=bound_map())
        for n in range(2):
            with writer.iteration(n) as iteration:
                part = values(n)[edges[rank] : edges[rank + 1]]
                iteration.begin_dump(time=n).put(rho, part, offset=(edges[rank], 0, 0))


if __name__ == "__main__":
    main()
