"""Run under mpirun by test_metadata.py: all ranks set the same, but for one attribute once."""

from __future__ import annotations

import sys

import caesura
import numpy as np
from mpi4py import MPI


def main():
    comm = MPI.COMM_WORLD
    heard = []
    with caesura.Writer(sys.argv[1], comm=comm) as writer:
        rho = writer.define_field("rho", np.float32, (comm.size, 4), attributes={"colour": "blue"})
        writer.set_attribute("run", "x17")
        for n in range(2):
            last = comm.size > 1 and comm.rank == comm.size - 1
            writer.set_attribute("seed", int(last) if n == 0 else 7, group="iteration")
            iteration = writer.begin_iteration(n)
            dump = iteration.begin_dump(time=n)
            dump.put(rho, np.ones((1, 4), np.float32), offset=(comm.rank, 0))
            try:
                iteration.end()
            except ValueError as error:
                heard.append(str(error))
    everywhere = comm.gather(heard)
    if comm.rank == 0:
        for errors in everywhere:
            print(*errors, sep="\n", end="\n" if errors else "")


if __name__ == "__main__":
    main()
