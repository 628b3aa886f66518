#!/usr/bin/env python3
"""The results of tuning.py as the tables of docs/evidence/tuning.md.

tuning_table.py out/bench/tuning.json
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path


def percent(before: float, after: float) -> str:
    """By how much the ratio is better."""
    return f"{100 * (before / after - 1):+.1f} %"


def best_single(row: dict) -> int:
    """Of the settings that were tried, and of those that the modes choose."""
    modes = [row[mode] for mode in ("auto", "fast", "strong", "planes")]
    return min([one["bytes"] for one in row["settings"]] + modes)


def best_region(rows: list[dict], key: str) -> dict:
    return min(rows, key=lambda row: row[key])


def ours(row: dict) -> tuple[list[str], dict[str, float]]:
    """A line of the table of our codec, and gains over auto and over the best single setting."""
    single = best_single(row)
    oracle = best_region(row["regions"], "best")
    times = row["times"]
    line = [
        row["field"], row["bound"], f"{row['raw'] / row['auto']:.1f}", percent(row["auto"], single),
        f"{percent(row['auto'], oracle['best'])} ({oracle['region'].strip('[]')})",
        f"**{percent(row['auto'], row['tuned'])}**", percent(single, row["tuned"]),
        f"{times['regions_s'] / times['auto_s']:.1f}",
        f"{times['decode_regions_s'] / times['decode_auto_s']:.2f}",
    ]  # fmt: skip
    return line, {
        "over auto": row["auto"] / row["tuned"],
        "over the best single setting": single / row["tuned"],
        "slower": times["regions_s"] / times["auto_s"],
        "decoding": times["decode_regions_s"] / times["decode_auto_s"],
    }


def sz3(row: dict) -> tuple[list[str], float]:
    """A line of SZ3's table, and the gain over its best single variant."""
    variants = row["sz3"]["settings"]
    name = min(variants, key=variants.get)
    best = variants[name]
    region = best_region(row["sz3"]["regions"], "best")
    whole_is_better = best <= region["best"]
    tuned = min(best, region["best"])
    modes = min(row[mode] for mode in ("auto", "fast", "strong", "planes"))
    by_mode = best_region(row["regions"], "best_mode")
    return [
        row["field"], row["bound"], f"{row['raw'] / variants['default']:.1f}",
        f"{row['raw'] / best:.1f} ({name})", "whole" if whole_is_better else region["region"],
        f"**{percent(best, tuned)}**", percent(modes, min(modes, by_mode["best_mode"])),
    ], best / tuned  # fmt: skip


def print_table(head: list[str], lines: list[list[str]]) -> None:
    for line in [head, ["---"] * len(head), *lines]:
        print("| " + " | ".join(line) + " |")


def mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def main() -> None:
    rows = [row for path in sys.argv[1:] for row in json.loads(Path(path).read_text())["rows"]]
    lines, gains = zip(*[ours(row) for row in rows], strict=True)
    shown = [line for line in lines if line[1] == "r1e-3"]
    print_table(
        ["field", "bound", "auto", "best single", "oracle (regions)", "mode regions",
         "over best single", "slower", "decoding"], shown,
    )  # fmt: skip
    for origin, bound in sorted({(row["origin"], row["bound"]) for row in rows}):
        chosen = [
            gain
            for row, gain in zip(rows, gains, strict=True)
            if (row["origin"], row["bound"]) == (origin, bound)
        ]
        print(f"\n{origin}, {bound}, {len(chosen)} cases, geometric means:",
              {key: round(mean([one[key] for one in chosen]), 3) for key in chosen[0]},
              "least over auto:", round(min(one["over auto"] for one in chosen), 4))  # fmt: skip
    with_sz3 = [row for row in rows if "sz3" in row]
    if with_sz3:
        print()
        lines, gained = zip(*[sz3(row) for row in with_sz3], strict=True)
        print_table(["field", "bound", "SZ3 as it is", "best variant", "regions",
                     "best variant of each", "our modes likewise"], list(lines))  # fmt: skip
        print("\ngeometric mean:", round(mean(list(gained)), 3))


if __name__ == "__main__":
    main()
