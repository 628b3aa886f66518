#!/usr/bin/env python3
"""What the connector says of files that it leaves to HDF5 although nobody asked for that.

Each case makes files in one way by the program `left_to_hdf5` and reads stderr: one line that names
the file and the reason, or none where the user has chosen it, or the file is captured.

Standard library only. Exit status: 0 or 1.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from launching import environment, on_ranks
from running import options_of_cases, try_cases

TIME_LIMIT_S = 60


class Case(NamedTuple):
    """One way of making a file."""

    reason: str  # "": nothing is said
    files: str = "1 file"
    settings: str = ""
    ranks: int = 1
    captured: bool = False


NO_MPI = "not between MPI_Init and MPI_Finalize"
DRIVER = "a file driver other than MPI-IO and POSIX"
USER_BLOCK = "a user block of 512 bytes: our own header lies there"
OFF = "closing_line = false\n"
CASES = {
    "without_mpi": Case(NO_MPI),
    "without_mpi, on three ranks": Case(NO_MPI, ranks=3),
    "early": Case(NO_MPI),
    "early, on two ranks": Case(NO_MPI, ranks=2),
    "late": Case(NO_MPI),
    "late, on two ranks": Case(NO_MPI, ranks=2),
    "driver": Case(DRIVER),
    "memory": Case(DRIVER),
    "scratch": Case(""),
    "format": Case("the access list wants a format older than HDF5 1.10's"),
    "user_block": Case(USER_BLOCK),
    "twice": Case(USER_BLOCK, files="2 files"),
    "user_block, said to be native": Case("", settings="capture = false\n"),
    "without_mpi, said to be native": Case("", settings="capture = false\n"),
    "user_block, without a closing line": Case("", settings=OFF),
    "without_mpi, without a closing line": Case("", settings=OFF),
    "reading": Case("", captured=True),
    "captured": Case("", captured=True),
}


def run(options: argparse.Namespace, name: str, place: Path) -> tuple[int, str, str]:
    """The program under the connector: exit status, stderr, and who made the file."""
    case = CASES[name]
    toml, report = place / "run.toml", place / "report.json"
    toml.write_text(f'{case.settings}report = "{report}"\n')
    variables = {
        "HDF5_PLUGIN_PATH": f"{options.connector}:{options.filters}",
        "HDF5_VOL_CONNECTOR": f"caesura config={toml}",
    }
    way = name.split(",")[0]
    # Each rank has a file of its own.
    script = f'exec "$0" "{place}/run-${{OMPI_COMM_WORLD_RANK:-${{PMI_RANK:-0}}}}.h5" {way}'
    started = on_ranks(case.ranks, "sh", "-c", script, options.program, variables=variables)
    done = subprocess.run(
        [options.mpirun, *started],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
    )
    handled_by = json.loads(report.read_text())["files"][0]["handled_by"] if report.exists() else ""
    return done.returncode, done.stderr, handled_by


def fault(case: Case, code: int, said: str, handled_by: str) -> str:
    """What is wrong; empty: nothing."""
    lines = [line for line in said.splitlines() if line.startswith("caesura: ")]
    first = rf".*/run-0\.h5: {re.escape(case.reason)}"
    wanted = f"caesura: {case.files} written by HDF5 alone, the first: {first}"
    if code != 0:
        return f"exit status {code}"
    if len(lines) != (1 if case.reason else 0):
        return f"{len(lines)} lines"
    if case.reason and not re.fullmatch(wanted, lines[0]):
        return f"not {wanted!r}"
    if (handled_by == "caesura") != case.captured:
        return f"the file was made by {handled_by}"
    return ""


def main() -> int:
    """Every case."""
    options = options_of_cases(__doc__.splitlines()[0])

    def faults_of(name: str, place: Path) -> list[str]:
        case = CASES[name]
        code, said, handled_by = run(options, name, place)
        wrong = fault(case, code, said, handled_by)
        return [wrong, said] if wrong else []

    return try_cases(CASES, options.out, faults_of)


if __name__ == "__main__":
    raise SystemExit(main())
