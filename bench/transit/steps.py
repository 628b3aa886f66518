"""What the steps of compression take with three lossless stages: S4's Figure 5.

transit_steps (steps.cpp) runs step by step, on one core and on all. S4 ran this on a DPU's Arm
cores and with its DEFLATE engine; here are the host's cores and DEFLATE in software.
"""

from __future__ import annotations

import json
import subprocess
import tempfile

import stand_ins
from figure import Plan
from results import BUILD

S4 = {
    "data": "Hurricane ISABEL QVAPOR, SZ on a BlueField-2 DPU, 1 and 4 Arm cores",
    "finding": "zstd takes about as long as the other steps; ZLIB 6 times as long as zstd at a "
    "similar ratio; in hardware DEFLATE is 27 times as fast as ZLIB, SZ as a whole 2.34 times as "
    "fast as with zstd",
    "zlib_over_zstd": 6.0,
    "whole_with_hardware": 2.34,
    "hardware_over_zlib": 27.0,
}


def measure(plan: Plan) -> dict:
    """Rows of threads and variant, with the seconds of each step."""
    field = stand_ins.vapour(96 if plan.quick else 256)
    shape = "x".join(map(str, field.values.shape))
    threads = ["1", str(plan.cores)] if plan.cores > 1 else ["1"]
    repeats = 1 if plan.quick else 7 * plan.rounds
    with tempfile.NamedTemporaryFile(dir=plan.place) as file:
        field.values.tofile(file)
        file.flush()
        told = subprocess.run(
            [str(BUILD / "bench" / "transit" / "transit_steps"), file.name,
             str(field.values.dtype), shape, repr(field.bound()), "16",
             str(repeats), *threads],
            capture_output=True, text=True,
        )  # fmt: skip
    if told.returncode != 0:
        raise SystemExit(f"transit_steps: {told.stderr}")
    found = json.loads(told.stdout)
    for row in found["rows"]:
        total_s = sum(value for key, value in row.items() if key.endswith("_s"))
        row["bytes_per_s"] = found["raw_bytes"] / total_s
        row["ratio"] = found["raw_bytes"] / row["bytes"]
        print(
            f"  {row['threads']} threads, {row['variant']:8} {row['bytes_per_s'] / 1e6:5.0f} MB/s",
            flush=True,
        )
    return {
        "data": field.described(),
        "bound": "1e-3 of the range",
        "statistic": f"each step the fastest of {repeats}",
        **found,
    }
