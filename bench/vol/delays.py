"""What plotfiles cost a program, and when they are written and committed, by how busy cores are.

    delays.py                    96^3, 3 fields, a rank a core, 0, 30 and 60 % idle, modes in turn
    delays.py --dumps 4 --repeats 1    for trying out

The program (tests/vol/programs/plotfiles.c) computes for a second, the same CPU time whatever else
runs, sleeps for its idle share as if an accelerator worked, and writes a file. Modes: `none` only
computes, `native` is plain HDF5, `complete` and `close` the connector with that durability and
`max_delay` seconds. Overhead is the whole run, MPI_Finalize included, over that of `none` in the
same round; printed are medians over rounds and their range. `before` is `close` with the connector
of another build tree (--before). The file system is this machine's own.
Results go to out/bench/vol.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from plain import MPI, connector_variables, program  # noqa: E402
from results import save  # noqa: E402

CONNECTOR = ("complete", "close", "before")


def run(options: argparse.Namespace, mode: str, idle: int, where: Path) -> dict:
    """Seconds of one run; of the connector also what its report says, over all files."""
    where.mkdir()
    config = where / "run.toml"
    report = where / "report.json"
    durability = "close" if mode == "before" else mode
    config.write_text(
        f'durability = "{durability}"\nmax_delay = {options.max_delay}\nreport = "{report}"\n'
        "closing_line = false\n"
    )
    settings = {
        "VOL_TEST_DUMPS": options.dumps,
        "VOL_TEST_EDGE": options.edge,
        "VOL_TEST_COMPUTE_MS": options.compute_ms,
        "VOL_TEST_IDLE_PERCENT": idle,
        "VOL_TEST_WRITE": int(mode != "none"),
    }
    command = ["mpirun", "-n", str(options.ranks), "env", "-u", "HDF5_VOL_CONNECTOR"]
    command += [f"{name}={value}" for name, value in settings.items()]
    if mode in CONNECTOR:
        build = options.before if mode == "before" else options.build
        command += ["VOL_TEST_CONNECTOR=caesura", *connector_variables(build, config)]
    command += [str(program(options.build, "tests/vol/vol_plotfiles")), str(where)]
    answer = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**MPI, **os.environ}
    )
    if answer.returncode != 0:
        sys.exit(f"{mode}: {answer.stderr[-2000:]}")
    lines = [line.split() for line in (where / "plotfiles.h5.log").read_text().splitlines()]
    out = {"run_s": next(float(line[2]) for line in lines if line[0] == "ended")}
    for name in ("calls_took", "close_took"):
        values = [float(line[2]) for line in lines if line[0] == name]
        out[f"{name}_s"] = statistics.median(values) if values else 0.0
    if mode in CONNECTOR:
        blocks = [file["blocks"] for file in json.loads(report.read_text())["files"]]
        for name in ("longest_to_written_s", "longest_to_committed_s"):
            out[name] = max(one[name] for one in blocks)
        for name in ("taken_over_s", "taken_over_blocks", "count"):
            out[name] = sum(one[name] for one in blocks)
    for path in where.glob("plt*.h5"):
        path.unlink()
    return out


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edge", type=int, default=96)
    parser.add_argument("--dumps", type=int, default=8)
    parser.add_argument("--compute-ms", type=int, default=1000)
    parser.add_argument("--max-delay", type=float, default=0.0)
    parser.add_argument("--idle", type=int, nargs="+", default=[0, 30, 60], help="percent")
    parser.add_argument("--ranks", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--before", type=Path, help="build tree of another connector, absolute")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    options.build = options.build.resolve()
    connectors = [mode for mode in CONNECTOR if mode != "before" or options.before]
    modes_of_all = ["none", "native", *connectors]
    results: dict[str, dict[str, list[dict]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for repeat in range(options.repeats):
            for idle in options.idle:
                for mode in modes_of_all:
                    where = Path(scratch) / f"{mode}-{idle}-{repeat}"
                    one = run(options, mode, idle, where)
                    results.setdefault(str(idle), {}).setdefault(mode, []).append(one)
    print(f"{'idle':>4} {'mode':9} {'overhead, %':>22} {'calls, s':>9} {'close, s':>9}", end="")
    print(f" {'written, s':>11} {'committed, s':>13} {'taken over':>11}")
    for idle, modes in results.items():
        for mode in modes_of_all[1:]:
            overheads = [
                100.0 * (one["run_s"] / none["run_s"] - 1.0)
                for one, none in zip(modes[mode], modes["none"], strict=True)
            ]
            spread = (
                f"{statistics.median(overheads):.1f} ({min(overheads):.1f}-{max(overheads):.1f})"
            )
            calls, close = (
                statistics.median(one[name] for one in modes[mode])
                for name in ("calls_took_s", "close_took_s")
            )
            line = f"{idle:>4} {mode:9} {spread:>22} {calls:9.3f} {close:9.3f}"
            if mode != "native":
                written, committed = (
                    max(one[f"longest_to_{what}_s"] for one in modes[mode])
                    for what in ("written", "committed")
                )
                taken = sum(one["taken_over_blocks"] for one in modes[mode])
                blocks = sum(one["count"] for one in modes[mode])
                line += f" {written:11.2f} {committed:13.2f} {f'{taken}/{blocks}':>11}"
            print(line)
    names = ("edge", "dumps", "compute_ms", "max_delay", "ranks", "repeats")
    settings = {name: getattr(options, name) for name in names}
    print(save("delays", {"settings": settings, "runs": results}))


if __name__ == "__main__":
    main()
