"""Where the time of a snapshot goes: S1's Figure 16, with real runs on an emulated file system.

    python bench/prediction/order.py [--quick] [--directory DIR]

One rank writes one snapshot of twelve fields of 8 MB (Nyx at z = 50, a late dump of the mini-app)
at a tenth of the papers' bounds (a ratio like S1's) and closes the file, as S1 measures it: nothing
computes meanwhile. The process has one core; the bandwidth of the file system (bench/pfs,
*emulated*) is set so that writing takes as long as compressing, where S1 says order pays:

 uncompressed     as it is
 filter           through the HDF5 filter, block by block: compress, then write (H5Z-SZ's way)
 overlap          Caesura, in the order of the fields
 S1-Alg1          Caesura, `insertion_backfill`
 ExtJohnson+BF    Caesura, `ext_johnson_backfill` (S0)

Where nothing computes there are no gaps to fill: the lists are then the papers' own, which append.

Invariants: every way writes the same values within the same bounds, and is read again; ways are
interleaved; figures are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "bench" / "codec")]

import numpy as np  # noqa: E402

BUILD = Path(os.environ.get("CAESURA_BUILD", ROOT / "build"))
PRELOAD = BUILD / "bench" / "pfs" / "libpfs.so"
WAYS = {
    "uncompressed": None,
    "filter": None,
    "overlap": "generation_list_backfill",
    "S1-Alg1": "insertion_backfill",
    "ExtJohnson+BF": "ext_johnson_backfill",
}
CODECS = ("sz3", "caesura")
REPEATS = 5
LATENCY_S = 0.001
PAPER = {
    "overlap over the filter": 1.79,
    "order over overlap": 1.30,
    "order over uncompressed": 4.46,
    "order over the filter": 2.91,
    "setting": "4096^3 Nyx on 512 processes of Summit, SZ, ratio 17.94 (14.13 with extra space)",
}


# ------------------------------------------------------------------------------------- snapshot


def snapshot() -> dict[str, tuple[np.ndarray, float]]:
    """Fields and absolute bounds: small and large blocks mixed, as they come."""
    import fields

    found = {}
    blocks = [b for b in fields.real_blocks() if b.source == "nyx_128_z050"]
    for block in blocks:
        found[f"nyx_{block.field}"] = (block.values(), fields.PAPER_BOUNDS[block.field])
    for number in fields.dump_numbers()[-1:]:
        for name, bound in fields.PAPER_BOUNDS.items():
            found[f"app_{name}"] = (fields.dump_values(name, number), bound)
    # Tighter by ten: the ratio then is S1's, 10 to 20, where both lanes have work.
    return {name: (values, 0.1 * bound) for name, (values, bound) in found.items()}


def write_uncompressed(path: str, data: dict) -> dict:
    """Contiguous datasets."""
    import h5py

    with h5py.File(path, "w") as file:
        for name, (values, _) in data.items():
            file.create_dataset(name, data=values)
    return {}


def write_filter(path: str, data: dict, codec: str) -> dict:
    """One chunk a field through the filter pipeline."""
    import h5py

    with h5py.File(path, "w") as file:
        for name, (values, bound) in data.items():
            if codec == "sz3":
                import hdf5plugin

                how = dict(hdf5plugin.SZ3(absolute=bound))
            else:
                import caesura

                how = caesura.filter_options(bound)
            file.create_dataset(name, data=values, chunks=values.shape, **how)
    return {}


def write_overlapped(path: str, data: dict, codec: str, algorithm: str) -> dict:
    """The Writer, closed at once: what it does is compress and write, in the planned order."""
    import caesura

    with caesura.Writer(
        path, codec=codec, algorithm=algorithm, durable=False, write_buffer_bytes=1
    ) as writer:
        handles = {
            name: writer.define_field(name, np.float32, values.shape, absolute=bound)
            for name, (values, bound) in data.items()
        }
        iteration = writer.begin_iteration(0)
        dump = iteration.begin_dump(0.0)
        for name, handle in handles.items():
            dump.put(handle, data[name][0], borrow=True)
        iteration.end()
    report = writer.report()
    return {"compress_s": report.compress_s, "write_s": report.write_s,
            "stored_bytes": report.stored_bytes}  # fmt: skip


def child(arguments: argparse.Namespace) -> int:
    """One timed snapshot, in a process that the emulation is preloaded into."""
    os.sched_setaffinity(0, {arguments.core})
    data = dict(np.load(arguments.data))
    bounds = json.loads(Path(arguments.data).with_suffix(".json").read_text())
    data = {name: (values, bounds[name]) for name, values in data.items()}
    path = str(Path(arguments.directory) / "snapshot.h5")
    begin = time.monotonic()
    if arguments.way == "uncompressed":
        more = write_uncompressed(path, data)
    elif arguments.way == "filter":
        more = write_filter(path, data, arguments.codec)
    else:
        more = write_overlapped(path, data, arguments.codec, WAYS[arguments.way])
    total_s = time.monotonic() - begin
    print(json.dumps({"total_s": total_s, "file_bytes": os.stat(path).st_size, **more}))
    verify(path, data, arguments.way)
    return 0


def verify(path: str, data: dict, way: str) -> None:
    """Every value within its bound."""
    import caesura
    import h5py

    root = "" if way in ("uncompressed", "filter") else "/data/0/meshes/"
    opened = h5py.File(path) if not root else caesura.open(path)
    with opened as file:
        for name, (values, bound) in data.items():
            worst = float(np.max(np.abs(file[root + name][...].astype(np.float64) - values)))
            if not worst <= bound * (1 + 1e-6):
                raise SystemExit(f"{way}: {name} is off by {worst}, bound {bound}")


# -------------------------------------------------------------------------------------- parent


def timed(way: str, codec: str, place: Path, data: Path, bandwidth: float) -> dict:
    """Run one way in a process of its own."""
    environment = {
        **os.environ,
        "LD_PRELOAD": str(PRELOAD),
        "PFS_ROOT": str(place),
        "PFS_BANDWIDTH": f"{bandwidth:.0f}",
        "PFS_LATENCY": f"{LATENCY_S:g}",
        "PFS_BUCKET": f"caesura-order-{os.getpid()}",
    }
    # h5py cannot write through hdf5plugin's filters where HDF5 has found them by itself before.
    if plugins := environment.pop("HDF5_PLUGIN_PATH", ""):
        environment["CAESURA_PLUGIN_PATH"] = plugins
    core = max(os.sched_getaffinity(0))
    command = [sys.executable, __file__, "--child", "--way", way, "--codec", codec]
    command += ["--data", str(data), "--directory", str(place), "--core", str(core)]
    answer = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(answer.stdout.splitlines()[0])


def compare(codec: str, place: Path, data: Path, repeats: int) -> dict:
    """All ways with one codec, at the bandwidth at which writing takes as long as compressing."""
    free = timed("overlap", codec, place, data, 100e9)
    bandwidth = free["stored_bytes"] / free["compress_s"]
    runs: dict[str, list[dict]] = {way: [] for way in WAYS}
    for repeat in range(repeats):
        for way, taken in runs.items():
            if way != "uncompressed" or repeat == 0:  # it is bytes over bandwidth, and takes long
                taken.append(timed(way, codec, place, data, bandwidth))
    rows = {}
    for way, taken in runs.items():
        rows[way] = {key: statistics.median(run[key] for run in taken) for key in taken[0]}
        rows[way]["total_s_all"] = [run["total_s"] for run in taken]
    raw_bytes = rows["uncompressed"]["file_bytes"]
    filtered, overlap = rows["filter"]["total_s"], rows["overlap"]["total_s"]
    ours = {name: rows[name]["total_s"] for name in ("S1-Alg1", "ExtJohnson+BF")}
    found = {
        "bandwidth_bytes_per_s": bandwidth,
        "ratio": raw_bytes / free["stored_bytes"],
        "ways": rows,
        "overlap over the filter": filtered / overlap,
        "S1-Alg1 over overlap": overlap / ours["S1-Alg1"],
        "ExtJohnson+BF over overlap": overlap / ours["ExtJohnson+BF"],
        "S1-Alg1 over the filter": filtered / ours["S1-Alg1"],
        "S1-Alg1 over uncompressed": rows["uncompressed"]["total_s"] / ours["S1-Alg1"],
    }
    print(f"{codec}: ratio {found['ratio']:.1f}, {bandwidth / 1e6:.1f} MB/s (emulated)")
    for way, row in rows.items():
        lanes = "".join(f"  {k[:-2]} {row[k]:.3f} s" for k in ("compress_s", "write_s") if k in row)
        print(f"  {way:14} {row['total_s']:7.3f} s{lanes}")
    for key, value in found.items():
        if " over " in key:
            print(f"  {key}: {value:.2f}")
    return found


def main() -> int:
    """Measure, write down, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one repeat")
    parser.add_argument("--directory", help="where files are written for a while")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    for name in ("way", "codec", "data"):
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    parser.add_argument("--core", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments)
    import order_picture
    import results

    if not PRELOAD.exists():
        print(f"order: not there: {PRELOAD}; make build", file=sys.stderr)
        return 1
    fields = snapshot()
    if not fields:
        print("order: neither real data nor dumps of the mini-app are there", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(dir=arguments.directory) as folder:
        place, data = Path(folder) / "pfs", Path(folder) / "snapshot.npz"
        place.mkdir()
        np.savez(data, **{name: values for name, (values, _) in fields.items()})
        bounds = {name: bound for name, (_, bound) in fields.items()}
        data.with_suffix(".json").write_text(json.dumps(bounds))
        repeats = 1 if arguments.quick else REPEATS
        measured = {codec: compare(codec, place, data, repeats) for codec in CODECS}
    figures = {
        "paper": PAPER,
        "fields": sorted(fields),
        "emulated": {"what": "the file system (bench/pfs)", "latency_s": LATENCY_S},
        "codecs": measured,
    }
    print(f"figures: {results.merge('order', figures)}")
    print(f"picture: {results.save_picture('prediction_order', order_picture.draw(figures))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
