"""Runs a test's program natively or under the connector, in a place of its own.

Part of the tests beside it; no test by itself.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from launching import environment, on_ranks, rank_counts

__all__ = ["options_of_cases", "rank_counts", "run_in", "try_cases"]


def run_in(
    where: Path,
    command: list[str],
    options: argparse.Namespace,
    ranks: int,
    config: str | None,
    *,
    again: bool,
) -> str | None:
    """The program in an empty directory, or again in the one as it is; what it printed if it
    failed.

    options: what the tests are called with: mpirun, and where connector and filters are.
    config: the text of a run.toml; None: natively.
    """
    if not again:
        shutil.rmtree(where, ignore_errors=True)
        where.mkdir(parents=True)
    variables = {}
    if config is not None:
        toml = where.with_suffix(".toml")
        toml.write_text(config)
        variables = {
            "HDF5_PLUGIN_PATH": f"{options.connector}:{options.filters}",
            "HDF5_VOL_CONNECTOR": f"caesura config={toml}",
            "VOL_TEST_CONNECTOR": "caesura",
        }
    done = subprocess.run(
        [options.mpirun, *on_ranks(ranks, *command, variables=variables)],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=300,
    )
    return None if done.returncode == 0 else done.stdout + done.stderr


def options_of_cases(what: str) -> argparse.Namespace:
    """What a test of cases is called with; it says of itself `what`."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--program", required=True)
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--connector", required=True, help="directory of libcaesura_vol.so")
    parser.add_argument("--filters", required=True, help="directory of libh5caesura.so")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


def try_cases(names: Iterable[str], out: Path, faults_of: Callable[[str, Path], list[str]]) -> int:
    """Each case in an empty directory below `out`. What is wrong is printed. Exit status."""
    failed = 0
    for name in names:
        place = out / re.sub(r"\W+", "_", name)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        faults = faults_of(name, place)
        print(f"{name}: {'FAILED' if faults else 'passed'}", *faults, sep="\n  ", flush=True)
        failed += bool(faults)
    return 1 if failed else 0
