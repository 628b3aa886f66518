"""caesura doctor: what this machine has and lacks, and what to set."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from caesura.cli.common import FINDING, JSON_HELP, OK, err, expected_errors, out, print_json


class System(StrEnum):
    slurm = "slurm"
    pbs = "pbs"


COLOURS = {"ok": "green", "not there": "dim", "note": "yellow", "set": "red"}


def doctor(
    directory: Annotated[Path, typer.Argument(help="Where dumps go.")] = Path("."),
    ranks: Annotated[
        int | None,
        typer.Option("--ranks", min=1, help="Ranks on this machine; left out: as the job says."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, help="Threads of a rank; left out: OMP_NUM_THREADS or 1."),
    ] = None,
    job: Annotated[
        System | None, typer.Option("--job", help="Print a job script on stdout, the rest beside.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Look at this machine: libraries, plugins, file system, cores, memory, GPU; say what to set.

    It looks at the machine that it runs on: of a cluster, run it inside a job. Nothing is changed.
    --job prints a script for one such node, with what must be set in it.

    Exit codes: 0 nothing must be set; 1 something must; 2 usage; 3 there is no such directory.
    """
    with expected_errors(as_json):
        from caesura import doctor as checks
        from caesura.doctor.finding import ranks_of_job, threads_of_job
        from caesura.doctor.job import script

        ask = checks.Ask(directory.absolute(), ranks or ranks_of_job(), threads or threads_of_job())
        findings = checks.examine(ask)
        text = script(job.value, ask, findings) if job else ""
    wanted = [finding for finding in findings if finding.state == checks.MUST_SET]
    if as_json:
        document: dict[str, Any] = {
            "directory": str(ask.directory),
            "ranks": ask.ranks,
            "threads": ask.threads,
            "must_be_set": len(wanted),
            "checks": [asdict(finding) for finding in findings],
        }
        print_json(document | ({"job": text} if job else {}))
    else:
        show(findings, len(wanted), err if job else out)
        if job:
            typer.echo(text, nl=False)
    raise typer.Exit(FINDING if wanted else OK)


def show(findings: list[Any], wanted: int, console: Console) -> None:
    """One line a check; below it what to do, and why. Never cut: people paste from it."""
    width = max(len(one.name) for one in findings)
    for one in findings:
        colour = COLOURS[one.state]
        head = f"[{colour}]{one.state:9}[/{colour}]  {escape(one.name):{width}}  "
        console.print(head + escape(one.found), soft_wrap=True)
        if one.do:
            indent = " " * (13 + width)
            console.print(f"{indent}[bold]{escape(one.do)}[/bold]", soft_wrap=True)
            if one.state == "set":
                console.print(f"{indent}[dim]Why: {escape(one.why)}.[/dim]", soft_wrap=True)
    thing = "thing" if wanted == 1 else "things"
    console.print(f"\n{wanted} {thing} to set" if wanted else "\nnothing must be set")
