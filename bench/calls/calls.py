#!/usr/bin/env python3
"""What a dump costs in put() and end(), beside a copy of its bytes into touched memory.

    make bench ARGS="calls [--repeats N] [--before PROGRAM]"

Runs build/bench/calls/calls (its head says what it does) and writes out/bench/calls.json. PROGRAM
is the same program of an earlier build: both then take turns. The first dump stands by itself: its
memory is fresh, and nothing is known of its blocks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "codec"))
import conditions  # noqa: E402

GOALS_MS = {"first": 30.0, "later": 10.0}


def one_run(program: Path, dumps: int) -> dict:
    with tempfile.TemporaryDirectory() as place:
        command = [program, "--dumps", str(dumps), "--file", f"{place}/calls.h5"]
        # Times are predicted from built-in curves, whatever this machine has been calibrated to.
        environment = {**os.environ, "CAESURA_CALIBRATION": "none"}
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
        return json.loads(done.stdout)


def spread(values: list[float]) -> dict[str, float]:
    low, middle, high = quantiles(values, n=4) if len(values) > 1 else values * 3
    return {"low": low, "median": middle, "high": high}


def summed_up(runs: list[dict]) -> dict:
    """Milliseconds, quartiles over dumps and runs; shares over all runs."""
    told = {}
    for which, part in (("first", slice(0, 1)), ("later", slice(1, None))):
        dumps = [dump for run in runs for dump in run["dumps"][part]]
        told[which] = {
            key: spread([1e3 * dump[key] for dump in dumps]) for key in ("put_s", "end_s", "copy_s")
        }
        told[which]["calls_over_copy"] = median(
            (dump["put_s"] + dump["end_s"]) / dump["copy_s"] for dump in dumps
        )
        shared = [dump for dump in dumps if "shared_copy_s" in dump]
        if shared:  # earlier builds do not say
            told[which]["shared_copy_s"] = spread([1e3 * dump["shared_copy_s"] for dump in shared])
            told[which]["calls_over_shared_copy"] = median(
                (dump["put_s"] + dump["end_s"]) / dump["shared_copy_s"] for dump in shared
            )
        known = [dump for dump in dumps if "predicted_compress_s" in dump]
        if known:
            told[which]["predicted_over_compress"] = spread(
                [dump["predicted_compress_s"] / dump["compress_s"] for dump in known]
            )
    stored = sum(run["stored_bytes"] for run in runs)
    told["unused_share"] = sum(run["spare_bytes"] for run in runs) / stored
    told["overflow_share"] = sum(run["overflow_blocks"] for run in runs) / sum(
        run["blocks"] for run in runs
    )
    return told


def show(name: str, told: dict) -> None:
    for which in ("first", "later"):
        row = told[which]
        numbers = ", ".join(
            f"{key.removesuffix('_s')} {row[key]['median']:.1f} "
            f"({row[key]['low']:.1f} to {row[key]['high']:.1f}) ms"
            for key in ("copy_s", "put_s", "end_s")
        )
        times = f"calls {row['calls_over_copy']:.2f} times the copy"
        print(f"{name}, {which}: {numbers}; {times}; goal of end {GOALS_MS[which]:.0f} ms")
        if shared := row.get("shared_copy_s"):
            print(
                f"{name}, {which}: by all threads that put may use the copy takes "
                f"{shared['median']:.1f} ({shared['low']:.1f} to {shared['high']:.1f}) ms, calls "
                f"{row['calls_over_shared_copy']:.2f} times that"
            )
        if predicted := row.get("predicted_over_compress"):
            low, middle, high = (predicted[key] for key in ("low", "median", "high"))
            print(
                f"{name}, {which}: compressing was predicted to take {middle:.2f} "
                f"({low:.2f} to {high:.2f}) of the CPU time that it took"
            )
    print(
        f"{name}: {100 * told['unused_share']:.2f} % of the file unused (goal 2 %), "
        f"{100 * told['overflow_share']:.2f} % of blocks overflowed (goal 1 %)"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dumps", type=int, default=10)
    parser.add_argument("--before", type=Path, metavar="PROGRAM")
    options = parser.parse_args()
    programs = {"now": ROOT / "build" / "bench" / "calls" / "calls"}
    if options.before:
        programs["before"] = options.before
    runs: dict[str, list[dict]] = {name: [] for name in programs}
    for repeat in range(options.repeats):
        for name in sorted(programs, reverse=repeat % 2 == 1):
            runs[name].append(one_run(programs[name], options.dumps))
    told = {name: summed_up(of) for name, of in runs.items()}
    for name in sorted(told):
        show(name, told[name])
    result = ROOT / "out" / "bench" / "calls.json"
    result.parent.mkdir(parents=True, exist_ok=True)
    written = {"conditions": conditions.conditions(), "runs": runs, **told}
    result.write_text(json.dumps(written, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
