"""Shows how far the demonstration is: which run, and how long all of it still takes.

The estimate comes from runs that have ended: those of the same kind, else the middle one so far.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from caesura.report.quantities import duration_text
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from caesura_lab.demo.checking import Checked
from caesura_lab.demo.runner import Run
from caesura_lab.demo.scenario import Scenario
from caesura_lab.demo.turns import Turn, all_turns


class Estimate:
    """Seconds a run and its verification will take, and how much is left of all of them."""

    def __init__(self, scenario: Scenario) -> None:
        self._waiting = all_turns(scenario)
        self.total = len(self._waiting)
        self._known: dict[tuple[str, str], list[float]] = {}
        self._first_guess_s = scenario.steps * (scenario.device_s + 6e-8 * scenario.grid**3 + 0.1)

    def done(self, turn: Turn) -> None:
        self._waiting = [one for one in self._waiting if one != turn]

    def learn(self, turn: Turn, seconds: float) -> None:
        self._known.setdefault((turn.mode, turn.hand_over), []).append(seconds)

    def of(self, turn: Turn) -> float:
        if times := self._known.get((turn.mode, turn.hand_over)):
            return sum(times) / len(times)
        known = sorted(sum(times) / len(times) for times in self._known.values())
        return known[len(known) // 2] if known else self._first_guess_s

    def left_s(self, elsewhere_s: float) -> float:
        """`elsewhere_s`: spent in what is running now."""
        return max(0.0, sum(self.of(turn) for turn in self._waiting) - elsewhere_s)


class ProgressWatcher:
    """One bar for everything, one line that says what runs."""

    def __init__(self, scenario: Scenario, console: Console, progress: Progress | None) -> None:
        self._console = console
        self._progress = progress
        self._estimate = Estimate(scenario)
        self._begin_s = time.monotonic()
        self._one_begin_s = self._begin_s
        self._turn: Turn | None = None
        self._count = 0
        self._run: Run | None = None
        self._task = progress.add_task("demo", total=1.0, left="") if progress else None

    def run_begins(self, turn: Turn) -> None:
        self._turn = turn
        self._one_begin_s = time.monotonic()
        self._update("runs")

    def run_ticks(self, elapsed_s: float) -> None:
        self._update("runs")

    def run_ends(self, run: Run) -> None:
        self._run = run
        if run.output is None:
            self._finish("")

    def run_failed(self, turn: Turn, reason: str, again: bool) -> None:
        after = "it is tried once more" if again else "it is left out"
        self._say(f"       {turn.title} {reason}; {after}")
        if not again:
            self._count += 1
            self._estimate.done(turn)

    def was_there(self, turn: Turn, run: Run) -> None:
        self._count += 1
        self._estimate.learn(turn, run.elapsed_s)
        self._estimate.done(turn)
        self._say(f"{self._counted()}  {turn.title}: {duration_text(run.elapsed_s)}, kept")

    def check_begins(self, turn: Turn) -> None:
        self._update("is verified")

    def check_ticks(self, count: int) -> None:
        self._update("is verified")

    def check_ends(self, checked: Checked) -> None:
        self._finish(f", {checked.values:,} values verified")

    def _counted(self) -> str:
        return f"{self._count:>2}/{self._estimate.total}"

    def _say(self, line: str) -> None:
        self._console.print(line, soft_wrap=True, markup=False)

    def _finish(self, extra: str) -> None:
        assert self._turn is not None and self._run is not None
        self._count += 1
        self._estimate.learn(self._turn, time.monotonic() - self._one_begin_s)
        self._estimate.done(self._turn)
        left = duration_text(round(self._estimate.left_s(0.0)))
        line = f"{self._counted()}  {self._turn.title}: {duration_text(self._run.elapsed_s)}{extra}"
        if self._progress is None:
            line += f" (about {left} left)"
        self._say(line)
        if self._run.note:
            self._say(f"       {self._run.note}")
        self._update("")

    def _update(self, doing: str) -> None:
        if self._progress is None or self._task is None or self._turn is None:
            return
        spent = time.monotonic() - self._one_begin_s if doing else 0.0
        left_s = self._estimate.left_s(min(spent, self._estimate.of(self._turn)))
        done_s = time.monotonic() - self._begin_s
        self._progress.update(
            self._task,
            description=f"{self._turn.title} {doing}".rstrip(),
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
