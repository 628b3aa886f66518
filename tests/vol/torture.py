#!/usr/bin/env python3
"""Run the program `torture` many times under random delays: no hang, no loss.

Each run has a seed, which draws what the program does, the connector's configuration and where
MPI calls, writes and workers are delayed (delays.c). The program runs natively without delays and
under the connector with them; its own assertions must hold, the same files must come out, and
h5diff must find no difference beyond the bound. A run that is not done in time has hung.

Standard library only. Exit status: 0 if every run passed, else 1. Failed runs stay in <out>.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import time
from collections import Counter
from pathlib import Path

from beside_native import Expected, check_captured, compare, connector_variables, launch


def configuration(seed: int) -> tuple[float, str]:
    """The bound and the configuration file of a run."""
    draw = random.Random(seed)
    bound = draw.choice([0.0, 1e-3])
    lines = [
        f"bound = {bound}" if bound else 'bound_kind = "lossless"',
        "threshold_bytes = 2048",
        f"chunk_bytes = {draw.choice([4096, 16384, 65536])}",
        f"memory_bytes = {draw.choice([0, 100_000, 1_000_000])}",
        f'durability = "{draw.choice(["close", "close", "durable"])}"',
    ]
    return bound, "\n".join(lines) + "\n"


def run_once(options: argparse.Namespace, seed: int) -> str:
    """What became of one run: passed, or at what it failed."""
    bound, text = configuration(seed)
    native, ours = options.out / f"native-{seed}", options.out / f"ours-{seed}"
    report = ours.with_suffix(".json")
    ours.with_suffix(".toml").write_text(f'report = "{report}"\n{text}')
    drawn = {"VOL_TEST_SEED": str(seed), "VOL_TEST_STEPS": str(options.steps)}
    if not launch(options, options.ranks, native, drawn):
        return "natively"
    variables = connector_variables(options, ours, bound) | drawn
    if options.delays:
        variables |= {"LD_PRELOAD": options.delays, "VOL_TEST_DELAYS": str(seed)}
    if not launch(options, options.ranks, ours, variables):
        return "hang or loss"
    if not compare(options, native, ours, bound):
        return "difference"
    if not check_captured(report, Expected(1, 1)):
        return "nothing captured"
    for place in (native, ours):
        shutil.rmtree(place)
    ours.with_suffix(".toml").unlink()
    report.unlink()
    return "passed"


def main() -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--steps", type=int, default=60, help="of the program")
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--h5diff", default="h5diff")
    parser.add_argument("--without-bounds", required=True, help="the program vol_without_bounds")
    parser.add_argument("--connector", required=True, help="directory of libcaesura_vol.so")
    parser.add_argument("--filters", required=True, help="directory of libh5caesura.so")
    parser.add_argument("--delays", help="the library that delays; none without")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    outcomes: Counter[str] = Counter()
    begin_s = time.monotonic()
    for done, seed in enumerate(range(options.seed, options.seed + options.runs), 1):
        outcome = run_once(options, seed)
        outcomes[outcome] += 1
        if outcome != "passed":
            print(f"seed {seed}: {outcome}", flush=True)
        if done % 10 == 0:
            print(f"{done} of {options.runs} runs, {time.monotonic() - begin_s:.0f} s", flush=True)
    took_s = time.monotonic() - begin_s
    told = ", ".join(f"{name} {n}" for name, n in sorted(outcomes.items()))
    print(f"{options.runs} runs on {options.ranks} ranks in {took_s:.0f} s: {told}")
    return 0 if outcomes["passed"] == options.runs else 1


if __name__ == "__main__":
    sys.exit(main())
