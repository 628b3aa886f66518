"""Benchmarks that start themselves once more, under mpirun, as a program of plain parallel h5py.

The interpreter with parallel h5py runs the application and has no other package of ours.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from plain import MPI, connector_variables

ROOT = Path(__file__).resolve().parents[2]


def parser_of(text: str) -> argparse.ArgumentParser:
    """A parser with the options that all these benchmarks have."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--application", nargs="?", const="only", help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    return parser


def prepare(options: argparse.Namespace) -> None:
    """Of a run that is not the application itself."""
    options.python = os.environ.get("CAESURA_PARALLEL_PYTHON")
    if not options.python:
        sys.exit("CAESURA_PARALLEL_PYTHON names no Python with parallel h5py")
    options.build = options.build.resolve()


def run_application(
    options: argparse.Namespace,
    script: str,
    where: Path,
    config: str | None,
    hand_on: tuple[str, ...],
    ranks: int = 1,
    application: str = "only",
) -> object:
    """What rank 0 of the application prints, as JSON.

    @param where    a folder that is made for its files, with the config in run.toml.
    @param config   of the connector; None: natively.
    @param hand_on  names of the options that the application gets.
    """
    where.mkdir()
    command = ["mpirun", "-n", str(ranks), "env", "-u", "HDF5_VOL_CONNECTOR"]
    if config is not None:
        (where / "run.toml").write_text(config)
        command += connector_variables(options.build, where / "run.toml")
    # Under mpi4py's own runner what one rank raises ends the run: the others would wait for it.
    command += [options.python, "-m", "mpi4py", script]
    command += ["--application", application, "--out", str(where)]
    for name in hand_on:
        command += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
    answer = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**MPI, **os.environ}
    )
    if answer.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{answer.stderr[-2000:]}")
    return json.loads(answer.stdout)
