"""caesura simulate: what a scenario would cost, in every mode, on machines one does not have."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from caesura.cli.common import JSON_HELP, err, expected_errors, need_core, out, print_json, stop
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

if TYPE_CHECKING:
    from caesura_lab.simulation import Point, Scenario


def simulate(
    scenario: Annotated[Path, typer.Argument(help="A scenario in TOML.")],
    modes: Annotated[
        list[str] | None, typer.Option("--mode", help="Only this mode; may be repeated.")
    ] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Seeds; default: the file's.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the overheads (SVG).")] = None,
    timeline: Annotated[
        Path | None, typer.Option(help="Draw one rank's iteration in mode caesura (SVG).")
    ] = None,
    rank: Annotated[int, typer.Option(min=0, help="The rank of the timeline.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Simulate ranks, nodes and the file system they share: overhead of each mode of output.

    A scenario says what an iteration looks like, what is dumped, what machine it runs on and how
    much everything varies; lab/simulate/README.md explains the model, bench/simulate/scenarios has
    examples. A [sweep] runs every combination of its values.

    Exit codes: 0; 2 usage; 3 the scenario cannot be read or cannot be meant so.
    """
    need_core(as_json)
    try:
        from caesura_lab import _core  # noqa: F401
    except ImportError as error:
        stop(
            f"the compiled module caesura_lab._core cannot be loaded ({error}); "
            "run `make build`, or build the target caesura_lab_python",
            as_json,
        )
    from caesura_lab.simulation import load, run_scenario

    begin_s = time.monotonic()
    with expected_errors(as_json):
        loaded = load(scenario)
        with _progress(loaded.name, as_json) as tick:
            points = run_scenario(loaded, modes, repeats, tick)
        written = []
        if picture is not None:
            picture.write_text(draw(loaded, points), encoding="utf-8")
            written.append(str(picture))
        if timeline is not None:
            timeline.write_text(draw_timeline(loaded, rank), encoding="utf-8")
            written.append(str(timeline))
    seconds = time.monotonic() - begin_s
    if as_json:
        print_json(document(loaded, points, repeats) | {"seconds": seconds, "written": written})
        return
    show(loaded, points)
    events = sum(mode["events"] for point in points for mode in point.modes.values())
    out.print(f"{events:,} events in {seconds:.1f} s")
    if written:
        err.print(f"written: {', '.join(written)}", markup=False, soft_wrap=True)


@contextmanager
def _progress(name: str, as_json: bool) -> Iterator[Callable[[float], None]]:
    """A bar on a terminal, nothing elsewhere."""
    columns = (TextColumn(name), BarColumn(32), TimeElapsedColumn(), TimeRemainingColumn())
    shown = err.is_terminal and not as_json
    with Progress(*columns, console=err, transient=True, disable=not shown) as bars:
        task = bars.add_task("", total=1.0)
        yield lambda share: bars.update(task, completed=share)


def document(scenario: Scenario, points: list[Point], repeats: int | None) -> dict[str, Any]:
    """What --json prints, and what figures keep."""
    return {
        "name": scenario.name,
        "simulated": True,
        "repeats": repeats or scenario.repeats,
        "seed": scenario.seed,
        "points": [point.as_dict() for point in points],
    }


def show(scenario: Scenario, points: list[Point]) -> None:
    """A table: one row a point and mode."""
    table = Table(title=scenario.name, title_justify="left", box=None, padding=(0, 2))
    for key in scenario.sweep:
        table.add_column(key.split(".")[-1], justify="right")
    table.add_column("mode")
    for name in ("wall", "overhead", "waiting", "in the way", "closing", "a dump takes",
                 "plan's error", "written by others"):  # fmt: skip
        table.add_column(name, justify="right", no_wrap=True)
    for point in points:
        for mode, m in point.modes.items():
            spread = f"{100 * (m['overhead_high'] - m['overhead_low']) / 2:.1f}"
            foreign = m["foreign_writes"] / m["writes"] if m["foreign_writes"] else 0.0
            table.add_row(
                *(f"{value}" for value in point.chosen.values()), mode, f"{m['wall_s']:.2f} s",
                "" if mode == "compute" else f"{100 * m['overhead']:.1f} % ± {spread}",
                _seconds(m["wait_s"]), _seconds(m["delay_s"]), _seconds(m["closing_s"]),
                _seconds(m["dump_s"]),
                f"{100 * m['plan_error']:.1f} %" if m["plans"] else "",
                f"{100 * foreign:.0f} %" if foreign else "",
            )  # fmt: skip
    out.print(table)


def _seconds(value: float) -> str:
    return f"{value:.3f} s" if value > 0 else ""


def draw(scenario: Scenario, points: list[Point]) -> str:
    """Bars without a sweep, lines over its last key with one; its other keys name the lines."""
    from caesura_lab.simulation import MODES
    from caesura_lab.simulation.picture import Series, bars, lines

    shown = [mode for mode in points[0].modes if mode != "compute"]
    label = "time over that of computing alone"

    def value(point: Point, mode: str) -> tuple[float, float, float]:
        m = point.modes[mode]
        return m["overhead"], m["overhead_low"], m["overhead_high"]

    if not scenario.sweep:
        values = [(mode, *value(points[0], mode), MODES.index(mode)) for mode in shown]
        return bars(f"{scenario.name} (simulated)", label, values)
    *others, axis = scenario.sweep
    numbers = scenario.sweep[axis]
    groups: dict[str, list[Point]] = {}
    for point in points:
        name = ", ".join(f"{point.chosen[key]}" for key in others)
        groups.setdefault(name, []).append(point)
    series = []
    for index, (name, members) in enumerate(groups.items()):
        for mode in shown:
            series.append(
                Series(
                    f"{mode} {name}".strip(),
                    [(float(i), *value(point, mode)) for i, point in enumerate(members)],
                    MODES.index(mode),
                    shape=index + MODES.index(mode),
                )
            )
    ticks = [(float(i), f"{number}") for i, number in enumerate(numbers)]
    return lines(f"{scenario.name} (simulated)", (axis, label), series, ticks)


def draw_timeline(scenario: Scenario, rank: int) -> str:
    """The first point's mode caesura, one rank."""
    from caesura.report.timeline import standalone_svg

    from caesura_lab.simulation.running import run
    from caesura_lab.simulation.timeline import trace_of

    settings = scenario.points()[0][1]
    outcome = run(settings, "caesura", scenario.seed, timeline_rank=rank)
    return standalone_svg(
        trace_of(outcome, rank), f"{scenario.name}, rank {rank}: simulated, planned above actual"
    )
