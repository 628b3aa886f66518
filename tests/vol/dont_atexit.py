#!/usr/bin/env python3
"""Is a file complete that was closed by a process of one rank, which then ends without
MPI_Finalize, and without HDF5's own end?

Standard library only. Exit status: 0 or 1.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

TIME_LIMIT_S = 60

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from launching import environment  # noqa: E402


def main() -> int:
    """Write under the connector, read without it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--connector", type=Path, required=True)
    parser.add_argument("--filters", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    runs = {
        "write": {
            "HDF5_PLUGIN_PATH": str(options.connector),
            "HDF5_VOL_CONNECTOR": "caesura",
            "VOL_TEST_CONNECTOR": "caesura",
        },
        "read": {"HDF5_PLUGIN_PATH": options.filters},
    }
    for mode, variables in runs.items():
        done = subprocess.run(
            [options.program, str(options.out), mode],
            env={**environment(), **variables},
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_S,
        )
        print(f"{mode}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        if done.returncode != 0:
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
