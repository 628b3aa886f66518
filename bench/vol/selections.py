"""What a call costs by the shape of what it selects, natively and under the connector.

    selections.py                    ten shapes, one rank, modes in turn
    selections.py --cells 96 --repeats 1    for trying out

The application is plain h5py on MPI-IO with independent calls. It writes a selection of a dataset
of float64 once for each step, reads it back while it waits, and again after a flush. Printed:
nanoseconds a value in the writes, the first reads and the second ones, medians over runs. `many
small` writes one value a call. Results go to out/bench/vol.json.
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

MODES = {"native": None, "connector": "threshold_bytes = 1024\nclosing_line = false\n"}
MEASURED = ("write", "read", "read again")


def shapes(n: int) -> dict:
    """Name -> (dims, chunk, what selects in a dataspace, step by step)."""
    import h5py
    import numpy as np

    cube = (n, n, n)

    def slabs(start, count, stride=None, block=None):
        def select(space, step):
            space.select_hyperslab(tuple(s(step) for s in start), count, stride, block)

        return select

    def zero(_):
        return 0

    def step_of(step):
        return step

    def union(space, step):
        space.select_hyperslab((step, 0, 0), (1, n // 2, n))
        for row in range(n // 2, n, 2):
            space.select_hyperslab((step, row, 3), (1, 1, n // 2), op=h5py.h5s.SELECT_OR)

    def points(space, step):
        at = np.random.default_rng(step).permutation(n * n)[: n * n // 16]
        where = np.stack([np.full(at.size, step), at // n, at % n], axis=1)
        space.select_elements(where.astype(np.uint64))

    planes, slices = (1, n, n), (n, n, 1)
    return {
        "planes": (cube, planes, slabs((step_of, zero, zero), (1, n, n))),
        "last axis": (cube, slices, slabs((zero, zero, step_of), (n, n, 1))),
        "last axis, contiguous": (cube, None, slabs((zero, zero, step_of), (n, n, 1))),
        "middle axis": (cube, (n, 1, n), slabs((zero, step_of, zero), (n, 1, n))),
        "box": (cube, planes, slabs((step_of, lambda _: 5, lambda _: 7), (1, n // 2, n // 2))),
        "every other row": (cube, planes, slabs((step_of, zero, zero), (1, n // 2, n), (1, 2, 1))),
        "blocks of columns": (
            cube,
            planes,
            slabs((step_of, zero, zero), (1, 1, n // 16), (1, n, 16), (1, n, 8)),
        ),
        "every other column": (
            cube,
            planes,
            slabs((step_of, zero, zero), (1, n, n // 2), (1, 1, 2)),
        ),
        "union": (cube, planes, union),
        "points": (cube, planes, points),
    }


def transfer_of(dataset, file, select, steps: int) -> list[float]:
    """Nanoseconds a value of the three kinds of calls."""
    import h5py
    import numpy as np

    spent, values = [0.0, 0.0, 0.0], 0
    spaces = []
    for step in range(steps):
        space = dataset.id.get_space()
        select(space, step)
        count = space.get_select_npoints()
        memory = h5py.h5s.create_simple((count,))
        array = np.random.default_rng(step).random(count)
        t0 = time.perf_counter()
        dataset.id.write(memory, space, array)
        spent[0] += time.perf_counter() - t0
        values += count
        spaces.append((memory, space, array, np.zeros(count)))
    for again in (1, 2):
        for memory, space, array, read in spaces:
            t0 = time.perf_counter()
            dataset.id.read(memory, space, read)
            spent[again] += time.perf_counter() - t0
            if not np.array_equal(read, array):
                sys.exit("values differ")
        file.flush()
    return [1e9 * seconds / values for seconds in spent]


def application(options: argparse.Namespace) -> None:
    """Under mpirun, with or without the connector: no word of Caesura in it."""
    import h5py
    from mpi4py import MPI

    found = {}
    with h5py.File(f"{options.out}/run.h5", "w", driver="mpio", comm=MPI.COMM_WORLD) as file:
        for name, (dims, chunk, select) in shapes(options.cells).items():
            dataset = file.create_dataset(name, dims, "f8", chunks=chunk)
            found[name] = transfer_of(dataset, file, select, min(options.steps, options.cells))
        dataset = file.create_dataset("many small", (options.small,), "f8")

        def one(space, step):
            space.select_hyperslab((step,), (1,))

        found["many small"] = transfer_of(dataset, file, one, options.small)
        t0 = time.perf_counter()
    found["close, ms"] = [1e3 * (time.perf_counter() - t0), 0.0, 0.0]
    print(json.dumps(found))


def main() -> None:
    """Parse, run, print."""
    parser = parser_of(__doc__)
    parser.add_argument("--cells", type=int, default=192)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--small", type=int, default=20000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.application:
        return application(options)
    from results import save  # not of the application's interpreter

    prepare(options)
    runs: dict[str, list[dict[str, list[float]]]] = {mode: [] for mode in MODES}
    with tempfile.TemporaryDirectory() as scratch:
        for repeat in range(options.repeats):
            for mode, config in MODES.items():
                where = Path(scratch) / f"{mode}-{repeat}"
                hand_on = ("cells", "steps", "small")
                runs[mode].append(run_application(options, __file__, where, config, hand_on))
    medians = {
        mode: {
            name: [statistics.median(one[name][i] for one in runs[mode]) for i in range(3)]
            for name in runs[mode][0]
        }
        for mode in MODES
    }
    print(f"{'ns a value':24}" + "".join(f"{what:>22}" for what in MEASURED))
    for name, native in medians["native"].items():
        ours = medians["connector"][name]
        cells = "".join(f"{native[i]:12.1f} {ours[i]:9.1f}" for i in range(3))
        print(f"{name:24}{cells}")
    settings = {name: getattr(options, name) for name in ("cells", "steps", "small", "repeats")}
    print(save("selections", {"settings": settings, "medians": medians}))
    return None


if __name__ == "__main__":
    main()
