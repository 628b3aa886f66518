"""The comparison of five tasks runs: the peers that this environment has, every result checked.

Starts ranks by mpirun.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent / "peers"
sys.path.insert(0, str(HERE))

import five_tasks  # noqa: E402


def test_each_peer_has_the_scripts_that_it_is_said_to_need():
    for name, peer in five_tasks.PEERS.items():
        assert set(peer.typed) == set(five_tasks.TITLES)
        for task in peer.typed:
            for script in five_tasks.scripts_of(name, task):
                there = task not in peer.missing or task == "write"
                assert script.exists() == there, script


def test_lines_are_those_that_a_user_writes(tmp_path):
    script = tmp_path / "a.py"
    script.write_text(
        '"""Not\n\ncounted."""\n\nimport os  # counted\n# not\nprint("""two\nlines""")\n'
    )
    assert five_tasks.lines_of(script) == 3


def test_what_cannot_be_done_is_said_and_not_counted():
    entry = {"tasks": {task: {"missing": "no compressor"} for task in five_tasks.TITLES}}
    text = five_tasks.table({"peers": {"other": entry}})
    assert "| be killed, and say what is whole | no |" in text
    assert "- other, be killed, and say what is whole: no compressor." in text


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun")
def test_h5py_and_caesura_do_all_five(tmp_path):
    """With what this environment has; every value is compared with the field."""
    command = [sys.executable, str(HERE / "five_tasks.py"), "--only", "h5py", "caesura"]
    command += ["--kills", "1", "--out", str(tmp_path)]
    env = {name: text for name, text in os.environ.items() if name != "HDF5_PLUGIN_PATH"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "five_tasks.json").read_text())["peers"]
    for name in ("h5py", "caesura"):
        tasks = found[name]["tasks"]
        assert all(tasks[task]["lines"] > 0 and tasks[task]["run_s"] > 0 for task in tasks)
        ((whole, begun),) = tasks["kill"]["whole_of_begun"]
        assert whole <= begun
