"""caesura evaluate prediction: predicted against real sizes of anybody's HDF5 files."""

from __future__ import annotations

import importlib.util
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")
pytest.importorskip("typer")
pytest.importorskip("caesura._core")

from caesura.bounds import Bound  # noqa: E402
from caesura.cli import app  # noqa: E402
from caesura_lab import evaluating  # noqa: E402
from caesura_lab.report.prediction_picture import BINS, histogram, picture  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

SEED = 20221118
NEEDS_PLUGINS = pytest.mark.skipif(
    importlib.util.find_spec("hdf5plugin") is None, reason="needs hdf5plugin's filters"
)


def smooth(shape: tuple[int, ...], seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=shape)
    for axis in range(values.ndim):
        for _ in range(3):
            values = values + np.roll(values, 1, axis) + np.roll(values, -1, axis)
    return (values / values.std()).astype(np.float32)


@pytest.fixture
def series_file(tmp_path: Path) -> Path:
    """Four dumps of two fields that evolve, a field alone, and what is no field."""
    path = tmp_path / "run.h5"
    first, second = smooth((48, 40, 44), SEED), smooth((48, 40, 44), SEED + 1)
    with h5py.File(path, "w") as file:
        for number in (0, 10, 5, 20):
            group = file.create_group(f"data/{number}/meshes")
            group["rho"] = first + np.float32(0.02 * number) * second
            group["velocity/x"] = (second * np.float32(1 + 0.01 * number)).astype(np.float64)
        file["alone"] = smooth((70_000,), SEED + 2)
        file["counts"] = np.arange(10)
        file["scalar"] = 1.0
    return path


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["evaluate", "prediction", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_dumps_of_a_field_are_a_series_in_order_of_time(series_file: Path):
    series = {s.name: s for s in evaluating.series_of(series_file)}
    assert set(series) == {"rho", "velocity/x", "alone"}
    assert [d.label for d in series["rho"].dumps] == ["0", "5", "10", "20"]
    assert series["velocity/x"].dumps[0].dtype == "float64"
    assert series["velocity/x"].dumps[2].load().shape == (48, 40, 44)
    assert len(series["alone"].dumps) == 1


def test_boxes_cover_an_array_once_and_keep_their_limit():
    random = np.random.default_rng(SEED)
    for _ in range(60):
        shape = tuple(int(n) for n in random.integers(1, 40, random.integers(1, 5)))
        limit = int(random.integers(4, 40_000))
        seen = np.zeros(shape, int)
        for box in evaluating.boxes(shape, 4, limit):
            seen[box] += 1
            assert seen[box].size * 4 <= max(limit, 4)
        assert (seen == 1).all(), (shape, limit)


def test_bounds_are_read_and_resolved():
    values = np.array([1.0, np.nan, 5.0, np.inf], np.float32)
    assert evaluating.parse_bound("rel=0.01").resolve(values) == Bound("absolute", 0.04)
    assert evaluating.parse_bound("abs=0.2").resolve(values) == Bound("absolute", 0.2)
    assert evaluating.parse_bound("lossless").resolve(values).kind == "lossless"
    assert evaluating.parse_bound("rel=0.01").resolve(np.ones(4)) is None
    for wrong in ("1e-3", "rel=2", "rel=0", "abs=-1", "abs=inf", "abs=nan", "psnr=80", "rel="):
        with pytest.raises(ValueError, match="rel=FRACTION"):
            evaluating.parse_bound(wrong)


def test_a_summary_against_numbers_worked_out_by_hand():
    def row(predicted: float, stored: int, sigma: float) -> evaluating.Row:
        return evaluating.Row("f", "0", 0, "caesura", "rel=1e-3", 0, 1000, stored, predicted, sigma,
                              0.01, 0.1, 0.2, False)  # fmt: skip

    rows = [row(100, 100, 1), row(110, 100, 5), row(150, 300, 50), row(80, 100, 9)]
    sums = evaluating.summary(rows)
    assert sums["blocks"] == 4
    assert sums["median"] == pytest.approx(0.15)  # of 0, 0.1, 0.2, 0.5
    assert sums["byte_weighted"] == pytest.approx((0 + 10 + 150 + 20) / 600)
    assert sums["beyond_2_sigma"] == 0.5  # (300 - 150) / 50 = 3 and (100 - 80) / 9 > 2
    assert sums["beyond_3_sigma"] == 0.0
    assert sums["ratio"] == pytest.approx(4000 / 600)
    assert sums["time_median"] == pytest.approx(1.0)
    assert sums["cost"] == pytest.approx(0.1)
    assert evaluating.summary([]) == {"blocks": 0}


def test_every_error_falls_into_one_bin():
    errors = [0.0, 0.00099, 0.001, -0.003, 0.01, -0.04, 0.07, 0.1, -0.3, 7.0]
    counts = histogram(errors)
    assert sum(counts) == len(errors) and len(counts) == len(BINS)
    assert counts[0] == 2 and counts[-1] == 1


def test_the_table_tells_first_dumps_from_later_ones(series_file: Path):
    code, text, _ = run(series_file, "--bound", "rel=1e-3", "--field", "rho")
    assert code == 0
    assert "1 fields, 4 dumps, 4 blocks" in text
    for word in ("first dump", "second", "later dumps", "cost of it", "how far off"):
        assert word in text


@NEEDS_PLUGINS
def test_json_holds_every_block_and_later_dumps_are_known_well(series_file: Path):
    arguments = [series_file, "--json", "--block-bytes", 100_000]
    for codec in ("caesura", "sz3", "zfp"):
        arguments += ["--codec", codec]
    code, text, _ = run(*arguments, "--bound", "rel=1e-3", "--bound", "rel=1e-4")
    assert code == 0
    document = json.loads(text)
    blocks = document["blocks"]
    assert {b["codec"] for b in blocks} == {"caesura", "sz3", "zfp"}
    assert {b["bound"] for b in blocks} == {"rel=1e-3", "rel=1e-4"}
    for field, raw in (("rho", 48 * 40 * 44 * 4), ("velocity/x", 48 * 40 * 44 * 8)):
        mine = [
            b for b in blocks if (b["field"], b["codec"], b["bound"]) == (field, "zfp", "rel=1e-3")
        ]
        assert sum(b["raw_bytes"] for b in mine) == 4 * raw
        assert [b["dump"] for b in mine] == sorted((b["dump"] for b in mine), key=int)
    zfp = [abs(b["error"]) for b in blocks if b["codec"] == "zfp" and b["learned"] >= 2]
    assert np.median(zfp) < 0.01
    for entry in document["summary"]:
        assert 0 <= entry["median"] <= entry["p90"] <= entry["p99"]


def test_a_picture_is_drawn_and_is_whole(series_file: Path, tmp_path: Path):
    out = tmp_path / "sizes.svg"
    code, _, said = run(series_file, "--picture", out)
    assert code == 0 and "sizes.svg" in said
    root = ET.parse(out).getroot()
    circles = [e for e in root.iter() if e.tag.endswith("circle")]
    assert len(circles) >= 9  # a block each, and the legend's
    code, _, said = run(series_file, "--picture", tmp_path / "sizes.gif")
    assert code == 2 and ".svg or .png" in said


def test_pictures_of_one_block_and_of_many():
    def row(stored: int) -> evaluating.Row:
        return evaluating.Row("f<&>", "0", 0, "sz3", "rel=1e-3", 0, 4000, stored, 1.0 * stored,
                              1.0, 0.01, 0.1, 0.2, False)  # fmt: skip

    for rows in ([row(100)], [row(1 + i) for i in range(9000)]):
        root = ET.fromstring(picture(rows, "a <title>"))
        assert root.tag.endswith("svg")


def test_what_cannot_be_done_is_one_sentence(series_file: Path, tmp_path: Path):
    for arguments, code, words in (
        ([tmp_path / "none.h5"], 3, "check the path"),
        ([Path(__file__)], 3, "no HDF5 file"),
        ([series_file, "--bound", "1e-3"], 2, "rel=FRACTION"),
        ([series_file, "--codec", "gzip"], 3, "unknown"),
        ([series_file, "--field", "nothing"], 3, "no float32 or float64 dataset"),
        ([series_file, "--codec", "sz3", "--bound", "lossless", "--codec", "filter:999"], 3, ""),
    ):
        got, text, said = run(*arguments)
        assert got == code, (arguments, said)
        assert words in said and "Traceback" not in said
        got, text, _ = run(*arguments, "--json")
        assert got == code
        if code == 3:
            assert set(json.loads(text)) == {"error"}


def test_a_constant_field_is_passed_over(tmp_path: Path):
    path = tmp_path / "constant.h5"
    with h5py.File(path, "w") as file:
        file["still"] = np.full((8, 8, 8), 3.0, np.float32)
    code, _, said = run(path)
    assert code == 3 and "constant" in said
    code, text, _ = run(path, "--bound", "abs=0.1", "--json")
    assert code == 0 and len(json.loads(text)["blocks"]) == 1


def test_help_teaches():
    code, text, _ = run("--help")
    assert code == 0
    for word in ("--bound", "--codec", "--picture", "1 %", "Exit codes"):
        assert word in text
