"""The report of a demonstration as one JSON document; report.schema.json is its contract."""

from __future__ import annotations

import datetime
import json
from importlib.resources import files
from statistics import fmean
from typing import Any

from caesura_lab.demo.campaign import Outcome
from caesura_lab.demo.measures import Cost, CpuCost, Measures
from caesura_lab.demo.scenario import MODES, PAPER, DemoError, Scenario
from caesura_lab.demo.statistics import Estimate, factor
from caesura_lab.demo.turns import HALVES, Turn, all_turns

SCHEMA_NAME = "caesura-demo-report/3"


def schema() -> dict[str, Any]:
    text = files("caesura_lab.demo").joinpath("report.schema.json").read_text(encoding="utf-8")
    return json.loads(text)


def build_report(scenario: Scenario, outcome: Outcome, machine: dict[str, Any]) -> dict[str, Any]:
    """Everything the page, the table and a later comparison need; no path of this machine.

    DemoError where too little has finished to say anything about Caesura.
    """
    measures = Measures(scenario, outcome)
    costs = {mode: measures.cost(mode) for mode in MODES}
    if costs["compute"] is None or costs["caesura"] is None:
        reasons = "; ".join(f"{one.turn.title} {one.reason}" for one in outcome.left_out)
        raise DemoError(f"too few runs have finished for a report: {reasons or 'none failed'}")
    modes = {
        mode: _mode(mode, cost, scenario, outcome, measures)
        for mode, cost in costs.items()
        if cost is not None
    }
    return {
        "schema": SCHEMA_NAME,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "scenario": scenario.as_json(),
        "modes": modes,
        "caesura": _caesura(costs, outcome),
        "copy_floor_percent": 100.0 * measures.copy_floor,
        "noise": _noise(measures, outcome, costs["caesura"]),
        "runs": _runs(scenario, outcome),
        "verified": _verified(outcome),
        "paper": PAPER,
        "machine": machine,
        "emulated": emulated(scenario),
    }


def _percent(estimate: Estimate) -> dict[str, float | None]:
    """Value and interval in per cent; null where it is not known."""
    known = estimate.is_known
    return {
        "percent": 100.0 * estimate.value,
        "low_percent": 100.0 * estimate.low if known else None,
        "high_percent": 100.0 * estimate.high if known else None,
    }


def _mode(
    mode: str, cost: Cost, scenario: Scenario, outcome: Outcome, measures: Measures
) -> dict[str, Any]:
    # Of one file with all dumps; where there is none, of both halves.
    whole = outcome.of(mode)
    timings = [one.run.timing for one in whole]
    halves = {half: outcome.of(mode, half)[-1:] for half in HALVES}
    stored = whole[-1].stored_bytes if whole else 0
    if not whole and mode != "compute" and all(halves.values()):
        stored = sum(runs[0].stored_bytes for runs in halves.values())
    walls = [float(timing["wall_s"]) for timing in timings]
    return {
        "wall_s": walls,
        "estimated_wall_s": measures.base_s * (1.0 + cost.overhead.value * (mode != "compute")),
        "close_s": [float(timing["close_s"]) for timing in timings],
        "overhead": _percent(cost.overhead),
        "calls_percent": 100.0 * cost.calls,
        "loss": _percent(cost.loss) if cost.loss else None,
        "cpu": _cpu(cost.cpu) if cost.cpu else None,
        "points_percent": [100.0 * point for point in cost.points],
        "runs_percent": [100.0 * run for run in cost.single_runs],
        "bytes_stored": stored,
        "ratio": scenario.raw_bytes / stored if stored else None,
    }


def _cpu(cost: CpuCost) -> dict[str, Any]:
    return {
        "overhead": _percent(cost.overhead),
        "calls_percent": 100.0 * cost.calls,
        "loss": _percent(cost.loss),
        "workers_percent": 100.0 * cost.workers,
    }


def _caesura(costs: dict[str, Cost | None], outcome: Outcome) -> dict[str, Any]:
    """Counters of the last whole run, whose file and trace are kept; the largest error of all."""
    runs = outcome.of("caesura") or outcome.of("caesura", *HALVES)
    timing = runs[-1].run.timing
    report = timing.get("report") or {}
    dumps = max(1, int(report.get("dumps", timing.get("committed_dumps", 1))))
    checks = [one.checked for one in outcome.of("caesura", "all", *HALVES) if one.checked]
    return {
        "overflow_bytes": int(report.get("overflow_bytes", 0)),
        "reserve_bytes": int(report.get("reserved_bytes", 0)),
        "fallback_blocks": int(report.get("fallback_blocks", 0)),
        "committed_dumps": int(timing.get("committed_dumps", 0)),
        "plan_ms": 1e3 * float(report.get("plan_s", 0.0)) / dumps,
        "replans": int(report.get("replans", 0)),
        "planned_iteration_s": float(report.get("planned_iteration_s", 0.0)),
        "actual_iteration_s": float(report.get("actual_iteration_s", 0.0)),
        "plan_deviation": float(report.get("plan_deviation", 0.0)),
        "write_interference_s": float(report.get("write_interference_s", 0.0)),
        "compress_interference_s": float(report.get("compress_interference_s", 0.0)),
        "peak_memory_bytes": int(report.get("peak_memory_bytes", 0)),
        "max_error_over_bound": max(check.max_error_over_bound for check in checks),
        "smaller_than": {
            mode: _factor(costs[mode], costs["caesura"]) for mode in ("sync", "async", "filter")
        },
    }


def _factor(theirs: Cost | None, ours: Cost | None) -> dict[str, float | None]:
    if theirs is None or ours is None:
        return {"times": None, "at_least": None, "at_most": None}
    found = factor(theirs.overhead, ours.overhead)
    return {"times": found.times, "at_least": found.at_least, "at_most": found.at_most}


def _noise(measures: Measures, outcome: Outcome, ours: Cost) -> dict[str, Any]:
    """What the machine did beside: how far runs without output lie apart, and who else ran."""
    spread, count = measures.run_spread
    known = count > 1
    return {
        "runs_apart_percent": 100.0 * spread if known else None,
        "runs": count,
        "margin_percent": 100.0 * ours.overhead.margin if ours.overhead.is_known else None,
        "others_cores": fmean(one.run.others_cores for one in outcome.finished),
    }


def _runs(scenario: Scenario, outcome: Outcome) -> dict[str, Any]:
    """How many there were, which are missing and why, and which ended oddly."""

    def named(turn: Turn, text: str) -> dict[str, Any]:
        return {"mode": turn.mode, "hand_over": turn.hand_over, "number": turn.number, "why": text}

    return {
        "wanted": len(all_turns(scenario)),
        "finished": len(outcome.finished),
        "left_out": [named(one.turn, one.reason) for one in outcome.left_out],
        "odd": [named(one.turn, one.run.note) for one in outcome.finished if one.run.note],
        "elapsed_s": sum(one.run.elapsed_s for one in outcome.finished),
    }


def _verified(outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for mode in MODES:
        runs = outcome.of(mode, "all", *HALVES)
        checks = [one.checked for one in runs if one.checked is not None]
        if not checks:
            continue
        errors: dict[str, dict[str, float]] = {}
        for check in checks:
            for name, entry in check.per_field.items():
                known = errors.setdefault(name, dict(entry))
                known["max_error"] = max(known["max_error"], entry["max_error"])
        found[mode] = {
            "files": len(checks),
            "values": sum(check.values for check in checks),
            "blocks_with_checksum": sum(check.blocks_with_checksum for check in checks),
            "findings": sum(len(check.findings) for check in checks),
            "max_error_over_bound": max(check.max_error_over_bound for check in checks),
            "fields": errors,
        }
    return found


def emulated(scenario: Scenario) -> dict[str, Any]:
    """What of the machine was not real, in words that can stand beside the numbers."""
    return {
        "file_system": {
            "on": scenario.bandwidth > 0,
            "bandwidth_bytes_per_s": scenario.bandwidth,
            "latency_s": scenario.latency_s,
            "fsync": scenario.fsync,
            "what": "one shared token bucket a node, charged by every write of every mode",
        },
        "device": {
            "on": scenario.device_s > 0,
            "kernel_s_per_step": scenario.device_s,
            "what": "kernels' physics is computed on the host, which then idles for their "
            "modelled time on an accelerator",
        },
    }
