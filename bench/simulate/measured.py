"""From a run's traces and timings to the scenario that simulates it.

Invariants: what stands in a scenario was measured, in the run or by calibration.py; nothing is
fitted to the time that is to be simulated, but for mode compute, which all modes are relative to.
"""

from __future__ import annotations

import copy
import json
import statistics
from dataclasses import asdict
from pathlib import Path
from typing import Any

from caesura.trace import Event, Trace, read_traces
from caesura_lab.demo.runner import Run
from caesura_lab.demo.scenario import Scenario
from caesura_lab.simulation import parse, run_scenario
from calibration import Calibration


def iterations_of(events: list[Event], lengths_s: list[float]) -> list[dict[str, Any]]:
    """A rank's iterations up to their output, stretched to the lengths of those without.

    The demo's ranks spin while they wait for messages (runner.py): to a worker at idle priority
    that is a core in use, as is computing.
    """
    own = sorted((e for e in events if e.kind == "iteration"), key=lambda e: e.iteration)
    handed = [e.begin_s for e in events if e.kind in ("put", "end")]
    made = []
    for event, length_s in zip(own, lengths_s, strict=True):
        ends = [begin_s for begin_s in handed if event.begin_s <= begin_s < event.end_s]
        begin_s, end_s = event.begin_s, min([event.end_s, *ends])
        made.append({
            "iteration_s": length_s,
            "host": busy(events, ("compress", "write"), begin_s, end_s, length_s),
            "communicate": busy(events, ("write",), begin_s, end_s, length_s),
        })  # fmt: skip
    return made


def busy(
    events: list[Event], lanes: tuple[str, ...], begin_s: float, end_s: float, length_s: float
) -> list[list[float]]:
    """The lanes' obstacles in [begin_s, end_s), merged, stretched to [0, length_s)."""
    scale = length_s / (end_s - begin_s)
    merged: list[list[float]] = []
    for event in events:
        if event.kind != "obstacle" or event.name not in lanes:
            continue
        low_s, high_s = max(event.begin_s, begin_s), min(event.end_s, end_s)
        if high_s <= low_s:
            continue
        low_s, high_s = (low_s - begin_s) * scale, min(length_s, (high_s - begin_s) * scale)
        if merged and low_s <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], high_s)
        else:
            merged.append([low_s, high_s])
    return merged


def of_rank(trace: Trace, rank: int) -> list[Event]:
    return sorted((e for e in trace.events if e.rank == rank), key=lambda e: e.begin_s)


def rank_blocks(run: Run, trace: Trace, block_bytes: float) -> list[list[list[float]]]:
    """Each rank's blocks, means of its dumps. CPU seconds: what the run reports of the rank that
    took most, shared out by the traces' durations, which include being suspended."""
    ranks: list[list[tuple[float, float]]] = []
    sums = []
    for rank in trace.ranks:
        last = {(e.iteration, e.name): e for e in of_rank(trace, rank) if e.kind == "compress"}
        by_name: dict[str, list[Event]] = {}
        for (_, name), event in sorted(last.items()):
            by_name.setdefault(name, []).append(event)
        ranks.append(
            [
                (statistics.fmean(e.bytes for e in of), statistics.fmean(e.duration_s for e in of))
                for of in by_name.values()
            ]
        )
        sums.append(sum(e.duration_s for e in last.values()))
    cpu_share = min(1.0, run.timing["report"]["compress_s"] / max(sums))
    return [
        [
            [block_bytes, max(1.0, block_bytes / stored), duration_s * cpu_share]
            for stored, duration_s in blocks
        ]
        for blocks in ranks
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


def closing(trace: Trace) -> float:
    """Seconds of close() after the last write, of the rank that waited least."""
    last_s = max(e.end_s for e in trace.events if e.kind == "write")
    closes = [e for e in trace.events if e.kind == "wait" and e.name == "close"]
    return min(e.end_s - max(e.begin_s, last_s) for e in closes)


def in_flight(scenario: Scenario) -> int:
    """Dumps that fit the Writer's budget: half of the memory that is free, shared by the ranks."""
    free = 4 << 30
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) * 1024
    return max(1, min(64, free // 2 // scenario.dump_bytes))


def middle(runs: list[Run]) -> Run:
    return sorted(runs, key=lambda run: run.timing["wall_s"])[len(runs) // 2]


def scenario_of(scenario: Scenario, runs: dict[str, list[Run]]) -> dict[str, Any]:
    """What all modes share: machine, iterations, and their noise."""
    alone = [run.timing["iteration_s"] for run in runs["compute"]]
    lengths_s = [statistics.median(of) for of in zip(*alone, strict=True)]
    seen = read_traces(middle(runs["caesura"]).traces)
    return {
        "name": "measured",
        "seed": 1,
        "repeats": 5,
        "machine": {"nodes": 1, "ranks_per_node": scenario.ranks,
                    "node_bytes_per_s": scenario.bandwidth, "latency_s": scenario.latency_s},
        "application": {
            "iterations": scenario.steps,
            "dump_every": scenario.dump_every,
            "tail_iterations": 1,
            "ranks": [
                {"iterations": iterations_of(of_rank(seen, rank), lengths_s)}
                for rank in seen.ranks
            ],
        },
        "data": blocks_of(scenario, runs["caesura"]),
        "noise": {"interval_sigma": 0.0},  # iterations are as long as they were
        "writer": {
            "write_buffer_bytes": float(scenario.write_buffer),
            "dumps_in_flight": in_flight(scenario),
        },
        # The emulated file system shares nothing with messages.
        "conflict": {"communicate_slowdown": 1.0},
    }  # fmt: skip


def blocks_of(scenario: Scenario, runs: list[Run]) -> dict[str, Any]:
    """Each rank's blocks as those runs compressed them."""
    run = middle(runs)
    trace = read_traces(run.traces)
    compressed = [e for e in of_rank(trace, 0) if e.kind == "compress"]
    blocks = len({(e.name, e.iteration) for e in compressed}) / len(
        {e.iteration for e in compressed}
    )
    return {"ranks": rank_blocks(run, trace, scenario.dump_bytes / scenario.ranks / blocks)}


def of_mode(
    table: dict[str, Any],
    scenario: Scenario,
    runs: dict[str, list[Run]],
    mode: str,
    calibrated: Calibration,
) -> dict[str, Any]:
    """The shared scenario with what `mode` alone has: its blocks, and what its calls take."""
    table = copy.deepcopy(table) | {"name": f"measured, mode {mode}"}
    rank_bytes = scenario.dump_bytes / scenario.ranks
    if mode in ("plugin", "filter"):
        table["data"] = blocks_of(scenario, runs["plugin"])
    if mode in calibrated.libraries:
        library = asdict(calibrated.libraries[mode])
        if mode == "filter":
            s_per_byte = 1.0 / library.pop("bytes_per_s")
            for rank in table["data"]["ranks"]:
                for block in rank:
                    block[2] = block[0] * s_per_byte
        table["library"] = library
        return table
    trace = read_traces(middle(runs[mode]).traces)
    put_s, end_s = handing_over(trace)
    table["writer"] |= {
        "snapshot_bytes_per_s": rank_bytes / put_s if put_s > 0 else 0.0,
        "collective_s": end_s,
        "copy_bytes_per_s": calibrated.copy_bytes_per_s,
        "close_s": closing(trace),
    }
    return table


def fitted(table: dict[str, Any], wall_s: float) -> dict[str, Any]:
    """With iterations so long that computing alone takes as long as measured, opening included."""
    (point,) = run_scenario(parse(table), ["compute"])
    scale = wall_s / point.modes["compute"]["wall_s"]
    for rank in table["application"]["ranks"]:
        for one in rank["iterations"]:
            one["iteration_s"] *= scale
            for lane in ("host", "communicate"):
                one[lane] = [[begin_s * scale, end_s * scale] for begin_s, end_s in one[lane]]
    return table


def toml(table: dict[str, Any]) -> str:
    """What scenario_of() makes, as a file that `caesura simulate` reads."""
    lines = ["# Made by bench/simulate/from_run.py from a run's traces and timings."]
    lines += [f"{key} = {_value(value)}" for key, value in table.items()
              if not isinstance(value, dict)]  # fmt: skip
    for name, inner in table.items():
        if isinstance(inner, dict):
            lines.append(f"\n[{name}]")
            lines += [f"{key} = {_value(value)}" for key, value in inner.items()]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_value(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    return json.dumps(value)
