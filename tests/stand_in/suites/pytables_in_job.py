#!/usr/bin/env python3
"""Runs a module of PyTables' suite in an MPI job: the connector captures files between MPI_Init and
MPI_Finalize alone.

    mpirun -n 1 python pytables_in_job.py tables.tests.test_array OUTCOMES

The file has a line for each test as soon as the test has ended: its outcome and its name.

Invariant: a child that multiprocessing spawns imports this file and must not start MPI.
"""

import importlib
import sys
import unittest
from pathlib import Path


class Told(unittest.TextTestResult):
    """Says of each test how it ended. PyTables' tests forget their names at their end."""

    name = None

    def startTest(self, test):
        super().startTest(test)
        self.name = test.id()

    def stopTest(self, test):
        super().stopTest(test)
        self.name = None

    def tell(self, test, outcome):
        with Path(sys.argv[2]).open("a") as outcomes:
            outcomes.write(f"{outcome} {self.name or test.id()}\n")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.tell(test, "passed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.tell(test, "skipped")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.tell(test, "failed")

    def addError(self, test, err):
        super().addError(test, err)
        self.tell(test, "failed")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.tell(test, "failed")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.tell(test, "passed")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.tell(test, "failed")


if __name__ == "__main__":
    from mpi4py import MPI  # noqa: F401  starts MPI, and ends it at exit

    tests = importlib.import_module(sys.argv[1]).suite()
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Told)
    sys.exit(not runner.run(tests).wasSuccessful())
