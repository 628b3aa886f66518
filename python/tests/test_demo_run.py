"""The demonstration for real, small: every mode, emulated file system, every value verified."""

# CAESURA_PYTEST_SERIAL: it measures time and starts ranks
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import jsonschema
import pytest
from caesura.demo.result import schema
from caesura.demo.runner import find_build
from caesura.demo.scenario import PEERS

SMALL = ["--grid", "32", "--steps", "3", "--peer-repeats", "1"]
SMALL += ["--repeats", "2", "--device-s", "0.05"]

built = (find_build() / "miniapps" / "cosmology" / "cosmology").exists()
pytestmark = pytest.mark.skipif(
    not built or shutil.which("mpirun") is None,
    reason="needs mpirun and the mini-app (CAESURA_MPI=ON)",
)


def demo(out, *arguments):
    command = [sys.executable, "-m", "caesura", "demo", "--out", str(out), *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=300
    )


def test_a_small_demonstration_runs_verifies_and_reports(tmp_path):
    answer = demo(tmp_path, *SMALL, "--bandwidth", "50e6", "--json")
    assert answer.returncode == 0, answer.stderr
    report = json.loads(answer.stdout)
    jsonschema.validate(report, schema())
    assert report == json.loads((tmp_path / "report.json").read_text())
    assert report["scenario"]["dumps"] == report["caesura"]["committed_dumps"] == 2
    for mode, entry in report["verified"].items():
        assert entry["values"] == (1 if mode in PEERS else 2) * 2 * 6 * 32**3  # dumps, fields
    assert 0 < report["verified"]["caesura"]["max_error_over_bound"] <= 1
    assert report["verified"]["async"]["max_error_over_bound"] == 0
    assert 0 < report["verified"]["plugin"]["max_error_over_bound"] <= 1
    assert report["verified"]["caesura"]["blocks_with_checksum"] >= 2 * 2 * 6
    html = (tmp_path / "report.html").read_text()
    assert 'id="detail"' in html
    left = sorted(path.name for path in (tmp_path / "run").iterdir() if path.suffix == ".h5")
    assert left == ["caesura-1.h5"]  # big files go once they are verified
    assert not (tmp_path / "run" / "raw").exists()


def test_without_emulation_nothing_is_labelled_emulated(tmp_path):
    arguments = [*SMALL[:-4], "--repeats", "1", "--device-s", "0", "--bandwidth", "0", "--json"]
    answer = demo(tmp_path, *arguments)
    assert answer.returncode == 0, answer.stderr
    emulated = json.loads(answer.stdout)["emulated"]
    assert [emulated[part]["on"] for part in ("file_system", "device")] == [False, False]


def test_a_run_that_fails_shows_its_last_words(tmp_path):
    answer = demo(tmp_path, *SMALL, "--codec", "nosuchcodec")
    assert answer.returncode == 3
    assert "nosuchcodec" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_missing_build_says_how_to_make_it(tmp_path):
    answer = demo(tmp_path, *SMALL, "--build", str(tmp_path / "nothing"))
    assert answer.returncode == 3
    assert "CAESURA_MPI=ON" in answer.stderr
