#!/usr/bin/env python3
"""What is there to be had from settings chosen per region, and how much of it do we get?

    tuning.py [--fields half,nyx_128_z050] [--bounds r1e-3] [--codec PROGRAM] [--sz3]

For every field and bound, all at the same absolute bound and in bytes that a reader can decode:
the best single setting in hindsight (every one tried on the whole field), today's auto, auto with
tuning by region, and the oracle: every region with the best of all settings, for several shapes of
regions. With --sz3 the same of SZ3's own variants, which S4 tunes. Writes out/bench/tuning.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import uneven
from conditions import conditions
from fields import OUT, ROOT, Bound, bounds_of, real_blocks

REAL = ("nyx_128_z050", "nyx_64_z002.5", "lwfa_it0200")


def sources(wanted: list[str]) -> Iterator[tuple[str, str, np.ndarray]]:
    """Name, origin, values."""
    for name in uneven.FIELDS:
        if not wanted or name in wanted:
            yield name, "generated", uneven.make(name)
    for block in real_blocks():
        if block.source in REAL and (not wanted or block.source in wanted):
            yield f"{block.source}/{block.field}", "real", block.values()


def regions(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Cuts along the slowest axis, then cubes."""
    rest = shape[1:]
    slabs = [(n, *rest) for n in (8, 16, 32, 64) if n < shape[0]]
    cubes = [(n,) * len(shape) for n in (16, 32, 64) if n < max(shape)]
    return slabs + cubes


def text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def measure(program: Path, values: np.ndarray, bound: float) -> dict:
    """What codec_tuning says of a field."""
    with tempfile.NamedTemporaryFile() as file:
        values.tofile(file)
        file.flush()
        answer = subprocess.run(
            [program, file.name, str(values.dtype), text(values.shape), repr(bound),
             *map(text, regions(values.shape))],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    return json.loads(answer.stdout)


def summary(row: dict) -> str:
    """One line: sizes as shares of the best single setting's, so that more is better."""
    best = min(one["bytes"] for one in row["settings"])
    parts = [f"{row['field']:36s} {row['bound']:6s} single {row['raw'] / best:8.2f}"]
    parts.append(f"auto {best / row['auto'] - 1:+7.1%}")
    if "tuned" in row:
        parts.append(f"tuned {row['auto'] / row['tuned'] - 1:+7.1%} of auto")
    for one in row["regions"]:
        parts.append(f"{one['region']} {row['auto'] / one['best'] - 1:+.1%}")
    if "times" in row:
        seconds = row["times"]
        parts.append(
            f"slower {seconds['regions_s'] / seconds['auto_s']:.2f} "
            f"decode {seconds['decode_regions_s'] / seconds['decode_auto_s']:.2f}"
        )
    for one in row.get("trees", []):
        gain = row["auto"] / one["bytes"] - 1
        parts.append(f"tree{one['effort']}{one['extra']} {gain:+.1%} {one['leaves']}")
    return " | ".join(parts)


# --------------------------------------------------------------------------------------- SZ3


def sz3_variants() -> dict[str, str]:
    """Configurations of SZ3: its predictors, one by one."""
    head = "[GlobalSettings]\nCmprAlgo={}\n[AlgoSettings]\n"
    variants = {"default": head.format("ALGO_INTERP_LORENZO"), "none": head.format("ALGO_NOPRED")}
    flags = (("Lorenzo",), ("Lorenzo", "Lorenzo2ndOrder"), ("Lorenzo", "Regression"),
             ("Lorenzo", "Lorenzo2ndOrder", "Regression"), ("Regression",))  # fmt: skip
    for on in flags:
        lines = [
            f"{name}={'YES' if name in on else 'NO'}"
            for name in ("Lorenzo", "Lorenzo2ndOrder", "Regression")
        ]
        variants["+".join(on)] = head.format("ALGO_LORENZO_REG") + "\n".join(lines) + "\n"
    for kind in ("LINEAR", "CUBIC"):
        for direction in range(6):
            variants[f"{kind.lower()} {direction}"] = head.format("ALGO_INTERP") + (
                f"InterpolationAlgo=INTERP_ALGO_{kind}\nInterpolationDirection={direction}\n"
            )
    return variants


def sz3_sizes(values: np.ndarray, bound: float) -> dict:
    """The best of SZ3's variants for the whole field, and for each region."""
    import pysz

    def size(part: np.ndarray, config_file: str) -> int:
        config = pysz.szConfig(part.shape)
        config.loadcfg(config_file)
        config.errorBoundMode = pysz.szErrorBoundMode.ABS
        config.absErrorBound = bound
        return len(pysz.sz.compress(part, config)[0])

    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name, config in sz3_variants().items():
            files[name] = os.path.join(folder, f"{len(files)}.config")
            Path(files[name]).write_text(config)
        whole = {name: size(values, file) for name, file in files.items()}
        result = {"settings": whole, "regions": []}
        for shape in regions(values.shape):
            grid = [range(0, n, step) for n, step in zip(values.shape, shape, strict=True)]
            sizes = []
            for corner in np.stack(np.meshgrid(*grid, indexing="ij"), -1).reshape(-1, len(grid)):
                cut = tuple(slice(c, c + s) for c, s in zip(corner, shape, strict=True))
                part = np.ascontiguousarray(values[cut])
                sizes.append([size(part, file) for file in files.values()])
            by_region = np.array(sizes)
            result["regions"].append({
                "region": text(shape), "single": int(by_region.sum(0).min()),
                "best": int(by_region.min(1).sum()),
            })  # fmt: skip
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fields", default="")
    parser.add_argument("--bounds", default="r1e-2,r1e-3,r1e-4")
    parser.add_argument("--codec", type=Path)
    parser.add_argument("--sz3", action="store_true")
    parser.add_argument("--output", type=Path, default=OUT / "tuning.json")
    options = parser.parse_args()
    build = Path(os.environ.get("CAESURA_BUILD", ROOT / "build"))
    program = options.codec or build / "bench" / "codec" / "codec_tuning"
    labels = options.bounds.split(",")
    rows = []
    for name, origin, values in sources([n for n in options.fields.split(",") if n]):
        block = type("Named", (), {"field": name.split("/")[-1]})()
        for bound in [b for b in bounds_of(block, values) if b.label in labels]:
            rows.append(one_row(program, name, origin, values, bound, options.sz3))
            print(summary(rows[-1]), flush=True)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps({"conditions": conditions(), "rows": rows}, indent=1))


def one_row(
    program: Path, name: str, origin: str, values: np.ndarray, bound: Bound, sz3: bool
) -> dict:
    """A field at a bound."""
    row = {"field": name, "origin": origin, "bound": bound.label, "absolute": bound.absolute}
    row |= measure(program, values, bound.absolute)
    if sz3:
        row["sz3"] = sz3_sizes(values, bound.absolute)
    return row


if __name__ == "__main__":
    main()
