"""One setting for a field against settings of each region, with and without a lossless stage: S4's
Figure 8. It is also the bench of tuning by region (bench/codec/tuning.py), in short.

All at the same absolute bound, in bytes that can be decoded. With the lossless stage: our codec's
auto against its mode regions, and the best of SZ3's variants for the whole against the best for
each region. Without it: the codec with residuals of fixed lengths in place of the entropy coder,
for the whole and for each slab.
"""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import sz2
from caesura import codec
from figure import Plan
from results import BUILD, ROOT

sys.path.insert(0, str(ROOT / "bench" / "codec"))

import tuning
import tuning_table
import uneven
from fields import Bound

S4 = {
    "data": "Miranda density, regions of 3072 x 3072 x 512, SZ",
    "finding": "+15 % by settings of each region where entropy varies, little difference where it "
    "does not; +46.5 % without the lossless stage",
    "with_lossless": 0.15,
    "without_lossless": 0.465,
}
SLABS = 8


def without_coder(values: np.ndarray, bound: float) -> dict:
    """Sizes in mode planes."""
    slabs = np.split(values, SLABS)
    return {
        "whole": len(codec.compress(values, bound, mode="planes")),
        "slabs": sum(
            len(codec.compress(np.ascontiguousarray(s), bound, mode="planes")) for s in slabs
        ),
    }


def gains(row: dict) -> dict:
    """Ratios, and what regions gain."""
    raw, planes = row["raw"], row["planes_by_slab"]
    made = {
        "auto": raw / row["auto"],
        "regions": raw / row["tuned"],
        "gain": row["auto"] / row["tuned"] - 1,
        "over_best_single": tuning_table.best_single(row) / row["tuned"] - 1,
        "planes": raw / planes["whole"],
        "planes_by_slab": raw / min(planes.values()),
        "planes_gain": planes["whole"] / min(planes.values()) - 1,
    }
    if "sz3" in row:
        single = min(row["sz3"]["settings"].values())
        best = min(single, *(one["best"] for one in row["sz3"]["regions"]))
        made |= {"sz3": raw / single, "sz3_regions": raw / best, "sz3_gain": single / best - 1}
    return made


def measure(plan: Plan) -> dict:
    """A row for each generated field."""
    has_sz3 = importlib.util.find_spec("pysz") is not None
    side = 64 if plan.quick else 128
    rows = []
    for name in list(uneven.FIELDS)[: 3 if plan.quick else None]:
        values = uneven.make(name, side)
        bound = Bound("r1e-3", 1e-3 * float(np.ptp(values)))
        program = BUILD / "bench" / "codec" / "codec_tuning"
        row = tuning.one_row(program, name, "generated", values, bound, has_sz3)
        row["planes_by_slab"] = without_coder(values, bound.absolute)
        row["gains"] = gains(row)
        rows.append(row)
        said = ", ".join(f"{k} {v:+.1%}" for k, v in row["gains"].items() if k.endswith("gain"))
        print(f"  {name}: {said}", flush=True)
    means = {
        key: tuning_table.mean([1 + row["gains"][key] for row in rows]) - 1
        for key in rows[0]["gains"]
        if key.endswith("gain")
    }
    return {
        "data": f"generated fields of bench/codec/uneven.py, {side}³",
        "bound": "1e-3 of the range",
        "slabs": SLABS,
        "mean_gains": means,
        "rows": rows,
    }
