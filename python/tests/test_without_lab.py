"""The product without the package caesura_lab: its commands are there and say what to install."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import typer
from caesura.cli import lab
from typer.testing import CliRunner


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    """A command line made where caesura_lab cannot be imported."""
    for name in [name for name in sys.modules if name.split(".")[0] == "caesura_lab"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "caesura_lab", None)
    made = typer.Typer()
    made.command("info")(lambda: None)
    lab.add_to(made)
    return made


@pytest.mark.parametrize("name", lab.COMMANDS)
@pytest.mark.parametrize("arguments", [[], ["a.toml", "--unknown", "3"], ["--help"]])
def test_a_command_of_the_lab_says_what_to_install(app, name, arguments):
    answer = CliRunner().invoke(app, [name, *arguments])
    assert answer.exit_code == 3
    said = " ".join(answer.output.split())
    assert f"`caesura {name}` is part of the package caesura-lab" in said
    assert "pip install ./lab" in said


def test_with_json_it_says_so_in_json(app):
    answer = CliRunner().invoke(app, ["simulate", "a.toml", "--json"])
    assert answer.exit_code == 3
    assert "caesura-lab" in json.loads(answer.stdout)["error"]


def test_the_lab_has_the_commands_that_the_product_promises():
    commands = pytest.importorskip("caesura_lab.cli")
    made = typer.Typer()
    commands.add_to(made)
    names = {command.name for command in made.registered_commands}
    names |= {group.name for group in made.registered_groups}
    assert names == set(lab.COMMANDS)


def test_the_wheel_has_nothing_of_the_lab():
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert re.search(r'wheel\.packages = \["python/caesura"\]', project)
    assert 'CAESURA_LAB = "OFF"' in project
