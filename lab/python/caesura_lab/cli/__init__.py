"""The lab's commands of `caesura`, one module each."""

from __future__ import annotations

import typer

from caesura_lab.cli import demo, evaluate, plan, simulate


def add_to(app: typer.Typer) -> None:
    """Adds them to the command line; caesura/cli/lab.py names them too."""
    app.command("demo")(demo.demo)
    app.command("plan")(plan.plan)
    app.command("simulate")(simulate.simulate)
    app.add_typer(evaluate.app, name="evaluate")
