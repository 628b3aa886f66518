"""Durations, predicted and real: S1's Figures 5, 6, 11, 12 and 13, and the goals for them.

    python bench/prediction/times.py [--quick] [--profile FILE] [--directory DIR]

Compressions are CPU seconds of one thread, of blocks of real simulations (and the mini-app's dumps)
at relative bounds 1e-2 ... 1e-7. They are predicted three ways:

 eq1       S1-Eq1, C_min, C_max and a fitted to baryon density alone, as the paper did
 field     the better of S1-Eq1 and points, fitted to baryon density alone
 profile   what `caesura calibrate` measures on synthetic fields: no block of the test is known
 learned   the profile, refined by the dumps of the field that came before, two or more (what a
           Writer does)

always from *predicted* bits: a SizeModel that has seen as much as the CompressModel. Writes go to
DIR; the predicted sizes decide the predicted times.

Invariants: a figure's blocks are the same for all ways of predicting; nothing of a test block
reaches a prediction before it was made.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "bench" / "codec")]

import fields  # noqa: E402
import results  # noqa: E402
import times_pictures  # noqa: E402
from caesura import calibration, prediction  # noqa: E402
from caesura.calibration import measuring  # noqa: E402

CODECS = ("caesura", "caesura:fast", "caesura:strong", "sz3", "zfp")
FOREIGN_EXPONENTS = tuple(range(-5, -1))  # they take a hundred times as long
EXPONENTS = tuple(range(-7, -1))  # the paper: relative bounds in [1e-1, 1e-8]
TRAINING_FIELD = "baryon_density"
TRAINING_SOURCES = ("nyx_128_z050", "miniapp")
REPEATS = {"sz3": 2, "zfp": 2}  # of ours, which take milliseconds:
OWN_REPEATS = 4
MINIAPP_DUMPS = 3  # successive ones, which the models learn from
LEARNED_DUMPS = 2  # before a prediction counts as learned
GOAL_ERROR, GOAL_ORDERED = 0.10, 0.95
CALIBRATE_S = 24.0
TIES = (0.0, 0.02, 0.1)  # writes whose times differ by less have no order to be found
PAPER = {
    "figure 5": "SZ on Nyx and RTM fields: 120 to 250 MB/s, one curve for all of them",
    "figure 6": "SZ, 30 samples of four Nyx fields: like minima, like maxima",
    "figure 11": "512^3 Nyx, parameters of baryon density: points lie along the line (no number)",
    "figure 12": "1024^3 Nyx, parameters of 512^3: points lie along the line (no number)",
    "figure 13": "1024^3 Nyx: relative times are right; less so below 1 MB (no number)",
    "S1-Eq1": {"low_mb_per_s": 101.7, "high_mb_per_s": 240.6, "exponent": -1.716},
}


@dataclass
class Measured:
    """One block compressed at one bound."""

    codec: str
    source: str
    field: str
    exponent: int
    raw_bytes: int
    values: int
    features: prediction.Features
    stored_bytes: int
    cpu_s: float
    predict_s: float  # what sampling took
    repeat_noise: float  # |one half of the repeats over the other - 1|

    @property
    def bits(self) -> float:
        """Per value, as stored."""
        return 8.0 * self.stored_bytes / self.values

    @property
    def sample(self) -> tuple[int, float, float]:
        """For the fits."""
        return self.raw_bytes, self.bits, self.cpu_s


def chosen_blocks(quick: bool) -> list[fields.Block]:
    """float32 blocks of at least a megabyte: real ones, and the mini-app's at two dumps."""
    numbers = fields.dump_numbers()
    middle = len(numbers) // 2
    dumps = fields.miniapp_blocks(numbers[middle : middle + (2 if quick else MINIAPP_DUMPS)])
    real = sorted(fields.real_blocks(), key=lambda b: _redshift(b.source), reverse=True)
    blocks = [b for b in real + dumps if b.dtype == "float32"]
    if not quick:
        return blocks
    wanted = ("nyx_128_z050", "lwfa", "miniapp")
    chosen = [b for b in blocks if b.source.startswith(wanted)]
    return chosen[::2] or blocks[:6]


def _redshift(source: str) -> float:
    """Of nyx_64_z010: 10. Simulations run towards smaller ones."""
    number = source.rsplit("_z", 1)[-1]
    return float(number) if number.replace(".", "").isdigit() else 0.0


def measure(blocks: list[fields.Block], codecs: list[str], exponents: list[int]) -> list[Measured]:
    """Every block at every bound by every codec; the median of the repeats.

    A repeat takes all blocks in turn: at once a block would lie in the cache, and a machine that is
    slow for some seconds would be slow for a few blocks alone.
    """
    cases = list(itertools.product(codecs, exponents))
    times: dict[tuple, list[float]] = {}
    found: dict[tuple, Measured] = {}
    turns = max((REPEATS.get(codec, OWN_REPEATS) for codec in codecs), default=0)
    for turn, (number, block) in itertools.product(range(turns), enumerate(blocks)):
        print(f"\r{turn + 1}/{turns} {number + 1}/{len(blocks)} {block.name:60}", end="",
              file=sys.stderr)  # fmt: skip
        values = block.values()
        span = float(np.ptp(values[np.isfinite(values)]))
        if span == 0.0 or values.nbytes < 1 << 20:
            continue
        for codec, exponent in cases:
            bound, key = span * 10.0**exponent, (block.name, codec, exponent)
            made = prediction.BlockCodec(codec, "float32", values.shape, bound).encode(values)
            times.setdefault(key, []).append(made.cpu_s)
            if turn == 0:
                begin_s = time.thread_time()
                features = prediction.sample(values, bound, codec)
                predict_s = time.thread_time() - begin_s
                found[key] = Measured(
                    codec, block.source, block.field, exponent, values.nbytes, values.size,
                    features, made.stored_bytes, made.cpu_s, predict_s, 0.0,
                )  # fmt: skip
    print("\r" + " " * 80 + "\r", end="", file=sys.stderr)
    for key, m in found.items():
        m.cpu_s = statistics.median(times[key])
        halves = (
            statistics.median(times[key][::2]),
            statistics.median(times[key][1::2] or [m.cpu_s]),
        )
        m.repeat_noise = abs(halves[0] / halves[1] - 1.0)
    return list(found.values())


def calibrated(path: Path | None, codecs: list[str], seconds: float) -> calibration.Profile:
    """The given profile, or one measured now as `caesura calibrate` does."""
    if path is not None:
        profile = calibration.load(path)
        if profile is None:
            raise SystemExit(f"{path} does not exist")
        return profile
    profile = calibration.Profile()
    profile.host_class = calibration.host_class()["class"]
    found = measuring.measure_compressions(tuple(codecs), seconds, lambda _: None)
    for key, samples in found.points.items():
        if len(samples) >= 3:
            curve = calibration.fit_compress(samples)
            profile.add_compress(*key, curve, curve.median_error(samples), len(samples))
    return profile


def errors_of(pairs: list[tuple[float, float]]) -> dict:
    """Of (predicted, real): the distribution of |predicted / real - 1|."""
    errors = sorted(abs(p / r - 1.0) for p, r in pairs)
    if not errors:
        return {"blocks": 0}
    bias = statistics.median(p / r for p, r in pairs)
    at = lambda share: errors[min(len(errors) - 1, int(share * len(errors)))]  # noqa: E731
    return {
        "blocks": len(errors),
        "median": statistics.median(errors),
        "p90": at(0.9),
        "p99": at(0.99),
        "median_ratio": bias,
        "median_after_one_factor": statistics.median(abs(p / r / bias - 1.0) for p, r in pairs),
        "total": abs(sum(p for p, _ in pairs) / sum(r for _, r in pairs) - 1.0),
    }


def by_field(measured: list[Measured]) -> dict[tuple, list[Measured]]:
    """As a Writer would meet them: the blocks of a field at a bound, one dump after the other."""
    groups: dict[tuple, list[Measured]] = {}
    for m in measured:
        run = m.source.rsplit("_", 1)[0]  # nyx_64_z010 is a dump of nyx_64
        groups.setdefault((m.codec, run, m.field, m.exponent), []).append(m)
    return groups


def predictions(measured: list[Measured], profile: calibration.Profile) -> dict[str, list]:
    """(predicted s, real s, Measured) of the ways that use a profile; each field learns apart."""
    found: dict[str, list] = {"profile": [], "learned": []}
    for (codec, *_), group in by_field(measured).items():
        first = calibration.CompressModel(codec, "float32", profile)
        learning = calibration.CompressModel(codec, "float32", profile)
        sizes = prediction.SizeModel(codec)
        for number, m in enumerate(group):
            bits = 8.0 * sizes.predict(m.features).mean / m.values
            for name, model in (("profile", first), ("learned", learning)):
                if name == "learned" and number < LEARNED_DUMPS:
                    continue
                predicted = model.predict_s(m.raw_bytes, bits, m.features.mode)
                found[name].append((predicted, m.cpu_s, m))
            learning.learn(m.raw_bytes, m.bits, m.cpu_s, m.features.mode)
            sizes.learn(m.features, m.stored_bytes)
    return found


def offline(measured: list[Measured], form: str) -> tuple[list, list, object]:
    """Fitted to the training field alone: (predicted, real, Measured) of figure 11 and 12."""
    there = {m.source for m in measured if m.field == TRAINING_FIELD}
    source = next((s for p in TRAINING_SOURCES for s in sorted(there) if s.startswith(p)), None)
    if source is None:
        return [], [], None
    known = [m for m in measured if m.source == source and m.field == TRAINING_FIELD]
    curve = calibration.fit_compress([m.sample for m in known], form)
    same, other = [], []
    for m in measured:
        if m in known:
            continue
        bits = 8.0 * prediction.SizeModel(m.codec).predict(m.features).mean / m.values
        pair = (curve.predict_s(m.raw_bytes, bits), m.cpu_s, m)
        (same if m.source == source else other).append(pair)
    return same, other, curve


def figure_6(measured: list[Measured]) -> list[dict]:
    """The fastest and the slowest of each field's samples, in MB/s."""
    found = []
    groups: dict[tuple, list[float]] = {}
    for m in measured:
        groups.setdefault((m.codec, m.source, m.field), []).append(m.raw_bytes / m.cpu_s / 1e6)
    for (codec, source, field), speeds in groups.items():
        found.append({"codec": codec, "source": source, "field": field, "samples": len(speeds),
                      "low_mb_per_s": min(speeds), "high_mb_per_s": max(speeds)})  # fmt: skip
    return found


def writes(measured: list[Measured], directory: Path, seconds: float) -> dict:
    """Figure 13: writes of blocks of the sizes that our codec made, predicted from a calibration.

    The curve is fitted to the calibration's sizes; the blocks' own writes are new to it.
    """
    half = seconds / 2
    calibrated_writes = measuring.measure_writes(directory, half, lambda _: None)
    sizes = [(m.stored_bytes, _predicted_bytes(m)) for m in measured if m.codec == "caesura"]
    found = {}
    for synced in (False, True):
        curve = calibration.fit_write(calibrated_writes[synced])
        samples = _write_blocks([s for s, _ in sizes], directory, synced, half)
        real = [(stored, s) for stored, s in zip([s for s, _ in sizes], samples, strict=False)]
        pairs = [(curve.predict_s(p), s) for (_, p), (_, s) in zip(sizes, real, strict=False)]
        found["synced" if synced else "plain"] = {
            "errors": errors_of(pairs),
            "ordered_share": {f"{tie:g}": _ordered(pairs, tie) for tie in TIES},
            "latency_ms": 1e3 * curve.latency_s,
            "mb_per_s_at_1_mb": 1 / curve.predict_s(1e6),
            "mb_per_s_at_100_mb": 100 / curve.predict_s(1e8),
            "calibration": calibrated_writes[synced],
            "points": [(stored, p, s) for (stored, s), (p, _) in zip(real, pairs, strict=True)],
        }
    return found


def _predicted_bytes(m: Measured) -> float:
    return prediction.SizeModel(m.codec).predict(m.features).mean


def _ordered(pairs: list[tuple[float, float]], tie: float) -> float:
    """Share of the pairs of blocks that are predicted in their real order."""
    total = right = 0
    for (p1, r1), (p2, r2) in itertools.combinations(pairs, 2):
        if abs(r1 - r2) <= tie * min(r1, r2):
            continue
        total += 1
        right += (p1 < p2) == (r1 < r2)
    return right / total if total else 1.0


def _write_blocks(sizes: list[int], directory: Path, synced: bool, seconds: float) -> list[float]:
    """The median time of a write of each size, over as many rounds as fit, at most 9."""
    data = np.random.default_rng(1).bytes(max(sizes))
    times: list[list[float]] = [[] for _ in sizes]
    end_s = time.monotonic() + seconds
    for round_ in range(9):
        if round_ and time.monotonic() > end_s:
            break
        with tempfile.NamedTemporaryFile(dir=directory) as file:
            offset = 0
            for i, size in enumerate(sizes):
                begin_s = time.perf_counter()
                os.pwrite(file.fileno(), memoryview(data)[:size], offset)
                if synced:
                    os.fsync(file.fileno())
                times[i].append(time.perf_counter() - begin_s)
                offset += size
    return [statistics.median(t) for t in times]


def figures(measured: list[Measured], profile: calibration.Profile) -> dict:
    """Everything about compressions, by codec."""
    found = {}
    for codec in dict.fromkeys(m.codec for m in measured):
        mine = [m for m in measured if m.codec == codec]
        ways = predictions(mine, profile)
        entry = {name: errors_of([p[:2] for p in pairs]) for name, pairs in ways.items()}
        for name, form in (("eq1", "power"), ("field", "best")):
            same, other, curve = offline(mine, form)
            entry[f"figure 11 {name}"] = errors_of([p[:2] for p in same])
            entry[f"figure 12 {name}"] = errors_of([p[:2] for p in other])
            if name == "eq1" and curve is not None:
                entry["S1-Eq1"] = {
                    "low_mb_per_s": curve.low_bytes_per_s / 1e6,
                    "high_mb_per_s": curve.high_bytes_per_s / 1e6,
                    "exponent": curve.exponent,
                }
        entry["repeat_noise"] = statistics.median(m.repeat_noise for m in mine)
        entry["sampling_share"] = sum(m.predict_s for m in mine) / sum(m.cpu_s for m in mine)
        found[codec] = entry
    return found


def show(compress: dict, write: dict) -> None:
    """The table on stdout."""
    heads = "".join(f"{name:>9}" for name in ("eq1", "points", "profile", "learned", "repeat"))
    print(f"{'median error of compression time':34}{heads}")
    for codec, entry in compress.items():
        cells = [entry[f"figure 12 {n}"].get("median") for n in ("eq1", "field")]
        cells += [entry[n].get("median") for n in ("profile", "learned")]
        cells.append(entry["repeat_noise"])
        text = "".join(f"{'':>9}" if c is None else f"{100 * c:>8.1f}%" for c in cells)
        print(f"  {codec:32}{text}")
    for kind, entry in write.items():
        print(
            f"writes ({kind}): in order {', '.join(_shares(entry))} of pairs, "
            f"median error {100 * entry['errors']['median']:.1f} %"
        )


def _shares(entry: dict) -> list[str]:
    return [
        f"{100 * share:.1f} %" + (f" (differing by {100 * float(tie):g} %)" if tie != "0" else "")
        for tie, share in entry["ordered_share"].items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer fields, bounds and codecs")
    parser.add_argument(
        "--profile", type=Path, help="of `caesura calibrate`; default: measured now"
    )
    parser.add_argument("--directory", type=Path, default=results.OUT, help="where writes go")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    codecs = [c for c in CODECS if not measuring.installed(c)]
    exponents = list(EXPONENTS)
    if arguments.quick:
        codecs = [c for c in codecs if c in ("caesura", "caesura:fast", "sz3")]
        exponents = [-5, -4, -3, -2]
    blocks = chosen_blocks(arguments.quick)
    if not blocks:
        raise SystemExit("; ".join(fields.missing()))
    seconds = CALIBRATE_S / 3 if arguments.quick else CALIBRATE_S
    profile = calibrated(arguments.profile, codecs, seconds)
    measured = []
    for group in (measuring.OWN, measuring.FOREIGN):
        bounds = (
            exponents if group is measuring.OWN else sorted({*exponents} & {*FOREIGN_EXPONENTS})
        )
        measured += measure(blocks, [c for c in codecs if c in group], bounds)
    compress = figures(measured, profile)
    write = writes(measured, arguments.directory, seconds) if "caesura" in codecs else {}
    goal = {
        "median_error": compress.get("caesura", next(iter(compress.values())))["learned"].get(
            "median"
        ),
        "median_error_goal": GOAL_ERROR,
        "ordered_share": write.get("plain", {}).get("ordered_share", {}).get("0"),
        "ordered_share_goal": GOAL_ORDERED,
    }
    for name, svg in times_pictures.draw(measured, profile, predictions, offline, write).items():
        results.save_picture(name, svg)
    path = results.merge(
        "times",
        {"paper": PAPER, "compress": compress, "write": write, "goal": goal,
         "figure 6": figure_6(measured), "missing": fields.missing(),
         "points": [[m.codec, m.source, m.field, m.exponent, m.raw_bytes, m.bits, m.cpu_s]
                    for m in measured],
         "profile": json.loads(profile.to_json())},
    )  # fmt: skip
    show(compress, write)
    print(path)


if __name__ == "__main__":
    main()
