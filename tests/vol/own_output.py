#!/usr/bin/env python3
"""A program finds its own output again in the environment that the README gives, and ends as it
likes: the same results natively and under the connector, whose plugin path has the connector alone.

Standard library only. Exit status: 0 or 1.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from launching import environment

TIME_LIMIT_S = 60
# Steps of one case, each a process of its own, and whether HDF5's own tools find all values after.
CASES = {
    "read in the same job": ["both"],
    "read in the next job": ["write", "read"],
    "ends with objects open": ["end"],
    "MPI_Finalize with objects open": ["finalize"],
}


def run(options: argparse.Namespace, step: str, path: Path, variables: dict[str, str]) -> str:
    """One process; what it did, in words that can be compared."""
    done = subprocess.run(
        [options.program, step, str(path)],
        cwd=options.out,
        env={**environment(), **variables},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
    )
    said = done.stdout + "".join(
        line for line in done.stderr.splitlines(True) if not line.startswith("caesura:")
    )
    return f"{step}: exit status {done.returncode}, says {said.strip() or 'nothing'}"


def dump_of(options: argparse.Namespace, path: Path, variables: dict[str, str]) -> str:
    """The first and the last values, by h5dump, which knows the filter's plugin alone."""
    text = ""
    for start in ("0", "199996"):
        command = [options.h5dump, "-d", "u", "-s", start, "-c", "4", str(path)]
        done = subprocess.run(command, env=variables, capture_output=True, text=True)
        text += "".join(line for line in done.stdout.splitlines(True) if "):" in line)
    return text


def main() -> int:
    """Every case both ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--h5dump", required=True)
    parser.add_argument("--connector", type=Path, required=True)
    parser.add_argument("--filters", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    connector = {"HDF5_PLUGIN_PATH": str(options.connector), "HDF5_VOL_CONNECTOR": "caesura"}
    bad = 0
    for name, steps in CASES.items():
        path = options.out / f"{name.replace(' ', '_')}.h5"
        native = [run(options, step, path, {}) for step in steps]
        native.append(dump_of(options, path, {}))
        path.unlink()
        ours = [run(options, step, path, connector) for step in steps]
        ours.append(dump_of(options, path, {"HDF5_PLUGIN_PATH": options.filters}))
        print(f"{name}: {'as natively' if ours == native else 'NOT as natively'}")
        if ours != native or ours[-1].count("):") < 2:
            print("natively:", *native, "under the connector:", *ours, sep="\n")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
