"""caesura plan: planning problems in, plans out."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from caesura.cli.common import (
    JSON_HELP,
    USAGE,
    err,
    expected_errors,
    need_core,
    out,
    print_json,
    stop,
)
from caesura.report import raster
from caesura.report.quantities import duration_text
from rich.table import Table

if TYPE_CHECKING:
    from caesura.plan import Schedule

    from caesura_lab.planning.instances import Instance

_ROBUST_HELP = (
    "The search shortens the mean end over what the instance's spreads let happen, not the end "
    "that is due when everything lasts as expected."
)
_REPEATED_BELOW_S, _REPEATS = 2e-3, 5


def plan(
    instance: Annotated[
        Path | None,
        typer.Argument(help="Planning problems as JSON, one or a list; - is standard input."),
    ] = None,
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            help="An algorithm's name, default, or all. May be given several times.  "
            "[default: default]",
            show_default=False,
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(min=0, help="What the search may cost, in steps.  [default: about 20 ms]"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the search.")] = 0,
    robust: Annotated[bool, typer.Option("--robust", help=_ROBUST_HELP)] = False,
    picture: Annotated[
        Path | None,
        typer.Option(
            help="Draw the plans: OUT.svg or OUT.png; OUT-1.svg, OUT-2.svg... of several instances."
        ),
    ] = None,
    from_trace: Annotated[
        list[Path] | None,
        typer.Option(
            help="Print the planning problems of a run's trace instead, a dump each. May be given "
            "several times."
        ),
    ] = None,
    resumable: Annotated[
        bool, typer.Option(help="With --from-trace: compressions may be suspended.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Plan when each compression and each write runs around what the application needs.

    An instance is {"name", "jobs": [{"compress_s", "write_s"}...], "obstacles": {"compress":
    [[begin_s, end_s]...], "write": [...]}, "iteration_s", "resumable"}; only jobs must be given,
    for --robust spreads too ("compress_spread_s"...). Every plan is checked before it is shown.

    Exit codes: 0; 2 usage; 3 the instances cannot be read.
    """
    need_core(as_json)
    if (instance is None) == (not from_trace):
        stop("give a file of instances (or -), or --from-trace, and not both", as_json, USAGE)
    if picture is not None and picture.suffix not in raster.SUFFIXES:
        stop(f"the picture is {picture}; name it .svg or .png", as_json, USAGE)
    names = _algorithms(algorithm or ["default"], as_json)
    with expected_errors(as_json):
        if from_trace:
            _print_instances(from_trace, resumable)
            return
        instances = _read(instance, robust)
        options = {"search_steps": steps, "seed": seed, "robust": robust}
        plans = [[(name, *_timed(item, name, options)) for name in names] for item in instances]
        if picture is not None:
            _draw(instances, plans, picture)
    if as_json:
        print_json(
            [
                _as_json(item, *made)
                for item, of_item in zip(instances, plans, strict=True)
                for made in of_item
            ]
        )
    else:
        _show(instances, plans)


def _algorithms(asked: list[str], as_json: bool) -> list[str]:
    """`all` is each of them once; the default goes by that name."""
    from caesura_lab.planning import planners as planner

    others = [name for name in planner.ALGORITHMS if name != planner.DEFAULT_ALGORITHM]
    names: list[str] = []
    for name in asked:
        if name != "all" and name not in (planner.DEFAULT, *planner.ALGORITHMS):
            known = ", ".join(["all", planner.DEFAULT, *planner.ALGORITHMS])
            stop(f"the algorithm is {name!r}; use one of {known}", as_json, USAGE)
        names += [*others, planner.DEFAULT] if name == "all" else [name]
    return list(dict.fromkeys(names))


def _read(path: Path, robust: bool) -> list[Instance]:
    from caesura_lab.planning.instances import parse

    name = "standard input" if str(path) == "-" else str(path)
    text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    instances = parse(text, name)
    if robust and not any(item.has_spreads for item in instances):
        raise ValueError(
            f"{name}: --robust, but no instance has spreads; give compress_spread_s and "
            "write_spread_s of jobs, or spread_s of obstacles, in seconds"
        )
    return instances


def _print_instances(traces: list[Path], resumable: bool) -> None:
    from caesura.trace import read_traces

    from caesura_lab.planning.instances import dumps, from_trace

    instances = from_trace(read_traces(traces), resumable)
    if not instances:
        raise ValueError(
            f"{', '.join(map(str, traces))}: no dump was compressed during a later iteration, so "
            "nothing was planned"
        )
    sys.stdout.write(dumps(instances))


def _timed(instance: Instance, algorithm: str, options: dict[str, Any]) -> tuple[Schedule, float]:
    """A plan and how long making it takes: the median of five where it is quickly made again."""
    made = instance.schedule(algorithm, **options)
    times_s = [made.plan_s]
    if made.plan_s < _REPEATED_BELOW_S:
        times_s = [instance.schedule(algorithm, **options).plan_s for _ in range(_REPEATS)]
    return made, statistics.median(times_s)


def _as_json(instance: Instance, algorithm: str, made: Schedule, plan_s: float) -> dict[str, Any]:
    return {
        "name": instance.name,
        "algorithm": algorithm,
        "makespan_s": made.end_s,
        "iteration_s": max(made.end_s, instance.iteration_s),
        "lower_bound_s": instance.lower_bound_s(),
        "plan_us": 1e6 * plan_s,
        "compress": made.compress_begin_s,
        "write": made.write_begin_s,
    }


def _show(instances: list[Instance], plans: list[list[tuple[str, Schedule, float]]]) -> None:
    for item, of_item in zip(instances, plans, strict=True):
        bound_s = item.lower_bound_s()
        kind = ", compressions may be suspended" if item.resumable else ""
        out.print(item.name, style="bold", markup=False, soft_wrap=True)
        out.print(
            f"{len(item.jobs)} blocks, {len(item.compress)} + {len(item.write)} obstacles, "
            f"iteration {duration_text(item.iteration_s)}{kind}; no plan ends before "
            f"{bound_s:.6g} s",
            style="dim",
            soft_wrap=True,
        )
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        for name in ("algorithm", "last write ends", "iteration", "above the bound", "planned in"):
            table.add_column(name, justify="left" if name == "algorithm" else "right", no_wrap=True)
        best_s = min(made.end_s for _, made, _ in of_item)
        for name, made, plan_s in of_item:
            above = f"{100 * (made.end_s / bound_s - 1):.2f} %" if bound_s > 0 else ""
            table.add_row(
                name,
                f"{made.end_s:.6f} s",
                f"{max(made.end_s, item.iteration_s):.6f} s",
                above,
                duration_text(plan_s),
                style="bold" if len(of_item) > 1 and made.end_s == best_s else "",
            )
        out.print(table)
        out.print()


def _draw(
    instances: list[Instance], plans: list[list[tuple[str, Schedule, float]]], path: Path
) -> None:
    from caesura_lab.report.gantt import picture

    for number, (item, of_item) in enumerate(zip(instances, plans, strict=True), start=1):
        place = path
        if len(instances) > 1:
            place = path.with_name(f"{path.stem}-{number}{path.suffix}")
        raster.save(picture(item, [(name, made) for name, made, _ in of_item]), place)
        err.print(f"picture: {place}", markup=False, soft_wrap=True)
