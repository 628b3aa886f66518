"""Starts the program `stand_in` on some ranks, with a limit of time.

Part of the tester beside it; no test by itself. Standard library only.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from launching import environment, on_ranks


class Launcher:
    """Knows where program, connector and filters are."""

    def __init__(self, options: argparse.Namespace, place: Path) -> None:
        self.options, self.place = options, place

    @staticmethod
    def fast_place() -> str | None:
        """In memory where there is such a file system: many small files are made."""
        memory = "/dev/shm"
        return memory if os.path.isdir(memory) and os.access(memory, os.W_OK) else None

    def run(
        self,
        ranks: int,
        words: list[str],
        limit_s: float,
        place: Path | None = None,
        more: dict[str, str] | None = None,
    ) -> tuple[str, int]:
        """What the program printed, and its exit status.

        place: a directory for its files, which is made anew; `more`: variables of the program.
        """
        files = place or self.place / "files"
        shutil.rmtree(files, ignore_errors=True)
        files.mkdir()
        variables = {
            "HDF5_PLUGIN_PATH": f"{self.options.connector}:{self.options.filters}",
            "STAND_IN_FILTERS": str(self.options.filters),
            # Open MPI's default components (4.1.4) give zeros in some collective reads: what
            # native HDF5 says with them is no judgement.
            "OMPI_MCA_fcoll": "two_phase",
        } | (more or {})
        command = [str(self.options.program), "--directory", str(files), *words]
        process = subprocess.Popen(
            [self.options.mpirun, *on_ranks(ranks, *command, variables=variables)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(self.place),
            start_new_session=True,
        )
        try:
            text, _ = process.communicate(timeout=limit_s)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text, _ = process.communicate()
            code = -9
        return text.decode(errors="replace"), code

    def compare_files(self, one: str, other: str) -> str:
        """Where the files differ that two runs left; empty: nowhere. By the stock library."""
        names = [f"{own}{letter}.h5" for own in ("", "0_") for letter in "abc"]
        here, there = (f"{self.place}/{side}/0/{side}" for side in (one, other))
        answer = subprocess.run(
            [str(self.options.program), "--judge"],
            input="".join(f"{here}/{name} {there}/{name} 0\n" for name in names),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env=os.environ | {"HDF5_PLUGIN_PATH": str(self.options.filters)},
        )
        return next((line for line in answer.stdout.splitlines() if line), "")
