"""From how many bytes on a dataset is worth blocks: time in calls and bytes of files by threshold.

    thresholds.py                      the table, one rank, modes in turn
    thresholds.py --repeats 1          for trying out

Two applications of plain h5py on MPI-IO make a file for each dump. `particles` writes 8 arrays of
121,750 float64 (974 kB), as WarpX's particles; `small` 100 smooth arrays of float32 of 16 to 256
KiB. Each runs natively and under the connector with several `threshold_bytes`, once with a bound of
1e-4 of the range and once without loss. Printed: milliseconds in all calls of a dump, and MB of
files, medians over runs. Results go to out/bench/vol.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from applications import parser_of, prepare, run_application

KIB = 1024
THRESHOLDS_KIB = (16, 64, 256, 1024)
RULES = {
    "bounded": '[[dataset]]\npath = "*"\nbound = 1e-4\nbound_kind = "relative"\n',
    "lossless": "",
}


def particles(dump: int) -> dict:
    """Momenta and positions of one species."""
    import numpy as np

    n = 121_750
    random = np.random.default_rng(dump)
    arrays = {}
    for axis in "xyz":
        arrays[f"position_{axis}"] = np.sort(random.random(n)) + 1e-3 * random.standard_normal(n)
        arrays[f"momentum_{axis}"] = random.standard_normal(n)
    arrays["weighting"] = np.full(n, 2.5e8)
    arrays["energy"] = random.standard_normal(n) ** 2
    return arrays


def small(dump: int) -> dict:
    """Fields of many parts, from 16 to 256 KiB."""
    import numpy as np

    arrays = {}
    for number in range(100):
        random = np.random.default_rng(1000 * dump + number)
        n = 4 * KIB << number % 5
        phase = np.linspace(0.0, 12.0 + number, n) + dump
        arrays[f"part_{number}"] = (np.sin(phase) + 1e-3 * random.standard_normal(n)).astype("f4")
    return arrays


APPLICATIONS = {"particles": particles, "small": small}


def application(options: argparse.Namespace) -> None:
    """Under mpirun, with or without the connector: no word of Caesura in it."""
    import h5py
    from mpi4py import MPI

    spent = 0.0
    paths = []
    for dump in range(options.dumps):
        arrays = APPLICATIONS[options.application](dump)
        paths.append(Path(options.out) / f"dump_{dump}.h5")
        begin = time.perf_counter()
        with h5py.File(paths[-1], "w", driver="mpio", comm=MPI.COMM_WORLD) as file:
            for name, values in arrays.items():
                file.create_dataset(name, values.shape, values.dtype)[...] = values
        spent += time.perf_counter() - begin
        time.sleep(options.computes_s)  # in which the application would compute
    begin = time.perf_counter()
    MPI.Finalize()  # which brings all that waits into the files
    spent += time.perf_counter() - begin
    size = sum(path.stat().st_size for path in paths)
    print(json.dumps({"ms": 1e3 * spent / options.dumps, "mb": size / 1e6}))


def measure(options: argparse.Namespace, name: str, scratch: Path) -> dict[str, dict]:
    """Mode -> medians, modes in turn."""
    modes: dict[str, str | None] = {"native": None}
    for rule, text in RULES.items():
        for kib in THRESHOLDS_KIB:
            modes[f"{rule}, {kib} KiB"] = f"threshold_bytes = {kib * KIB}\n{text}"
    runs: dict[str, list[dict]] = {mode: [] for mode in modes}
    for repeat in range(options.repeats):
        for number, (mode, config) in enumerate(modes.items()):
            where = scratch / f"{name}-{number}-{repeat}"
            if config is not None:
                config = "closing_line = false\n" + config
            one = run_application(
                options, __file__, where, config, ("dumps", "computes_s"), application=name
            )
            runs[mode].append(one)
    return {
        mode: {what: statistics.median(one[what] for one in of_mode) for what in ("ms", "mb")}
        for mode, of_mode in runs.items()
    }


def main() -> None:
    """Parse, run, print."""
    parser = parser_of(__doc__)
    parser.add_argument("--dumps", type=int, default=4)
    parser.add_argument("--computes-s", type=float, default=0.3, help="after each dump")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if options.application:
        return application(options)
    from results import save  # not of the application's interpreter

    prepare(options)
    with tempfile.TemporaryDirectory() as scratch:
        medians = {name: measure(options, name, Path(scratch)) for name in APPLICATIONS}
    for name, of_mode in medians.items():
        print(f"{name:24}{'ms a dump':>12}{'MB':>10}")
        for mode, median in of_mode.items():
            print(f"  {mode:22}{median['ms']:12.1f}{median['mb']:10.2f}")
    settings = {what: getattr(options, what) for what in ("dumps", "computes_s", "repeats")}
    print(save("thresholds", {"settings": settings, "medians": medians}))
    return None


if __name__ == "__main__":
    main()
