"""caesura demo: run the demonstration, print its table, write its report."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from caesura.cli.common import (
    FINDING,
    JSON_HELP,
    UNREADABLE,
    err,
    expected_errors,
    need_core,
    out,
    print_json,
)
from caesura.cli.common import stop as stop_with
from caesura.demo.scenario import MODES, SHORT_TITLES, DemoError, Scenario, WrongValues
from caesura.report.demo_page import percent
from caesura.report.quantities import bytes_text, duration_text, ratio_text, share_text

_D = Scenario()


def demo(
    grid: Annotated[int, typer.Option(min=16, help="Cells a side.")] = _D.grid,
    particles: Annotated[
        int | None, typer.Option(min=16, help="Particles a side; default: as the grid.")
    ] = None,
    steps: Annotated[int, typer.Option(min=2, help="Time steps.")] = _D.steps,
    dump_every: Annotated[int, typer.Option(min=1, help="Steps between dumps.")] = _D.dump_every,
    seed: Annotated[int, typer.Option(min=0)] = _D.seed,
    ranks: Annotated[int, typer.Option(min=1, help="MPI ranks.")] = _D.ranks,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of every mode.")] = _D.repeats,
    peer_repeats: Annotated[
        int, typer.Option(min=1, help="Runs of the slow modes: sync, filter, plugin.")
    ] = _D.peer_repeats,
    device_s: Annotated[
        float, typer.Option(min=0, help="Emulated kernel seconds a step; 0: no emulation.")
    ] = _D.device_s,
    codec: Annotated[str, typer.Option(help="Of mode caesura.")] = _D.codec,
    filter_codec: Annotated[
        str, typer.Option(help="Of modes filter and plugin: sz3, zfp or zstd.")
    ] = _D.filter_codec,
    bound_scale: Annotated[float, typer.Option(help="Times the error bounds.")] = _D.bound_scale,
    bandwidth: Annotated[
        float, typer.Option(min=0, help="Emulated file system, bytes/s a node; 0: the real disk.")
    ] = _D.bandwidth,
    latency_s: Annotated[float, typer.Option(min=0, help="Of each write, s.")] = _D.latency_s,
    fsync: Annotated[
        str, typer.Option(help="The emulated file system's: skip or pass.")
    ] = _D.fsync,
    planning: Annotated[
        str, typer.Option(help="Of modes plugin and caesura: on, or off: as blocks come.")
    ] = _D.planning,
    priority: Annotated[
        str, typer.Option(help="Of the compress threads: idle or normal.")
    ] = _D.priority,
    chunk_bytes: Annotated[
        int, typer.Option(min=1 << 16, help="Raw bytes of a block of Caesura's.")
    ] = _D.chunk_bytes,
    write_buffer: Annotated[
        int, typer.Option(min=1, help="Compressed bytes gathered into one write.")
    ] = _D.write_buffer,
    out_dir: Annotated[Path, typer.Option("--out", help="Where reports go.")] = Path("out/demo"),
    build: Annotated[Path | None, typer.Option(help="Build tree; default: build/.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Run one simulation with seven ways of output, verify every value, show what each costs.

    HDF5, synchronous, plain and with a filter; uncompressed, asynchronous; Caesura with that
    filter; Caesura, planned, without a plan, and at normal priority. Writes report.json and
    report.html (with timelines), keeps the last Caesura file and its traces in OUT/run.

    Exit codes: 0; 1 wrong values in a file; 2 usage; 3 something is missing or a run failed.
    """
    _one_of("--fsync", fsync, "skip", "pass")
    _one_of("--planning", planning, "on", "off")
    _one_of("--priority", priority, "idle", "normal")
    options = locals()
    chosen = {field.name: options[field.name] for field in fields(Scenario)}
    scenario = Scenario(**{**chosen, "particles": particles or grid})
    need_core(as_json)
    try:
        with expected_errors(as_json):
            report = _execute(scenario, out_dir, build, as_json)
    except DemoError as error:
        code = FINDING if isinstance(error, WrongValues) else UNREADABLE
        stop_with(str(error), as_json, code)
    if as_json:
        print_json(report)
    else:
        show(report)
        out.print(f"\nreport: {out_dir / 'report.html'}  {out_dir / 'report.json'}")


def _one_of(option: str, given: str, first: str, second: str) -> None:
    if given not in (first, second):
        raise typer.BadParameter(f"is {given!r}; use {first} or {second}", param_hint=option)


def _execute(scenario: Scenario, out_dir: Path, build: Path | None, as_json: bool) -> dict:
    from caesura.cli.demo_progress import make_watcher
    from caesura.demo import machine
    from caesura.demo.campaign import Campaign
    from caesura.demo.result import build_report
    from caesura.demo.runner import Runner, find_build, find_programs
    from caesura.report.demo_page import demo_page
    from caesura.trace import read_traces

    tree = (build or find_build()).resolve()
    programs = find_programs(tree, scenario.bandwidth > 0)
    folder = (out_dir / "run").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.iterdir():
        if left.is_file():
            left.unlink()
    runner = Runner(programs, scenario, folder)
    with make_watcher(scenario, err, quiet=as_json) as watcher:
        outcome = Campaign(runner, scenario, folder, watcher).execute()
    report = build_report(scenario, outcome, machine.describe(tree))
    (out_dir / "report.json").write_text(json.dumps(report, indent=2, allow_nan=False) + "\n")
    trace = read_traces(outcome.kept_traces) if outcome.kept_traces else None
    (out_dir / "report.html").write_text(demo_page(report, trace), encoding="utf-8")
    return report


def show(report: dict) -> None:
    """The table in the terminal, the paper's figures beside ours."""
    title = "Overhead over computing alone, and the figures of the paper's artifact"
    table = Table(title=title, title_justify="left", header_style="bold", box=SIMPLE_HEAD)
    names = ("mode", "wall", "overhead", "stored", "ratio", "Nyx", "WarpX")
    for name in names:
        table.add_column(name, justify="left" if name == "mode" else "right", no_wrap=True)
    for mode in MODES:
        result = report["modes"][mode]
        wrote = mode != "compute"
        papers = [report["paper"][name].get(mode) for name in ("nyx", "warpx")]
        table.add_row(
            SHORT_TITLES[mode],
            duration_text(result["median_wall_s"]),
            percent(result) if wrote else "",
            bytes_text(result["bytes_stored"]) if wrote else "",
            ratio_text(result["ratio"]) if wrote else "",
            *[f"{value:g} %" if value is not None else "" for value in papers],
            style="bold" if mode == "caesura" else None,
        )
    out.print(table)
    ours, paper = report["caesura"], report["paper"]
    if report["scenario"]["repeats"] > 1:
        out.print("± is half the range of the repeats.")
    out.print(
        f"Caesura's overhead is {ours['improvement_over_sync']:.1f} times smaller than "
        f"synchronous (paper: {paper['nyx']['improvement']} Nyx, "
        f"{paper['warpx']['improvement']} WarpX, {paper['text']['improvement_over_sync']} in its "
        f"text) and {ours['improvement_over_async']:.1f} times smaller than asynchronous "
        f"(paper's text: {paper['text']['improvement_over_async']}).",
        soft_wrap=True,
    )
    for name, what in report["emulated"].items():
        if what["on"]:
            out.print(f"Emulated {name.replace('_', ' ')}: {what['what']}.", soft_wrap=True)
    values = sum(entry["values"] for entry in report["verified"].values())
    out.print(
        f"Verified: {values:,} values; largest error of Caesura "
        f"{share_text(ours['max_error_over_bound'])} of its bound."
    )
