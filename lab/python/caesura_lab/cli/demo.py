"""caesura demo: run the demonstration, print its table, write its report."""

from __future__ import annotations

import json
import signal
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
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
from caesura.report.quantities import bytes_text, duration_text, ratio_text, share_text
from rich.box import SIMPLE_HEAD
from rich.table import Table

from caesura_lab.demo.scenario import (
    FULL,
    MODES,
    QUICK,
    SHORT_TITLES,
    DemoError,
    Scenario,
    WrongValues,
    sized,
)
from caesura_lab.report.demo_words import (
    conditions,
    cpu_sentence,
    factor_sentence,
    floor_sentence,
    machine_noise,
    percent,
    remarks,
    signed,
)

if TYPE_CHECKING:
    from caesura_lab.demo.runner import Run
    from caesura_lab.report.demo_page import KeptRun

_D = FULL


Quick = Annotated[bool, typer.Option("--quick", help=f"A picture sooner: {QUICK.grid}^3 cells.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on from what an interrupted call has finished.")
]
Grid = Annotated[int | None, typer.Option(min=16, help=f"Cells a side; default: {FULL.grid}.")]
Particles = Annotated[
    int | None, typer.Option(min=16, help="Particles a side; default: as the grid.")
]
Steps = Annotated[int, typer.Option(min=2, help="Time steps.")]
DumpEvery = Annotated[int, typer.Option(min=1, help="Steps between dumps.")]
Seed = Annotated[int, typer.Option(min=0)]
Ranks = Annotated[int, typer.Option(min=1, help="MPI ranks.")]
Repeats = Annotated[int, typer.Option(min=1, help="Runs of every mode; 3 for a record.")]
Pairs = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Pairs of runs of mode caesura, a repeat; "
        f"default: {FULL.pairs}, with --quick {QUICK.pairs}.",
    ),
]
DeviceS = Annotated[
    float | None,
    typer.Option(
        min=0, help="Emulated kernel seconds a step; 0: no emulation; default: by the mesh."
    ),
]
Codec = Annotated[str, typer.Option(help="Of mode caesura.")]
FilterCodec = Annotated[str, typer.Option(help="Of modes filter and plugin: sz3, zfp or zstd.")]
BoundScale = Annotated[float, typer.Option(help="Times the error bounds.")]
Bandwidth = Annotated[
    float, typer.Option(min=0, help="Emulated file system, bytes/s a node; 0: the real disk.")
]
LatencyS = Annotated[float, typer.Option(min=0, help="Of each write, s.")]
Fsync = Annotated[str, typer.Option(help="The emulated file system's: skip or pass.")]
Planning = Annotated[
    str, typer.Option(help="Of modes plugin and caesura: on, or off: as blocks come.")
]
Priority = Annotated[str, typer.Option(help="Of the compress threads: idle or normal.")]
ChunkBytes = Annotated[int, typer.Option(min=1 << 16, help="Raw bytes of a block of Caesura's.")]
WriteBuffer = Annotated[int, typer.Option(min=1, help="Compressed bytes gathered into one write.")]
WriteParticles = Annotated[
    bool, typer.Option("--write-particles", help="Beside the fields, without loss in every mode.")
]
OutDir = Annotated[Path, typer.Option("--out", help="Where reports go.")]
Build = Annotated[Path | None, typer.Option(help="Build tree; default: build/.")]
AsJson = Annotated[bool, typer.Option("--json", help=JSON_HELP)]


def demo(
    quick: Quick = False,
    resume: Resume = False,
    grid: Grid = None,
    particles: Particles = None,
    steps: Steps = _D.steps,
    dump_every: DumpEvery = _D.dump_every,
    seed: Seed = _D.seed,
    ranks: Ranks = _D.ranks,
    repeats: Repeats = _D.repeats,
    pairs: Pairs = None,
    device_s: DeviceS = None,
    codec: Codec = _D.codec,
    filter_codec: FilterCodec = _D.filter_codec,
    bound_scale: BoundScale = _D.bound_scale,
    bandwidth: Bandwidth = _D.bandwidth,
    latency_s: LatencyS = _D.latency_s,
    fsync: Fsync = _D.fsync,
    planning: Planning = _D.planning,
    priority: Priority = _D.priority,
    chunk_bytes: ChunkBytes = _D.chunk_bytes,
    write_buffer: WriteBuffer = _D.write_buffer,
    write_particles: WriteParticles = _D.write_particles,
    out_dir: OutDir = Path("out/demo"),
    build: Build = None,
    as_json: AsJson = False,
) -> None:
    """Run one simulation with seven ways of output, verify every value, show what each costs.

    HDF5, synchronous, plain and with a filter; uncompressed, asynchronous; Caesura with that
    filter; Caesura, planned, without a plan, and at normal priority. Writes report.json and
    report.html (with timelines, and a picture of what was simulated), keeps the last Caesura file
    and its traces in OUT/run. A run that fails is tried once more and then left out; what has
    finished is kept there too (--resume).

    Exit codes: 0; 1 wrong values in a file; 2 usage; 3 something is missing or too much failed.
    """
    _one_of("--fsync", fsync, "skip", "pass")
    _one_of("--planning", planning, "on", "off")
    _one_of("--priority", priority, "idle", "normal")
    options = locals()
    base = sized(QUICK if quick else FULL, grid or (QUICK if quick else FULL).grid)
    chosen = {field.name: options.get(field.name) for field in fields(Scenario)}
    scenario = replace(base, **{name: v for name, v in chosen.items() if v is not None})
    if scenario.dumps < 2:
        least = 2 * scenario.dump_every + 1
        raise typer.BadParameter(
            f"{scenario.steps} steps make {scenario.dumps} dumps; pairs of runs share out two or "
            f"more, so use at least {least}",
            param_hint="--steps",
        )
    need_core(as_json)
    # As by Ctrl-C: the ranks end too, and what has finished is kept.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with expected_errors(as_json, hint="go on with --resume"):
            report = _execute(scenario, out_dir, build, resume, as_json)
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


def _execute(
    scenario: Scenario, out_dir: Path, build: Path | None, resume: bool, as_json: bool
) -> dict:
    from caesura_lab.cli.demo_progress import make_watcher
    from caesura_lab.demo import machine
    from caesura_lab.demo.campaign import Campaign
    from caesura_lab.demo.result import build_report
    from caesura_lab.demo.runner import Runner, find_build, find_programs
    from caesura_lab.demo.state import State
    from caesura_lab.report.demo_page import demo_page
    from caesura_lab.report.universe import read_universe

    tree = (build or find_build()).resolve()
    programs = find_programs(tree, scenario.bandwidth > 0)
    folder = (out_dir / "run").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if not resume:
        for left in folder.iterdir():
            if left.is_file():
                left.unlink()

    state = State(folder, scenario, programs)
    with make_watcher(scenario, err, quiet=as_json) as watcher:
        campaign = Campaign(lambda one: Runner(programs, one, folder), scenario, folder, watcher,
                            state)  # fmt: skip
        if resume:
            campaign.resume()
        outcome = campaign.execute()
    report = build_report(scenario, outcome, machine.describe(tree))
    (out_dir / "report.json").write_text(json.dumps(report, indent=2, allow_nan=False) + "\n")
    kept = next((one.run for one in outcome.of("caesura")[-1:]), None)
    universe = read_universe(kept.output) if kept and kept.output else None
    document = demo_page(report, _kept_run(kept), universe)
    (out_dir / "report.html").write_text(document, encoding="utf-8")
    return report


def _kept_run(run: Run | None) -> KeptRun | None:
    from caesura import _core
    from caesura.report.advice import advice_of
    from caesura.report.facts import facts_of
    from caesura.trace import read_traces

    from caesura_lab.report.demo_page import KeptRun

    if run is None or not run.traces:
        return None
    trace = read_traces(run.traces)
    facts = facts_of(_core, [run.output] if run.output else [], trace)
    return KeptRun(facts, trace, advice_of(facts, trace))


def show(report: dict) -> None:
    """The table in the terminal, the paper's figures beside ours, and what they rest on."""
    title = "Overhead over computing alone, and the figures of the paper's artifact"
    table = Table(title=title, title_justify="left", header_style="bold", box=SIMPLE_HEAD)
    names = ("mode", "wall", "overhead", "in calls", "lost by steps", "in CPU time", "stored",
             "ratio", "Nyx", "WarpX")  # fmt: skip
    for name in names:
        table.add_column(name, justify="left" if name == "mode" else "right", no_wrap=True)
    for mode in MODES:
        if mode in report["modes"]:
            table.add_row(*_row(report, mode), style="bold" if mode == "caesura" else None)
    out.print(table)
    sentences = [factor_sentence(report, mode) for mode in ("sync", "async")]
    paper = report["paper"]
    out.print(
        f"Caesura's overhead is {sentences[0]} (paper: {paper['nyx']['improvement']} Nyx, "
        f"{paper['warpx']['improvement']} WarpX, {paper['text']['improvement_over_sync']} in its "
        f"text), and {sentences[1]} (paper's text: {paper['text']['improvement_over_async']}).",
        soft_wrap=True,
    )
    out.print(floor_sentence(report), soft_wrap=True)
    out.print(cpu_sentence(report), soft_wrap=True)
    out.print("± is where the truth lies in 19 of 20 cases; “compute only” shows noise alone.")
    out.print(f"Measured under: {conditions(report)}", soft_wrap=True)
    out.print(machine_noise(report), soft_wrap=True)
    for remark in remarks(report):
        out.print(remark, soft_wrap=True, markup=False)
    for name, what in report["emulated"].items():
        if what["on"]:
            out.print(f"Emulated {name.replace('_', ' ')}: {what['what']}.", soft_wrap=True)
    values = sum(entry["values"] for entry in report["verified"].values())
    out.print(
        f"Verified: {values:,} values; largest error of Caesura "
        f"{share_text(report['caesura']['max_error_over_bound'])} of its bound."
    )


def _row(report: dict, mode: str) -> list[str]:
    result = report["modes"][mode]
    wrote = mode != "compute"
    papers = [report["paper"][name].get(mode) for name in ("nyx", "warpx")]
    return [
        SHORT_TITLES[mode],
        duration_text(result["estimated_wall_s"]),
        percent(result["overhead"]) if wrote else "",
        f"{signed(result['calls_percent'])} %" if wrote else "",
        percent(result["loss"]) if result["loss"] else "",
        percent(result["cpu"]["overhead"]) if result["cpu"] else "",
        bytes_text(result["bytes_stored"]) if wrote else "",
        ratio_text(result["ratio"]) if wrote else "",
        *[f"{value:g} %" if value is not None else "" for value in papers],
    ]
