"""Shows how far the demonstration is: which run, and how long all of it still takes.

The estimate comes from runs that have ended: a mode's own time if it ran before, else the time of
the slowest so far.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from caesura.demo.checking import Checked
from caesura.demo.runner import Run
from caesura.demo.scenario import MODE_TITLES, MODES, Scenario
from caesura.report.quantities import duration_text


class Estimate:
    """Seconds a run and its verification will take."""

    def __init__(self, scenario: Scenario) -> None:
        self._repeats_of = scenario.repeats_of
        self._known: dict[str, list[float]] = {}
        self._first_guess_s = scenario.steps * (scenario.device_s + 3e-8 * scenario.grid**3 + 0.1)

    def learn(self, mode: str, seconds: float) -> None:
        self._known.setdefault(mode, []).append(seconds)

    def of(self, mode: str) -> float:
        if mode in self._known:
            return sum(self._known[mode]) / len(self._known[mode])
        slowest = max((max(times) for times in self._known.values()), default=0.0)
        return max(slowest, self._first_guess_s)

    def total_s(self) -> float:
        return sum(self.of(mode) * self._repeats_of(mode) for mode in MODES)

    def left_s(self, elsewhere_s: float) -> float:
        """`elsewhere_s`: spent in what is running now."""
        left = sum(
            self.of(mode) * (self._repeats_of(mode) - len(self._known.get(mode, [])))
            for mode in MODES
        )
        return max(0.0, left - elsewhere_s)


class ProgressWatcher:
    """One bar for everything, one line that says what runs."""

    def __init__(self, scenario: Scenario, console: Console, progress: Progress | None) -> None:
        self._scenario = scenario
        self._console = console
        self._progress = progress
        self._estimate = Estimate(scenario)
        self._begin_s = time.monotonic()
        self._one_begin_s = self._begin_s
        self._mode, self._repeat, self._run_number = "", 0, 0
        self._run_s = 0.0
        self._task = progress.add_task("demo", total=1.0, left="") if progress else None

    def run_begins(self, mode: str, repeat: int) -> None:
        self._mode, self._repeat = mode, repeat
        self._run_number += 1
        self._one_begin_s = time.monotonic()
        self._update("runs")

    def run_ticks(self, elapsed_s: float) -> None:
        self._update("runs")

    def run_ends(self, run: Run) -> None:
        self._run_s = run.elapsed_s
        if run.output is None:
            self._finish("")

    def check_begins(self, mode: str, repeat: int, total_bytes: int) -> None:
        self._update("is verified")

    def check_ticks(self, count: int) -> None:
        self._update("is verified")

    def check_ends(self, checked: Checked) -> None:
        self._finish(f", {checked.values:,} values verified")

    def _finish(self, extra: str) -> None:
        self._estimate.learn(self._mode, time.monotonic() - self._one_begin_s)
        total = sum(self._scenario.repeats_of(mode) for mode in MODES)
        left = duration_text(round(self._estimate.left_s(0.0)))
        line = (
            f"{self._run_number:>2}/{total}  {MODE_TITLES[self._mode]}: "
            f"{duration_text(self._run_s)}{extra}"
        )
        if self._progress is None:
            line += f" (about {left} left)"
        self._console.print(line, soft_wrap=True)
        self._update("")

    def _update(self, doing: str) -> None:
        if self._progress is None or self._task is None:
            return
        spent = time.monotonic() - self._one_begin_s if doing else 0.0
        left_s = self._estimate.left_s(min(spent, self._estimate.of(self._mode)))
        done_s = time.monotonic() - self._begin_s
        what = f"repeat {self._repeat + 1} of {self._scenario.repeats}: {MODE_TITLES[self._mode]}"
        self._progress.update(
            self._task,
            description=f"{what} {doing}".rstrip(),
            completed=done_s / max(done_s + left_s, 1e-9),
            left=f"about {duration_text(round(left_s))} left",
        )


class SilentWatcher(ProgressWatcher):
    """For --json: nothing is said."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario, Console(quiet=True), None)


@contextmanager
def make_watcher(scenario: Scenario, console: Console, quiet: bool) -> Iterator[ProgressWatcher]:
    """A live bar on a terminal, a line a run elsewhere, nothing when quiet."""
    if quiet:
        yield SilentWatcher(scenario)
        return
    if not console.is_terminal:
        yield ProgressWatcher(scenario, console, None)
        return
    columns = (
        BarColumn(bar_width=28),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield ProgressWatcher(scenario, console, progress)
