"""The command of a checkout: what set-up makes of it."""

import subprocess
import sys
from pathlib import Path

import machine
import pytest


@pytest.fixture
def venv(tmp_path, monkeypatch) -> Path:
    """An environment of its own whose Python is this one's."""
    place = tmp_path / "venv"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", str(place)],
        check=True,
    )
    monkeypatch.setattr(machine, "VENV", place)
    monkeypatch.setattr(machine, "VENV_PYTHON", place / "bin" / "python")
    return place


def caesura(venv: Path) -> subprocess.CompletedProcess[str]:
    command = [str(venv / "bin" / "caesura"), "--version"]
    return subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})


def test_setting_up_in_an_activated_environment_finds_it_up_to_date(venv):
    """Goal: both Pythons name the same one, or each would remove what the other has made."""
    ask = "import machine; print(machine.base_python())"
    tools = str(Path(machine.__file__).parent)
    said = {
        subprocess.run(
            [python, "-c", ask], capture_output=True, text=True, check=True, cwd=tools
        ).stdout
        for python in (str(machine.VENV_PYTHON), machine.base_python())
    }
    assert said == {machine.base_python() + "\n"}


def test_the_command_runs_what_is_in_the_build_tree(tmp_path, venv):
    package = tmp_path / "build" / "python" / "caesura"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text("def main():\n    print('from the build tree')\n")
    machine.ensure_command(package.parent)
    machine.ensure_command(package.parent)  # a second set-up changes nothing
    answer = caesura(venv)
    assert (answer.returncode, answer.stdout) == (0, "from the build tree\n")


def test_before_the_build_the_command_says_what_to_type(tmp_path, venv):
    machine.ensure_command(tmp_path / "build" / "python")
    answer = caesura(venv)
    assert answer.returncode == 1
    assert "make build" in answer.stderr
    assert "Traceback" not in answer.stderr
