"""Ratio, compression time and PSNR over the absolute error bound: S4's Figure 2.

Our codec, SZ2 and SZ3, on one thread (CPU time), on a cosmology and a laser-plasma field. Every
value is decoded and held against its bound; a peer that breaks it is in the results.
"""

from __future__ import annotations

import math
import os
import sys

import numpy as np
import stand_ins
from figure import Plan
from results import ROOT

sys.path.insert(0, str(ROOT / "bench" / "codec"))

import fields
import ours
import peers
from measure import Timing, recycle_memory

S4 = {
    "data": "two applications of SDRBench, SZ2 and SZ3",
    "finding": "the ratio rises with the bound, time and PSNR vary with it; no values in the text",
}
FIELDS = (("nyx_128_z050", "temperature", "K"), ("lwfa_it0200", "Ez", "V/m"))


def inputs(quick: bool) -> list[tuple[str, str, np.ndarray]]:
    """Name, unit, values; generated ones where there are no data."""
    there = {(block.source, block.field): block for block in fields.real_blocks()}
    chosen = [
        (f"{source} {field}", unit, there[source, field].values())
        for source, field, unit in FIELDS
        if (source, field) in there
    ]
    if not chosen:
        side = 64 if quick else 128
        made = (stand_ins.vapour(side), stand_ins.mixing_layer(side))
        chosen = [(f"{one.name} (generated)", "", one.values) for one in made]
    return chosen


def algorithms() -> list[peers.Codec]:
    """Ours, and SZ2 and SZ3 where hdf5plugin and pysz are."""
    mine, lines = ours.find()
    if lines:
        raise SystemExit(lines[0])
    found = [codec for codec in mine if codec.name == "Caesura auto"]
    # Where this names its filters hdf5plugin takes them for registered, and SZ2's then fails.
    plugins = os.environ.pop("HDF5_PLUGIN_PATH", None)
    for peer in (peers.sz3_newest, peers.sz2):
        try:
            one = peer()[0]
            one.compress(np.zeros((8, 8, 8), np.float32), 1.0)
            found.append(one)
        except (ImportError, ValueError) as error:
            print(f"  {peer.__name__}: {error}", flush=True)
    if plugins is not None:
        os.environ["HDF5_PLUGIN_PATH"] = plugins
    return found


def measure(plan: Plan) -> dict:
    """Rows of field, codec and bound."""
    recycle_memory()
    codecs, repeats = algorithms(), 2 * plan.rounds + 1
    exponents = (-4, -3, -2) if plan.quick else np.arange(-6, -0.9, 0.5)
    rows = []
    for name, unit, values in inputs(plan.quick):
        span = float(np.ptp(values))
        for exponent in exponents:
            bound = span * 10.0 ** float(exponent)
            timings = [Timing(codec) for codec in codecs]
            for _ in range(repeats):
                for timing in timings:
                    timing.run(values, bound)
            for timing in timings:
                errors = timing.errors
                if timing.codec.kind == "ours" and errors.violations:
                    raise SystemExit(f"{name}: our codec breaks the bound {bound}")
                mse = errors.sum_squares / errors.values
                rows.append(
                    {
                        "field": name,
                        "unit": unit,
                        "codec": timing.codec.name,
                        "version": timing.codec.version,
                        "bound": bound,
                        "relative": 10.0 ** float(exponent),
                        "ratio": values.nbytes / timing.bytes,
                        "compress_s": float(np.median(timing.compress_s)),
                        "psnr_db": 20 * math.log10(span) - 10 * math.log10(mse) if mse else None,
                        "violations": errors.violations,
                        "raw_bytes": values.nbytes,
                    }
                )
        print(f"  {name}: {len(exponents)} bounds", flush=True)
    return {
        "clock": "CPU time of one thread",
        "statistic": f"median of {repeats}",
        "rows": rows,
    }
