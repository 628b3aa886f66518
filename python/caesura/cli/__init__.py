"""The command line: one module per command, what they share in common.py."""

from __future__ import annotations

from typing import Annotated

import typer
from typer.core import TyperGroup

from caesura.cli import (
    calibrate,
    doctor,
    info,
    lab,
    path,
    recover,
    report,
    serve,
    together,
    tune,
    verify,
    version,
    vol,
    wait,
    watch,
    where,
)


class _Commands(TyperGroup):
    """`caesura plan where` is `caesura where`, beside the lab's `caesura plan INSTANCE`."""

    def resolve_command(self, ctx, args):
        if args[:2] == ["plan", "where"]:
            args = args[1:]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="caesura",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help=(
        "Look at, verify, repair and picture files written by Caesura.\n\n"
        "Exit codes: 0 all is well; 1 a finding (a corrupt block, a bound that does not hold, a "
        "dump that was dropped); 2 wrong usage; 3 something cannot be read or run."
    ),
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def options(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=version.show,
            help="Say version, commit and HDF5, and end.",
        ),
    ] = False,
) -> None:
    """What stands before a command."""


app.command("info")(info.info)
app.command("verify")(verify.verify)
app.command("recover")(recover.recover)
app.command("report")(report.report)
app.command("calibrate")(calibrate.calibrate)
app.command("doctor")(doctor.doctor)
app.command("path")(path.path)
app.command("tune")(tune.tune)
app.command("together")(together.together)
app.command("wait")(wait.wait)
app.command("watch")(watch.watch)
app.command("where")(where.where)
app.add_typer(vol.app, name="vol")
app.add_typer(serve.app, name="serve")
lab.add_to(app)
