#!/usr/bin/env python3
"""Run a program of plain parallel HDF5 natively, or under the connector beside its native run.

Natively its own assertions must hold. Under the connector the same assertions must hold, the same
files must come out, and h5diff must find no difference beyond the bound. The connector's variables
go to the program only, never to mpirun or h5diff, which read the files as any stock tool does.
With --serve the same also where a service compresses the blocks and writes the files.

A Python program is run by $CAESURA_PARALLEL_PYTHON and skipped without it (exit status 77).

A program that passes because nothing was captured has tested nothing: the connector's own report
must tell of as many captured files and datasets that became blocks, at least, as
under_connector.txt says of the program, and of blocks that were written. Where the configuration
hands files on, the report must say that of every file.

Standard library only. Exit status: 0, 1 or 77.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

SKIPPED = 77
TIME_LIMIT_S = 150
TABLE = Path(__file__).parent / "under_connector.txt"
# Small data qualify, so that small programs test what large ones do. The rules are for shapes.c,
# read_others.c, codecs.c and filters.c.
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
[[dataset]]
path = "zstd_*"
codec = "zstd"
[[dataset]]
path = "zstd_one"
chunk = [64, 64]
[[dataset]]
path = "rounded"
codec = "round+zstd"
[[dataset]]
path = "sz3"
codec = "sz3"
[[dataset]]
path = "zfp"
codec = "zfp"
[[dataset]]
path = "exact_*"
bound_kind = "lossless"
[[dataset]]
path = "/as_asked/*"
capture = false
"""
# For amrex_like.c, compounds.c, openpmd.c and reopen.c; of values that have a range of about 3.
RELATIVE = """
[[dataset]]
path = "/level_*/data:*"
component = "*"
bound = 1e-3
[[dataset]]
path = "/members/*"
component = "*"
bound = 1e-3
[[dataset]]
path = "/data/*/meshes/psi"
component = "*"
bound = 1e-3
[[dataset]]
path = "relative"
bound = 1e-4
bound_kind = "relative"
[[dataset]]
path = "psnr"
bound = 80
bound_kind = "psnr"
"""
COPIED = ("copy_other.h5",)  # files into which copy.c copies without attributes
NEED_PLUGINS = ("codecs",)  # of others, in HDF5_PLUGIN_PATH
# A full disk is a limit on what the program's own process may write.
OWN_LIMITS = ("lost_dump",)
# They open files that another rank has locked. A service waits for the lock as long as a lease.
LOCKED_OUT = ("error_stacks", "python_modes")
CONFIGURATIONS = {
    "lossless": (0.0, 'bound_kind = "lossless"' + COMMON),
    "lossy": (1e-3, "bound = 1e-3" + COMMON + RELATIVE),
    "handed_on": (0.0, "capture = false" + COMMON),
    "served": (0.0, 'bound_kind = "lossless"' + COMMON),
}


TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "transit")]

from launching import environment, on_ranks  # noqa: E402
from service_process import Service  # noqa: E402


class Expected(NamedTuple):
    """What a report must say, at least."""

    files: int  # captured
    blocks: int  # datasets; 0: none may become blocks


def table(path: Path = TABLE) -> dict[str, Expected]:
    """By program."""
    rows = (line.split("#")[0].split() for line in path.read_text().splitlines())
    return {row[0]: Expected(int(row[1]), int(row[2])) for row in rows if row}


def told_by(report: Path) -> dict | None:
    """Rank 0's report; says so if there is none."""
    if report.exists():
        return json.loads(report.read_text())
    print(f"{report} is missing: HDF5 has not loaded the connector, or not closed it")
    return None


def check_captured(report: Path, expected: Expected) -> bool:
    """Whether rank 0's report tells of captured files and of datasets that became blocks."""
    told = told_by(report)
    if told is None:
        return False
    captured = sum(entry["handled_by"] == "caesura" for entry in told["files"])
    made = sum(entry["blocks"] for entry in told["datasets"])
    written = sum(entry.get("blocks", {}).get("count", 0) for entry in told["files"])
    blocks = expected.blocks
    enough = made >= blocks and written > 0 if blocks > 0 else made == 0 and written == 0
    if captured >= expected.files and enough:
        return True
    print(
        f"{report}: {captured} files captured, {made} datasets of blocks, {written} blocks "
        f"written; expected are {expected.files} files and {blocks} datasets"
    )
    return False


def check_handed_on(report: Path) -> bool:
    """Whether rank 0's report says of every file that the native connector had it, as wanted."""
    told = told_by(report)
    if told is None:
        return False
    files = told["files"]
    if files and all("capture = false" in entry.get("why", "") for entry in files):
        return True
    print(f"{report}: not every file was handed on as the configuration says: {files}")
    return False


def check_served(service: Service, expected: Expected) -> bool:
    """Whether clients came to the service, if there was anything for it to do."""
    if expected.files == 0:
        return True
    try:
        service.status(lambda told: told["connected"] > 0, 10)
    except TimeoutError:
        print("nobody came to the service")
        return False
    return True


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
    started = on_ranks(ranks, *command_of(options), where, variables=variables)
    log = where / "log.txt"
    with log.open("w") as out:
        process = subprocess.Popen(
            [options.mpirun, *started],
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment(),
            start_new_session=True,
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


def without_bounds(options: argparse.Namespace, ours: Path, bound: float) -> Path | None:
    """A copy of the files without what the connector says of bounds, after that has been checked;
    says so if it is wrong."""
    plain = ours.with_name(ours.name + "-plain")
    shutil.rmtree(plain, ignore_errors=True)
    shutil.copytree(ours, plain, symlinks=True)
    names = sorted(files_in(plain), key=COPIED.__contains__)
    files = [
        word for name in names for word in (["copied"] * (name in COPIED) + [str(plain / name)])
    ]
    command = [options.without_bounds, repr(bound), *files]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode == 0:
        return plain
    print(f"what is said of bounds: exit status {answer.returncode}\n{answer.stderr[:4000]}")
    return None


def compare(options: argparse.Namespace, native: Path, ours: Path, bound: float) -> bool:
    """The same files, equal to a stock h5diff within the bound. A bound below 1 is exact for
    integers."""
    if files_in(native) != files_in(ours):
        print(f"files: natively {files_in(native)}, under the connector {files_in(ours)}")
        return False
    env = {**os.environ, "HDF5_PLUGIN_PATH": plugins_of_others(options.filters)}
    delta, place = [], ours
    if bound:
        delta = [f"--delta={bound}"]
        if (place := without_bounds(options, ours, bound)) is None:
            return False
    good = True
    for name in files_in(native):
        command = [options.h5diff, "-c", *delta, str(native / name), str(place / name)]
        answer = subprocess.run(command, capture_output=True, text=True, env=env)
        said = answer.stdout + answer.stderr
        # What it cannot compare it only mentions; datasets without elements are not among that.
        apart = [line for line in said.splitlines() if re.match(r"(?i)not comparable", line)]
        apart = [line for line in apart if "empty dataset" not in line]
        if answer.returncode != 0 or apart:
            print(f"{' '.join(command)}\nexit status {answer.returncode}\n{said[:4000]}")
            good = False
    if good and place != ours:
        shutil.rmtree(place)
    return good


def plugins_of_others(*own: str) -> str:
    """HDF5_PLUGIN_PATH with our directories before those that it has."""
    return ":".join([*own, *filter(None, [os.environ.get("HDF5_PLUGIN_PATH")])])


def connector_variables(options: argparse.Namespace, where: Path, bound: float) -> dict[str, str]:
    """What a user of the connector sets, and what tells the program what to expect."""
    return {
        "HDF5_PLUGIN_PATH": plugins_of_others(options.connector, options.filters),
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
    """All rank counts under the connector without loss; the largest also with, and handed on; two
    ranks also with a service."""
    name = Path(options.program).stem.removeprefix("vol_")
    expected = table().get(name)
    if expected is None:
        print(f"{name} has no line in {TABLE}")
        return 1
    most = max(options.ranks)
    runs = [*(("lossless", ranks) for ranks in options.ranks), ("lossy", most), ("handed_on", most)]
    with contextlib.ExitStack() as stack:
        service, address = None, ""
        if options.serve and name not in OWN_LIMITS:
            # First, so that what it says of itself every second is there when the others are done.
            runs.insert(0, ("served", min(options.ranks, key=lambda ranks: abs(ranks - 2))))
            options.out.mkdir(parents=True, exist_ok=True)
            lease = {"lease_s": 3} if name in LOCKED_OUT else {}
            service = Service(options.serve, options.out.resolve(), threads=1, **lease)
            stack.enter_context(service)
            address = service.address
        passed = [run_one(options, name, expected, *run, address) for run in runs]
        good = all(passed)
        if service is not None:
            good = check_served(service, expected) and service.end() == 0 and good
    return 0 if good else 1


def run_one(
    options: argparse.Namespace,
    name: str,
    expected: Expected,
    configuration: str,
    ranks: int,
    address: str,
) -> bool:
    """One run under the connector, held to the native one; says whether it passed.

    address: the service's.
    """
    bound, text = CONFIGURATIONS[configuration]
    where = options.out / f"{configuration}-{ranks}"
    where.parent.mkdir(parents=True, exist_ok=True)
    report = where.with_suffix(".json")
    report.unlink(missing_ok=True)
    if configuration == "served":
        text = f'transport = "{address}"\n' + text
    where.with_suffix(".toml").write_text(f'report = "{report}"\n' + text)
    variables = connector_variables(options, where, bound)
    if configuration == "served":
        variables["VOL_TEST_SERVED"] = "1"
    handed_on = configuration == "handed_on"
    if handed_on:
        variables["VOL_TEST_HANDED_ON"] = "1"
    native = options.out / f"native-{ranks}"
    passed = (
        launch(options, ranks, where, variables)
        and compare(options, native, where, bound)
        and (check_handed_on(report) if handed_on else check_captured(report, expected))
    )
    print(f"{name}, {configuration}, {ranks} ranks: {'passed' if passed else 'FAILED'}")
    return passed


def main() -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=["native", "connector"])
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--h5diff", default="h5diff")
    parser.add_argument("--without-bounds", help="the program vol_without_bounds")
    parser.add_argument("--connector", help="directory of libcaesura_vol.so")
    parser.add_argument("--filters", help="directory of libh5caesura.so")
    parser.add_argument("--serve", help="caesura-serve")
    options = parser.parse_args()
    if options.program.endswith(".py") and not os.environ.get("CAESURA_PARALLEL_PYTHON"):
        print("there is no Python with parallel h5py: see tools/parallel_python.py")
        return SKIPPED
    needs = Path(options.program).stem.removeprefix("vol_") in NEED_PLUGINS
    if needs and not os.environ.get("HDF5_PLUGIN_PATH"):
        print("HDF5_PLUGIN_PATH has no filters of others: pip install hdf5plugin")
        return SKIPPED
    return run_native(options) if options.mode == "native" else run_connector(options)


if __name__ == "__main__":
    sys.exit(main())
