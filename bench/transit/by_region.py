"""One setting for a field against settings of each region, with and without a lossless stage: S4's
Figure 8. It is also the bench of tuning by region (bench/codec/tuning.py), in short.

All at the same absolute bound, in bytes that can be decoded: our codec's auto against its mode
regions; the best of SZ3's variants for the whole against the best for each region; SZ2, as S4 names
its modes, for the whole and for each slab, with its lossless stage and without.
"""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import sz2
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


def by_slab(values: np.ndarray, bound: float) -> dict:
    """SZ2's sizes in each of its modes, of the whole and of slabs; none where it is not."""
    if sz2.library() is None:
        return {}
    made: dict[str, dict] = {}
    for mode in sz2.MODES:
        whole, slabs = (sz2.sizes(values, bound, mode, parts) for parts in (1, SLABS))
        worst = max(one["worst_error_over_bound"] for one in (whole, slabs))
        made[mode] = {"whole": whole["bytes"], "slabs": slabs["bytes"], "worst": worst}
    return made


def gains(row: dict) -> dict:
    """Ratios, and what regions gain."""
    raw = row["raw"]
    made = {
        "auto": raw / row["auto"],
        "regions": raw / row["tuned"],
        "gain": row["auto"] / row["tuned"] - 1,
        "over_best_single": tuning_table.best_single(row) / row["tuned"] - 1,
    }
    if "sz3" in row:
        single = min(row["sz3"]["settings"].values())
        best = min(single, *(one["best"] for one in row["sz3"]["regions"]))
        made |= {"sz3": raw / single, "sz3_regions": raw / best, "sz3_gain": single / best - 1}
    for mode, key in zip(sz2.MODES, ("sz2", "sz2_fast"), strict=True):
        if mode in row["sz2"]:
            whole, slabs = row["sz2"][mode]["whole"], row["sz2"][mode]["slabs"]
            made |= {
                key: raw / whole,
                f"{key}_slabs": raw / slabs,
                f"{key}_gain": whole / slabs - 1,
            }
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
        row["sz2"] = by_slab(values, bound.absolute)
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
        "statistic": "",  # sizes alone
        "slabs": SLABS,
        "mean_gains": means,
        "rows": rows,
    }
