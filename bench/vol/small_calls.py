"""What 10,000 objects of 1 KiB cost a program of plain HDF5, natively and under the VOL connector.

    small_calls.py [--count N] [--repeats N] [--kinds one,independent,collective] [--rows]
                   [--before DIR]

small_calls.c makes, writes, describes, closes, opens and reads datasets of 1 KiB, with an attribute
of 1 KiB each, and a dataset of as many rows. Runs take turns, the order turning round. `one`: a
process with the ordinary driver; the others: 2 ranks through MPI-IO. Printed: CPU time of the
calling thread, which other programs on the machine disturb less than the clock, the least of the
repeats; and how it compares with native. --before also runs another build's connector. Results go
to out/bench/vol.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from plain import MPI, connector_variables, program  # noqa: E402
from results import save  # noqa: E402

KINDS = ("one", "independent", "collective")
WALL, CPU = 0, 1


def run(build: Path, connector: Path | None, *words: str) -> dict[str, list[float]]:
    """Of one run: [wall, CPU] seconds by kind of call."""
    with tempfile.TemporaryDirectory() as place:
        config = Path(place, "run.toml")
        config.write_text("")
        start = [] if "one" in words else ["mpirun", "-n", "2"]
        command = [*start, "env", "-u", "HDF5_VOL_CONNECTOR"]
        command += connector_variables(connector, config) if connector else []
        command += [str(program(build, "bench/vol/vol_small_calls")), f"{place}/small.h5"]
        answer = subprocess.run(
            [*command, *words],
            capture_output=True,
            text=True,
            check=False,
            env={**MPI, **os.environ},
            timeout=1200,
        )
    if answer.returncode != 0:
        sys.exit(f"{words}: {answer.stdout}{answer.stderr}")
    return json.loads(answer.stdout)


def measure(options: argparse.Namespace, kind: str) -> dict[str, dict[str, list[float]]]:
    """The least of the repeats, by mode and kind of call."""
    modes = {"native": None, "before": options.before, "connector": options.build}
    if options.before is None:
        del modes["before"]
    words = [str(options.count), kind, *(["rows"] if options.rows else [])]
    least: dict[str, dict[str, list[float]]] = {mode: {} for mode in modes}
    for repeat in range(options.repeats):
        for mode in list(modes) if repeat % 2 == 0 else list(modes)[::-1]:
            for call, seconds in run(options.build, modes[mode], *words).items():
                known = least[mode].setdefault(call, seconds)
                least[mode][call] = [min(pair) for pair in zip(known, seconds, strict=True)]
    return least


def show(kind: str, least: dict[str, dict[str, list[float]]]) -> None:
    """CPU milliseconds, and how often native's."""
    print(f"{kind}, CPU ms of the calling thread")
    totals = {
        mode: [sum(seconds[i] for seconds in of.values()) for i in (WALL, CPU)]
        for mode, of in least.items()
    }
    for call in [*least["native"], "all"]:
        line = f"  {call:24}"
        native = (least["native"] | {"all": totals["native"]})[call][CPU]
        for mode, of in least.items():
            cpu = (of | {"all": totals[mode]})[call][CPU]
            line += f" {mode} {1e3 * cpu:9.1f}"
            line += f" ({cpu / max(native, 1e-9):5.2f})" if mode != "native" else ""
        print(line)


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--rows", action="store_true", help="read the rows of the dataset, too")
    parser.add_argument("--before", type=Path, help="build tree of another connector")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.before = options.before.resolve() if options.before else None
    section = {}
    for kind in options.kinds.split(","):
        section[kind] = measure(options, kind)
        show(kind, section[kind])
    print(save("small_calls", {"count": options.count, "wall_and_cpu_s": section}))


if __name__ == "__main__":
    main()
