"""The commands that the package caesura_lab brings. Without it they say what to install."""

from __future__ import annotations

import importlib

import typer

from caesura.cli.common import JSON_HELP, stop

COMMANDS = {
    "demo": "Run one simulation with several ways of output, and show what each costs.",
    "plan": "Plan when each compression and each write runs.",
    "simulate": "Simulate ranks, nodes and the file system they share.",
    "evaluate": "Hold what Caesura expects against what comes, on your own files.",
}
_ANY_ARGUMENTS = {
    "ignore_unknown_options": True,
    "allow_extra_args": True,
    "help_option_names": [],
}


def add_to(app: typer.Typer) -> None:
    """The lab's commands, or what to do about it in their place."""
    try:
        lab = importlib.import_module("caesura_lab.cli")
    except ModuleNotFoundError as error:
        if error.name not in ("caesura_lab", "caesura_lab.cli"):
            raise
        for name, text in COMMANDS.items():
            app.command(name, help=f"{text} Needs caesura-lab.", context_settings=_ANY_ARGUMENTS)(
                _missing(name)
            )
    else:
        lab.add_to(app)


def _missing(name: str):
    def command(as_json: bool = typer.Option(False, "--json", help=JSON_HELP)) -> None:
        stop(
            f"`caesura {name}` is part of the package caesura-lab, which is not installed; "
            "in a checkout of Caesura run `pip install ./lab`, or `make build` and the command "
            "there",
            as_json,
        )

    return command
