"""Run under mpirun by test_reader.py: boxes of each rank's own, read together and alone."""

from __future__ import annotations

import sys

import caesura
import numpy as np
from mpi4py import MPI


def main() -> None:
    rank = MPI.COMM_WORLD.rank
    random = np.random.default_rng(rank)
    reader = caesura.Reader(sys.argv[1], MPI.COMM_WORLD, round_bytes=2_500_000)
    alone = caesura.Reader(sys.argv[1])
    for name in ("rho", "E/x"):
        for n in reader.iterations:
            shape = reader[name, n].shape
            ends = [sorted(random.integers(0, size + 1, 2)) for size in shape]
            box = tuple(slice(int(a), int(b)) for a, b in ends)
            together = reader.read_all(name, n, box)
            assert np.array_equal(together, alone.read(name, n, box)), (rank, name, n, box)
    everything = reader.read_all("rho", 7)
    assert np.array_equal(everything, alone.read("rho", 7))


main()
