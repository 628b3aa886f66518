"""The demonstration from begin to end: runs in their order, verified, cleaned up, kept in mind.

Invariants: verification never runs beside a measured run; a run that fails is tried once more and
is then left out with its reason; wrong values in a file end the demonstration; what has finished
stands in the folder's State, from which an interrupted demonstration goes on.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from caesura.comparing import Hdf5Reference, RawReference

from caesura_lab.demo.checking import Checked, check_checksums, check_file
from caesura_lab.demo.runner import Run, RunFailed, Runner
from caesura_lab.demo.scenario import LOSSY, OURS, DemoError, Scenario, WrongValues
from caesura_lab.demo.state import Finished, LeftOut, State
from caesura_lab.demo.turns import Turn, all_turns

ATTEMPTS = 2


class Watcher(Protocol):
    """Whoever shows how far it is."""

    def run_begins(self, turn: Turn) -> None: ...
    def run_ticks(self, elapsed_s: float) -> None: ...
    def run_ends(self, run: Run) -> None: ...
    def run_failed(self, turn: Turn, reason: str, again: bool) -> None: ...
    def was_there(self, turn: Turn, run: Run) -> None: ...
    def check_begins(self, turn: Turn) -> None: ...
    def check_ticks(self, count: int) -> None: ...
    def check_ends(self, checked: Checked) -> None: ...


@dataclass
class Outcome:
    """Everything measured, in the order in which it was, and what could not be."""

    finished: list[Finished] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def of(self, mode: str, *hand_overs: str) -> list[Finished]:
        wanted = hand_overs or ("all",)
        return [
            one for one in self.finished if one.turn.mode == mode and one.turn.hand_over in wanted
        ]

    def has(self, turn: Turn) -> bool:
        return any(one.turn == turn for one in self.finished)


class Campaign:
    def __init__(
        self,
        make_runner: Callable[[Scenario], Runner],
        scenario: Scenario,
        folder: Path,
        watcher: Watcher,
        state: State,
    ) -> None:
        self._make_runner = make_runner
        self._scenario = scenario
        self._folder = folder
        self._watcher = watcher
        self._state = state
        self._reference: Path | None = None
        self.outcome = Outcome()

    def resume(self) -> None:
        """Go on from what the folder holds. A reference that is gone is made again, if anything is
        still to be held against it."""
        finished = self._state.load()
        is_whole = {one.turn for one in finished} >= set(all_turns(self._scenario))
        for one in finished:
            if one.turn.makes_reference and self._reference is None and not is_whole:
                if one.run.output is None or not one.run.output.exists():
                    continue
                self._reference = one.run.output
            self.outcome.finished.append(one)
            self._watcher.was_there(one.turn, one.run)

    def execute(self) -> Outcome:
        waiting = [turn for turn in all_turns(self._scenario) if not self.outcome.has(turn)]
        if waiting:
            self._need_space()
        while waiting:
            turn = self._next(waiting)
            waiting.remove(turn)
            self._take(turn)
        if self._reference is not None:
            self._reference.unlink(missing_ok=True)
        return self.outcome

    def _next(self, waiting: list[Turn]) -> Turn:
        """The first; without a reference the first that makes one or needs none."""
        if self._reference is not None:
            return waiting[0]
        for turn in waiting:
            if turn.makes_reference or turn.mode == "compute":
                return turn
        reasons = "; ".join(f"{one.turn.title} {one.reason}" for one in self.outcome.left_out)
        raise DemoError(
            f"no file can be verified, because none was written that the others could be held "
            f"against: {reasons}"
        )

    def _need_space(self) -> None:
        """Raw fields, the reference and one more file may lie beside each other."""
        needed = 3 * self._scenario.raw_bytes
        free = shutil.disk_usage(self._folder).free
        if free < needed:
            raise DemoError(
                f"{self._folder} has {free / 1e9:.1f} GB free, the demonstration needs "
                f"{needed / 1e9:.1f} GB; use a smaller --grid, or --out on another disk"
            )

    def _take(self, turn: Turn) -> None:
        """Run it, twice at most; what it gave is kept, or why it gave nothing."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self.outcome.finished.append(self._one(turn))
            except RunFailed as failure:
                again = attempt < ATTEMPTS
                self._keep_log(turn, attempt)
                self._watcher.run_failed(turn, failure.reason, again)
                if not again:
                    self._leave_out(turn, failure)
            else:
                self._state.save(self.outcome.finished)
                return

    def _leave_out(self, turn: Turn, failure: RunFailed) -> None:
        """Without a single run of Caesura there is nothing to show: that ends it, with the log."""
        self.outcome.left_out.append(LeftOut(turn, failure.reason))
        failed = [one for one in self.outcome.left_out if one.turn.mode == "caesura"]
        if len(failed) >= ATTEMPTS and not self.outcome.of("caesura", "all", "half", "other-half"):
            raise failure

    def _keep_log(self, turn: Turn, attempt: int) -> None:
        log = self._runner(turn).stem(turn.mode, turn.number).with_suffix(".log")
        if log.exists():
            log.rename(self._folder / f"failed-{attempt}-{log.name}")

    def _runner(self, turn: Turn) -> Runner:
        return self._make_runner(replace(self._scenario, hand_over=turn.hand_over))

    def _one(self, turn: Turn) -> Finished:
        raw = None
        if turn.makes_reference and self._reference is None:
            raw = self._folder / "raw"
        self._watcher.run_begins(turn)
        run = self._runner(turn).run(turn.mode, turn.number, raw, self._watcher.run_ticks)
        self._watcher.run_ends(run)
        if run.output is None:
            return Finished(turn, run, 0)
        # What the disk holds: reserved and never used space is a hole.
        stored = run.output.stat().st_blocks * 512
        self._watcher.check_begins(turn)
        checked = self._check(turn, run, raw)
        self._watcher.check_ends(checked)
        self._tidy(turn, run, raw)
        return Finished(turn, run, stored, checked)

    def _check(self, turn: Turn, run: Run, raw: Path | None) -> Checked:
        """Wrong values are fatal, but of a run that ended oddly they only mean that it failed."""
        assert run.output is not None
        try:
            checked = self._compare(turn, run.output, raw)
        except (DemoError, OSError, RuntimeError) as error:  # of h5py, too
            if run.note:
                raise RunFailed(f"{run.note}; {error}", str(error)) from error
            raise
        if checked.findings:
            text = (
                f"{run.output} does not hold what was handed in: {checked.findings[0]} "
                f"({len(checked.findings)} findings; the file is kept)"
            )
            if run.note:
                raise RunFailed(f"{run.note}; {checked.findings[0]}", text)
            raise WrongValues(text)
        return checked

    def _compare(self, turn: Turn, path: Path, raw: Path | None) -> Checked:
        exact = self._scenario.codec_of(turn.mode) in ("none", "zstd")
        lossy = turn.mode in LOSSY and not exact
        if raw is not None:
            reference = RawReference(raw)
        elif self._reference is not None:
            reference = Hdf5Reference(self._reference)
        else:
            raise DemoError(f"mode {turn.mode} has no reference yet")
        scenario = replace(self._scenario, hand_over=turn.hand_over)
        checked = check_file(path, reference, scenario, lossy, self._watcher.check_ticks)
        if turn.mode in OURS:
            check_checksums(path, checked)
        return checked

    def _tidy(self, turn: Turn, run: Run, raw: Path | None) -> None:
        """Keep the reference, Caesura's last whole file and its traces; nothing else so big."""
        if raw is not None:
            self._reference = run.output
            shutil.rmtree(raw)
            doomed = run.traces
        elif (turn.mode, turn.hand_over) == ("caesura", "all"):
            earlier = self.outcome.of("caesura")
            doomed = [path for one in earlier for path in (one.run.output, *one.run.traces) if path]
        else:
            doomed = [path for path in (run.output, *run.traces) if path]
        for path in doomed:
            path.unlink(missing_ok=True)
