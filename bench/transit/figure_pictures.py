"""The pictures of S4's Figures 1, 2 and 5 to 9, from their sections of out/bench/transit.json.

Each says beside its axes: on what it was measured, what is emulated, and what S4's text states.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from results import OUT

GREY, BLUE, ORANGE, GREEN, RED = "#9a9a9a", "#1f77b4", "#e08214", "#4d9221", "#b2182b"
LIGHT_BLUE = "#9ecae1"


def begin(columns: int, width: float = 10.0, height: float = 4.6, **keys):
    """A figure and its axes, in a row."""
    figure, axes = plt.subplots(
        1, columns, figsize=(width, height), layout="constrained", squeeze=False, **keys
    )
    for one in axes[0]:
        one.spines[["top", "right"]].set_visible(False)
    return figure, list(axes[0])


def end(figure, number: int, section: dict, title: str, notes: list[str]) -> Path:
    """Title above, conditions and S4's statement below."""
    conditions = section["conditions"]
    processor = conditions["processor"]["model"]
    if conditions["processor"].get("family"):
        processor += f" (family {conditions['processor']['family']}, model "
        processor += f"{conditions['processor']['model_number']})"
    load = max(section["others_share"], section["others_share_after"])
    words = [
        f"Measured on {conditions['cores']} cores of {processor}, {conditions['date'][:10]}"
        + (f", {section['statistic']}" if section["statistic"] else "")
        + (f"; others kept {load:.0%} of the cores busy" if load > 0.1 else "")
        + (f", at priority {section['priority']}" if load > 0.1 and section["priority"] else "")
        + ("; a quick trial" if section["quick"] else "")
        + ".",
        *notes,
    ]
    if section.get("emulated"):
        words.append(f"EMULATED: {', '.join(section['emulated'])}.")
    words.append(f"S4 ({section['s4']['data']}): {section['s4']['finding']}.")
    width = int(figure.get_figwidth() * 15)
    lines = [line for one in words for line in textwrap.wrap(one, width)]
    figure.suptitle(f"{title} (S4 Figure {number})", fontsize=11)
    figure.supxlabel("\n".join(lines), fontsize=8, x=0.01, ha="left")
    path = OUT / f"transit_figure_{number}.svg"
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path


def about(data: dict) -> str:
    """A field that stands for one of S4's."""
    return (
        f"Field '{data['field']}' (generated, {' × '.join(map(str, data['shape']))}, "
        f"{data['dtype']}, {data['entropy_bits']:g} bits of entropy) stands for "
        f"{data['stands_for']} ({data['s4_entropy_bits']:g} bits)."
    )


def stack(axes, places: list[float], parts: list[tuple[str, str, list[float]]], width: float):
    """Bars upon bars; heights in all."""
    below = [0.0] * len(places)
    for name, colour, values in parts:
        axes.bar(places, values, width, bottom=below, color=colour, label=name)
        below = [b + v for b, v in zip(below, values, strict=True)]
    return below


def saturation(section: dict) -> Path:
    """Figure 1."""
    figure, (axes,) = begin(1, 7.5)
    for codec, colour in (("zfp", ORANGE), ("caesura", BLUE)):
        rows = [row for row in section["rows"] if row["codec"] == codec]
        x = [row["instances"] for row in rows]
        y = [row["bytes_per_s"] / 1e6 for row in rows]
        low = [(row["bytes_per_s"] - row["bytes_per_s_low"]) / 1e6 for row in rows]
        high = [(row["bytes_per_s_high"] - row["bytes_per_s"]) / 1e6 for row in rows]
        name = {"zfp": "ZFP", "caesura": "Caesura's codec"}[codec]
        axes.errorbar(
            x, y, [low, high], marker="o", capsize=3, color=colour,
            label=f"{name}, ratio {rows[0]['ratio']:.1f}",
        )  # fmt: skip
    cores = section["conditions"]["cores"]
    axes.axvline(cores, color=GREY, lw=0.8, ls=":")
    axes.text(cores + 0.04, 0, f" {cores} cores", fontsize=8, va="bottom", color="#555555")
    best = section["s4"]["best_instances"]
    axes.axvline(best, color=RED, lw=0.8, ls="--")
    axes.text(best + 0.04, 0, " S4: no gain beyond", fontsize=8, va="bottom", color=RED)
    axes.set(xlabel="instances of caesura-serve, one thread and one client each")
    axes.set(ylabel="raw data taken, MB/s", ylim=(0, None))
    axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
    axes.legend(frameon=False, fontsize=9)
    notes = [f"Data: {section['data']}, persisted to a file system in memory."]
    return end(figure, 1, section, "Throughput over the number of services", notes)


def over_bounds(section: dict) -> Path:
    """Figure 2."""
    names = list(dict.fromkeys(row["field"] for row in section["rows"]))
    codecs = list(dict.fromkeys(row["codec"] for row in section["rows"]))
    figure, grid = plt.subplots(
        len(names), 3, figsize=(10.5, 3.0 * len(names) + 0.9), layout="constrained", squeeze=False
    )
    columns = (
        ("ratio", "compression ratio", "log"),
        ("compress_s", "compression time, ms", "linear"),
        ("psnr_db", "PSNR, dB", "linear"),
    )
    for line, name in zip(grid, names, strict=True):
        of_field = [row for row in section["rows"] if row["field"] == name]
        for axes, (key, label, scale) in zip(line, columns, strict=True):
            axes.spines[["top", "right"]].set_visible(False)
            for codec, colour in zip(codecs, (BLUE, ORANGE, GREEN), strict=False):
                rows = [row for row in of_field if row["codec"] == codec and row[key] is not None]
                factor = 1e3 if key == "compress_s" else 1.0
                axes.plot(
                    [row["bound"] for row in rows], [factor * row[key] for row in rows],
                    marker=".", color=colour, label=f"{codec} ({rows[0]['version'].split()[0]})",
                )  # fmt: skip
            axes.set_xscale("log")
            axes.set_yscale(scale)
            if scale == "linear" and key == "compress_s":
                axes.set_ylim(0, None)
            axes.set_title(f"{name}: {label}", fontsize=9)
            unit = of_field[0]["unit"]
            axes.set_xlabel("absolute error bound" + (f", {unit}" if unit else ""), fontsize=9)
    grid[0][0].legend(frameon=False, fontsize=8)
    broken = {row["codec"] for row in section["rows"] if row["violations"]}
    notes = [f"Time: {section['clock']}. Every value was held against its bound."]
    if broken:
        notes.append(f"The bound was broken somewhere by: {', '.join(sorted(broken))}.")
    return end(figure, 2, section, "Ratio, time and quality over the error bound", notes)


STEP_NAMES = (
    ("choose_s", "choose a predictor", LIGHT_BLUE),
    ("predict_s", "predict, quantise", BLUE),
    ("code_s", "code residuals", GREEN),
    ("lossless_s", "lossless stage", ORANGE),
)
VARIANT_NAMES = {
    "own": "own entropy coder, no further stage",
    "zstd": "fixed lengths, then zstd",
    "deflate": "fixed lengths, then DEFLATE",
}


def steps(section: dict) -> Path:
    """Figure 5."""
    figure, (axes,) = begin(1, 10.0)
    rows = sorted(
        section["rows"],
        key=lambda row: (row["threads"], list(VARIANT_NAMES).index(row["variant"])),
        reverse=True,
    )
    places = range(len(rows))
    left = [0.0] * len(rows)
    for key, name, colour in STEP_NAMES:
        values = [1e3 * row.get(key, 0.0) for row in rows]
        axes.barh(places, values, 0.7, left=left, color=colour, label=name)
        left = [a + b for a, b in zip(left, values, strict=True)]
    for place, row, total in zip(places, rows, left, strict=True):
        text = f" {row['bytes_per_s'] / 1e6:.0f} MB/s, ratio {row['ratio']:.1f}"
        axes.text(total, place, text, va="center", fontsize=8)
    axes.set_yticks(
        places,
        [
            f"{VARIANT_NAMES[row['variant']]}\n{row['threads']} "
            f"thread{'s' if row['threads'] > 1 else ''}"
            for row in rows
        ],
        fontsize=8,
    )
    axes.set(xlabel=f"ms for {section['raw_bytes'] / 1e6:.0f} MB", xlim=(0, 1.25 * max(left)))
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    notes = [
        about(section["data"]) + f" Bound {section['bound']}. DEFLATE in software: no accelerator "
        "was there."
    ]
    return end(figure, 5, section, "What the steps of compression take", notes)


def offload(section: dict) -> Path:
    """Figure 6."""
    figure, (axes,) = begin(1, 10.0)
    rows = section["rows"]
    places = list(range(len(rows)))
    parts = [
        (name, colour, [row[key] for row in rows])
        for key, name, colour in (
            ("to_s", "to the device", LIGHT_BLUE),
            ("compute_s", "compress", BLUE),
            ("from_s", "back", GREEN),
            ("write_s", "write (bytes over bandwidth)", GREY),
        )
    ]
    tops = stack(axes, places, parts, 0.6)
    elapsed = [row["elapsed_s"] for row in rows]
    left, right = ([place + shift for place in places] for shift in (-0.34, 0.34))
    axes.hlines(elapsed, left, right, color="black", lw=1.5, label="elapsed, all included")
    for place, row, top in zip(places, rows, tops, strict=True):
        text = f"{row['elapsed_s']:.2f} s" + (f"\nratio {row['ratio']:.1f}" if place else "")
        axes.text(
            place, max(top, row["elapsed_s"]) + 0.015 * max(elapsed), text, ha="center", fontsize=8
        )
        if row["stated_s"]:
            low = row["to_s"] + row["stated_s"]
            axes.plot([place - 0.3, place + 0.3], [low, low], color=RED, lw=1, ls="--",
                      label="compress, as stated" if place == 2 else None)  # fmt: skip
    names = {
        "direct": "written directly",
        "CPU": f"CPU, {section['conditions']['cores']} threads",
        "GPU": "GPU\n(emulated)",
        "other service": "other service\n(stands for a DPU, emulated)",
    }
    axes.set_xticks(places, [names[row["way"]] for row in rows], fontsize=9)
    axes.set(ylabel="s", ylim=(0, 1.15 * max(*tops, *elapsed)))
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    gpu, dpu = (section["stated"][name] for name in ("GPU", "other service"))
    notes = [
        about(section["data"])
        + f" File system of {section['bandwidth'] / 1e6:.0f} MB/s; GPU stated as "
        f"{gpu['compress_bytes_per_s'] / 1e9:g} GB/s behind {gpu['link_bytes_per_s'] / 1e9:g} "
        f"GB/s (computed on a core here, which may take longer), DPU as "
        f"{dpu['compress_bytes_per_s'] / 1e6:g} MB/s (a guess)."
    ]
    title = f"{section['raw_bytes'] / 1e6:.0f} MB written directly, or compressed on a device"
    return end(figure, 6, section, title, notes)


def slabs(section: dict) -> Path:
    """Figure 7."""
    figure, (axes,) = begin(1, 8.5, 4.2)
    x = [row["slab"] for row in section["rows"]]
    axes.bar(x, [row["entropy_bits"] for row in section["rows"]], 0.8, color=BLUE)
    axes.axhline(section["most_bits"], color=GREY, lw=0.8, ls=":")
    axes.text(0, section["most_bits"], "the most so many values can have", fontsize=8, va="bottom")
    axes.set(xlabel=f"slab of {section['layers']} layers along the slowest axis")
    axes.set(ylabel="entropy, bits", ylim=(0, 1.1 * section["most_bits"]))
    return end(figure, 7, section, "Entropy of each slab", [about(section["data"])])


def by_region(section: dict) -> Path:
    """Figure 8."""
    figure, axes = begin(4, 13.0, 5.0, sharey=True)
    slabs = f"{section['slabs']} slabs"
    panels = (
        ("Caesura's codec", "auto", "regions", "gain", "one setting a block", "by region"),
        ("SZ3's variants", "sz3", "sz3_regions", "sz3_gain", "best for the whole", "best of each"),
        ("SZ2 BEST_COMPRESSION\n(S4: +15 %)", "sz2", "sz2_slabs", "sz2_gain", "the whole", slabs),
        ("SZ2 BEST_SPEED, no lossless stage\n(S4: +46.5 %)", "sz2_fast", "sz2_fast_slabs",
         "sz2_fast_gain", "the whole", slabs),
    )  # fmt: skip
    names = [row["field"] for row in section["rows"]]
    for one, (title, uniform, tuned, gain, first, second) in zip(axes, panels, strict=True):
        if uniform not in section["rows"][0]["gains"]:
            one.set_title(f"{title}: not installed", fontsize=9)
            continue
        for shift, key, colour, label in (
            (-0.2, uniform, GREY, first),
            (0.2, tuned, BLUE, second),
        ):
            values = [row["gains"][key] for row in section["rows"]]
            one.bar([n + shift for n in range(len(names))], values, 0.4, color=colour, label=label)
        for place, row in enumerate(section["rows"]):
            top = max(row["gains"][uniform], row["gains"][tuned])
            text = f"{row['gains'][gain]:+.0%}"
            one.text(place, 1.06 * top, text, ha="center", fontsize=8)
        one.set_yscale("log")
        one.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=9)
        mean = f"mean {section['mean_gains'][gain]:+.1%}"
        one.set_title(title + ("\n" if "\n" not in title else ", ") + mean, fontsize=9)
        one.legend(frameon=False, fontsize=8, loc="upper left")
        one.set_ylim(1, 600)
    axes[0].set_ylabel("compression ratio")
    notes = [
        f"Data: {section['data']}; 'mixing' stands for Miranda's density. Bound "
        f"{section['bound']}, the same everywhere. Means are geometric."
    ]
    return end(figure, 8, section, "One setting for all, and settings of each region", notes)


def weak_scaling(section: dict) -> Path:
    """Figure 9."""
    figure, (axes,) = begin(1, 9.0, 5.0)
    ways = list(dict.fromkeys(row["way"] for row in section["rows"]))
    counts = list(dict.fromkeys(row["ranks"] for row in section["rows"]))
    colours = dict(zip(ways, (GREY, ORANGE, BLUE, GREEN), strict=False))
    width = 0.8 / len(ways)
    least = min(row["compress_s"] for row in section["rows"])
    for shift, way in enumerate(ways):
        rows = [row for row in section["rows"] if row["way"] == way]
        places = [n + width * (shift - (len(ways) - 1) / 2) for n in range(len(rows))]
        compress = [row["compress_s"] for row in rows]
        writes = [row["write_s"] for row in rows]
        axes.bar(places, compress, 0.92 * width, color=colours[way], label=f"{way}: compress")
        axes.bar(
            places, writes, 0.92 * width, bottom=compress, color=colours[way], alpha=0.35,
            label=f"{way}: write",
        )  # fmt: skip
        for place, row in zip(places, rows, strict=True):
            text = f"{row['total_s']:.2f}"
            axes.text(place, 1.04 * row["total_s"], text, ha="center", fontsize=8)
    cores = section["oversubscribed_beyond_ranks"]
    axes.set_yscale("log")
    axes.set_ylim(0.5 * least, 4.0 * max(row["total_s"] for row in section["rows"]))
    labels = [
        f"{n} rank{'s' if n > 1 else ''}" + (" (oversubscribed)" if n > cores else "")
        for n in counts
    ]
    axes.set_xticks(range(len(counts)), labels)
    axes.set_ylabel("s, from opening to closing (log scale)")
    axes.legend(frameon=False, fontsize=8, ncol=len(ways), loc="upper center")
    notes = [
        about(section["data"]) + f" {section['raw_bytes_a_rank'] / 1e6:.0f} MB a rank, file system "
        f"of {section['bandwidth'] / 1e6:.0f} MB/s. Compress: the time without the emulated file "
        "system, copies and opening included; write: what it adds."
    ]
    return end(figure, 9, section, "Weak scaling of writing", notes)


PICTURES = {
    1: saturation,
    2: over_bounds,
    5: steps,
    6: offload,
    7: slabs,
    8: by_region,
    9: weak_scaling,
}


def draw(number: int, section: dict) -> Path:
    """out/bench/transit_figure_N.svg."""
    OUT.mkdir(parents=True, exist_ok=True)
    return PICTURES[number](section)
