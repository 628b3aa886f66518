"""The demonstration from begin to end: modes interleaved, repeated, verified, cleaned up.

Invariants: a repeat runs every mode once, in an order that rotates, so that slow drifts of the
machine touch all modes alike; the last repeats may go without the slow peers. Verification never
runs beside a measured run.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from caesura.comparing import Hdf5Reference, RawReference
from caesura.demo.checking import Checked, check_checksums, check_file
from caesura.demo.runner import Run, Runner
from caesura.demo.scenario import LOSSY, MODES, OURS, DemoError, Scenario, WrongValues


class Watcher(Protocol):
    """Whoever shows how far it is."""

    def run_begins(self, mode: str, repeat: int) -> None: ...
    def run_ticks(self, elapsed_s: float) -> None: ...
    def run_ends(self, run: Run) -> None: ...
    def check_begins(self, mode: str, repeat: int, total_bytes: int) -> None: ...
    def check_ticks(self, count: int) -> None: ...
    def check_ends(self, checked: Checked) -> None: ...


@dataclass
class Outcome:
    """Everything measured, in order of repeats."""

    runs: dict[str, list[Run]] = field(default_factory=lambda: {mode: [] for mode in MODES})
    checks: dict[str, list[Checked]] = field(default_factory=lambda: {mode: [] for mode in MODES})
    stored_bytes: dict[str, list[int]] = field(default_factory=lambda: {mode: [] for mode in MODES})
    kept_file: Path | None = None
    kept_traces: list[Path] = field(default_factory=list)

    @property
    def findings(self) -> list[str]:
        return [text for checks in self.checks.values() for check in checks
                for text in check.findings]  # fmt: skip


def order_of(repeat: int) -> Sequence[str]:
    """Compute and sync first in the first repeat (it makes the reference), then rotating."""
    shift = repeat % len(MODES)
    return MODES[shift:] + MODES[:shift]


class Campaign:
    def __init__(self, runner: Runner, scenario: Scenario, folder: Path, watcher: Watcher) -> None:
        self._runner = runner
        self._scenario = scenario
        self._folder = folder
        self._watcher = watcher
        self._reference_path: Path | None = None
        self.outcome = Outcome()

    def execute(self) -> Outcome:
        self._need_space()
        for repeat in range(self._scenario.repeats):
            for mode in order_of(repeat):
                if repeat < self._scenario.repeats_of(mode):
                    self._one(mode, repeat)
        if self._reference_path is not None:
            self._reference_path.unlink()
        return self.outcome

    def _need_space(self) -> None:
        """Raw fields, the reference and one more file may lie beside each other."""
        needed = 3 * self._scenario.raw_bytes
        free = shutil.disk_usage(self._folder).free
        if free < needed:
            raise DemoError(
                f"{self._folder} has {free / 1e9:.1f} GB free, the demonstration needs "
                f"{needed / 1e9:.1f} GB; use a smaller --grid, or --out on another disk"
            )

    def _one(self, mode: str, repeat: int) -> None:
        raw = self._folder / "raw" if mode == "sync" and self._reference_path is None else None
        self._watcher.run_begins(mode, repeat)
        run = self._runner.run(mode, repeat, raw, self._watcher.run_ticks)
        self._watcher.run_ends(run)
        self.outcome.runs[mode].append(run)
        # What the disk holds: reserved and never used space is a hole.
        held = run.output.stat().st_blocks * 512 if run.output is not None else 0
        self.outcome.stored_bytes[mode].append(held)
        if run.output is None:
            return
        self._watcher.check_begins(mode, repeat, self._scenario.raw_bytes)
        checked = self._check(mode, run.output, raw)
        self._watcher.check_ends(checked)
        self.outcome.checks[mode].append(checked)
        if checked.findings:
            raise WrongValues(
                f"{run.output} does not hold what was handed in: {checked.findings[0]} "
                f"({len(checked.findings)} findings; the file is kept)"
            )
        self._tidy(mode, repeat, run)

    def _check(self, mode: str, path: Path, raw: Path | None) -> Checked:
        exact = self._scenario.codec_of(mode) in ("none", "zstd")
        lossy = mode in LOSSY and not exact
        if raw is not None:
            reference = RawReference(raw)
        elif self._reference_path is not None:
            reference = Hdf5Reference(self._reference_path)
        else:
            raise DemoError(f"mode {mode} has no reference yet")
        checked = check_file(path, reference, self._scenario, lossy, self._watcher.check_ticks)
        if mode in OURS:
            check_checksums(path, checked)
        return checked

    def _tidy(self, mode: str, repeat: int, run: Run) -> None:
        """Keep the reference, the last Caesura file and its traces; nothing else that is big."""
        if mode == "sync" and self._reference_path is None:
            self._reference_path = run.output
            shutil.rmtree(self._folder / "raw")
        elif mode == "caesura" and repeat == self._scenario.repeats - 1:
            self.outcome.kept_file = run.output
            self.outcome.kept_traces = run.traces
        elif run.output is not None:
            run.output.unlink()
            for trace in run.traces:
                trace.unlink()
