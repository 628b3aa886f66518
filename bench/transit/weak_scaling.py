"""Time to write a field whole over the number of ranks, each with as much data: S4's Figure 9.

Four ways on one emulated file system: HDF5 as it is, HDF5 with our codec as filter (both
collective, by h5py), a service that compresses alike everywhere, and one that chooses settings by
region. Each runs with and without the emulated file system. The time without it is called
compression, opening and closing included; the time that it adds is called writing.
"""

from __future__ import annotations

import os
import statistics
from pathlib import Path

import caesura
import numpy as np
import stand_ins
from figure import Plan, check_charged, clean, hand_in, serve

S4 = {
    "data": "S3D pressure, SZ3, Perlmutter",
    "finding": "compression in transit shortens I/O much, by HDF5's filter and by Runway alike; "
    "per region about 20 % less I/O time than uniform at scale (Runway loosens bounds there)",
    "regions_over_uniform": -0.2,
}
BANDWIDTH = 150e6
WAYS = ("HDF5", "HDF5, filter", "service", "service, regions")
CODECS = {"service": "caesura", "service, regions": "caesura:regions"}


def once(plan: Plan, way: str, ranks: int, said: dict, bandwidth: float | None) -> float:
    """Seconds from opening to closing."""
    place = plan.place / "files"
    clean(place)
    if way not in CODECS:
        options = caesura.filter_options(said["bound"])
        used = [options["compression"], list(options["compression_opts"])]
        python = Path(os.environ["CAESURA_PARALLEL_PYTHON"])
        said = {**said, "mode": "hdf5", "filter": used if way != "HDF5" else None}
        took = hand_in(said, ranks, bandwidth, python)
        if bandwidth:
            check_charged(Path(said["path"]))
        return took["elapsed_s"]
    with serve(place, bandwidth, threads=plan.cores) as service:
        said = {**said, "mode": "writer", "codec": CODECS[way], "transport": service.address}
        took = hand_in(said, ranks)
        service.end()
    if bandwidth:
        check_charged(Path(said["path"]))
    return took["elapsed_s"]


def measure(plan: Plan) -> dict:
    """Rows of ranks and way."""
    (plan.place / "files").mkdir()
    ways = WAYS
    if not os.environ.get("CAESURA_PARALLEL_PYTHON"):
        print("  no Python with parallel h5py (tools/parallel_python.py makes one): no HDF5")
        ways = tuple(CODECS)
    side, dumps = (48, 1) if plan.quick else (128, 2)
    field = stand_ins.pressure(side)
    path = plan.place / "field.npy"
    np.save(path, field.values)
    said = {
        "path": str(plan.place / "files" / "run.h5"),
        "field": str(path),
        "bound": field.bound(),
        "dumps": dumps,
        "chunk": [side // 4, side, side],
        "filter": None,
    }
    rows = []
    for ranks in (1, 2) if plan.quick else (1, 2, 4):
        found: dict[tuple, list[float]] = {}
        for number in range(plan.rounds):
            for way in ways if number % 2 == 0 else ways[::-1]:
                for bandwidth in (None, BANDWIDTH):
                    took_s = once(plan, way, ranks, said, bandwidth)
                    found.setdefault((way, bandwidth), []).append(took_s)
        for way in ways:
            compress_s = statistics.median(found[way, None])
            total_s = statistics.median(found[way, BANDWIDTH])
            rows.append(
                {
                    "ranks": ranks,
                    "way": way,
                    "compress_s": min(compress_s, total_s),
                    "write_s": max(0.0, total_s - compress_s),
                    "total_s": total_s,
                    "total_s_all": found[way, BANDWIDTH],
                }
            )
            print(f"  {ranks} ranks, {way:16} {total_s:.3f} s", flush=True)
    return {
        "emulated": ["file system"],
        "oversubscribed_beyond_ranks": plan.cores,
        "data": field.described(),
        "raw_bytes_a_rank": dumps * field.values.nbytes,
        "bandwidth": BANDWIDTH,
        "rows": rows,
    }
