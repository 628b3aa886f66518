"""What a file for each dump costs in end(), beside one file and beside a Writer for each file.

Writes out/bench/series.json. The three ways take turns, in programs of 1, 2 and 4 ranks (mpi4py):

  one file         all dumps in one file
  series           a file for each dump: "run_%06T.h5"
  writer for each  a Writer made and closed for each dump, as without a series

Times are the application's: in end(), in making and in closing Writers; of the slowest rank.
Between dumps it computes for --pause-ms, so that earlier dumps can be written.
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
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
WAYS = ("one file", "series", "writer for each")


def compute(seconds: float) -> None:
    end_s = time.perf_counter() + seconds
    values = np.arange(4096.0)
    while time.perf_counter() < end_s:
        values = values * 1.000001


def one_run(way: str, place: Path, comm, options: argparse.Namespace) -> dict[str, float]:
    """Seconds of this rank, by what it was waiting in."""
    import caesura

    shape = (comm.size * 64, 64, options.megabytes * 1_000_000 // (4 * 64 * 64))
    rows = slice(comm.rank * 64, (comm.rank + 1) * 64)
    rng = np.random.default_rng(comm.rank)
    values = np.sin(np.linspace(0, 60, shape[2], dtype="f4")) + np.zeros((64, 64, 1), "f4")
    values = values + 1e-3 * rng.normal(size=values.shape).astype("f4")
    name = "run_%06T.h5" if way == "series" else "run.h5"
    spent = {"end_s": 0.0, "make_s": 0.0, "close_s": 0.0}

    def make(path: Path) -> caesura.Writer:
        comm.Barrier()
        begin_s = time.perf_counter()
        writer = caesura.Writer(path, comm, absolute=1e-2, durable=options.durable)
        writer.rho = writer.define_field("rho", np.float32, shape)
        spent["make_s"] += time.perf_counter() - begin_s
        return writer

    def close(writer: caesura.Writer) -> None:
        begin_s = time.perf_counter()
        writer.close()
        spent["close_s"] += time.perf_counter() - begin_s

    writer = None if way == "writer for each" else make(place / name)
    for n in range(options.dumps):
        if way == "writer for each":
            writer = make(place / f"run_{n:06}.h5")
        with writer.iteration(n) as iteration:
            iteration.begin_dump(time=float(n)).put(writer.rho, values, offset=(rows.start, 0, 0))
            comm.Barrier()
            begin_s = time.perf_counter()
        spent["end_s"] += time.perf_counter() - begin_s
        if way == "writer for each":
            close(writer)
        compute(options.pause_ms * 1e-3)
    if way != "writer for each":
        close(writer)
    spent["file_wait_s"] = writer.report().file_wait_s
    return {key: comm.allreduce(value, _largest()) for key, value in spent.items()}


def _largest():
    from mpi4py import MPI

    return MPI.MAX


def run_ranks(options: argparse.Namespace) -> None:
    """The program that mpirun starts."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    results: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for turn in range(options.turns + 1):  # the first touches memory and code
        for way in WAYS:
            place = comm.bcast(
                tempfile.mkdtemp(dir=options.directory) if comm.rank == 0 else None, root=0
            )
            spent = one_run(way, Path(place), comm, options)
            if turn > 0:
                results[way].append(spent)
            comm.Barrier()
            if comm.rank == 0:
                shutil.rmtree(place)
    if comm.rank == 0:
        print(json.dumps(results))


def medians(runs: list[dict[str, float]], dumps: int) -> dict[str, float]:
    """Milliseconds a dump."""
    out = {
        key.replace("_s", "_ms"): 1e3 * statistics.median(run[key] for run in runs) / dumps
        for key in runs[0]
    }
    out["all_ms"] = (
        1e3
        * statistics.median(run["end_s"] + run["make_s"] + run["close_s"] for run in runs)
        / dumps
    )
    return out


def main() -> None:
    top = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    top.add_argument("--ranks", type=int, nargs="*", default=[1, 2, 4])
    top.add_argument("--dumps", type=int, default=20)
    top.add_argument("--megabytes", type=int, default=8, help="of a rank and dump")
    top.add_argument("--pause-ms", type=float, default=100.0)
    top.add_argument("--turns", type=int, default=5)
    top.add_argument("--durable", action=argparse.BooleanOptionalAction, default=True)
    top.add_argument("--directory", help="where files are written (default: temporary files)")
    top.add_argument("--mpirun", default="mpirun")
    top.add_argument("--program", action="store_true", help=argparse.SUPPRESS)
    options = top.parse_args()
    if options.program:
        run_ranks(options)
        return
    table = []
    for ranks in options.ranks:
        command = [options.mpirun, "--bind-to", "none", "--oversubscribe", "-n", str(ranks)]
        command += [sys.executable, __file__, "--program", *sys.argv[1:]]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            sys.exit(answer.stdout + answer.stderr)
        runs = json.loads(answer.stdout.splitlines()[-1])
        for way in WAYS:
            table.append({"ranks": ranks, "way": way, **medians(runs[way], options.dumps)})
            row = table[-1]
            print(
                f"{ranks} ranks, {way:<16} end {row['end_ms']:7.2f}  make {row['make_ms']:7.2f}  "
                f"close {row['close_ms']:7.2f}  all {row['all_ms']:7.2f} ms a dump",
                flush=True,
            )
    sys.path.insert(0, str(ROOT / "bench" / "codec"))
    from conditions import conditions

    out = Path(os.environ.get("CAESURA_OUT", ROOT / "out")) / "bench" / "series.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    asked = {key: value for key, value in vars(options).items() if key != "program"}
    document = {"conditions": conditions(), "options": asked, "rows": table}
    out.write_text(json.dumps(document, indent=1) + "\n")
    print(out)


if __name__ == "__main__":
    main()
