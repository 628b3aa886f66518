"""The picture of two.py, from out/bench/transit.json: overheads on the left, throughput right."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from results import OUT

COLOURS = {"own": "#9a9a9a", "served": "#1f77b4"}
NAMES = {"own": "each by itself", "served": "through one service"}


def bars(axes, labels: list[str], rows: list[list[dict]], key: str) -> None:
    """A group a label, a bar a mode, with the range over the rounds."""
    for number, mode in enumerate(("own", "served")):
        for place, group in enumerate(rows):
            row = next(one for one in group if one["mode"] == mode)
            low, high = row[key] - row[f"{key}_low"], row[f"{key}_high"] - row[key]
            axes.bar(
                place + 0.4 * (number - 0.5),
                row[key],
                0.38,
                color=COLOURS[mode],
                label=NAMES[mode] if place == 0 else None,
                yerr=[[low], [high]],
                capsize=3,
            )
    axes.set_xticks(range(len(labels)), labels)
    axes.spines[["top", "right"]].set_visible(False)


def draw(section: dict) -> Path:
    """out/bench/transit_two.svg."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    keys = sorted({(row["pair"], row["application"]) for row in section["overheads"]}, reverse=True)
    groups = [
        [row for row in section["overheads"] if (row["pair"], row["application"]) == key]
        for key in keys
    ]
    left_names = [f"{group[0]['kind']}\n({group[0]['pair']})" for group in groups]
    bars(left, left_names, groups, "overhead")
    left.axhline(section["goal"]["overhead_at_most"], color="black", lw=0.8, ls=":")
    left.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0, decimals=0))
    left.set_title("time over both computing alone", fontsize=10)
    cases = list(dict.fromkeys((r["codec"], r["bandwidth"]) for r in section["throughput"]))
    groups = [
        [row for row in section["throughput"] if (row["codec"], row["bandwidth"]) == case]
        for case in cases
    ]
    names = [
        f"{codec}\n{bandwidth / 1e6:.0f} MB/s\n({group[-1]['slower']})"
        for (codec, bandwidth), group in zip(cases, groups, strict=True)
    ]
    bars(right, names, groups, "of_the_slower")
    right.axhline(section["goal"]["throughput_at_least"], color="black", lw=0.8, ls=":")
    right.set_title("total throughput over the slower of codec and disk", fontsize=10)
    right.legend(frameon=False, fontsize=9)
    words = "emulated: file system, device time"
    if section["others_share"] > 0.1:
        words += "; the machine was loaded by others"
    figure.supxlabel(words, fontsize=8)
    path = OUT / "transit_two.svg"
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path


if __name__ == "__main__":
    print(draw(json.loads((OUT / "transit.json").read_text())["two_applications"]))
