"""Bytes a second over the number of services, a client for each: S4's Figure 1.

Each caesura-serve compresses on one thread. Its client hands over dumps of the cosmology mini-app's
six fields as fast as it can; files lie in memory. ZFP, as in S4, and our codec. The Writer
has ZFP's blocks decoded again, to hold them against their bound: that is part of the time.
"""

from __future__ import annotations

import os
import statistics
import subprocess
from pathlib import Path

from applications import MPI, PROGRAMS, start_together
from caesura_lab.demo.scenario import BOUNDS
from figure import Plan, clean, serve

S4 = {
    "data": "Hurricane ISABEL QVAPOR, ZFP, PDC servers on a multi-core CPU",
    "finding": "no gain beyond 5 instances",
    "best_instances": 5,
}
BOUND_SCALE = 0.1


def make_dump(place: Path, side: int) -> Path:
    """The mini-app's fields near its end, where they have structure."""
    place.mkdir()
    command = ["mpirun", "--bind-to", "none", "-n", "1", str(PROGRAMS["mini-app"])]
    command += ["--grid", str(side), "--particles", str(side), "--steps", "11"]
    command += ["--dump-every", "10", "--mode", "compute", "--quiet", "--raw-dir", str(place)]
    subprocess.run(command, check=True, env={**MPI, **os.environ})
    return place


def once(data: Path, place: Path, codec: str, instances: int, dumps: int) -> dict:
    """All clients begin at once; until the last file is whole."""
    clean(place)
    services = [serve(place, threads=1) for _ in range(instances)]
    try:
        clients = start_together(
            [
                (str(place / f"{n}.h5"), service.address, str(data), dumps, codec, BOUND_SCALE)
                for n, service in enumerate(services)
            ]
        )
        for service in services:
            if service.end() != 0:
                raise SystemExit("a service did not end in good order")
    finally:
        for service in services:
            service.__exit__()
    wall_s = max(c["to_s"] for c in clients) - min(c["from_s"] for c in clients)
    raw, stored = (sum(c[key] for c in clients) for key in ("raw_bytes", "stored_bytes"))
    return {"bytes_per_s": raw / wall_s, "ratio": raw / stored, "wall_s": wall_s}


def measure(plan: Plan) -> dict:
    """Rows of codec, instances and throughput."""
    side, most, dumps = (64, 3, 2) if plan.quick else (128, 6, 2)
    data = make_dump(plan.place / "dump", side)
    place = plan.place / "files"
    place.mkdir()
    found: dict[tuple, list[dict]] = {}
    for _ in range(plan.rounds):
        for codec in ("zfp", "caesura"):
            for instances in range(1, most + 1):
                one = once(data, place, codec, instances, dumps)
                found.setdefault((codec, instances), []).append(one)
                print(
                    f"  {codec:8} {instances} services: {one['bytes_per_s'] / 1e6:5.0f} MB/s",
                    flush=True,
                )
    clean(place)
    rows = [
        {
            "codec": codec,
            "instances": instances,
            "bytes_per_s": statistics.median(speeds),
            "bytes_per_s_low": min(speeds),
            "bytes_per_s_high": max(speeds),
            "ratio": runs[0]["ratio"],
        }
        for (codec, instances), runs in found.items()
        for speeds in [[one["bytes_per_s"] for one in runs]]
    ]
    return {
        "data": f"cosmology mini-app, {side}³, {len(BOUNDS)} fields, {dumps} dumps a client",
        "bound_scale": BOUND_SCALE,
        "rows": rows,
    }
