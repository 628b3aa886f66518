#!/usr/bin/env python3
"""Predicted against real sizes of blocks, before and after learning. Section "sizes" and pictures.

Series are dumps of one field in order of time: three stretches of the mini-app's 128^3 universe
(one block of 8 MiB a dump), synthetic 256^3 fields at three instants (eight blocks), Nyx's 64^3 at
four redshifts far apart (one block of 1 MiB). Fields of a single dump are predicted without
learning. Real sizes of SZ3 and ZFP never change and are slow to come by, so they are kept in
out/bench/prediction_sizes.json, with the seconds they took.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence

import numpy as np
import results
import svg
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import fields  # isort: skip  (of bench/codec: results puts it on the path)

OWN = ("caesura", "caesura:fast", "caesura:strong")
FOREIGN = ("sz3", "zfp")
REDSHIFTS = ("nyx_64_z150", "nyx_64_z010", "nyx_64_z004", "nyx_64_z002.5")
CACHE = results.OUT / "prediction_sizes.json"
console = Console(soft_wrap=True)


# -------------------------------------------------------------------------------------- the series


def dump(label: str, load: Callable[[], np.ndarray]):
    """A Dump whose shape is known by loading it once."""
    from caesura_lab.evaluating import Dump

    values = load()
    return Dump(label, values.shape, values.dtype.name, lambda: np.ascontiguousarray(load()))


def miniapp(most: int) -> list:
    """Three stretches of the mini-app, each its own series of at most so many dumps."""
    from caesura_lab.evaluating import Series

    there = set(fields.dump_numbers())
    found = []
    for stretch, begin in fields.STRETCHES.items():
        numbers = [n for n in range(begin, begin + fields.AGES + 1) if n in there][:most]
        for name in fields.DUMP_FIELDS if numbers else ():
            dumps = [dump(str(n), lambda f=name, n=n: fields.dump_values(f, n)) for n in numbers]
            found.append(Series(f"miniapp_{stretch}/{name}", tuple(dumps)))
    return found


def redshifts() -> list:
    """Nyx, 64^3, from smooth to clustered: what is learned at one is of little use at the next."""
    from caesura_lab.evaluating import Series

    by_name = {(b.source, b.field): b for b in fields.real_blocks()}
    found = []
    for name in fields.DUMP_FIELDS:
        blocks = [by_name[key] for z in REDSHIFTS if (key := (z, name)) in by_name]
        dumps = [dump(b.source, b.values) for b in blocks]
        if dumps:
            found.append(Series(f"nyx_64/{name}", tuple(dumps)))
    return found


def synthetic() -> list:
    """256^3 fields at three instants."""
    from caesura_lab.evaluating import Series

    if not fields.can_make_synthetic():
        return []
    return [
        Series(
            f"synthetic/{name}",
            tuple(
                dump(f"t{t}", lambda f=name, t=t: fields.synthetic_values(f, t)) for t in range(3)
            ),
        )
        for name in fields.SYNTHETIC_FIELDS
    ]


def singles() -> list:
    """Fields of which there is one dump: Nyx at 128^3, the laser wakefields."""
    from caesura_lab.evaluating import Series

    return [
        Series(f"{b.source}/{b.field}", (dump(b.source, b.values),))
        for b in [*fields.real_blocks(), *fields.plasma_blocks()]
        if b.source not in REDSHIFTS
    ]


# ------------------------------------------------------------------------------------ real sizes


class Remembered:
    """Stored bytes of foreign codecs by block, from an earlier run or measured now."""

    def __init__(self) -> None:
        from importlib.metadata import version

        self.versions = {"hdf5plugin": version("hdf5plugin")}
        try:
            there = json.loads(CACHE.read_text())
        except FileNotFoundError:
            there = {}
        self.sizes = there.get("sizes", {}) if there.get("versions") == self.versions else {}
        self.codecs: dict = {}

    def encode(self, where, block: np.ndarray, bound):
        """As caesura_lab.evaluating.Encoder."""
        from caesura import prediction

        # The sum tells a changed field of the same name.
        key = f"{'|'.join(map(str, where))}|{float(np.nansum(block, dtype=np.float64)):.12g}"
        if where.codec in FOREIGN and key in self.sizes:
            size, cpu_s, fell_back = self.sizes[key]
            return prediction.EncodedBlock(bytes(size), 0, fell_back, float("nan"), cpu_s, cpu_s)
        name = (where.codec, block.shape, block.dtype.name, bound)
        if name not in self.codecs:
            self.codecs = {
                name: prediction.BlockCodec(where.codec, block.dtype, block.shape, bound)
            }
        made = self.codecs[name].encode(block)
        if where.codec in FOREIGN:
            self.sizes[key] = [made.stored_bytes, round(made.cpu_s, 6), made.fell_back]
        return made

    def save(self) -> None:
        """Keep them for the next run."""
        results.OUT.mkdir(parents=True, exist_ok=True)
        partial = CACHE.with_suffix(f".{os.getpid()}.json")
        partial.write_text(json.dumps({"versions": self.versions, "sizes": self.sizes}))
        partial.replace(CACHE)


# ------------------------------------------------------------------------------------- the goals


def goal(name: str, measured: float, limit: float, paper: str = "") -> dict:
    """One row of the table: a share that is to stay below a limit."""
    return {
        "name": name,
        "measured": measured,
        "limit": limit,
        "met": bool(measured <= limit),
        "paper": paper,
    }


def own_goals(rows: Sequence) -> list[dict]:
    """Caesura's codec: predicted by asking it, from the first dump on."""
    from caesura_lab.evaluating import HIGH_RATIO, summary

    mine = [r for r in rows if r.codec in OWN and r.raw_bytes > 4 << 20]
    if not mine:
        return []
    low = summary([r for r in mine if r.ratio < HIGH_RATIO])
    everything = summary(mine)
    return [
        goal("caesura, 8 MiB, ratio < 60: median", low["median"], 0.005, "mostly < 10 %"),
        goal("caesura, 8 MiB, ratio < 60: 90th percentile", low["p90"], 0.02),
        goal("caesura, 8 MiB, ratio < 60: 99th percentile", low["p99"], 0.08),
        goal("caesura, 8 MiB, all, by bytes", everything["byte_weighted"], 0.005),
    ]


def bursty_goals(rows: Sequence) -> list[dict]:
    """Mode auto on laser wakefields, of which nothing has been learned: silence, and bursts."""
    from caesura_lab.evaluating import summary

    mine = [r for r in rows if r.codec == "caesura" and r.field.startswith(("fbpic", "lwfa"))]
    if not mine:
        return []
    sums = summary(mine)
    stored = sum(r.stored_bytes for r in mine)
    bias = sum(r.error * r.stored_bytes for r in mine) / stored
    return [
        goal(f"caesura, {len(mine)} bursty blocks: median", sums["median"], 0.005),
        goal("caesura, bursty blocks, by bytes", sums["byte_weighted"], 0.005),
        goal("caesura, bursty blocks, bias by bytes (size of)", abs(bias), 0.001),
    ]


def foreign_goals(rows: Sequence) -> list[dict]:
    """SZ3 and ZFP after two dumps of the field."""
    from caesura_lab.evaluating import HIGH_RATIO, summary

    goals = []
    for codec in FOREIGN:
        mine = [r for r in rows if r.codec == codec and r.raw_bytes > 4 << 20]
        learned = [r for r in mine if r.learned >= 2 and r.ratio < HIGH_RATIO]
        if not learned:
            continue
        sums = summary(learned)
        goals.append(
            goal(f"{codec} after two dumps: median", sums["median"], 0.02, "mostly < 10 %")
        )
        goals.append(goal(f"{codec} after two dumps: 95th percentile", sums["p95"], 0.10))
    sz3_s = [r.compress_s for r in rows if r.codec == "sz3" and r.raw_bytes > 4 << 20]
    for codec in FOREIGN:
        costs = [r.predict_s for r in rows if r.codec == codec and r.raw_bytes > 4 << 20]
        if costs and sz3_s:
            share = float(np.median(costs) / np.median(sz3_s))
            goals.append(goal(f"{codec}: cost, of compressing with SZ3", share, 0.01, "< 10 %"))
    return goals


def groups(rows: Sequence) -> dict:
    """Summaries by codec, by what had been learned and by ratio."""
    from caesura_lab.evaluating import HIGH_RATIO, summary

    table = {}
    for codec in dict.fromkeys(r.codec for r in rows):
        mine = [r for r in rows if r.codec == codec]
        low = [r for r in mine if r.ratio < HIGH_RATIO]
        parts = {
            "nothing learned, ratio < 60": [r for r in low if r.learned == 0],
            "one dump learned, ratio < 60": [r for r in low if r.learned == 1],
            "two or more, ratio < 60": [r for r in low if r.learned >= 2],
            "two or more, ratio >= 60": [
                r for r in mine if r.learned >= 2 and r.ratio >= HIGH_RATIO
            ],
            "nyx_64, two or more": [
                r for r in low if r.learned >= 2 and r.field.startswith("nyx_64")
            ],
            "all": mine,
        }
        table[codec] = {name: summary(part) for name, part in parts.items() if part}
    return table


def by_age(rows: Sequence) -> dict:
    """Median and 95th percentile of the error over the number of dumps learned, mini-app."""
    from caesura_lab.evaluating import HIGH_RATIO

    table: dict = {}
    for codec in dict.fromkeys(r.codec for r in rows):
        mine = [
            r
            for r in rows
            if r.codec == codec and r.field.startswith("miniapp") and r.ratio < HIGH_RATIO
        ]
        ages = sorted({r.learned for r in mine})
        errors = {n: [abs(r.error) for r in mine if r.learned == n] for n in ages}
        table[codec] = [
            {
                "learned": n,
                "blocks": len(e),
                "median": float(np.median(e)),
                "p95": float(np.percentile(e, 95)),
            }
            for n, e in errors.items()
        ]
    return table


# ------------------------------------------------------------------------------------ the pictures

CLASSES = {
    "caesura": "ours",
    "caesura:fast": "alt",
    "caesura:strong": "exact",
    "sz3": "sz",
    "zfp": "other",
}


def learning_picture(ages: dict) -> str:
    """Error over the number of dumps learned: solid the median, dashed the 95th percentile."""
    width, height, left, top, right, bottom = 760.0, 420.0, 70.0, 70.0, 640.0, 360.0
    most = max((p["learned"] for points in ages.values() for p in points), default=1) or 1
    values = [p[k] for points in ages.values() for p in points for k in ("median", "p95")]
    y = svg.Axis(max(1e-5, min(values) * 0.7), max(values) * 1.4, bottom, top)
    x = svg.Axis(0, most, left, right, log=False)
    parts = [
        svg.words(left, 30, "How far off predicted sizes are, over what was learned", "heading"),
        svg.words(left, 50, "mini-app, blocks of 8 MiB, ratio below 60; solid: median, dashed: "
                  "95th percentile", "soft"),
    ]  # fmt: skip
    for tick in y.ticks():
        parts.append(svg.line(left, y(tick), right, y(tick), "grid"))
        parts.append(svg.words(left - 6, y(tick) + 4, f"{100 * tick:g} %", "tick", "end"))
    for tick in range(0, most + 1, max(1, most // 6)):
        parts.append(svg.words(x(tick), bottom + 18, str(tick), "tick", "middle"))
    parts.append(svg.words((left + right) / 2, bottom + 38, "dumps of the field learned", "tick",
                           "middle"))  # fmt: skip
    parts.append(svg.line(left, y(0.02), right, y(0.02), "goal") if y.low < np.log(0.02) else "")
    names, ends = [], []
    for codec, points in ages.items():
        if not points:
            continue
        class_ = CLASSES.get(codec, "bad")
        for key, style in (("median", "line"), ("p95", "line dashed")):
            line = [(x(p["learned"]), y(max(1e-5, p[key]))) for p in points]
            parts.append(svg.polyline(line, f"{style} {class_}"))
        names.append((codec, class_))
        ends.append(y(max(1e-5, points[-1]["median"])))
    places = svg.spread_out(ends, 15, top, bottom)
    for (codec, class_), place in zip(names, places, strict=True):
        parts.append(svg.words(right + 8, place + 4, codec, f"name {class_}"))
    return svg.document(width, height, *parts)


# --------------------------------------------------------------------------------------- the script


def show(goals: list[dict]) -> None:
    """The goals as a table."""
    table = Table(box=None, padding=(0, 2), header_style="bold")
    for name in ("goal", "measured", "limit", "S1", ""):
        table.add_column(name, justify="left" if name in ("goal", "S1") else "right")
    for row in goals:
        verdict = "[green]met[/green]" if row["met"] else "[red]missed[/red]"
        measured, limit = f"{100 * row['measured']:.3g} %", f"{100 * row['limit']:.3g} %"
        table.add_row(row["name"], measured, limit, row["paper"], verdict)
    console.print(table)


def main() -> int:
    """Measure, write, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dumps", type=int, default=fields.AGES + 1, help="of each stretch")
    parser.add_argument("--codecs", nargs="+", default=[*OWN, *FOREIGN])
    parser.add_argument("--no-synthetic", action="store_true", help="leave the 256^3 fields out")
    options = parser.parse_args()
    from caesura_lab import evaluating
    from caesura_lab.report.prediction_picture import picture

    for line in fields.missing():
        console.print(line, style="yellow")
    series = miniapp(options.dumps) + redshifts() + singles()
    series += [] if options.no_synthetic else synthetic()
    if not series:
        console.print("no fields at all: nothing to predict", style="red")
        return 1
    bounds = [evaluating.parse_bound(f"rel={b:g}") for b in fields.RELATIVE_BOUNDS]
    remembered = Remembered()
    total = sum(d.raw_bytes for s in series for d in s.dumps) * len(bounds) * len(options.codecs)
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=32), TimeRemainingColumn())
    rows = []
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("predicting", total=total)
        for one in series:
            progress.update(task, description=one.name)
            rows += evaluating.evaluate(
                [one],
                bounds,
                options.codecs,
                tell=lambda count: progress.advance(task, count),
                encode=remembered.encode,
            )
    remembered.save()
    goals = own_goals(rows) + bursty_goals(rows) + foreign_goals(rows)
    ages = by_age(rows)
    path = results.merge(
        "sizes",
        {
            "goals": goals,
            "groups": groups(rows),
            "by_age": ages,
            "paper": "S1: error of the compressed size mostly below 10 %, cost below 10 %",
            "blocks": [evaluating.as_json(row) for row in rows],
        },
    )
    foreign = [row for row in rows if row.codec in FOREIGN]
    own = [row for row in rows if row.codec in OWN]
    for name, chosen in (("prediction_sizes_foreign", foreign), ("prediction_sizes_own", own)):
        if chosen:
            results.save_picture(name, picture(chosen, "Sizes of blocks, predicted and real"))
    results.save_picture("prediction_learning", learning_picture(ages))
    show(goals)
    console.print(f"{path}; pictures beside it", style="dim")
    return 0


if __name__ == "__main__":
    sys.exit(main())
