"""Scenario files: TOML as people write it, turned into what the simulator takes.

Invariants: every key is known or refused with a sentence that names it and its neighbours; nothing
that was not said is guessed but the defaults of lab/simulate/simulate.hpp.
"""

from __future__ import annotations

import copy
import itertools
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class ScenarioError(ValueError):
    """The scenario cannot be meant so; the message names the key and what it may be."""


_NUMBER = (int, float)
_TABLES: dict[str, dict[str, Any]] = {
    "": {
        "name": str, "description": str, "seed": int, "repeats": int, "modes": list,
        "machine": dict, "application": dict, "data": dict, "compress": dict, "noise": dict,
        "writer": dict, "library": dict, "conflict": dict, "sweep": dict, "measured": dict,
    },
    "machine": {
        "nodes": int, "ranks_per_node": int, "stream_bytes_per_s": _NUMBER,
        "node_bytes_per_s": _NUMBER, "system_bytes_per_s": _NUMBER, "latency_s": _NUMBER,
    },
    "application": {
        "iterations": int, "dump_every": int, "tail_iterations": int, "phases": list,
        "repeat": int, "iteration_s": _NUMBER, "host": list, "communicate": list, "ranks": list,
    },
    "data": {"fields": list, "ratio": _NUMBER, "ratio_spread": _NUMBER, "ranks": list},
    "fields": {
        "name": str, "blocks": int, "block_bytes": _NUMBER, "ratio": _NUMBER, "compress_s": _NUMBER,
    },
    "compress": {
        "bytes_per_s": _NUMBER, "min_bytes_per_s": _NUMBER, "max_bytes_per_s": _NUMBER,
        "exponent": _NUMBER, "bits_per_raw_value": _NUMBER,
    },
    "noise": {
        "interval_sigma": _NUMBER, "ratio_sigma": _NUMBER, "compress_sigma": _NUMBER,
        "write_sigma": _NUMBER, "block_sigma": _NUMBER, "jitter_sigma": _NUMBER,
        "contention_sigma": _NUMBER, "contention_period_s": _NUMBER,
    },
    "writer": {
        "algorithm": str, "search_steps": int, "resumable": bool, "balance": str,
        "balance_least_gain": _NUMBER, "write_in_order": bool, "write_buffer_bytes": _NUMBER,
        "small_write_bytes": _NUMBER, "patience_iterations": _NUMBER, "dumps_in_flight": int,
        "snapshot_bytes_per_s": _NUMBER, "collective_s": _NUMBER, "copy_bytes_per_s": _NUMBER,
        "close_s": _NUMBER, "collective_per_rank_s": _NUMBER, "close_per_rank_s": _NUMBER,
    },
    "library": {"bytes_per_s": _NUMBER, "dump_s": _NUMBER, "close_s": _NUMBER},
    "conflict": {"compute_slowdown": _NUMBER, "communicate_slowdown": _NUMBER},
    "application.ranks": {
        "iteration_s": _NUMBER, "host": list, "communicate": list, "iterations": list,
    },
}  # fmt: skip
_OPTIONAL = ("compress", "noise", "writer", "library", "conflict")
_PHASES = {
    "host": (True, False),
    "device": (False, False),
    "wait": (False, False),
    "communicate": (False, True),
    "host+communicate": (True, True),
}


@dataclass(frozen=True)
class Scenario:
    """A scenario file: its settings, and the points that its sweep makes of them."""

    name: str
    settings: dict[str, Any]
    sweep: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def repeats(self) -> int:
        return self.settings.get("repeats", 3)

    @property
    def seed(self) -> int:
        return self.settings.get("seed", 1)

    @property
    def modes(self) -> list[str]:
        return self.settings.get("modes", [])

    def points(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """(what was set, the settings) for every combination of the sweep's values."""
        points = []
        for values in itertools.product(*self.sweep.values()):
            chosen = dict(zip(self.sweep, values, strict=True))
            settings = copy.deepcopy(self.settings)
            for key, value in chosen.items():
                place = settings
                *tables, last = key.split(".")
                for table in tables:
                    place = place.setdefault(table, {})
                place[last] = value
            check(settings, self.name)
            points.append((chosen, settings))
        return points


def load(path: str | Path) -> Scenario:
    """Read and check a file. Raises ScenarioError; OSError if it cannot be read."""
    path = Path(path)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path} is not TOML: {error}") from error
    return parse(document, str(path), path.stem)


def parse(document: dict[str, Any], source: str = "scenario", name: str = "") -> Scenario:
    """Check a document. Raises ScenarioError."""
    settings = copy.deepcopy(document)
    sweep = settings.pop("sweep", {})
    check(settings, source)
    for key, values in sweep.items():
        if not isinstance(values, list) or not values:
            raise ScenarioError(f"{source}: sweep.{key!r} must be a list of values")
    scenario = Scenario(settings.get("name", name or source), settings, sweep)
    scenario.points()
    return scenario


def check(settings: dict[str, Any], source: str) -> None:
    """Every key known, every value of its type, everything there that is needed."""
    _check_table(settings, "", source)
    for name in ("machine", "application", "data", *_OPTIONAL):
        _check_table(settings.get(name, {}), name, source)
    for name in ("machine", "application", "data"):
        if name not in settings:
            raise ScenarioError(f"{source}: the table [{name}] is missing")
    for index, entry in enumerate(settings["data"].get("fields", [])):
        _check_table(entry, "fields", source, f"data.fields[{index}]")
        for key in ("blocks", "block_bytes"):
            if key not in entry:
                raise ScenarioError(f"{source}: data.fields[{index}] needs {key}")
    for index, entry in enumerate(settings["application"].get("ranks", [])):
        _check_table(entry, "application.ranks", source, f"application.ranks[{index}]")
    patterns(settings, source)
    blocks(settings, source)


def _check_table(table: Any, kind: str, source: str, name: str = "") -> None:
    known, shown = _TABLES[kind], name or kind
    if not isinstance(table, dict):
        raise ScenarioError(f"{source}: {shown} must be a table")
    for key, value in table.items():
        place = f"{shown}.{key}" if shown else key
        if key not in known:
            raise ScenarioError(
                f"{source}: {place} is not known; {shown or 'a scenario'} has {', '.join(known)}"
            )
        wanted = known[key]
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            names = wanted if isinstance(wanted, tuple) else (wanted,)
            kinds = " or ".join({"dict": "table"}.get(t.__name__, t.__name__) for t in names)
            raise ScenarioError(f"{source}: {place} is {value!r}; it must be of type {kinds}")


# ------------------------------------------------------------------------- what the simulator takes


def patterns(settings: dict[str, Any], source: str = "scenario") -> list[dict[str, Any]]:
    """Each rank's iteration: obstacles of both lanes."""
    application = settings["application"]
    given = [key for key in ("phases", "iteration_s", "ranks") if key in application]
    if len(given) != 1:
        raise ScenarioError(
            f"{source}: application needs one of phases, iteration_s (with host and communicate) "
            f"and ranks; it has {', '.join(given) or 'none'}"
        )
    if "ranks" in application:
        return [_pattern(entry, source) for rank in _rows(application, source) for entry in rank]
    if "iteration_s" in application:
        return [_pattern(application, source)]
    at_s = 0.0
    lanes: dict[str, list[list[float]]] = {"compress": [], "write": []}
    for number, phase in enumerate(application["phases"] * application.get("repeat", 1)):
        if not (isinstance(phase, list) and len(phase) == 2 and phase[0] in _PHASES):
            raise ScenarioError(
                f"{source}: application.phases[{number}] is {phase!r}; it must be "
                f'["NAME", seconds] with NAME one of {", ".join(_PHASES)}'
            )
        end_s = at_s + float(phase[1])
        for lane, needed in zip(("compress", "write"), _PHASES[phase[0]], strict=True):
            if needed and lanes[lane] and lanes[lane][-1][1] == at_s:
                lanes[lane][-1][1] = end_s
            elif needed:
                lanes[lane].append([at_s, end_s])
        at_s = end_s
    return [{"iteration_s": at_s, **lanes}]


def _rows(application: dict[str, Any], source: str) -> list[list[dict[str, Any]]]:
    """The patterns of each rank, one or as many as it has iterations of its own."""
    rows = [rank.get("iterations", [rank]) for rank in application["ranks"]]
    if not rows or len({len(row) for row in rows}) != 1 or not rows[0]:
        raise ScenarioError(
            f"{source}: application.ranks must all have equally many iterations; they have "
            f"{', '.join(str(len(row)) for row in rows) or 'none'}"
        )
    return rows


def _pattern(entry: dict[str, Any], source: str) -> dict[str, Any]:
    if "iteration_s" not in entry:
        raise ScenarioError(f"{source}: application: every iteration needs iteration_s")
    return {
        "iteration_s": float(entry["iteration_s"]),
        "compress": entry.get("host", []),
        "write": entry.get("communicate", []),
    }


def blocks(settings: dict[str, Any], source: str = "scenario") -> list[list[list[float]]]:
    """Each rank's blocks: (raw_bytes, ratio, compress_s or -1)."""
    data = settings["data"]
    if ("fields" in data) == ("ranks" in data):
        raise ScenarioError(f"{source}: data needs either fields or ranks")
    if "ranks" in data:
        return [[[float(number) for number in block] for block in rank] for rank in data["ranks"]]
    made: list[list[float]] = []
    for index, entry in enumerate(data["fields"]):
        ratio = entry.get("ratio", data.get("ratio"))
        if ratio is None:
            raise ScenarioError(f"{source}: data.fields[{index}] needs ratio, or data.ratio")
        made += [
            [float(entry["block_bytes"]), float(ratio), float(entry.get("compress_s", -1.0))]
        ] * entry["blocks"]
    return [made]


def for_core(settings: dict[str, Any]) -> dict[str, Any]:
    """The dictionary that caesura_lab._core.simulate() takes, but for its seed."""
    machine = dict(settings["machine"])
    application = settings["application"]
    per_node = machine.pop("ranks_per_node", 1)
    compress = dict(settings.get("compress", {}))
    if "bytes_per_s" in compress:
        plain = float(compress.pop("bytes_per_s"))
        compress |= {"min_bytes_per_s": plain, "max_bytes_per_s": plain}
    ranks = machine.pop("nodes", 1) * per_node
    core: dict[str, Any] = {
        "ranks": ranks,
        "ranks_per_node": per_node,
        "ratio_spread": float(settings["data"].get("ratio_spread", 0.0)),
        "patterns": patterns(settings),
        "patterns_per_rank": len(_rows(application, "")[0]) if "ranks" in application else 1,
        "blocks": blocks(settings),
        "storage": _floats(machine),
        "compress": _floats(compress),
        "noise": _floats(settings.get("noise", {})),
        "library": _floats(settings.get("library", {})),
        "conflict": _floats(settings.get("conflict", {})),
    }
    writer = dict(settings.get("writer", {}))
    for name in ("collective", "close"):  # what grows with the machine
        if per_rank_s := writer.pop(f"{name}_per_rank_s", 0.0):
            writer[f"{name}_s"] = writer.get(f"{name}_s", 0.0) + ranks * per_rank_s
    integers = {"search_steps", "dumps_in_flight"}
    core["output"] = {
        key: value if key in integers or isinstance(value, bool | str) else float(value)
        for key, value in writer.items()
    }
    for key in ("iterations", "dump_every", "tail_iterations"):
        if key in application:
            core[key] = application[key]
    return core


def _floats(table: dict[str, Any]) -> dict[str, float]:
    return {key: float(value) for key, value in table.items()}
