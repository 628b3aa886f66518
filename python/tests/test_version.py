"""caesura --version: one line that tells a report's reader what was run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from caesura import __version__
from caesura.checkout import commit


def test_version_says_version_commit_and_hdf5():
    """Goal: all three, from the command line as people type it."""
    pytest.importorskip("caesura._core")
    command = [sys.executable, "-m", "caesura", "--version"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.fullmatch(r"caesura (\S+), commit (\S+), HDF5 (\d+)\.(\d+)\.(\d+)\n", answer.stdout)
    assert found, answer.stdout
    assert found[1] == __version__
    assert found[2] == commit()
    assert (int(found[3]), int(found[4])) >= (1, 10)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_commit_is_that_of_the_sources_and_of_no_other_repository(tmp_path: Path):
    """Goal: a package that lies in somebody else's repository does not claim its commit."""

    def git(*arguments: str) -> str:
        who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        command = ["git", "-C", str(tmp_path), *who, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    git("init", "-q")
    own, other = tmp_path / "own.py", tmp_path / "installed.py"
    own.write_text("one")
    other.write_text("two")
    git("add", "own.py")
    git("commit", "-qm", "first")
    assert commit(own) == git("rev-parse", "--short", "HEAD")
    assert commit(other) == "unknown"
    own.write_text("changed")
    assert commit(own).endswith("+")
