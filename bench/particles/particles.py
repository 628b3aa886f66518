"""What Order::any wins on particles of real programs, and what it costs.

Writes out/bench/particles.json and .svg. Particles come from openPMD files: of the cosmology
mini-app, which is run, of FBPIC (bench/programs/fbpic_wakefield.py, in a Python that has it), or of
--file NAME=PATH. Each is taken in the program's own order, and shuffled, as a program has them
that keeps none.

Ways: the given order; any order; any order with the index, which is counted; h5py with
hdf5plugin's SZ3, and with its Blosc (zstd and shuffle, lossless), in the given order. Time is CPU
time of the compress lane (the finding of the order is in it), the median of several turns in which
all ways take part one after the other. h5py's is its process's.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import caesura
import h5py
import hdf5plugin
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "codec"))

from conditions import conditions
from particles_picture import picture

ROOT = Path(__file__).resolve().parents[2]
AXES = ("x", "y", "z")
POSITION_BOUND, MOMENTUM_BOUND = 1e-4, 1e-3  # of the box, of the range
SPECIES = {  # what a species consists of
    "positions": ("position",),
    "positions and momenta": ("position", "momentum"),
}


def load(path: Path) -> tuple[dict[str, np.ndarray], float]:
    """Positions and momenta of the first species of the last dump that has particles; its box."""
    with caesura.open(path) as file:
        for number in sorted(map(int, file["data"]), reverse=True):
            for species in file[f"data/{number}/particles"].values():
                if isinstance(species.get("position/x"), h5py.Dataset):
                    records = {
                        f"{record}/{axis}": species[f"{record}/{axis}"][:]
                        for record in ("position", "momentum")
                        for axis in AXES
                    }
                    box = max(np.ptp(records[f"position/{axis}"]) for axis in AXES)
                    return records, float(species.attrs.get("box", box))
    raise SystemExit(f"{path} has no particles with positions")


def run_cosmology(folder: Path, cosmology: Path, grid: int) -> Path:
    """After 100 steps."""
    path = folder / "cosmology.h5"
    subprocess.run(
        [cosmology, "--grid", str(grid), "--steps", "101", "--dump-every", "100",
         "--write-particles", "--mode", "caesura", "--output", path, "--quiet"],
        check=True,
    )  # fmt: skip
    return path


def run_fbpic(folder: Path, python: Path) -> Path:
    """After 600 steps, on one process."""
    script = ROOT / "bench" / "programs" / "fbpic_wakefield.py"
    subprocess.run([python, script, folder, "150"], check=True)
    return folder / "hdf5" / "data00000600.h5"


def bounds_of(records: dict[str, np.ndarray], box: float) -> dict[str, float]:
    return {
        name: POSITION_BOUND * box
        if name.startswith("position")
        else MOMENTUM_BOUND * float(np.ptp(values))
        for name, values in records.items()
    }


def by_writer(
    path: Path, records: dict[str, np.ndarray], bounds: dict[str, float], **options: object
) -> tuple[int, float]:
    """Stored bytes, seconds of compression."""
    codec = str(options.pop("codec", "caesura"))
    with caesura.Writer(path, codec=codec, durable=False, planning=False) as writer:
        species = writer.define_species("e", **options)
        fields = {
            name: species.define_record(name, values.dtype, absolute=bounds[name])
            for name, values in records.items()
        }
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(0.0)
            for name, field in fields.items():
                dump.put_particles(field, records[name], borrow=True)
    report = writer.report()
    return report.stored_bytes, report.compress_s


def by_h5py(
    path: Path, records: dict[str, np.ndarray], bounds: dict[str, float], filtered: str
) -> tuple[int, float]:
    begin_s = time.process_time()
    with h5py.File(path, "w") as file:
        for name, values in records.items():
            options = (
                hdf5plugin.SZ3(absolute=bounds[name])
                if filtered == "sz3"
                else hdf5plugin.Blosc(cname="zstd", shuffle=hdf5plugin.Blosc.SHUFFLE)
            )
            chunk = min(len(values), (1 << 20) // values.itemsize)
            file.create_dataset(name, data=values, chunks=(chunk,), **options)
    seconds = time.process_time() - begin_s
    with h5py.File(path) as file:
        return sum(file[name].id.get_storage_size() for name in records), seconds


WAYS = {
    "given": lambda *what: by_writer(*what),
    "any": lambda *what: by_writer(*what, order="any"),
    "any, with index": lambda *what: by_writer(*what, order="any", keep_index=True),
    "SZ3 1-D": lambda *what: by_h5py(*what, "sz3"),
    "zstd + shuffle": lambda *what: by_h5py(*what, "zstd"),
}


def check(path: Path, records: dict[str, np.ndarray], bounds: dict[str, float]) -> None:
    """The index says where each particle was; all of them are there, within bounds."""
    reader = caesura.Reader(path)
    index = reader["e/index", 0][...]
    if not np.array_equal(np.sort(index), np.arange(len(index))):
        raise SystemExit("the index is no permutation")
    for name, values in records.items():
        off = np.abs(reader[f"e/{name}", 0][...].astype(float) - values[index].astype(float))
        if not off.max() <= bounds[name]:
            raise SystemExit(f"{name} is off by {off.max()}")


def entropy_bits(records: dict[str, np.ndarray], box: float) -> float | None:
    """Bits a particle that its position needs at least where order says nothing: of the density
    around a sample of them, less what n! orders would say."""
    try:
        from scipy.spatial import cKDTree
        from scipy.special import digamma
    except ImportError:
        return None
    neighbours = 16
    places = np.stack([records[f"position/{axis}"] for axis in AXES], axis=1)
    n = len(places)
    sample = places[np.random.default_rng(1).choice(n, min(n, 20_000), replace=False)]
    far = cKDTree(places).query(sample, k=neighbours + 1)[0][:, neighbours]
    cell = 2 * POSITION_BOUND * box
    spread = 3 * float(np.mean(np.log2(np.maximum(far, cell) / cell))) + math.log2(4 * math.pi / 3)
    order = math.log2(n) - 1 / math.log(2)
    return math.log2(n - 1) - float(digamma(neighbours)) / math.log(2) + spread - order


def measure(
    records: dict[str, np.ndarray], bounds: dict[str, float], turns: int, folder: Path
) -> list[dict]:
    raw = sum(values.nbytes for values in records.values())
    count = len(next(iter(records.values())))
    found: dict[str, list[tuple[int, float]]] = {way: [] for way in WAYS}
    for _ in range(turns):
        for way, call in WAYS.items():
            path = folder / "measured.h5"
            found[way].append(call(path, records, bounds))
            if way == "any, with index":
                check(path, records, bounds)
    rows = []
    for way, results in found.items():
        stored, seconds = results[0][0], statistics.median(s for _, s in results)
        rows.append(
            {
                "way": way,
                "stored_bytes": stored,
                "ratio": raw / stored,
                "bits_per_particle": 8 * stored / count,
                "compress_s": seconds,
                "ns_per_particle": 1e9 * seconds / count,
                "over_given": {
                    "ratio": found["given"][0][0] / stored,
                    "time": seconds / statistics.median(s for _, s in found["given"]),
                },
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cosmology", type=Path, default=None, help="the mini-app's program")
    parser.add_argument("--grid", type=int, default=128)
    parser.add_argument("--fbpic-python", type=Path, help="a Python that has FBPIC")
    parser.add_argument("--file", action="append", default=[], help="NAME=PATH of an openPMD file")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "bench" / "particles.json")
    options = parser.parse_args()
    for name in ("sz3", "blosc"):  # before our HDF5 loads the plugins for itself
        hdf5plugin.register(name)
    result: dict = {"conditions": conditions(), "turns": options.turns, "sets": []}
    result["load_average_before"] = os.getloadavg()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [tuple(one.split("=", 1)) for one in options.file]
        if options.cosmology:
            files.append(("cosmology", run_cosmology(folder, options.cosmology, options.grid)))
        if options.fbpic_python:
            files.append(("FBPIC", run_fbpic(folder, options.fbpic_python)))
        for program, path in files:
            records, box = load(Path(path))
            shuffle = np.random.default_rng(1).permutation(len(records["position/x"]))
            for order in ("own order", "shuffled"):
                if order == "shuffled":
                    records = {key: values[shuffle] for key, values in records.items()}
                for species, parts in SPECIES.items():
                    chosen = {k: v for k, v in records.items() if k.split("/")[0] in parts}
                    rows = measure(chosen, bounds_of(chosen, box), options.turns, folder)
                    one = {
                        "program": program,
                        "order": order,
                        "species": species,
                        "particles": len(shuffle),
                        "dtype": str(records["position/x"].dtype),
                        "least_bits_per_position": entropy_bits(records, box),
                        "rows": rows,
                    }
                    result["sets"].append(one)
                    print(f"{program}, {order}, {species}: {len(shuffle)} particles", flush=True)
                    for row in rows:
                        print(
                            f"  {row['way']:16} {row['ratio']:7.2f} "
                            f"{row['bits_per_particle']:7.2f} bits "
                            f"{row['ns_per_particle']:7.1f} ns; over given: ratio "
                            f"{row['over_given']['ratio']:.2f}, "
                            f"time {row['over_given']['time']:.2f}",
                            flush=True,
                        )
    result["load_average_after"] = os.getloadavg()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    options.out.with_suffix(".svg").write_text(picture(result))


if __name__ == "__main__":
    main()
