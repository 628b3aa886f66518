"""caesura tune on fields with missing values: they belong to no range and to no quality, and what
is to be pasted names them."""

from __future__ import annotations

import json
import math

import h5py
import numpy as np
import pytest
from caesura.tuning import qualities
from test_tune import command, save, smooth


@pytest.mark.parametrize("how", ["fill value", "_FillValue", "missing_value", "--missing",
                                 "nobody", "nan"])  # fmt: skip
def test_missing_values_are_left_out_of_range_and_quality(how, tmp_path):
    """Goal: the bound is one of the sea, whatever marks the land and however it is said."""
    land = np.float32(np.nan if how == "nan" else 9.96921e36 if how == "nobody" else -12345.0)
    sea = 280 + 10 * np.sin(np.arange(128 * 128) * 1e-3).astype(np.float32).reshape(128, 128)
    values = sea.copy()
    values[:40] = land
    fill = {"fillvalue": land} if how == "fill value" else {}
    with h5py.File(tmp_path / "ocean.h5", "w") as file:
        data = file.create_dataset("sst", data=values, **fill)
        if how.startswith(("_", "missing")):
            data.attrs[how] = land
    said = ("--missing", -12345) if how == "--missing" else ()
    asked = (tmp_path / "ocean.h5", "-q", "psnr=80", "--codec", "caesura", *said)
    answer = json.loads(command(*asked, "--json").stdout)
    (dump,) = answer["dumps"]
    assert (dump["smallest"], dump["largest"]) == (sea[40:].min(), sea[40:].max())
    assert dump["not_finite"] == 40 * 128
    assert len(dump["suspected"]) == (1 if how == "nobody" else 0)
    (chosen,) = answer["chosen"]["dumps"]
    assert 0 < chosen["in_units"] < 1e-2
    words = command(*asked).stdout
    assert ("looks like a fill value" in words) == (how == "nobody")


@pytest.mark.parametrize("quality", ["ssim", "gradient"])
def test_windows_and_differences_with_missing_values_count_nothing(quality):
    """Goal: what lies apart from land has the quality that it has without land."""
    sea = smooth((48, 64)).astype(np.float64)
    noisy = sea + 1e-3 * np.random.default_rng(3).normal(size=sea.shape)
    about = qualities.About(quality, float(np.ptp(sea)), 64)

    def of(*pairs):
        measure = about.measure()
        for before, after in pairs:
            measure.add(before, after)
        return measure.value()

    with_land = [sea.copy(), noisy.copy()]
    for values in with_land:
        values[20:22] = np.nan
        values[21, 5] = np.inf
    apart = [(sea[:20], noisy[:20]), (sea[22:], noisy[22:])]
    assert of(tuple(with_land)) == pytest.approx(of(*apart), rel=1e-9)
    assert math.isnan(of((np.full((8, 8), np.nan),) * 2))


def test_a_bound_that_leaves_most_values_few_bits_is_warned_of(tmp_path):
    """Goal: the value that stretches the range is named; no other field is warned of."""
    values = 280 + 10 * smooth((64, 96)).astype(np.float32)
    path = save(tmp_path / "usual.h5", sst=values)
    asked = ("-q", "psnr=70", "--codec", "caesura")
    assert json.loads(command(path, *asked, "--json").stdout)["stretched_range"] is None
    values[4, 5] = 1.5e5
    path = save(tmp_path / "stretched.h5", sst=values)
    said = json.loads(command(path, *asked, "--json").stdout)["stretched_range"]
    assert "/sst: the value 150000 stretches the range" in said
    assert "the value 150000 stretches" in command(path, *asked).stdout
    asked += ("--missing", "150000")
    assert json.loads(command(path, *asked, "--json").stdout)["stretched_range"] is None


def test_what_is_to_be_pasted_names_missing_values(tmp_path):
    values = 280 + 10 * smooth((64, 96)).astype(np.float32)
    values[:20] = 281.7
    path = save(tmp_path / "ocean.h5", sst=values)
    asked = ("-q", "psnr=60", "--codec", "caesura", "--json", "--missing", "281.7")
    said = json.loads(command(path, *asked).stdout)["configuration"]
    assert "sst_options.missing = {281.7};" in said["c++"]
    assert "const double sst_missing[] = {281.7};" in said["c"]
    assert "sst_options%missing = [281.7_real64]" in said["fortran"]
    assert "missing=[281.7]" in said["python"]
    assert "missing = [281.7]" in said["toml"]


def test_suspects_are_extreme_values_that_repeat():
    """Goal: the rule of docs/reference/missing_values.md, at its edges."""
    from caesura import missing

    plain = np.linspace(0.0, 1.0, 1000, dtype=np.float32)

    def found(*extra):
        return [float(one) for one in missing.suspects(np.append(plain, np.float32(extra)))]

    assert found() == []
    assert found(1e20) == []  # once
    assert found(1e20, 1e20) == [float(np.float32(1e20))]
    assert found(-9999, -9999, 1e20, 1e20) == [float(np.float32(1e20)), -9999.0]
    assert found(3.0, 3.0) == []
    assert found(*[1.5e6] * 15) == []
    assert found(*[1.5e6] * 16) == [1.5e6]
    assert found(*[9e5] * 16) == []
    assert missing.suspects(np.full(9, 1e20, np.float32)) == []  # nothing else is there
