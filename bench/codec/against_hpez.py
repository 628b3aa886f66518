#!/usr/bin/env python3
"""Compressed sizes beside HPEZ's and SZ3's: every real float32 block, every bound.

    python bench/codec/against_hpez.py --hpez PROGRAM [--blocks fbpic,lwfa] [--bounds r1e-3]

HPEZ (QoZ 2.0) is in no package index: PROGRAM is its own `hpez`, built outside this tree. It reads
and writes files, so its times are not comparable and only sizes are taken; every value that it
gives back is held against the bound. Writes out/bench/hpez.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import checking
import fields
import numpy as np
import ours
import peers
from conditions import conditions

GOAL_LEAST, GOAL_MEAN, BELOW_RATIO = 0.98, 1.15, 100.0


def hpez_bytes(program: Path, values: np.ndarray, bound: float) -> tuple[int, int] | None:
    """Compressed bytes and values out of bound, of the program's default, its full HPEZ. None: it
    crashed, as it does where it writes more than it has made room for."""
    axes = [str(extent) for extent in reversed(values.shape)]
    with tempfile.TemporaryDirectory() as place:
        raw, packed, back = (Path(place) / name for name in ("raw", "packed", "back"))
        values.tofile(raw)
        shape = [f"-{len(axes)}", *axes]
        command = [program, "-f", "-i", raw, "-z", packed, "-o", back, *shape]
        words = [str(word) for word in (*command, "-M", "ABS", repr(bound))]
        done = subprocess.run(words, check=False, stdout=subprocess.DEVNULL)
        if done.returncode < 0:
            return None
        done.check_returncode()
        decoded = np.fromfile(back, values.dtype).reshape(values.shape)
        return packed.stat().st_size, checking.compare(values, decoded, bound).violations


def case(options: argparse.Namespace, sz3: peers.Codec, block: fields.Block) -> list[dict]:
    """A row for each bound of a block."""
    values = np.ascontiguousarray(block.values())
    rows = []
    for bound in fields.bounds_of(block, values):
        if options.bounds and bound.label not in options.bounds.split(","):
            continue
        theirs, broken = hpez_bytes(options.hpez, values, bound.absolute) or (0, 0)
        row = {
            "block": block.name,
            "bound": bound.label,
            "raw_bytes": values.nbytes,
            "ours": len(ours.compress(values, ours.bound("absolute", bound.absolute))),
            "sz3": peers.size_of(sz3.compress(values, bound.absolute)),
            "hpez": theirs,
            "hpez_violations": broken,
        }
        rows.append(row)
        print("{block:<44} {bound:<6} ours {ours:>9} SZ3 {sz3:>9} HPEZ {hpez:>9}".format(**row))
    return rows


def mean(values: list[float]) -> float:
    """Geometric."""
    return float(np.exp(np.mean(np.log(values))))


def judged(rows: list[dict]) -> dict:
    """Our ratio over the others', and the cases below ratio 100 that miss the goal."""
    below = [r for r in rows if r["raw_bytes"] < BELOW_RATIO * r["ours"]]
    better = {
        (r["block"], r["bound"]): min(r["sz3"], r["hpez"] or r["sz3"]) / r["ours"] for r in below
    }
    ran = [r for r in rows if r["hpez"]]
    return {
        "cases": len(rows),
        "hpez_crashed": len(rows) - len(ran),
        "over_sz3": mean([r["sz3"] / r["ours"] for r in rows]),
        "over_hpez": mean([r["hpez"] / r["ours"] for r in ran]),
        "ahead_of_hpez": sum(r["hpez"] > r["ours"] for r in ran),
        "hpez_out_of_bound": sum(r["hpez_violations"] > 0 for r in rows),
        "below_ratio_100": len(below),
        "least_over_the_better": min(better.values(), default=float("nan")),
        "missed": {" ".join(key): share for key, share in better.items() if share < GOAL_LEAST},
    }


def show(told: dict) -> None:
    print(
        f"{told['cases']} cases: ratio {told['over_sz3']:.3f} times SZ3's (goal {GOAL_MEAN}), "
        f"{told['over_hpez']:.3f} times HPEZ's, ahead of it in {told['ahead_of_hpez']}; HPEZ "
        f"crashed in {told['hpez_crashed']} and was out of bound in {told['hpez_out_of_bound']}"
    )
    print(
        f"{told['below_ratio_100']} of them below ratio 100: the least is "
        f"{told['least_over_the_better']:.3f} times the better of both (goal {GOAL_LEAST})"
    )
    for name, share in sorted(told["missed"].items(), key=lambda item: item[1]):
        print(f"  {name}: {share:.3f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hpez", type=Path, required=True, metavar="PROGRAM")
    parser.add_argument("--blocks", help="only those whose name contains one of these")
    parser.add_argument("--bounds", help="only these, e.g. r1e-3,paper")
    options = parser.parse_args()
    blocks = [*fields.real_blocks(), *fields.plasma_blocks(), *fields.miniapp_blocks()]
    blocks = [b for b in blocks if b.dtype == "float32"]
    if options.blocks:
        blocks = [b for b in blocks if any(word in b.name for word in options.blocks.split(","))]
    sz3 = peers.sz3_newest()[0]
    rows = [row for block in blocks for row in case(options, sz3, block)]
    if not rows:
        print("no block to measure", file=sys.stderr)
        return 2
    told = judged(rows)
    show(told)
    result = fields.OUT / "hpez.json"
    result.parent.mkdir(parents=True, exist_ok=True)
    written = {"conditions": conditions(), "sz3": sz3.version, **told, "rows": rows}
    result.write_text(json.dumps(written, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
