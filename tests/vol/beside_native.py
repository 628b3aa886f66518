#!/usr/bin/env python3
"""Run a program of plain parallel HDF5 natively, or under the connector beside its native run.

Natively its own assertions must hold. Under the connector the same assertions must hold, the same
files must come out, and h5diff must find no difference beyond the bound. The connector's variables
go to the program only, never to mpirun or h5diff, which read the files as any stock tool does.

under_connector.txt says of each program whether it is expected to pass under the connector; one
that is not yet is skipped (exit status 77) with its reason, so that ctest lists it. A Python
program is run by $CAESURA_PARALLEL_PYTHON and skipped without it.

Where files are captured (CAESURA_VOL_CAPTURE=1) the connector's own report must say that data
became blocks if the table says so of the program, and that none did if not: a program that passes
because nothing was captured has tested nothing.

Standard library only. Exit status: 0, 1 or 77.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
TIME_LIMIT_S = 150
TABLE = Path(__file__).parent / "under_connector.txt"
# Small data qualify, so that small programs test what large ones do. The rules are for shapes.c and
# read_others.c.
COMMON = """
threshold_bytes = 2048
chunk_bytes = 16384
[[dataset]]
path = "chunks_by_rule"
chunk = [8, 16, 32]
[[dataset]]
path = "boxes_by_rule"
box = [16, 16, 16]
[[dataset]]
path = "at_once"
commit_writes = true
"""
CONFIGURATIONS = {
    "lossless": (0.0, 'bound_kind = "lossless"' + COMMON),
    "lossy": (1e-3, "bound = 1e-3" + COMMON),
}


def table(path: Path = TABLE) -> dict[str, str]:
    """Program -> "yes", "blocks", "plain", or why not yet."""
    rows = (line.split("#")[0].split(maxsplit=1) for line in path.read_text().splitlines())
    return {row[0]: row[1].removesuffix(" captured").strip() for row in rows if row}


def captures() -> bool:
    """Whether the connector is told to capture files."""
    return os.environ.get("CAESURA_VOL_CAPTURE") == "1"


def check_report(report: Path, expected: str) -> bool:
    """Whether rank 0's report tells of blocks that were made and written, or of none."""
    if not captures() or expected == "yes":
        return True
    told = json.loads(report.read_text())
    made = sum(entry["blocks"] for entry in told["datasets"])
    written = sum(entry.get("blocks", {}).get("count", 0) for entry in told["files"])
    if (made > 0 and written > 0) == (expected == "blocks"):
        return True
    print(f"{report}: {made} datasets of blocks, {written} blocks written; {expected} expected")
    return False


def tail(log: Path, lines: int = 60) -> str:
    """The end of a program's output, without what the launcher says about its death."""
    text = log.read_text(errors="replace").splitlines()
    return "\n".join(line for line in text if line.strip("-") and "MPI_ABORT" not in line)[-6000:]


def command_of(options: argparse.Namespace) -> list[str]:
    """How the program is started."""
    if options.program.endswith(".py"):
        return [os.environ["CAESURA_PARALLEL_PYTHON"], options.program]
    return [options.program]


def launch(options: argparse.Namespace, ranks: int, where: Path, variables: dict[str, str]) -> bool:
    """One run in an empty directory; says what went wrong if something did."""
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    exports = [word for item in variables.items() for word in ("-x", "{}={}".format(*item))]
    command = [options.mpirun, "-n", str(ranks), *exports, *command_of(options), str(where)]
    log = where / "log.txt"
    env = {name: value for name, value in os.environ.items() if not name.startswith("HDF5_")}
    with log.open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, env=env, start_new_session=True
        )
        try:
            code = process.wait(TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)  # mpirun takes its ranks along
            process.wait()
            code = -1
    if code == 0:
        return True
    what = f"exit status {code}" if code != -1 else f"not done after {TIME_LIMIT_S} s"
    print(f"{ranks} ranks: {what}\n{tail(log)}")
    return False


def files_in(where: Path) -> list[str]:
    """The HDF5 files of a run."""
    return sorted(str(path.relative_to(where)) for path in where.rglob("*.h5"))


def compare(options: argparse.Namespace, native: Path, ours: Path, bound: float) -> bool:
    """The same files, equal to a stock h5diff within the bound. A bound below 1 is exact for
    integers."""
    if files_in(native) != files_in(ours):
        print(f"files: natively {files_in(native)}, under the connector {files_in(ours)}")
        return False
    env = {**os.environ, "HDF5_PLUGIN_PATH": options.filters}
    delta = [f"--delta={bound}"] if bound else []
    good = True
    for name in files_in(native):
        command = [options.h5diff, "-c", *delta, str(native / name), str(ours / name)]
        answer = subprocess.run(command, capture_output=True, text=True, env=env)
        said = answer.stdout + answer.stderr
        # What it cannot compare it only mentions; datasets without elements are not among that.
        apart = [line for line in said.splitlines() if re.match(r"(?i)not comparable", line)]
        apart = [line for line in apart if "empty dataset" not in line]
        if answer.returncode != 0 or apart:
            print(f"{' '.join(command)}\nexit status {answer.returncode}\n{said[:4000]}")
            good = False
    return good


def connector_variables(options: argparse.Namespace, where: Path, bound: float) -> dict[str, str]:
    """What a user of the connector sets, and what tells the program what to expect."""
    return {
        "HDF5_PLUGIN_PATH": f"{options.connector}:{options.filters}",
        "HDF5_VOL_CONNECTOR": f"caesura config={where}.toml",
        "VOL_TEST_CONNECTOR": "caesura",
        "VOL_TEST_BOUND": repr(bound),
    }


def run_native(options: argparse.Namespace) -> int:
    """All rank counts natively."""
    places = {ranks: options.out / f"native-{ranks}" for ranks in options.ranks}
    good = [launch(options, ranks, where, {}) for ranks, where in places.items()]
    return 0 if all(good) else 1


def run_connector(options: argparse.Namespace) -> int:
    """All rank counts under the connector without loss; the largest also with."""
    name = Path(options.program).stem.removeprefix("vol_")
    answer = table().get(name)
    if answer is None:
        print(f"{name} has no line in {TABLE}")
        return 1
    if answer not in ("yes", "blocks", "plain"):
        print(f"{name} is not expected to pass under the connector: {answer}")
        return SKIPPED
    runs = [("lossless", ranks) for ranks in options.ranks] + [("lossy", max(options.ranks))]
    good = True
    for configuration, ranks in runs:
        bound, text = CONFIGURATIONS[configuration]
        where = options.out / f"{'captured-' if captures() else ''}{configuration}-{ranks}"
        where.parent.mkdir(parents=True, exist_ok=True)
        report = where.with_suffix(".json")
        report.unlink(missing_ok=True)
        where.with_suffix(".toml").write_text(f'report = "{report}"\n' + text)
        variables = connector_variables(options, where, bound)
        native = options.out / f"native-{ranks}"
        passed = (
            launch(options, ranks, where, variables)
            and compare(options, native, where, bound)
            and check_report(report, answer)
        )
        print(f"{name}, {configuration}, {ranks} ranks: {'passed' if passed else 'FAILED'}")
        good = good and passed
    return 0 if good else 1


def main() -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=["native", "connector"])
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--h5diff", default="h5diff")
    parser.add_argument("--connector", help="directory of libcaesura_vol.so")
    parser.add_argument("--filters", help="directory of libh5caesura.so")
    options = parser.parse_args()
    if options.program.endswith(".py") and not os.environ.get("CAESURA_PARALLEL_PYTHON"):
        print("there is no Python with parallel h5py: see tools/parallel_python.py")
        return SKIPPED
    return run_native(options) if options.mode == "native" else run_connector(options)


if __name__ == "__main__":
    sys.exit(main())
