"""Entropy of each slab of a field: S4's Figure 7."""

from __future__ import annotations

import math

import numpy as np
import stand_ins
from caesura import lambdas
from figure import Plan

S4 = {
    "data": "Miranda density, 96 slabs of 3072 x 3072 x 32",
    "finding": "entropy differs from slab to slab; some have none; 22.5 bits as a whole",
}


def measure(plan: Plan) -> dict:
    """A row for each slab along the slowest axis."""
    side, count = (64, 16) if plan.quick else (256, 32)
    field = stand_ins.mixing_layer(side)
    layers = side // count
    rows = []
    for number in range(count):
        slab = np.ascontiguousarray(field.values[number * layers : (number + 1) * layers])
        rows.append(
            {"slab": number, "entropy_bits": max(0.0, lambdas.run("entropy", slab)["entropy_bits"])}
        )
    print(f"  {count} slabs of {layers} layers", flush=True)
    return {
        "data": field.described(),
        "statistic": "",  # nothing is timed
        "layers": layers,
        "most_bits": math.log2(layers * side * side),
        "rows": rows,
    }
