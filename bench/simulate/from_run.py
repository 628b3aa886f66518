#!/usr/bin/env python3
"""A run beside its simulation: the demo's modes measured, then simulated from what was measured.

  bench/simulate/from_run.py [--repeats N] [--quick] [--mode NAME]... [--again FOLDER]

Runs the mini-app in every mode, interleaved, makes scenarios from the traces and timings
(out/bench/simulate_run/*.toml), simulates them and prints both overheads. Writes
out/bench/simulate_run.json. --again simulates what an earlier call measured. Exit code 1 if a mode
differs by more than 2 points plus the spread of its measurement.

What is taken from the run, and from nothing else:
  iteration     length: mode compute. Obstacles: the trace of mode caesura, one iteration a rank
  blocks        compressed bytes and CPU seconds of each, from the traces (SZ3's for filter, plugin)
  handing over  seconds of put() and end() a dump, of the rank that waited least
  opening       of the file, per mode: added to the simulated time as it is
  noise         of the iteration's length: mode compute; else S0's
The file system's bandwidth is the emulated one's setting.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from caesura.demo.runner import Run, Runner, find_build, find_programs
from caesura.demo.scenario import Scenario
from caesura.simulation import parse, run_scenario
from caesura.trace import Event, Trace, read_traces

# The demo's name of a mode, the simulator's, and whose blocks it writes.
MODES = {
    "sync": ("sync", "caesura"),
    "filter": ("filter", "plugin"),
    "async": ("async", "caesura"),
    "plugin": ("caesura", "plugin"),
    "caesura": ("caesura", "caesura"),
    "unplanned": ("no_planning", "caesura"),
    "normal": ("normal_priority", "caesura"),
}
QUICK = {"grid": 128, "particles": 128, "steps": 8, "device_s": 0.4, "bandwidth": 75e6}
TOLERANCE = 0.02


# -------------------------------------------------------------------------------------- measuring


def measure(
    scenario: Scenario, repeats: int, folder: Path, chosen: list[str]
) -> dict[str, list[Run]]:
    """Every mode once a repeat, in an order that rotates."""
    programs = find_programs(find_build(), scenario.bandwidth > 0)
    # The obstacles come from the trace of caesura, the blocks of filter from that of plugin.
    needed = {"compute", "caesura", *chosen} | ({"plugin"} if "filter" in chosen else set())
    modes = [mode for mode in ("compute", *MODES) if mode in needed]
    runs: dict[str, list[Run]] = {mode: [] for mode in modes}
    for repeat in range(repeats):
        shift = repeat * 3 % len(modes)
        for mode in modes[shift:] + modes[:shift]:
            name, settings, place = how(mode, scenario, folder)
            place.mkdir(parents=True, exist_ok=True)
            runner = Runner(programs, settings, place)
            run = runner.run(name, repeat, None, lambda seconds: None)
            if run.output is not None:
                run.output.unlink(missing_ok=True)
            runs[mode].append(run)
            print(f"  {mode} {repeat + 1}: {run.timing['wall_s']:.2f} s", file=sys.stderr)
    return runs


def how(mode: str, scenario: Scenario, folder: Path) -> tuple[str, Scenario, Path]:
    """Mode, settings and place of a run: plugin is mode caesura with its codec, and a trace."""
    if mode == "plugin":
        return "caesura", replace(scenario, codec=scenario.filter_codec), folder / "plugin"
    return mode, scenario, folder


def measured_before(folder: Path) -> tuple[Scenario, dict[str, list[Run]]]:
    """What an earlier call left in the folder."""
    scenario = Scenario(**json.loads((folder / "scenario.json").read_text()))
    runs: dict[str, list[Run]] = {}
    for mode in ("compute", *MODES):
        name, _, place = how(mode, scenario, folder)
        for path in sorted(place.glob(f"{name}-*.timing.json")):
            stem = path.name.removesuffix(".timing.json")
            traces = sorted(place.glob(f"{stem}.trace-*.json"))
            timing = json.loads(path.read_text())
            repeat = int(stem.rpartition("-")[2])
            runs.setdefault(mode, []).append(Run(mode, repeat, timing, None, traces, 0.0))
    return scenario, runs


# ------------------------------------------------------------------------ from a run to a scenario


def pattern(events: list[Event], length_s: float) -> dict[str, Any]:
    """A rank's median iteration up to its output, stretched to the length of one without."""
    spans = []
    for event in (e for e in events if e.kind == "iteration"):
        handed = [
            e.begin_s
            for e in events
            if e.kind in ("put", "end") and event.begin_s <= e.begin_s < event.end_s
        ]
        spans.append((event.begin_s, min([event.end_s, *handed])))
    spans = sorted(spans[1:] or spans, key=lambda span: span[1] - span[0])
    begin_s, end_s = spans[len(spans) // 2]
    scale = length_s / (end_s - begin_s)
    lanes: dict[str, list[list[float]]] = {}
    for key, lane in (("host", "compress"), ("communicate", "write")):
        merged: list[list[float]] = []
        for event in events:
            if event.kind != "obstacle" or event.name != lane:
                continue
            low_s, high_s = max(event.begin_s, begin_s), min(event.end_s, end_s)
            if high_s <= low_s:
                continue
            low_s, high_s = (low_s - begin_s) * scale, min(length_s, (high_s - begin_s) * scale)
            if merged and low_s <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], high_s)
            else:
                merged.append([low_s, high_s])
        lanes[key] = merged
    return {"iteration_s": length_s, **lanes}


def of_rank(trace: Trace, rank: int) -> list[Event]:
    return sorted((e for e in trace.events if e.rank == rank), key=lambda e: e.begin_s)


def rank_blocks(run: Run, trace: Trace, block_bytes: float) -> list[list[list[float]]]:
    """Each rank's blocks of its middle dump. CPU seconds: what the run reports of all, shared out
    by the traces' durations, which include being suspended."""
    ranks, sums = [], []
    for rank in trace.ranks:
        compressions = [e for e in of_rank(trace, rank) if e.kind == "compress"]
        dumps = sorted({e.iteration for e in compressions})
        last = {(e.iteration, e.name): e for e in compressions}
        middle = dumps[len(dumps) // 2]
        ranks.append([e for (dump, _), e in sorted(last.items()) if dump == middle])
        sums.append(sum(e.duration_s for e in last.values()))
    cpu_share = min(1.0, run.timing["report"]["compress_s"] / max(sums))
    return [
        [[block_bytes, max(1.0, block_bytes / e.bytes), e.duration_s * cpu_share] for e in events]
        for events in ranks
    ]


def handing_over(trace: Trace) -> tuple[float, float]:
    """Mean seconds a dump of put(), and of end() on the rank that came last."""
    puts, ends = [], []
    for rank in trace.ranks:
        events = of_rank(trace, rank)
        dumps = {e.iteration for e in events if e.kind == "put"}
        puts.append(sum(e.duration_s for e in events if e.kind == "put") / max(1, len(dumps)))
        ends.append({e.iteration: e.duration_s for e in events if e.kind == "end"
                     and e.iteration in dumps})  # fmt: skip
    shared = [min(of[dump] for of in ends) for dump in ends[0] if all(dump in of for of in ends)]
    return max(puts), statistics.fmean(shared) if shared else 0.0


def in_flight(scenario: Scenario) -> int:
    """Dumps that fit the Writer's budget: half of the memory that is free, shared by the ranks."""
    free = 4 << 30
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) * 1024
    return max(1, min(64, free // 2 // scenario.dump_bytes))


def scenario_of(scenario: Scenario, runs: dict[str, list[Run]], codec: str) -> dict[str, Any]:
    """The scenario that the runs measured, with the blocks of mode `codec`."""
    lengths = [s for run in runs["compute"] for s in run.timing["iteration_s"][1:]]
    length_s = statistics.fmean(lengths)
    of_codec = runs[codec][len(runs[codec]) // 2]
    trace = read_traces(of_codec.traces)
    obstacles = read_traces(runs["caesura"][len(runs["caesura"]) // 2].traces)
    blocks_a_rank = sum(
        1 for name in {(e.name, e.iteration) for e in of_rank(trace, 0) if e.kind == "compress"}
    ) / len({e.iteration for e in of_rank(trace, 0) if e.kind == "compress"})
    rank_bytes = scenario.dump_bytes / scenario.ranks
    put_s, end_s = handing_over(trace)
    return {
        "name": f"measured, blocks of mode {codec}",
        "seed": 1,
        "repeats": 5,
        "machine": {"nodes": 1, "ranks_per_node": scenario.ranks,
                    "node_bytes_per_s": scenario.bandwidth, "latency_s": scenario.latency_s},
        "application": {
            "iterations": scenario.steps,
            "dump_every": scenario.dump_every,
            "tail_iterations": 1,
            "ranks": [pattern(of_rank(obstacles, rank), length_s) for rank in obstacles.ranks],
        },
        "data": {"ranks": rank_blocks(of_codec, trace, rank_bytes / blocks_a_rank)},
        "noise": {"interval_sigma": min(0.05, statistics.pstdev(lengths) / length_s)},
        "writer": {
            "write_buffer_bytes": float(scenario.write_buffer),
            "dumps_in_flight": in_flight(scenario),
            "snapshot_bytes_per_s": rank_bytes / put_s if put_s > 0 else 0.0,
            "collective_s": end_s,
        },
        # The emulated file system shares nothing with messages.
        "conflict": {"communicate_slowdown": 1.0},
    }  # fmt: skip


def fitted(table: dict[str, Any], wall_s: float) -> dict[str, Any]:
    """With iterations so long that computing alone takes as long as measured: the measured length
    is that of the slowest rank, and the slowest of noisy ranks takes longer than their pattern."""
    (point,) = run_scenario(parse(table), ["compute"])
    scale = wall_s / point.modes["compute"]["wall_s"]
    for rank in table["application"]["ranks"]:
        rank["iteration_s"] *= scale
        for lane in ("host", "communicate"):
            rank[lane] = [[begin_s * scale, end_s * scale] for begin_s, end_s in rank[lane]]
    return table


def toml(table: dict[str, Any]) -> str:
    """What scenario_of() makes, as a file that `caesura simulate` reads."""
    lines = ["# Made by bench/simulate/from_run.py from a run's traces and timings."]
    lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()
              if not isinstance(value, dict)]  # fmt: skip
    for name, inner in table.items():
        if not isinstance(inner, dict):
            continue
        lines.append(f"\n[{name}]")
        tables = {key: value for key, value in inner.items() if _are_tables(value)}
        plain = {key: value for key, value in inner.items() if key not in tables}
        lines += [f"{key} = {json.dumps(value)}" for key, value in plain.items()]
        for key, entries in tables.items():
            for entry in entries:
                lines.append(f"\n[[{name}.{key}]]")
                lines += [f"{k} = {json.dumps(v)}" for k, v in entry.items()]
    return "\n".join(lines) + "\n"


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


# -------------------------------------------------------------------------------------- comparing


def compare(
    scenario: Scenario, runs: dict[str, list[Run]], folder: Path
) -> dict[str, dict[str, float]]:
    """Measured and simulated overhead of every mode."""
    alone = [run.timing["wall_s"] for run in runs["compute"]]
    simulated: dict[str, dict[str, Any]] = {}
    for codec in ("caesura", "plugin"):
        if codec not in runs:
            continue
        table = fitted(scenario_of(scenario, runs, codec), statistics.median(alone))
        (folder / f"{codec}.toml").write_text(toml(table), encoding="utf-8")
        (point,) = run_scenario(parse(table))
        simulated[codec] = point.modes
    rows: dict[str, dict[str, float]] = {}
    for mode, (kind, codec) in MODES.items():
        if mode not in runs:
            continue
        walls = [run.timing["wall_s"] for run in runs[mode]]
        overheads = [w / a - 1 for w, a in zip(walls, alone, strict=False)]
        open_s = statistics.median(run.timing["open_s"] for run in runs[mode])
        found = simulated[codec][kind]
        bare_s = simulated[codec]["compute"]["wall_s"]
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
    options = arguments.parse_args()
    out = Path(os.environ.get("CAESURA_OUT", "out")) / "bench"
    folder = options.again or out / "simulate_run"
    if options.again:
        scenario, runs = measured_before(folder)
    else:
        scenario = replace(Scenario(), **QUICK) if options.quick else Scenario()
        runs = measure(scenario, options.repeats, folder, options.mode or list(MODES))
        (folder / "scenario.json").write_text(json.dumps(asdict(scenario), indent=1) + "\n")
    rows = compare(scenario, runs, folder)
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
    result = {"scenario": asdict(scenario), "repeats": len(compute), "compute_s": compute,
              "modes": rows}  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    (out / "simulate_run.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
