"""The pictures of together.json: S2's figures as they come out here, with what S2 says in numbers.

S2's own figures are pictures without numbers; nothing is read off them. The numbers are the model's
(figures.py) or a GPU's (tools/dev.py bench-gpu), where fewer figures can be made and rings are what
the emulated device made of the same runs. Standard library only: the latter has nothing else.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "codec"))

from svg import Axis, document, line, mark, polyline, spread_out, tag, words

GB = 1e9
WIDTH = 1000.0
EMULATED = "emulated"
WAYS = {
    "planned": ("this run known", "exact", "triangle"),
    "ensemble": ("profile of the first run known", "ours", "disc"),
    "counted": ("number of checkpoints known", "more", "diamond"),
    "unknown": ("nothing known", "alt", "square"),
    "each": ("each compressed", "sz", "diamond"),
    "raw": ("all raw", "other", "square"),
}
TITLES = {
    "figure 6": "Figure 6: migration, 20 shots of 66 checkpoints, by the source's frequency",
    "figure 8": "Figure 8: migration at 4 Hz, by the cache on the GPU",
    "figure 9": "Figure 9: synthetic runs, by how fast checkpoints are made",
    "figure 10": "Figure 10: synthetic runs, by how far checkpoints shrink",
    "figure 11": "Figure 11: synthetic runs, by GPUs of a node (8: half a link each)",
}
# What S2's text says in numbers: how many times as fast as raw and as each its way is.
PAPER = {
    "figure 6": {"said": "above 2 Hz 3.2 to 8.3 times raw, 1.3 to 1.8 times each; at 2 Hz each is "
                         "2.8 times slower than raw, and profiling costs a little",
                 "raw": [3.2, 8.3], "each": [1.3, 1.8]},
    "figure 8": {"said": "up to 4.1 times raw, 2.4 times each; at 64 MB 3 % slower than each",
                 "raw": [4.1], "each": [2.4]},
    "figure 9": {"said": "at least 2.27 times both", "raw": [2.27], "each": [2.27]},
    "figure 10": {"said": "3.7 times both", "raw": [3.7], "each": [3.7]},
    "figure 11": {"said": "at 8 GPUs 3.6 times raw and 4.9 times each; raw loses up to 57 %",
                  "raw": [3.6], "each": [4.9]},
}  # fmt: skip
STYLE = tag("style", ".said { stroke: var(--c); stroke-width: 1.5; stroke-dasharray: 5 4; } "
            ".band { fill: var(--c); fill-opacity: .14; } "
            ".ring { fill: none; stroke: var(--c); stroke-width: 1.2; } "
            ".cell { stroke: var(--page); stroke-width: 1; }")  # fmt: skip
LETTERS = {"U": ("sent raw", "other"), "C": ("compressed alone", "sz"),
           "AX": ("held and compressed together", "ours")}  # fmt: skip


def draw(results: dict) -> dict[str, str]:
    """Name of a file -> SVG, of the figures that there are."""
    titles = [name for name in TITLES if name in results]
    made = {
        name.replace(" ", ""): document(WIDTH, 352, STYLE, *_throughput(name, results, 0))
        for name in titles
    }
    made["throughputs"] = document(
        WIDTH, 340 * len(titles) + 12, STYLE,
        *(part for i, name in enumerate(titles) for part in _throughput(name, results, 340 * i)),
    )  # fmt: skip
    made["figure2"] = document(760, 340, STYLE, *_curve(results))
    if "figure 5" in results:
        made["figure5"] = document(WIDTH, 340, STYLE, *_characteristics(results["figure 5"]))
    made["figure7"] = document(980, 330, STYLE, *_words(results))
    return made


def _is_emulated(results: dict) -> bool:
    return results["device"] == EMULATED


def _source(results: dict) -> str:
    """Where the numbers are from."""
    if _is_emulated(results):
        page = "docs/how/checkpoints.md"
        return f"In the model of {page} with an A100's numbers; not measured on a GPU"
    return f"Measured on {results['device']}, coder {results['coder']}"


def _executed(results: dict, name: str, label: str) -> dict[str, float]:
    """What is drawn as rings: GB/s of ways on the emulated device."""
    if not _is_emulated(results):
        return results["emulated"][name][label]["bytes_per_s"]
    return results[name][label].get("executed", {"bytes_per_s": {}})["bytes_per_s"]


def _places(count: int, left: float, right: float) -> list[float]:
    return [left + (right - left) * (i + 0.5) / count for i in range(count)]


def _scale(y: Axis, left: float, right: float, unit: str) -> list[str]:
    parts = []
    for value in y.ticks():
        parts.append(line(left, y(value), right, y(value), "grid"))
        parts.append(words(left - 8, y(value) + 4, f"{value:g}{unit}", "tick", "end"))
    return parts


def _throughput(name: str, results: dict, top: float) -> list[str]:
    """Left GB/s of every way; right how many times as fast as raw and each, and what S2 says."""
    rows, paper = results[name], PAPER[name]
    rings = {label: _executed(results, name, label) for label in rows}
    parts = [
        words(24, top + 28, TITLES[name], "heading"),
        words(24, top + 47, _source(results), "soft"),
        words(24, top + 64, "S2: " + paper["said"], "soft"),
    ]
    parts += _lines(rows, rings, 70.0, 390.0, top + 102, top + 304)
    parts += _ratios(rows, paper, 690.0, 880.0, top + 102, top + 304)
    return parts


def _lines(rows: dict, rings: dict, left: float, right: float, top: float,
           bottom: float) -> list[str]:  # fmt: skip
    seen = {way: [row["bytes_per_s"][way] / GB for row in rows.values()] for way in WAYS}
    values = [v for way in seen.values() for v in way]
    y = Axis(0.85 * min(values), 1.15 * max(values), bottom, top)
    xs = _places(len(rows), left, right)
    parts = [words(left, top - 12, "GB/s, of what a run takes longer", "panel")]
    parts += _scale(y, left, right, "")
    parts += [words(x, bottom + 18, label, "tick", "middle")
              for x, label in zip(xs, rows, strict=True)]  # fmt: skip
    names = spread_out([y(seen[way][-1]) for way in WAYS], 16, top, bottom)
    for (way, (label, class_, shape)), place in zip(WAYS.items(), names, strict=True):
        points = [(x, y(v)) for x, v in zip(xs, seen[way], strict=True)]
        parts.append(polyline(points, f"line {class_}" + (" dashed" if way == "planned" else "")))
        parts += [mark(*at, shape, class_, f"{v:.0f} GB/s")
                  for at, v in zip(points, seen[way], strict=True)]  # fmt: skip
        parts.append(words(right + 10, place + 4, label, f"{class_} name"))
        for x, label in zip(xs, rows, strict=True):
            done = rings[label].get(way)
            if done is not None:
                parts.append(tag("circle", tag("title", f"executed: {done / GB:.0f} GB/s"), cx=x,
                                 cy=y(done / GB), r=9, class_=f"ring {class_}"))  # fmt: skip
    if any(rings.values()):
        parts.append(words(right + 10, bottom + 18, "rings: executed, emulated device", "soft"))
    return parts


def _ratios(rows: dict, paper: dict, left: float, right: float, top: float,
            bottom: float) -> list[str]:  # fmt: skip
    found = {way: [row["bytes_per_s"]["ensemble"] / row["bytes_per_s"][way]
                   for row in rows.values()] for way in ("raw", "each")}  # fmt: skip
    values = [*found["raw"], *found["each"], *paper["raw"], *paper["each"]]
    y = Axis(min(0.8, 0.9 * min(values)), 1.2 * max(values), bottom, top)
    xs = _places(len(rows), left, right)
    parts = [words(left, top - 12, "times as fast, first run known", "panel")]
    parts += _scale(y, left, right, "")
    for x, label in zip(xs, rows, strict=True):
        parts.append(words(x, bottom + 18, label.split()[0], "tick", "middle"))
    labels = []
    for way, values in found.items():
        _, class_, shape = WAYS[way]
        said = paper[way]
        if len(said) == 2:
            parts.append(tag("rect", x=left, y=y(said[1]), width=right - left,
                             height=y(said[0]) - y(said[1]), class_=f"band {class_}"))  # fmt: skip
        parts += [line(left, y(v), right, y(v), f"said {class_}") for v in said]
        points = [(x, y(v)) for x, v in zip(xs, values, strict=True)]
        parts.append(polyline(points, f"line {class_}"))
        parts += [mark(*at, shape, class_, f"{v:.2f}")
                  for at, v in zip(points, values, strict=True)]  # fmt: skip
        short = "to raw" if way == "raw" else "to each"
        labels.append((points[-1][1], short, class_))
        labels += [(y(v), f"S2 {v:g} {short}", class_) for v in said]
    for (_, text, class_), place in zip(
        labels, spread_out([at for at, _, _ in labels], 14, top, bottom), strict=True
    ):
        parts.append(words(right + 8, place + 4, text, f"{class_} name"))
    return parts


def _curve(results: dict) -> list[str]:
    left, right, top, bottom = 70.0, 560.0, 92.0, 290.0
    curves = {k: v for k, v in results.get("nvcomp", {}).items() if isinstance(v, dict)}
    curves["32 us + x / 550 GB/s" if _is_emulated(results) else "ours"] = results["figure 2"]
    points = {
        name: [(row["bytes"] / 1e6, row["bytes_per_s"] / GB)
               for row in rows.values() if isinstance(row, dict)]
        for name, rows in curves.items()
    }  # fmt: skip
    x = Axis(0.9, 1200, left, right)
    y = Axis(0, max(600, *(v for of in points.values() for _, v in of)), bottom, top, log=False)
    source = ("Inferred from S2's text, not read off its picture (bench/together/a100.json has "
              "how); not measured" if _is_emulated(results) else _source(results))  # fmt: skip
    parts = [
        words(24, 28, "Figure 2: compressing, by how much at once", "heading"),
        words(24, 47, source, "soft"),
        words(left, top - 12, "GB/s", "panel"),
    ]
    parts += _scale(y, left, right, "")
    parts += [words(x(v), bottom + 18, f"{v:g}", "tick", "middle") for v in x.ticks()]
    parts.append(words((left + right) / 2, bottom + 38, "MB at once", "soft", "middle"))
    places = spread_out([y(of[-1][1]) for of in points.values()], 14, top, bottom)
    for (name, of), place in zip(points.items(), places, strict=True):
        class_ = "other" if name in results.get("nvcomp", {}) else "ours"
        parts.append(polyline([(x(mb), y(v)) for mb, v in of], f"line {class_}"))
        parts += [mark(x(mb), y(v), "disc", class_, name) for mb, v in of]
        parts.append(words(right + 10, place + 4, name, f"{class_} name"))
    parts.append(line(x(200), y(550), right, y(550), "said exact"))
    parts.append(words(right + 10, y(550) - 8, "S2: about 550 only above 200", "exact name"))
    return parts


def _characteristics(rows: dict) -> list[str]:
    """What of it S2 says: 17 GB/s at 2 Hz, up to 150; at 4 Hz 40, then 57 from checkpoint 32 on;
    ratios above 28 at first, falling."""
    run = rows["4 Hz"]
    parts = [
        words(24, 28, "Figure 5: what a migration's checkpoints are like, here", "heading"),
        words(24, 47, "Made from S2's text (bench/together/workloads.py): 17 GB/s at 2 Hz; at 4 Hz "
              "about 40, from checkpoint 32 on 57; up to 150; ratios above 28, falling", "soft"),
    ]  # fmt: skip
    panels = (
        ("GB/s made, least and most", 70.0, 330.0, 180.0),
        ("ratio at 4 Hz, by checkpoint", 400.0, 640.0, 70.0),
        ("GB/s made at 4 Hz, by checkpoint", 710.0, 950.0, 70.0),
    )
    top, bottom = 92.0, 290.0
    for title, left, right, most in panels:
        y = Axis(0, most, bottom, top, log=False)
        parts.append(words(left, top - 12, title, "panel"))
        parts += _scale(y, left, right, "")
        if right < 350:
            for at, (label, row) in zip(_places(len(rows), left, right), rows.items(), strict=True):
                low, high = (y(v) for v in row["made_gb_per_s"])
                parts.append(line(at, low, at, high, "spread ours"))
                parts += [mark(at, v, "disc", "ours") for v in (low, high)]
                parts.append(words(at, bottom + 18, label, "tick", "middle"))
            continue
        values = (run["ratio_by_checkpoint"] if "ratio" in title
                  else [v / GB for v in run["made_by_checkpoint"]])  # fmt: skip
        x = Axis(0, len(values) - 1, left, right, log=False)
        parts += [words(x(v), bottom + 18, f"{v}", "tick", "middle") for v in (0, 16, 32, 48, 64)]
        parts.append(polyline([(x(i), y(v)) for i, v in enumerate(values)], "line ours"))
        if "ratio" in title:
            parts.append(line(left, y(28), right, y(28), "said exact"))
            parts.append(words(right, y(28) - 6, "S2: above 28 at first", "exact name", "end"))
        else:
            for v, first, last in ((40, 0, 31), (57, 32, len(values) - 1)):
                parts.append(line(x(first), y(v), x(last), y(v), "said exact"))
            parts.append(words(right, y(57) + 20, "S2: 40, then 57", "exact name", "end"))
    return parts


def _words(results: dict) -> list[str]:
    rows = results["figure 6"]
    left, right, top = 70.0, 940.0, 84.0
    parts = [
        words(24, 28, "Figure 7: what becomes of each checkpoint, migration, the last shot planned "
              "alone", "heading"),
        words(24, 47, _source(results) + ". S2: raw at 2 Hz; the faster they are made the more "
              "are held", "soft"),
    ]  # fmt: skip
    for i, (label, row) in enumerate(rows.items()):
        word, y = row["words"]["planned"], top + 28 * i
        parts.append(words(left - 12, y + 16, label, "tick", "end"))
        wide = (right - left) / len(word)
        for n, letter in enumerate(word):
            title, class_ = LETTERS["AX" if letter in "AX" else letter]
            high = 22 if letter != "A" else 14  # an X ends what is held: taller
            parts.append(tag("rect", tag("title", f"{n + 1}: {title}"), x=left + n * wide,
                             y=y + 22 - high, width=wide, height=high,
                             class_=f"mark cell {class_}"))  # fmt: skip
    at, y = left, top + 28 * len(rows) + 22
    for title, class_ in LETTERS.values():
        parts.append(tag("rect", x=at, y=y - 11, width=14, height=14, class_=f"mark {class_}"))
        parts.append(words(at + 20, y, title, f"{class_} name"))
        at += 60 + 7 * len(title)
    parts.append(words(at, y, "(tall: there all that are held are compressed)", "soft"))
    return parts
