"""What a user must know reaches stderr without being asked for, once, and can be switched off."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mpi_parts import run_ranks

PROGRAM = Path(__file__).resolve().parent / "messages_program.py"


def run(place: Path, *words: str, **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, PROGRAM, place, *words]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **environment}
    )


def lines_of(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.startswith("caesura: ")]


def test_a_budget_that_is_too_small_is_said_once_in_one_line_with_what_to_do(tmp_path):
    done = run(tmp_path)
    (line,) = done.stderr.splitlines()
    assert line.startswith("caesura: rank 0: iteration 0 needs ")
    assert "memory budget of 65536" in line and "Raise memory_bytes" in line
    assert done.stdout == "0\n"


def test_a_callback_hears_it_instead_each_time(tmp_path):
    done = run(tmp_path, "quiet")
    assert done.stderr == ""
    assert done.stdout == "6\n"


def test_the_environment_switches_messages_off(tmp_path):
    assert run(tmp_path, CAESURA_MESSAGES="none").stderr == ""


@pytest.mark.skipif(
    shutil.which("mpirun") is None or importlib.util.find_spec("mpi4py") is None,
    reason="needs mpirun and mpi4py",
)
def test_rank_0_says_what_another_rank_has_to_say(tmp_path):
    done = run_ranks(3, PROGRAM, tmp_path, "mpi")
    (line,) = lines_of(done.stderr)
    assert line.startswith("caesura: rank 2: iteration 0 needs ")
