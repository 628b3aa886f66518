#!/usr/bin/env python3
"""Runs pytest in an MPI job: the connector captures files between MPI_Init and MPI_Finalize alone.

    mpirun -n 1 python pytest_in_job.py --pyargs h5py

Invariant: a child that multiprocessing spawns imports this file and must not start MPI, because it
would do so as the rank that its parent is; the launcher then waits for ever.
"""

import sys

if __name__ == "__main__":
    import pytest
    from mpi4py import MPI  # noqa: F401  starts MPI, and ends it at exit

    sys.exit(pytest.main(sys.argv[1:]))
