"""Run by test_messages.py, alone or under mpirun: the last rank's values exceed its memory budget.

usage: messages_program.py PATH [mpi] [quiet]
"""

from __future__ import annotations

import sys

import caesura
import numpy as np

SMALL, LARGE = 100, 100_000


def main() -> None:
    path, words = sys.argv[1], sys.argv[2:]
    comm = None
    if "mpi" in words:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    rank, size = (comm.rank, comm.size) if comm else (0, 1)
    mine = LARGE if rank == size - 1 else SMALL
    heard: list[str] = []
    options = {"on_message": heard.append} if "quiet" in words else {}
    for name in ("first", "second"):  # of two Writers, too, it is said once
        with caesura.Writer(
            f"{path}/{name}.h5", comm, memory_bytes=1 << 16, chunk_bytes=1 << 18, **options
        ) as writer:
            field = writer.define_field("rho", np.float32, (SMALL * (size - 1) + LARGE,))
            for n in range(3):
                with writer.iteration(n) as iteration:
                    values = np.arange(mine, dtype=np.float32)
                    iteration.begin_dump(time=n).put(field, values, offset=(SMALL * rank,))
    print(len([text for text in heard if "memory budget" in text]))


if __name__ == "__main__":
    main()
