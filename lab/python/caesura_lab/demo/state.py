"""What a demonstration has finished, kept on disk after every run, so that nothing is lost.

Invariants: a run stands here once its file has been verified; the file is replaced as a whole, so
it is complete at any instant; it belongs to one scenario and one build, and no other goes on from
it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from caesura_lab.demo.checking import Checked
from caesura_lab.demo.runner import Programs, Run
from caesura_lab.demo.scenario import DemoError, Scenario
from caesura_lab.demo.turns import Turn

_NAME = "finished.json"


@dataclass(frozen=True)
class Finished:
    """One run, measured and verified."""

    turn: Turn
    run: Run
    stored_bytes: int
    checked: Checked | None = None  # of a run that writes


@dataclass(frozen=True)
class LeftOut:
    """A run that failed twice, and why."""

    turn: Turn
    reason: str


class State:
    def __init__(self, folder: Path, scenario: Scenario, programs: Programs | None) -> None:
        self._folder = folder
        self._path = folder / _NAME
        self._key = {"scenario": asdict(scenario), "build": _fingerprint(programs)}

    def save(self, finished: Sequence[Finished]) -> None:
        entries = [_to_json(one) for one in finished]
        beside = self._path.with_suffix(".new")
        beside.write_text(json.dumps({"key": self._key, "finished": entries}, indent=1) + "\n")
        os.replace(beside, self._path)

    def load(self) -> list[Finished]:
        """DemoError where there is nothing to go on from, or it is of another demonstration."""
        try:
            document = json.loads(self._path.read_text())
        except FileNotFoundError:
            raise DemoError(
                f"{self._folder} holds no interrupted demonstration; run it without --resume"
            ) from None
        except ValueError as error:
            raise DemoError(
                f"{self._path} is damaged ({error}); run it without --resume"
            ) from error
        for part, now in self._key.items():
            if document["key"].get(part) != now:
                raise DemoError(
                    f"{self._folder} holds a demonstration of another {part}; give the same "
                    "options as then, or run it without --resume"
                )
        return [_from_json(entry, self._folder) for entry in document["finished"]]


def _fingerprint(programs: Programs | None) -> list[int]:
    """Size and time of the program that is measured."""
    if programs is None:
        return []
    status = programs.simulation.stat()
    return [status.st_size, status.st_mtime_ns]


def _to_json(one: Finished) -> dict[str, Any]:
    run = asdict(one.run) | {
        "output": one.run.output.name if one.run.output else None,
        "traces": [path.name for path in one.run.traces],
    }
    return {
        "turn": asdict(one.turn),
        "run": run,
        "stored_bytes": one.stored_bytes,
        "checked": asdict(one.checked) if one.checked else None,
    }


def _from_json(entry: dict[str, Any], folder: Path) -> Finished:
    run = dict(entry["run"])
    run["output"] = folder / run["output"] if run["output"] else None
    run["traces"] = [folder / name for name in run["traces"]]
    checked = Checked(**entry["checked"]) if entry["checked"] else None
    return Finished(Turn(**entry["turn"]), Run(**run), entry["stored_bytes"], checked)
