#!/usr/bin/env python3
"""What a change of the code did to speed, overheads and sizes: two builds beside each other.

    make bench ARGS="builds --before DIR [--rounds N] [--fields N] [--json FILE]"

DIR is the build tree of another checkout, with the Python module and the mini-app; this one's is
the build after. Every round runs both, in turns that begin with the other one each time; figures
are ratios after/before within a round, their median and their quartiles. Frames are compared by
size and by bytes. Nothing is pass or fail: whoever reads it judges what is noise.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "codec"))

MODES = ("fast", "strong", "planes")
RELATIVE_BOUND = 1e-3
REPEATS = 3  # of each call; the shortest counts
APPLICATION = ["--grid", "128", "--steps", "9", "--device-s", "0.5", "--device", "emulated"]
APPLICATION += ["--no-fsync", "--quiet"]


# ---------------------------------------------------------------------------- one build, one round


def shortest_s(call: Any) -> tuple[float, Any]:
    best, result = float("inf"), None
    for _ in range(REPEATS):
        begin = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - begin)
    return best, result


def code_fields(count: int) -> dict[str, dict[str, Any]]:
    """By the module that PYTHONPATH names: each field in each mode."""
    import fields
    import numpy as np
    from caesura import codec

    found = {}
    blocks = fields.real_blocks()
    for block in blocks[:: max(1, len(blocks) // count)]:
        values = block.values()
        span = float(np.ptp(values[np.isfinite(values)]))
        if span == 0.0:
            continue
        bound = ("absolute", RELATIVE_BOUND * span)
        for mode in MODES:
            compress_s, frame = shortest_s(
                lambda v=values, b=bound, m=mode: codec.compress(v, b, mode=m, threads=1)
            )
            decompress_s, _ = shortest_s(lambda f=frame: codec.decompress(f, threads=1))
            found[f"{block.name} {mode}"] = {
                "raw_bytes": values.nbytes,
                "bytes": len(frame),
                "digest": hashlib.sha256(frame).hexdigest(),
                "compress_s": compress_s,
                "decompress_s": decompress_s,
            }
    return found


def code(build: Path, count: int) -> dict[str, dict[str, Any]]:
    environment = {**os.environ, "PYTHONPATH": str(build / "python")}
    command = [sys.executable, str(HERE), "--worker", str(count)]
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


def simulate(build: Path, mode: str) -> dict[str, float]:
    """One run of the mini-app on 2 ranks."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        timing = Path(place, "timing.json")
        command = ["mpirun", "-n", "2", str(build / "miniapps/cosmology/cosmology"), *APPLICATION]
        command += ["--mode", mode, "--timing-json", str(timing)]
        if mode != "compute":
            command += ["--output", str(Path(place, "run.h5"))]
        subprocess.run(command, check=True, capture_output=True)
        told = json.loads(timing.read_text())
    return {
        "run_s": sum(told["iteration_s"]) + told["open_s"] + told["close_s"],
        "in_calls_s": told["output_s"] + told["open_s"] + told["close_s"],
        "file_bytes": told.get("file_bytes") or 0,
    }


def application(build: Path) -> dict[str, float]:
    """What output costs, in shares of the same run without."""
    alone, written = simulate(build, "compute"), simulate(build, "caesura")
    return {
        "compute_s": alone["run_s"],
        "overhead": written["run_s"] / alone["run_s"] - 1.0,
        "in_calls": written["in_calls_s"] / alone["run_s"],
        "file_bytes": written["file_bytes"],
    }


# ----------------------------------------------------------------------------------- both of them


def spread(values: list[float]) -> dict[str, float]:
    low, middle, high = quantiles(values, n=4) if len(values) > 1 else values * 3
    return {"median": middle, "low": low, "high": high}


def summarise(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """`rounds`: for before and after, what code() and application() said."""
    summary: dict[str, Any] = {}
    first = rounds[0]
    cases = sorted(set(first["before"]["codec"]) & set(first["after"]["codec"]))
    for what in ("compress_s", "decompress_s"):
        for mode in MODES:
            ratios = [
                median(
                    one["before"]["codec"][case][what] / one["after"]["codec"][case][what]
                    for case in cases
                    if case.endswith(f" {mode}")
                )
                for one in rounds
            ]
            summary[f"{what.removesuffix('_s')} speed, {mode}"] = spread(ratios)
    summary["frames"] = len(cases)
    for what in ("bytes", "digest"):
        summary[f"frames of other {what}"] = sum(
            first["before"]["codec"][case][what] != first["after"]["codec"][case][what]
            for case in cases
        )
    for what in ("overhead", "in_calls", "compute_s", "file_bytes"):
        for which in ("before", "after"):
            told = [one[which]["application"][what] for one in rounds]
            summary[f"{what} {which}"] = spread(told)
    return summary


def show(summary: dict[str, Any]) -> None:
    print(f"{'':34} {'median':>10} {'quartiles':>21}")
    for name, value in summary.items():
        if isinstance(value, dict):
            low, middle, high = value["low"], value["median"], value["high"]
            print(f"{name:34} {middle:10.4g} {low:10.4g} {high:10.4g}")
        else:
            print(f"{name:34} {value:10}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--before", type=Path, help="the build tree to compare with")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--fields", type=int, default=8, help="about so many real fields")
    parser.add_argument("--json", type=Path, help="every figure of every round")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        print(json.dumps(code_fields(options.worker)))
        return
    if not options.before:
        parser.error("--before DIR: which build is this one to be compared with?")
    after = Path(os.environ.get("CAESURA_BUILD", HERE.parents[2] / "build"))
    builds = {"before": options.before.resolve(), "after": after.resolve()}
    rounds: list[dict[str, Any]] = []
    for number in range(options.rounds):
        told: dict[str, Any] = {}
        for which in list(builds) if number % 2 == 0 else list(reversed(builds)):
            told[which] = {
                "codec": code(builds[which], options.fields),
                "application": application(builds[which]),
            }
        rounds.append(told)
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    summary = summarise(rounds)
    show(summary)
    if options.json:
        options.json.write_text(json.dumps({"summary": summary, "rounds": rounds}, indent=1))


if __name__ == "__main__":
    main()
