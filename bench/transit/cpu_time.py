"""What output through a service costs in CPU time: user and system seconds, page faults and waits
of the application and of the service, each by itself.

CPU time says little of waiting, and hardly changes where other programs use the cores: it tells
builds apart on a machine that is not quiet. Three applications, one rank each:

  hdf5       the cosmology mini-app as a program of plain HDF5 under the connector, a file a dump
  mini-app   the same with Caesura's Writer
  hand-over  hand_over.py, that does nothing but hand over

The mini-app's numbers are what it takes beyond the same run without output. Builds take turns,
`--before` being another build tree of the same sources but for what is to be compared:

    python3 bench/transit/cpu_time.py --rounds 5 --before DIR
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from applications import HERE, MPI, Service
from caesura_lab.demo.scenario import BOUNDS
from plain import configuration, connector_variables
from results import BUILD

COLUMNS = ("user_s", "system_s", "faults", "waits")


def used_by(command: list[str], variables: dict[str, str], given: str = "") -> tuple[dict, str]:
    """Of a process and those that it waited for; and what it printed."""
    process = subprocess.Popen(
        command,
        env={**MPI, **os.environ, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    process.stdin.write(given)
    process.stdin.close()
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command} ended with {process.returncode}")
    values = (used.ru_utime, used.ru_stime, used.ru_minflt, used.ru_nvcsw)
    return dict(zip(COLUMNS, values, strict=True)), said


def used_so_far(process: int) -> dict:
    """Of one that goes on."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    tick = os.sysconf("SC_CLK_TCK")
    waits = sum(
        int(line.split()[1])
        for status in Path(f"/proc/{process}/task").glob("*/status")
        for line in status.read_text().splitlines()
        if line.startswith("voluntary_ctxt_switches")
    )
    values = (int(fields[11]) / tick, int(fields[12]) / tick, int(fields[7]), waits)
    return dict(zip(COLUMNS, values, strict=True))


class Case:
    """One application, in one place."""

    def __init__(self, place: Path, options: argparse.Namespace) -> None:
        self.place, self.options = place, options
        self.disk = place / "disk"
        self.data = place / "data"
        side = str(options.grid)
        self.arguments = ["--grid", side, "--particles", side, "--steps", str(options.steps)]
        self.arguments += ["--device", "emulated", "--device-s", "0", "--quiet"]

    def command(self, build: Path, kind: str, transport: str) -> list[str]:
        """Without a transport it writes by itself; kind "compute": no output."""
        if kind == "hand-over":
            words = [sys.executable, str(HERE / "hand_over.py"), str(self.disk / "a.h5"), transport]
            return [*words, str(self.data), str(self.options.dumps), "caesura", "0.1"]
        programs = build / "miniapps" / "cosmology"
        if kind == "compute":
            return [str(programs / "cosmology_hdf5"), *self.arguments, "--mode", "compute"]
        output = ["--output", str(self.disk / "a.h5")]
        if kind == "mini-app":
            more = ["--transport", transport] if transport else []
            words = [str(programs / "cosmology"), *self.arguments, "--mode", "caesura"]
            return [*words, *output, *more]
        keys = {"chunk_bytes": 8 << 20, "closing_line": "false"}
        if transport:
            keys["transport"] = json.dumps(transport)
        config = self.place / "run.toml"
        bounds = {name: 0.1 * bound for name, bound in BOUNDS.items()}
        config.write_text(configuration(bounds, **keys))
        words = ["env", *connector_variables(build, config)]
        words += [str(programs / "cosmology_hdf5"), *self.arguments, "--mode", "sync"]
        return [*words, *output, "--file-per-dump"]

    def run(self, build: Path, kind: str, served: bool) -> dict[str, dict]:
        """What the application took, and the service."""
        shutil.rmtree(self.disk, ignore_errors=True)
        self.disk.mkdir()
        variables = {"CAESURA_BUILD": str(build), "PYTHONPATH": str(build / "python")}
        given = "\n" if kind == "hand-over" else ""
        if not served:
            return {"application": used_by(self.command(build, kind, ""), variables, given)[0]}
        serve = str(build / "bin" / "caesura-serve")
        with Service(serve, self.disk, threads=2, lease_s=30) as service:
            before = used_so_far(service.process.pid)
            command = self.command(build, kind, service.address)
            application, _ = used_by(command, variables, given)
            after = used_so_far(service.process.pid)
            service.end()
        return {"application": application, "service": less(after, before)}


def less(one: dict, other: dict) -> dict:
    """Column by column."""
    return {key: one[key] - other[key] for key in COLUMNS}


def rounds_of(case: Case, options: argparse.Namespace) -> dict[tuple, list[dict]]:
    """Builds in turns, by build, application, who writes, and whose numbers they are."""
    found: dict[tuple, list[dict]] = {}
    builds = {"now": BUILD, **({"before": options.before} if options.before else {})}
    for number in range(options.rounds):
        turn = list(builds.items())
        for name, build in turn if number % 2 == 0 else turn[::-1]:
            alone = case.run(build, "compute", False)["application"]
            for kind in options.kinds:
                for served in (False, True):
                    for whose, used in case.run(build, kind, served).items():
                        if whose == "application" and kind != "hand-over":
                            used = less(used, alone)
                        mode = "served" if served else "own"
                        found.setdefault((kind, mode, whose, name), []).append(used)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--grid", type=int, default=128)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--dumps", type=int, default=48, help="handed over by hand_over.py")
    parser.add_argument("--before", type=Path, help="another build tree")
    kinds = ("hdf5", "mini-app", "hand-over")
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="caesura-cpu-", dir="/dev/shm") as name:
        place = Path(name)
        case = Case(place, options)
        case.data.mkdir()
        program = str(BUILD / "miniapps" / "cosmology" / "cosmology")
        made = [program, *case.arguments, "--mode", "compute", "--raw-dir", str(case.data)]
        used_by([*made, "--steps", "11", "--dump-every", "10"], {})
        found = rounds_of(case, options)
    load = os.getloadavg()[0]
    print(f"load {load:.1f}, {options.rounds} rounds, median (lowest to highest)")
    print("| application | who writes | whose | build | CPU time, s | of it system | page faults "
          "| waits |\n|---|---|---|---|---|---|---|---|")  # fmt: skip
    for (kind, mode, whose, build), rows in sorted(found.items()):
        cpu = [row["user_s"] + row["system_s"] for row in rows]
        middle = {key: statistics.median(row[key] for row in rows) for key in COLUMNS}
        print(
            f"| {kind} | {mode} | {whose} | {build} "
            f"| {statistics.median(cpu):.3f} ({min(cpu):.3f} to {max(cpu):.3f}) "
            f"| {middle['system_s']:.3f} | {middle['faults']:.0f} | {middle['waits']:.0f} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
