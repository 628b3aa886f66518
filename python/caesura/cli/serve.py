"""caesura serve: start the service that compresses and writes for applications, and ask it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table
from typer.core import TyperGroup

from caesura import serving
from caesura.cli.common import FINDING, JSON_HELP, OK, expected_errors, out, print_json

# A line of it is a paragraph; rich takes brackets for its own.
HELP = "\n\n".join(
    (
        "Compress and write for applications, in a process beside them.",
        "A configuration, serve.toml:",
        '    listen = \\["unix:/run/user/1000/caesura.sock"]\n'
        '    status = "/run/user/1000/caesura.json"\n'
        "    \\[\\[write]]\n"
        '    directory = "/scratch/me"',
        "Clients may write below that directory, and nowhere else. `caesura serve serve.toml` "
        "starts it, and prints what clients connect to: service:unix:/run/user/1000/caesura.sock.",
        "An application names that: C++ and C in `transport` of its options, Python in "
        "Writer(..., transport=...), an unmodified HDF5 program in the connector's TOML file: "
        'transport = "service:unix:/run/user/1000/caesura.sock,on_loss=write".',
        "SIGTERM or `caesura serve drain` ends it when its last client has gone, `caesura serve "
        "stop` at once. docs/reference/service_settings.md has all keys, service.md beside it the "
        "rest.",
    )
)
WHERE_HELP = "The service's configuration (.toml), or its status file. Left out: the user's own."


class ConfigOrCommand(TyperGroup):
    """`serve CONFIG.toml` is `serve run CONFIG.toml`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=ConfigOrCommand,
    no_args_is_help=True,
    help=HELP,
    subcommand_metavar="CONFIG.toml | COMMAND",
)
Where = Annotated[Path | None, typer.Argument(metavar="[CONFIG|PATH]", help=WHERE_HELP)]
AsJson = Annotated[bool, typer.Option("--json", help=JSON_HELP)]


@app.command("run")
def run(
    config: Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="What it may do.")],
) -> None:
    """Start the service; the word `run` may be left out.

    It becomes this process, so that signals and exit code are its own: 0 it ended in good order, 1
    it was ended at once, 3 the configuration cannot be used or an address is taken.
    """
    with expected_errors(False):
        program = serving.program_path()
    os.execv(program, [program, str(config)])


@app.command("status")
def status(where: Where = None, as_json: AsJson = False) -> None:
    """Who is connected, what came, what is stored, what waits.

    `in` and `stored` are bytes since the client came; `waiting` are its values that are not
    compressed yet. Exit codes: 0 the service runs; 1 its process is gone, or it has said nothing
    for 10 s; 3 nothing can be read.
    """
    with expected_errors(as_json):
        told = serving.read_status(where)
    well = told["alive"] and told["said_s"] < 10.0
    if as_json:
        print_json(told)
    else:
        show(told)
    raise typer.Exit(OK if well else FINDING)


@app.command("drain")
def drain(where: Where = None, as_json: AsJson = False) -> None:
    """Take no new clients, and end when the last has gone (as SIGTERM does)."""
    finish(where, as_json, at_once=False)


@app.command("stop")
def stop_now(where: Where = None, as_json: AsJson = False) -> None:
    """End at once. Its clients get an error, or go on by themselves (on_loss=write)."""
    finish(where, as_json, at_once=True)


def finish(where: Path | None, as_json: bool, at_once: bool) -> None:
    """Signals, and one line."""
    with expected_errors(as_json):
        told = serving.read_status(where)
        serving.end(told, at_once)
    clients = len(told["clients"])
    if as_json:
        print_json({"process": told["process"], "clients": clients, "at_once": at_once})
    elif at_once:
        out.print(f"process {told['process']} has been told to end at once; clients: {clients}")
    else:
        out.print(f"process {told['process']} will end when its {clients} clients have gone")


def show(told: dict[str, Any]) -> None:
    """For people."""
    table = Table("client", "weight", "in", "stored", "ratio", "dumps", "queue", "waiting", "age")
    for one in told["clients"]:
        ratio = one["raw_bytes"] / one["stored_bytes"] if one["stored_bytes"] else None
        table.add_row(
            escape(one["application"]),
            f"{one['weight']:g}",
            size(one["raw_bytes"]),
            size(one["stored_bytes"]),
            "" if ratio is None else f"{ratio:.1f}",
            str(one["dumps"]),
            str(one["waiting_blocks"]),
            size(one["outstanding_bytes"]),
            duration(one["age_s"]),
        )
    how = "it drains" if told["draining"] else "it runs"
    if not told["alive"]:
        how = "IT IS GONE: this is what it said last"
    elif told["said_s"] >= 10.0:
        how = f"it has said nothing for {duration(told['said_s'])}"
    out.print(
        f"process {told['process']}: {how}; {len(told['clients'])} clients, "
        f"{told['waiting_blocks']} blocks wait; since its start {told['connected']} came, "
        f"{told['lost']} went, {told['turned_away']} were turned away, "
        f"{told['unproved']} did not prove who they are",
        soft_wrap=True,
    )
    objects = told.get("objects", {})
    if objects.get("objects"):
        on_devices = "".join(
            f"{one['device']} HAS FAILED, "
            if one["failed"]
            else f"{size(one['bytes'])} on {escape(one['device'])}, "
            for one in objects.get("devices", [])
        )
        out.print(
            f"{objects['objects']} objects: {size(objects['memory_bytes'])} in memory, "
            f"{on_devices}{size(objects['sink_bytes'])} in the sink; chains have made "
            f"{size(objects['chained_bytes'])} of {size(objects['chained_raw_bytes'])}",
            soft_wrap=True,
        )
    if told["clients"]:
        out.print(table)


def size(n: float) -> str:
    """Three figures and a unit."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if n < 999.5 or unit == "TB":
            return f"{n:.3g} {unit}"
        n /= 1000
    raise AssertionError


def duration(s: float) -> str:
    """Of the order in which one thinks of it."""
    if s < 120:
        return f"{s:.0f} s"
    return f"{s / 60:.0f} min" if s < 7200 else f"{s / 3600:.1f} h"
