#!/usr/bin/env python3
"""A run beside its simulation: the demo's modes measured, then simulated from what was measured.

  bench/simulate/from_run.py [--repeats N] [--quick] [--mode NAME]... [--more] [--again FOLDER]

Runs the mini-app in every mode, interleaved, makes scenarios from the traces and timings
(out/bench/simulate_run/*.toml), simulates them and prints both overheads, which are medians over
the median of computing alone. Writes out/bench/simulate_run.json. --more adds repeats to the last
call's; --again simulates what an earlier call measured. Exit code 1 if a mode differs by more than
2 points plus the spread of its measurement.

What is taken from the run, and from nothing else:
  iterations    lengths: mode compute, medians. Obstacles: the trace of mode caesura
  blocks        compressed bytes and CPU seconds of each, from the trace of the mode's codec
  handing over  seconds of put() and end() a dump, of the rank that waited least: the mode's trace
  opening       of the file, per mode: added to the simulated time as it is
  closing       what close() takes after the last write: the mode's trace
  noise         S0's of ratios and speeds; none of the iterations, which are as they were
What from small runs under other conditions (calibration.py): HDF5's calls, its copies and the speed
of its filter, and what it takes to copy a write into the system. The file system's bandwidth is the
emulated one's setting.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
from dataclasses import asdict, replace
from pathlib import Path

from caesura_lab.demo.runner import Programs, Run, Runner, find_build, find_programs
from caesura_lab.demo.scenario import Scenario
from caesura_lab.simulation import parse, run_scenario
from calibration import Calibration, calibrate, calibration_of
from measured import fitted, of_mode, scenario_of, toml

# The demo's name of a mode, and the simulator's.
MODES = {
    "sync": "sync",
    "filter": "filter",
    "async": "async",
    "plugin": "caesura",
    "caesura": "caesura",
    "unplanned": "no_planning",
    "normal": "normal_priority",
}
QUICK = {"grid": 128, "particles": 128, "steps": 8, "device_s": 0.4, "bandwidth": 75e6}
TOLERANCE = 0.02


# -------------------------------------------------------------------------------------- measuring


def measure(
    programs: Programs, scenario: Scenario, repeats: int, folder: Path, chosen: list[str]
) -> dict[str, list[Run]]:
    """Every mode once a repeat, and computing alone, which all are compared with, twice, in an
    order that rotates; before each repeat a calibration. Adds to what the folder holds."""
    # The obstacles come from the trace of caesura, the blocks of filter from that of plugin.
    needed = {"caesura", *chosen} | ({"plugin"} if "filter" in chosen else set())
    modes = [mode for mode in MODES if mode in needed]
    modes = ["compute", *modes[: len(modes) // 2], "compute", *modes[len(modes) // 2 :]]
    folder.mkdir(parents=True, exist_ok=True)
    runs = measured_before(folder)
    (folder / "scenario.json").write_text(json.dumps(asdict(scenario), indent=1) + "\n")
    runner = Runner(programs, scenario, folder)
    for repeat in range(repeats):
        calibrate(programs, scenario, folder / "calibration", len(runs.get("caesura", [])))
        shift = repeat * 4 % len(modes)
        for mode in modes[shift:] + modes[:shift]:
            earlier = runs.setdefault(mode, [])
            run = runner.run(mode, len(earlier), None, lambda seconds: None)
            if run.output is not None:
                run.output.unlink(missing_ok=True)
            earlier.append(run)
            print(f"  {mode} {len(earlier)}: {run.timing['wall_s']:.2f} s", file=sys.stderr)
    return runs


def measured_before(folder: Path) -> dict[str, list[Run]]:
    """What an earlier call left in the folder."""
    runs: dict[str, list[Run]] = {}
    for mode in ("compute", *MODES):
        for path in sorted(folder.glob(f"{mode}-*.timing.json")):
            stem = path.name.removesuffix(".timing.json")
            traces = sorted(folder.glob(f"{stem}.trace-*.json"))
            timing = json.loads(path.read_text())
            repeat = int(stem.rpartition("-")[2])
            runs.setdefault(mode, []).append(Run(mode, repeat, timing, None, traces, 0.0))
    return runs


# -------------------------------------------------------------------------------------- comparing


def compare(
    scenario: Scenario, runs: dict[str, list[Run]], calibrated: Calibration, folder: Path
) -> dict[str, dict[str, float]]:
    """Measured and simulated overhead of every mode."""
    alone = [run.timing["wall_s"] for run in runs["compute"]]
    shared = fitted(scenario_of(scenario, runs), statistics.median(alone))
    rows: dict[str, dict[str, float]] = {}
    for mode, kind in MODES.items():
        if mode not in runs:
            continue
        table = of_mode(shared, scenario, runs, mode, calibrated)
        (folder / f"{mode}.toml").write_text(toml(table), encoding="utf-8")
        (point,) = run_scenario(parse(table), [kind])
        found, bare_s = point.modes[kind], point.modes["compute"]["wall_s"]
        walls = [run.timing["wall_s"] for run in runs[mode]]
        overheads = [wall_s / statistics.median(alone) - 1 for wall_s in walls]
        open_s = statistics.median(run.timing["open_s"] for run in runs[mode])
        rows[mode] = {
            "measured": statistics.median(overheads),
            "measured_low": min(overheads),
            "measured_high": max(overheads),
            "simulated": found["overhead"] + open_s / bare_s,
            "opening": open_s / bare_s,
        }
    return rows


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--quick", action="store_true", help="128^3 cells, shorter steps")
    arguments.add_argument("--mode", action="append", choices=MODES, help="only this one")
    arguments.add_argument("--again", type=Path, metavar="FOLDER", help="what was measured there")
    arguments.add_argument("--more", action="store_true", help="repeats beside the last call's")
    options = arguments.parse_args()
    out = Path(os.environ.get("CAESURA_OUT", "out")) / "bench"
    folder = options.again or out / "simulate_run"
    if options.again:
        scenario = Scenario(**json.loads((folder / "scenario.json").read_text()))
        runs = measured_before(folder)
    else:
        scenario = replace(Scenario(), **QUICK) if options.quick else Scenario()
        programs = find_programs(find_build(), scenario.bandwidth > 0)
        if not options.more:
            shutil.rmtree(folder, ignore_errors=True)
        runs = measure(programs, scenario, options.repeats, folder, options.mode or list(MODES))
    calibrated = calibration_of(scenario, folder / "calibration")
    rows = compare(scenario, runs, calibrated, folder)
    print(f"{'mode':12}{'measured':>12}{'':>8}{'simulated':>12}{'of it opening':>16}{'apart':>14}")
    apart = 0
    for mode, row in rows.items():
        spread = (row["measured_high"] - row["measured_low"]) / 2
        difference = row["simulated"] - row["measured"]
        apart += abs(difference) > TOLERANCE + spread
        print(
            f"{mode:12}{100 * row['measured']:10.1f} % ±{100 * spread:5.1f}"
            f"{100 * row['simulated']:11.1f} %{100 * row['opening']:14.1f} %"
            f"{100 * difference:+10.1f} points"
        )
    compute = [run.timing["wall_s"] for run in runs["compute"]]
    noise = (max(compute) - min(compute)) / 2 / statistics.median(compute)
    print(f"compute alone: {statistics.median(compute):.2f} s ± {100 * noise:.1f} %")
    result = {"scenario": asdict(scenario), "repeats": len(compute) // 2, "compute_s": compute,
              "calibration": asdict(calibrated), "modes": rows}  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    (out / "simulate_run.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
