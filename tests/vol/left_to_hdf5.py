#!/usr/bin/env python3
"""What the connector says of files that it leaves to HDF5 although nobody asked for that.

Each case makes files in one way by the program `left_to_hdf5` and reads stderr: one line that names
the file and the reason, or none where the user has chosen it, or the file is captured.

Standard library only. Exit status: 0 or 1.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from launching import environment, on_ranks

TIME_LIMIT_S = 60


class Case(NamedTuple):
    """One way of making a file."""

    reason: str  # "": nothing is said
    settings: str = ""


OFF = "closing_line = false\n"
CASES = {
    "without_mpi": Case("not between MPI_Init and MPI_Finalize"),
    "driver": Case("a file driver other than MPI-IO and POSIX"),
    "format": Case("the access list wants a format older than HDF5 1.10's"),
    "user_block": Case("a user block of 512 bytes: our own header lies there"),
    "user_block, said to be native": Case("", settings="capture = false\n"),
    "user_block, without a closing line": Case("", settings=OFF),
    "without_mpi, without a closing line": Case("", settings=OFF),
    "reading": Case(""),
    "captured": Case(""),
}


def run(options: argparse.Namespace, name: str, case: Case) -> tuple[int, str]:
    """The program under the connector: exit status and stderr."""
    place = options.out / re.sub(r"\W+", "_", name)
    place.mkdir(parents=True, exist_ok=True)
    toml = place / "run.toml"
    toml.write_text(case.settings)
    variables = {
        "HDF5_PLUGIN_PATH": f"{options.connector}:{options.filters}",
        "HDF5_VOL_CONNECTOR": f"caesura config={toml}",
    }
    way = name.split(",")[0]
    started = on_ranks(1, options.program, place / "run.h5", way, variables=variables)
    command = [options.mpirun, *started]
    if way == "without_mpi":
        command = started[2:]  # `env` and the program
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=TIME_LIMIT_S
    )
    return done.returncode, done.stderr


def main() -> int:
    """Every case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--connector", required=True, help="directory of libcaesura_vol.so")
    parser.add_argument("--filters", required=True, help="directory of libh5caesura.so")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    failed = 0
    for name, case in CASES.items():
        code, said = run(options, name, case)
        lines = [line for line in said.splitlines() if line.startswith("caesura: ")]
        wanted = rf"caesura: 1 file written by HDF5 alone, the first: .*/run\.h5: {case.reason}"
        as_wanted = (
            len(lines) == 1 and re.fullmatch(wanted, lines[0]) if case.reason else lines == []
        )
        passed = code == 0 and as_wanted
        print(f"{name}: {'passed' if passed else 'FAILED'}", flush=True)
        if not passed:
            print(f"  exit status {code}, wanted {case.reason or 'no line'!r}\n{said}")
        failed += not passed
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
