#!/usr/bin/env python3
"""What the connector says of files that are given up: never "nothing lost" of a lost one.

Each case runs the program `lost_dump`, which loses one file in one way, and then reads stderr and
the reports of all ranks:

  1. the lines that begin with "caesura:" are those expected, one a rank at most, and name the file;
  2. where something was lost no line says "nothing lost", and where nothing was one does;
  3. the file's entry in the report has `error`, and `lost` or `for_recover` with dumps and bytes of
     the rank, in the reports of the ranks that had it; no other entry has any of these.

Standard library only. Exit status: 0 or 1.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from launching import environment, on_ranks
from running import options_of_cases, try_cases

TIME_LIMIT_S = 120
LOST_BYTES = 4096 * 64 * 8  # of lost_dump.c, of all ranks


class Case(NamedTuple):
    """One way of losing a file."""

    way: str
    lines: list[str]  # patterns, of rank 0's and then others' lines
    ranks: int = 2
    settings: str = ""
    # The key beside `error` on each rank that had the file; "": none.
    said: dict[int, str] = MappingProxyType({0: "lost", 1: "lost"})
    raw_bytes: int = LOST_BYTES // 2  # on each of these ranks
    fails: bool = False  # the launcher's exit status says nothing


NONE = MappingProxyType({})
TERM = 'max_delay = inf\non_term = "commit"\nterm_s = 1\n'


def lost_line(way: str, begin: str = r"caesura: \d+ dumps? in .* committed; ") -> str:
    """Of one file."""
    return rf"^{begin}LOST in 1 file, the first: .*{way}\.h5"


NOTHING = r"^caesura: \d+ dumps? in .*; nothing lost$"
CASES = {
    "H5Fflush fails": Case("by_flush", [lost_line("by_flush")]),
    "H5Fclose fails, where it waits": Case(
        "by_close", [lost_line("by_close")], settings='durability = "complete"\n'
    ),
    "H5Fclose cannot hand over": Case("by_hand_over", [lost_line("by_hand_over")]),
    "after H5Fclose": Case("at_the_end", [lost_line("at_the_end")]),
    "on another rank than 0": Case(
        "alone",
        [NOTHING, lost_line("alone", "caesura: rank 1: ")],
        said={1: "lost"},
    ),
    "without MPI_Finalize": Case(
        "no_finalize",
        [lost_line("no_finalize") + ".*without MPI_Finalize"],
        ranks=1,
        said={0: "lost"},
        raw_bytes=LOST_BYTES,
        fails=True,
    ),
    "open when SIGTERM comes": Case(
        "open_at_term",
        [r"^caesura: 1 dump in 2 files.*; 1 file left open, as flushed last, .*open_at_term\.h5"],
        settings=TERM,
        said={0: "", 1: ""},
        fails=True,
    ),
    "not written on one rank when SIGTERM comes": Case(
        "full_at_term",
        [
            r"^caesura: \d+ dump.*; 1 file not complete, for caesura recover .*full_at_term\.h5",
            lost_line("full_at_term", "caesura: rank 1: ") + ".* of rank 1 ",
        ],
        settings=TERM,
        said={0: "for_recover", 1: "lost"},
        fails=True,
    ),
    "without a closing line": Case(
        "by_flush", [lost_line("by_flush", "caesura: ")], settings="closing_line = false\n"
    ),
    "an error that is healed": Case("healed", [NOTHING], said=NONE),
    "nothing": Case("none", [NOTHING], said=NONE),
    "nothing, without a closing line": Case(
        "none", [], settings="closing_line = false\n", said=NONE
    ),
}


def run(options: argparse.Namespace, case: Case, place: Path) -> tuple[int, str]:
    """The program under the connector: exit status and stderr."""
    toml = place / "run.toml"
    toml.write_text(f'{case.settings}report = "{place}/report-%r.json"\nthreshold_bytes = 2048\n')
    variables = {
        "HDF5_PLUGIN_PATH": f"{options.connector}:{options.filters}",
        "HDF5_VOL_CONNECTOR": f"caesura config={toml}",
        "VOL_TEST_CONNECTOR": "caesura",
    }
    started = on_ranks(case.ranks, options.program, place, case.way, variables=variables)
    done = subprocess.run(
        [options.mpirun, *started],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
    )
    return done.returncode, done.stderr


def faults_of_lines(case: Case, said: str) -> list[str]:
    """What is wrong with stderr."""
    lines = sorted(line for line in said.splitlines() if line.startswith("caesura: "))
    if len(lines) != len(case.lines):
        return [f"{len(lines)} lines instead of {len(case.lines)}"]
    wanted = zip(lines, case.lines, strict=True)  # "caesura: rank" sorts behind digits and LOST
    return [f"not {pattern!r}: {line}" for line, pattern in wanted if not re.search(pattern, line)]


def faults_of_report(case: Case, rank: int, place: Path) -> list[str]:
    """What is wrong with one rank's report."""
    files = json.loads((place / f"report-{rank}.json").read_text())["files"]
    faults = []
    found = 0
    for entry in files:
        here = rank in case.said and entry["path"].endswith(f"/{case.way}.h5")
        found += here
        what = f"rank {rank}'s report: {entry}"
        key = case.said[rank] if here else ""
        keys = sorted({"error", "lost", "for_recover"} & entry.keys())
        if keys != sorted(filter(None, ["error", key] if here else [])):
            faults.append(f"{keys} in {what}")
        elif key and entry[key] != {"dumps": 1, "raw_bytes": case.raw_bytes}:
            faults.append(f"another loss than of {case.raw_bytes} bytes in {what}")
        elif here and (f"{case.way}.h5" not in entry["error"] or "completed" in entry):
            faults.append(f"no name, or completed, in {what}")
    if rank in case.said and found != 1:
        faults.append(f"rank {rank}'s report has {found} entries of the file")
    return faults


def main() -> int:
    """Every case."""
    options = options_of_cases(__doc__.splitlines()[0])

    def faults_of(name: str, place: Path) -> list[str]:
        case = CASES[name]
        code, said = run(options, case, place)
        faults = [f"exit status {code}"] if code != 0 and not case.fails else []
        faults += faults_of_lines(case, said)
        for rank in range(case.ranks):
            if not faults:
                faults += faults_of_report(case, rank, place)
        return [*faults, said] if faults else []

    return try_cases(CASES, options.out, faults_of)


if __name__ == "__main__":
    raise SystemExit(main())
