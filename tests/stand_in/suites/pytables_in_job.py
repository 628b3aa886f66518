#!/usr/bin/env python3
"""Runs PyTables' suite in an MPI job: the connector captures files between MPI_Init and
MPI_Finalize alone. A line for each test on stdout.

Invariant: a child that multiprocessing spawns imports this file and must not start MPI.
"""

import sys
import unittest

if __name__ == "__main__":
    from mpi4py import MPI  # noqa: F401  starts MPI, and ends it at exit
    from tables.tests import test_suite

    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2)
    sys.exit(not runner.run(test_suite.suite()).wasSuccessful())
