"""calibrate: a profile that Writers start from; budgets are kept, bad places and files are said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import caesura
import numpy as np
import pytest
from caesura import _core, calibration
from caesura.calibration import measuring

BUDGET_S = 1.5


def run(*arguments, code=0, **variables):
    command = [sys.executable, "-m", "caesura", "calibrate", *map(str, arguments)]
    environment = os.environ | {k: str(v) for k, v in variables.items()}
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert answer.returncode == code, answer.stdout + answer.stderr
    assert "Traceback" not in answer.stderr
    return answer


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """A profile of our own codec at the default place, its summary, and how long it took."""
    folder = tmp_path_factory.mktemp("calibrate")
    begin_s = time.monotonic()
    answer = run(
        "--json", "--seconds", BUDGET_S, "--codec", "caesura", "--codec", "caesura:fast",
        "--directory", folder, XDG_CONFIG_HOME=folder / "config", CAESURA_CALIBRATION="",
    )  # fmt: skip
    return folder, json.loads(answer.stdout), time.monotonic() - begin_s


def test_the_profile_lies_where_a_writer_looks(calibrated, monkeypatch):
    folder, summary, _ = calibrated
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.delenv("CAESURA_CALIBRATION", raising=False)
    assert summary["path"] == str(calibration.default_path())
    profile = calibration.load()
    assert profile.host_class == calibration.host_class()["class"]
    model = calibration.CompressModel("caesura:fast", "float32", profile)
    assert model.calibrated
    curve = profile.find("caesura:fast", "fast", "float32")
    assert model.predict_s(8 << 20, 2.0, "fast") == pytest.approx(curve.predict_s(8 << 20, 2.0))


def test_it_ends_in_time_and_leaves_nothing_in_the_directory(calibrated):
    folder, _, took_s = calibrated
    assert took_s < BUDGET_S + 60.0  # fields and fits; far less on an idle machine
    assert [path.name for path in folder.iterdir()] == ["config"]


def test_its_curves_fit_what_was_measured(calibrated):
    _, summary, _ = calibrated
    document = json.loads(Path(summary["path"]).read_text())
    assert document["compress"] and document["write"]
    for entry in document["compress"]:
        assert len(entry["points"]) == entry["samples"]
        if entry["samples"] >= 10:
            assert entry["median_error"] < 0.5
    kinds = {(entry["file_system"], entry["synced"]) for entry in document["write"]}
    assert {synced for _, synced in kinds} <= {False, True}
    picture = Path(summary["picture"]).read_text()
    assert picture.startswith("<svg") and "caesura" in picture and "NaN" not in picture


def test_a_writer_starts_from_it(calibrated, tmp_path):
    _, summary, _ = calibrated
    profile = json.loads(Path(summary["path"]).read_text())
    for entry in profile["compress"]:
        entry["curve"] = {"form": "points", "bits": [1.0], "s_per_byte": [1e-3], "per_block_s": 0}
    slow = tmp_path / "slow.json"
    slow.write_text(json.dumps(profile))
    values = np.linspace(0, 1, 32**3, dtype=np.float32).reshape(32, 32, 32)
    reports = []
    for place in (slow, "none"):
        with caesura.Writer(tmp_path / "x.h5", absolute=1e-3, calibration=place) as writer:
            field = writer.define_field("x", np.float32, values.shape)
            with writer.iteration(0) as iteration:
                iteration.begin_dump(time=0).put(field, values)
        reports.append(writer.report())
    assert reports[0].predicted_compress_s > 10 * reports[1].predicted_compress_s > 0


def test_another_directory_adds_its_file_system(calibrated, tmp_path):
    """What is known of other file systems stays; what is measured again is replaced."""
    _, summary, _ = calibrated
    document = json.loads(Path(summary["path"]).read_text())
    for entry in document["write"]:
        entry["file_system"] = "lustre"
    place = tmp_path / "profile.json"
    place.write_text(json.dumps(document))
    run("--seconds", 0.5, "--codec", "caesura:fast", "--directory", tmp_path, "--output", place)
    now = json.loads(place.read_text())
    systems = {entry["file_system"] for entry in now["write"]}
    assert "lustre" in systems
    kept = [e for e in now["write"] if e["file_system"] == "lustre"]
    assert all(entry["points"] for entry in kept)
    assert {e["codec"] for e in now["compress"]} <= {"caesura:fast"}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", _core.CorruptError),
        ("{", _core.CorruptError),
        ('{"format": "caesura-calibration", "version": 99}', RuntimeError),
        ("[1, 2]", RuntimeError),
    ],
)
def test_bad_files_are_refused_with_what_to_do(tmp_path, text, error):
    place = tmp_path / "bad.json"
    place.write_text(text)
    with pytest.raises(error, match="caesura calibrate"):
        calibration.load(place)
    assert calibration.load(tmp_path / "missing.json") is None


def test_a_bad_file_is_replaced(tmp_path):
    place = tmp_path / "bad.json"
    place.write_text("{ half of")
    run("--seconds", 0.5, "--codec", "caesura:fast", "-d", tmp_path, "--output", place)
    assert calibration.load(place).host_class


def test_places_that_cannot_be_written_are_said_at_once(tmp_path):
    missing = tmp_path / "missing"
    answer = run("--directory", missing, "--output", tmp_path / "p.json", code=3)
    assert str(missing) in answer.stderr
    file = tmp_path / "file"
    file.touch()
    assert "file" in run("--directory", tmp_path, "--output", file / "p.json", code=3).stderr
    assert "directory" in run("--directory", tmp_path, "--output", tmp_path, code=3).stderr
    if os.geteuid() != 0:
        locked = tmp_path / "locked"
        locked.mkdir(mode=0o500)
        assert str(locked) in run("--directory", locked, "-o", locked / "p.json", code=3).stderr
    assert "--output" in run("--directory", tmp_path, code=3, CAESURA_CALIBRATION="none").stderr


@pytest.mark.parametrize("arguments", [("--seconds", "1000"), ("--codec", "gzip")])
def test_wrong_usage_is_a_sentence(arguments):
    assert arguments[0] in run(*arguments, code=2).stderr


def test_fits_recover_what_made_the_samples():
    """S1-Eq1 with the paper's own numbers."""

    def speed(bits):
        share = 1.0 if bits < 3 else (bits / 3) ** -1.716
        return 101.7e6 + (240.6e6 - 101.7e6) * share

    bits = [0.1, 0.5, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32]
    samples = [(1 << 23, b, (1 << 23) / speed(b)) for b in bits]
    curve = calibration.fit_compress(samples)
    assert curve.form == "power"
    assert curve.low_bytes_per_s == pytest.approx(101.7e6, rel=0.01)
    assert curve.high_bytes_per_s == pytest.approx(240.6e6, rel=0.01)
    assert curve.exponent == pytest.approx(-1.716, rel=0.02)
    writes = [(n, 1e-3 + n / 1e9) for n in measuring.WRITE_SIZES]
    line = calibration.fit_write(writes)
    assert line.predict_s(30_000_000) == pytest.approx(0.031, rel=0.02)
    assert line.ordered_share(writes) == 1.0


def test_fields_reach_from_smooth_to_noise():
    """So that calibrated curves cover few and many bits."""
    cubes = measuring.fields(32)
    sizes = [len(caesura.codec.compress(cube.astype(np.float32), 1e-3)) for cube in cubes]
    assert sizes[0] < sizes[1] < sizes[3]
    assert sizes[3] > 2 * sizes[0]
    assert all(np.ptp(cube) == pytest.approx(1.0) for cube in cubes)
