"""The pictures of where.py, from section "where" of out/bench/transit.json: S4's Figures 10 to 14
and the devices chosen. What S4's text says of its machines stands on each; emulated devices are
labelled. Needs matplotlib."""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import matplotlib
import numpy

matplotlib.use("svg")
import matplotlib.pyplot as plt
from results import OUT

DEVICES = ("cpu", "gpu", "remote")
LABELS = {
    "cpu": "CPU (2 cores)",
    "gpu": "GPU (emulated)",
    "remote": "other service (its device emulated)",
    "none": "no compression",
}
COLOURS = {"cpu": "#3465a4", "gpu": "#c4421a", "remote": "#2f8f5b", "none": "#9a9a9a"}
FIELDS = {"smooth": "#1f77b4", "waves": "#ff7f0e", "noise": "#8a5aa8"}
MIB = 1 << 20


def finish(figure, axes, name: str, said: str) -> Path:
    """@param said: by S4, of its machines."""
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
    figure.text(0.01, 0.015, f"S4: {said}", fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    path = OUT / f"transit_figure_{name}.svg"
    figure.savefig(path)
    plt.close(figure)
    return path


def figure_10(section: dict) -> Path:
    """Utilisation as bars, latencies as points with their range, by instances."""
    figure, all_axes = plt.subplots(1, 3, figsize=(12, 3.8))
    for axes, name in zip(all_axes, DEVICES, strict=True):
        rows = section["figures"]["instances"][name]
        at = [row["instances"] for row in rows]
        axes.bar(at, [row["utilisation"] for row in rows], 0.6, color="#c8d4e3")
        axes.set_ylim(0, 1.05)
        axes.set_xlabel("instances")
        axes.set_title(LABELS[name], fontsize=10)
        right = axes.twinx()
        middle = [1e3 * statistics.median(row["latency_s"]) for row in rows]
        low = [m - 1e3 * min(row["latency_s"]) for m, row in zip(middle, rows, strict=True)]
        high = [1e3 * max(row["latency_s"]) - m for m, row in zip(middle, rows, strict=True)]
        right.errorbar(at, middle, yerr=[low, high], fmt="o", color=COLOURS[name], capsize=3)
        right.set_ylim(0, None)
        right.spines["top"].set_visible(False)
        if name == DEVICES[0]:
            axes.set_ylabel("utilisation (bars)")
        if name == DEVICES[-1]:
            right.set_ylabel("latency of 32 MiB, ms (median and range)")
    figure.suptitle("Figure 10: instances of one kernel on one device", fontsize=11)
    return finish(
        figure,
        all_axes,
        "10",
        "above a utilisation of 0.7 latency on the GPU is 2 to 3 times as long",
    )


def points_of(section: dict, device: int, size: int | None) -> dict[str, list[tuple[float, float]]]:
    """Utilisation and milliseconds of requests, by field."""
    points: dict[str, list[tuple[float, float]]] = {}
    for one in section["requests"]:
        if size is None or one["bytes"] == size:
            pair = (one["utilisation"][device], 1e3 * one["took_s"][device])
            points.setdefault(one["field"], []).append(pair)
    return points


def figure_11(section: dict) -> Path:
    """Time over utilisation with the model's line, for blocks of one size."""
    figure, all_axes = plt.subplots(1, 2, figsize=(11, 4.4))
    size = 64 * MIB
    for axes, device in zip(all_axes, (0, 1), strict=True):
        name = DEVICES[device]
        model = section["replay"]["model"][name]
        for field, points in sorted(points_of(section, device, size).items()):
            axes.scatter(*zip(*points, strict=True), s=14, color=FIELDS[field], label=field)
        for field, colour in FIELDS.items():
            line = [
                (row["utilisation"], 1e3 * row["seconds"][field])
                for row in model["surface"]
                if row["bytes"] == size
            ]
            axes.plot(*zip(*line, strict=True), "--", color=colour, linewidth=1)
        axes.set_ylim(0, None)
        axes.set_xlabel("utilisation by others")
        axes.set_ylabel("time of a block of 64 MiB, ms")
        axes.set_title(
            f"{LABELS[name]}: r² {model['fields']['r2']:.3f} on requests not fitted to", fontsize=10
        )
        axes.legend(title="field; dashed: the model", frameon=False, fontsize=8, title_fontsize=8)
    figure.suptitle("Figure 11: time over utilisation", fontsize=11)
    return finish(
        figure,
        all_axes,
        "11",
        "r² 0.6 (A30) and 0.5 (A100) on GPUs, 0.96 (Xeon) and 0.99 (EPYC) on CPUs",
    )


def figure_12(section: dict) -> Path:
    """The model as a surface over utilisation and size, the requests as points."""
    figure = plt.figure(figsize=(13, 5))
    for place, name in enumerate(DEVICES):
        axes = figure.add_subplot(1, 3, place + 1, projection="3d")
        rows = section["replay"]["model"][name]["surface"]
        sizes = sorted({row["bytes"] for row in rows})
        by_size = [[row for row in rows if row["bytes"] == size] for size in sizes]
        axes.plot_surface(
            _grid(by_size, lambda r: r["utilisation"]),
            _grid(by_size, lambda r: r["bytes"] / MIB),
            _grid(by_size, lambda r: 1e3 * r["seconds"]["waves"]),
            alpha=0.35,
            color=COLOURS[name],
        )
        for one in section["requests"]:
            if one["field"] != "waves":
                continue
            axes.scatter(
                one["utilisation"][place],
                one["bytes"] / MIB,
                1e3 * one["took_s"][place],
                s=6,
                color="#222222",
            )
        axes.set_xlabel("utilisation")
        axes.set_ylabel("MiB")
        axes.set_zlabel("ms")
        axes.set_zlim(0, None)
        axes.view_init(22, -125)
        r2 = section["replay"]["model"][name]["fields"]["r2"]
        axes.set_title(f"{LABELS[name]}: r² {r2:.2f}", fontsize=10)
        axes.set_box_aspect(None, zoom=0.85)
    figure.suptitle('Figure 12: the model (surface) and requests of field "waves"', fontsize=11)
    return finish(figure, [], "12", "r² 0.6 and 0.5 on GPUs, 0.96 and 0.99 on CPUs; no DPU shown")


def _grid(rows: list[list[dict]], value) -> numpy.ndarray:
    return numpy.array([[value(row) for row in one] for one in rows])


def figure_13(section: dict) -> Path:
    """Latency while the load by pi grows, with the model's prediction."""
    figure, all_axes = plt.subplots(1, 2, figsize=(11, 4.2))
    for axes, name in zip(all_axes, ("cpu", "gpu"), strict=True):
        rows = section["figures"]["under_load"][name]
        axes.scatter(
            [row["utilisation"] for row in rows],
            [1e3 * row["took_s"] for row in rows],
            s=14,
            color=COLOURS[name],
            label="taken",
        )
        line = [
            (row["utilisation"], 1e3 * row["seconds"]["waves"])
            for row in section["replay"]["model"][name]["surface"]
            if row["bytes"] == 32 * MIB
        ]
        axes.plot(*zip(*line, strict=True), ":", color="#222222", label="predicted")
        axes.axvline(0.7, color="#bbbbbb", linewidth=1)
        axes.set_ylim(0, None)
        axes.set_xlabel(
            "utilisation by processes that compute pi"
            if name == "cpu"
            else "stated utilisation by others"
        )
        axes.set_ylabel("time of a block of 32 MiB, ms")
        axes.set_title(LABELS[name], fontsize=10)
        axes.legend(frameon=False, fontsize=9)
    figure.suptitle("Figure 13: latency under a load that computes pi", fontsize=11)
    return finish(
        figure,
        all_axes,
        "13",
        "on an A30 latency roughly doubles after a utilisation of 0.7 (grey line)",
    )


def figure_14(section: dict) -> Path:
    """An application that computes pi on the CPU while its output is compressed somewhere."""
    rows = section["figures"]["together"]
    digits = sorted({row["digits"] for row in rows})
    figure, axes = plt.subplots(figsize=(8.5, 4.4))
    middle = {
        (count, name): statistics.median(
            row["took_s"] for row in rows if row["digits"] == count and row["on"] == name
        )
        for count in digits
        for name in LABELS
    }
    for number, name in enumerate(("none", *DEVICES)):
        for place, count in enumerate(digits):
            seconds = middle[count, name]
            at = place + 0.2 * (number - 1.5)
            axes.bar(
                at, seconds, 0.18, color=COLOURS[name], label=LABELS[name] if not place else None
            )
            if name in ("gpu", "remote"):
                percent = 100 * (seconds / middle[count, "cpu"] - 1)
                axes.text(at, seconds, f"{percent:+.0f} %", ha="center", va="bottom", fontsize=7)
    axes.set_xticks(range(len(digits)), [f"{count} digits" for count in digits])
    axes.set_ylabel("until both are done, s")
    axes.legend(title="1 GiB compressed on", frameon=False, fontsize=8, title_fontsize=8)
    axes.set_title(
        "Figure 14: pi on both cores while data are compressed (percent: beside the CPU)",
        fontsize=10,
    )
    return finish(
        figure,
        [axes],
        "14",
        "at 64k digits the application is 9 % faster with compression on the DPU",
    )


def choices(section: dict) -> Path:
    """Of the requests under each load and of each size: the shares of the devices chosen."""
    chosen = section["replay"]["policies"]["middle"]["model"]["device"]
    rows: dict[tuple, list[int]] = {}
    for request, device in zip(section["requests"], chosen, strict=True):
        cores, gpu = request["load"]
        for key in (
            (0, cores, f"cores {100 * cores:.0f} % busy"),
            (1, gpu, f"GPU {100 * gpu:.0f} % busy"),
            (2, request["bytes"], f"blocks of {request['bytes'] / MIB:.0f} MiB"),
            (3, request["field"], f"field {request['field']}"),
        ):
            rows.setdefault(key, [0, 0, 0])[device] += 1
    keys = sorted(rows, reverse=True)
    figure, axes = plt.subplots(figsize=(8.5, 0.28 * len(keys) + 1.5))
    for place, key in enumerate(keys):
        left, total = 0.0, sum(rows[key])
        for device, name in enumerate(DEVICES):
            share = rows[key][device] / total
            axes.barh(
                place,
                share,
                0.8,
                left=left,
                color=COLOURS[name],
                label=LABELS[name] if place == 0 else None,
            )
            left += share
        axes.text(1.01, place, str(total), va="center", fontsize=8)
    axes.set_yticks(range(len(keys)), [key[2] for key in keys], fontsize=8)
    axes.set_xlabel("share of the requests; right: how many")
    axes.legend(frameon=False, fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.45, 1.0))
    return finish(figure, [axes], "choices", "no such figure")


def main() -> None:
    section = json.loads((OUT / "transit.json").read_text())["where"]
    plt.rcParams["svg.hashsalt"] = "caesura"
    if "requests" in section:
        for draw in (figure_11, figure_12, choices):
            print(draw(section))
    if "figures" in section:
        for draw in (figure_10, figure_13, figure_14):
            print(draw(section))


if __name__ == "__main__":
    main()
