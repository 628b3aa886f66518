"""What a dump through the VOL connector takes of an application, and what H5Fclose takes of it, for
each durability and natively.

    closing.py                       128^3 float64, 4 fields, 2 ranks, modes in turn
    closing.py --cells 64 --dumps 3  seconds instead of a minute, for trying out

The application is plain parallel h5py: it computes, writes a file of its fields, computes again.
Each mode is a run of its own; runs of all modes take turns. Printed: medians over all dumps but the
first of a run, of the slowest rank, and the smallest and largest of them. The file system is this
machine's own, and no bandwidth is emulated. Results go to out/bench/vol.json.
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

MODES = ("native", "complete", "durable", "close")


def application(options: argparse.Namespace) -> None:
    """Under mpirun, with or without the connector: no word of Caesura in it."""
    import h5py  # of the interpreter with parallel h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    n = options.cells
    begin, end = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
    z, y, x = np.meshgrid(
        np.arange(begin, end) / n, np.arange(n) / n, np.arange(n) / n, indexing="ij"
    )
    fields = [np.sin(6 * x + i) * np.cos(4 * y - i) + 0.3 * z for i in range(options.fields)]
    seconds = []
    for dump in range(options.dumps):
        until = time.perf_counter() + options.compute_s
        while time.perf_counter() < until:
            for field in fields:
                field += 1e-3 * np.sin(field)
        comm.Barrier()
        t0 = time.perf_counter()
        file = h5py.File(f"{options.out}/dump_{dump}.h5", "w", driver="mpio", comm=comm)
        for i, field in enumerate(fields):
            dataset = file.create_dataset(f"field_{i}", (n, n, n), dtype="f8")
            with dataset.collective:
                dataset[begin:end] = field
        t1 = time.perf_counter()
        file.close()
        t2 = time.perf_counter()
        slowest = np.empty(2)
        comm.Allreduce(np.array([t2 - t0, t2 - t1]), slowest, MPI.MAX)
        seconds.append(slowest.tolist())
    if comm.rank == 0:
        print(json.dumps(seconds))


def run(options: argparse.Namespace, mode: str, where: Path) -> list[list[float]]:
    """[dump, close] seconds of each dump but the first."""
    config = f'bound = 1e-3\ndurability = "{mode}"\nreport = "{where}/report.json"\n'
    told = run_application(
        options,
        __file__,
        where,
        None if mode == "native" else config,
        ("cells", "fields", "dumps", "compute_s"),
        options.ranks,
    )
    if mode != "native":
        report = json.loads((where / "report.json").read_text())
        written = [file.get("blocks", {}).get("count", 0) for file in report["files"]]
        if 0 in written or len(written) != options.dumps:
            sys.exit(f"{mode}: not every file has blocks: {written}")
    return told[1:]


def main() -> None:
    """Parse, run, print."""
    parser = parser_of(__doc__)
    parser.add_argument("--cells", type=int, default=128)
    parser.add_argument("--fields", type=int, default=4)
    parser.add_argument("--dumps", type=int, default=6)
    parser.add_argument("--compute-s", type=float, default=1.0)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.application:
        return application(options)
    from results import save  # not of the application's interpreter

    prepare(options)
    seconds: dict[str, list[list[float]]] = {mode: [] for mode in MODES}
    with tempfile.TemporaryDirectory() as scratch:
        for repeat in range(options.repeats):
            for mode in MODES:
                seconds[mode] += run(options, mode, Path(scratch) / f"{mode}-{repeat}")
    print(f"{'':10} {'dump, s':>22} {'of it H5Fclose, s':>22}")
    for mode in MODES:
        columns = []
        for which in range(2):
            values = [dump[which] for dump in seconds[mode]]
            median = statistics.median(values)
            columns.append(f"{median:.3f} ({min(values):.3f}-{max(values):.3f})")
        print(f"{mode:10} {columns[0]:>22} {columns[1]:>22}")
    settings = {name: getattr(options, name) for name in ("cells", "fields", "ranks", "compute_s")}
    print(save("closing", {"settings": settings, "seconds": seconds}))
    return None


if __name__ == "__main__":
    main()
