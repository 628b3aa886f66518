#!/usr/bin/env python3
"""What a map of bounds stores less than its tightest bound everywhere.

    bound_map_gain.py

Each field goes through the Writer three times: with its loose bound everywhere, with the tight one
everywhere, and with the loose one and a map that asks for the tight one in a few places: a box of
1/64 of the volume, the highest 0.1 % of the values, the steepest 0.1 %. Writes
out/bench/bound_maps.json.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import caesura
import numpy as np
import uneven
from caesura import _core
from caesura.bound_maps import BoundMap, largest_change
from conditions import conditions
from fields import OUT, real_blocks

REAL = ("nyx_128_z050/baryon_density", "nyx_128_z050/temperature", "nyx_64_z002.5/temperature",
        "lwfa_it0200/rho")  # fmt: skip
GENERATED = ("mixing", "shock", "voids")
LOOSE, TIGHT = 1e-2, 1e-4  # of the range


def stored(values: np.ndarray, bound: float, rules: BoundMap | None) -> dict:
    """Bytes of the field's blocks, and how many arrays with a bound of their own they have."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.h5"
        with caesura.Writer(path, durable=False, calibration="none") as writer:
            field = writer.define_field(
                "x", values.dtype, values.shape, absolute=bound, bound_map=rules
            )
            with writer.iteration(0) as iteration:
                iteration.begin_dump(time=0.0).put(field, values)
        file = _core.OpenFile(str(path))
        chunks = file.info()["datasets"][0]["chunks"]
        layers = [_core.codec_parts(file.read_chunk(0, i)) or [{}] for i in range(len(chunks))]
        return {
            "bytes": sum(chunk["bytes"] for chunk in chunks),
            "blocks": len(chunks),
            "layers": sum(len(one) for one in layers),
        }


def maps(values: np.ndarray, tight: float) -> dict[str, BoundMap]:
    """Rules that ask for the tight bound in few places."""
    middle = [n // 2 - n // 8 for n in values.shape]
    highest = float(np.quantile(values, 0.999))
    change = float(np.quantile(largest_change(values.astype(np.float64)), 0.999))
    return {
        "box": BoundMap().in_box(middle, [n // 4 for n in values.shape], tight),
        "values": BoundMap().of_values(highest, float("inf"), tight),
        "steep": BoundMap().where_steep(change, tight),
    }


def main() -> None:
    fields = {name: uneven.make(name) for name in GENERATED}
    for block in real_blocks():
        name = f"{block.source}/{block.field}"
        if name in REAL:
            fields[name] = block.values()
    rows = []
    for name, values in fields.items():
        span = float(values.max()) - float(values.min())
        row = {"field": name, "raw": values.nbytes, "loose": stored(values, LOOSE * span, None),
               "tight": stored(values, TIGHT * span, None)}  # fmt: skip
        for kind, rules in maps(values, TIGHT * span).items():
            row[kind] = stored(values, LOOSE * span, rules)
        rows.append(row)
        gains = [
            f"{kind} {row['tight']['bytes'] / row[kind]['bytes']:.2f} ({row[kind]['layers']})"
            for kind in ("box", "values", "steep", "loose")
        ]
        print(f"{name:30s} ratio at the tight bound {values.nbytes / row['tight']['bytes']:8.2f}, "
              f"smaller by: {', '.join(gains)}")  # fmt: skip
    OUT.mkdir(parents=True, exist_ok=True)
    result = {"conditions": conditions(), "loose": LOOSE, "tight": TIGHT, "rows": rows}
    (OUT / "bound_maps.json").write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
