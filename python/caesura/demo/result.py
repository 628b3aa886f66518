"""The report of a demonstration as one JSON document; report.schema.json is its contract."""

from __future__ import annotations

import datetime
import json
from importlib.resources import files
from statistics import median
from typing import Any

from caesura.demo.campaign import Outcome
from caesura.demo.scenario import MODES, PAPER, Scenario
from caesura.demo.statistics import half_range, improvement, overheads_percent

SCHEMA_NAME = "caesura-demo-report/1"


def schema() -> dict[str, Any]:
    text = files("caesura.demo").joinpath("report.schema.json").read_text(encoding="utf-8")
    return json.loads(text)


def build_report(scenario: Scenario, outcome: Outcome, machine: dict[str, Any]) -> dict[str, Any]:
    """Everything the page, the table and a later comparison need; no path of this machine."""
    walls = {mode: [_wall_s(run.timing) for run in outcome.runs[mode]] for mode in MODES}
    modes = {mode: _mode(mode, walls, outcome, scenario) for mode in MODES}
    return {
        "schema": SCHEMA_NAME,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "scenario": scenario.as_json(),
        "modes": modes,
        "caesura": _caesura(modes, outcome),
        "verified": _verified(outcome),
        "paper": PAPER,
        "machine": machine,
        "emulated": emulated(scenario),
    }


def _wall_s(timing: dict[str, Any]) -> float:
    """From the first step until the last byte is safe: closing is charged."""
    return float(timing["wall_s"])


def _mode(
    mode: str, walls: dict[str, list[float]], outcome: Outcome, scenario: Scenario
) -> dict[str, Any]:
    overheads = overheads_percent(walls[mode], walls["compute"][: len(walls[mode])])
    timings = [run.timing for run in outcome.runs[mode]]
    stored = outcome.stored_bytes[mode][-1]
    wrote = mode != "compute"
    return {
        "wall_s": walls[mode],
        "median_wall_s": median(walls[mode]),
        "close_s": [float(timing.get("close_s", 0.0)) for timing in timings],
        "host_s": median(float(timing.get("host_s", 0.0)) for timing in timings),
        "device_s": median(float(timing.get("device_s", 0.0)) for timing in timings),
        "comm_s": median(float(timing.get("comm_s", 0.0)) for timing in timings),
        "overheads_percent": overheads,
        "overhead_percent": median(overheads),
        "spread_percent": half_range(overheads),
        "bytes_stored": stored if wrote else 0,
        "ratio": scenario.raw_bytes / stored if wrote and stored else None,
    }


def _caesura(modes: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    """Counters of the last repeat, whose file and trace are kept; the largest error of all."""
    timing = outcome.runs["caesura"][-1].timing
    report = timing.get("report") or {}
    dumps = max(1, int(report.get("dumps", timing.get("committed_dumps", 1))))
    ours = modes["caesura"]["overhead_percent"]
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
        "max_error_over_bound": max(c.max_error_over_bound for c in outcome.checks["caesura"]),
        "improvement_over_sync": improvement(modes["sync"]["overhead_percent"], ours),
        "improvement_over_async": improvement(modes["async"]["overhead_percent"], ours),
        "improvement_over_filter": improvement(modes["filter"]["overhead_percent"], ours),
    }


def _verified(outcome: Outcome) -> dict[str, Any]:
    return {
        mode: {
            "files": len(checks),
            "values": sum(check.values for check in checks),
            "blocks_with_checksum": sum(check.blocks_with_checksum for check in checks),
            "findings": sum(len(check.findings) for check in checks),
            "max_error_over_bound": max(check.max_error_over_bound for check in checks),
            "fields": checks[-1].per_field,
        }
        for mode, checks in outcome.checks.items()
        if checks
    }


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
