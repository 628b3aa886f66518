"""S4's figures measure what they say they do: real services, devices and files, small."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

TRANSIT = Path(__file__).parent / "transit"
BUILD = Path(os.environ.get("CAESURA_BUILD", TRANSIT.parents[1] / "build"))
sys.path.insert(0, str(TRANSIT))

if not (BUILD / "bin" / "caesura-serve").exists():
    pytest.skip("built without the service", allow_module_level=True)


@pytest.fixture
def plan(tmp_path):
    import figure

    yield figure.Plan(quick=True, rounds=1, cores=1, place=tmp_path)
    figure.pfs_stat("--remove")


def test_fields_have_about_the_entropy_of_what_they_stand_for():
    import stand_ins

    for field in (stand_ins.vapour(64), stand_ins.pressure(48)):
        said = field.described()
        assert abs(said["of_the_most"] - said["s4_of_the_most"]) < 0.03


def test_slabs_of_the_mixing_layer_have_no_entropy_outside_and_much_inside(plan):
    import slabs

    found = slabs.measure(plan)
    bits = [row["entropy_bits"] for row in found["rows"]]
    assert bits[0] == bits[-1] == 0
    assert max(bits) > 0.8 * found["most_bits"]


def test_each_way_compresses_where_it_says_and_the_file_holds_the_field(plan):
    import caesura
    import offload
    import stand_ins

    files = plan.place / "files"
    files.mkdir()
    field = stand_ins.vapour(64)
    np.save(plan.place / "field.npy", field.values)
    said = {"mode": "writer", "path": str(files / "run.h5"), "dumps": 1, "chunk": [32, 64, 64],
            "field": str(plan.place / "field.npy"), "bound": field.bound()}  # fmt: skip
    for way in offload.WAYS:
        row = offload.once(plan, way, said)
        assert row["blocks"] == (0 if way == "direct" else 2)
        assert (row["ratio"] > 2) == (way != "direct")
        assert row["write_s"] * offload.BANDWIDTH >= field.values.nbytes / row["ratio"]
        stated_s = offload.stated_s(way, field.values.nbytes, row["blocks"])
        assert row["compute_s"] >= 0.99 * (stated_s or 0.0)
        with caesura.open(files / "run.h5") as file:
            error = np.abs(file["data/0/meshes/field"][...] - field.values).max()
        assert error <= (0 if way == "direct" else field.bound())


def test_every_way_of_weak_scaling_makes_a_file_and_two_ranks_make_twice_as_much(plan):
    # mpirun starts the ranks.
    import stand_ins
    import weak_scaling

    files = plan.place / "files"
    files.mkdir()
    field = stand_ins.pressure(32)
    np.save(plan.place / "field.npy", field.values)
    said = {"path": str(files / "run.h5"), "dumps": 1, "chunk": [16, 32, 32], "filter": None,
            "field": str(plan.place / "field.npy"), "bound": field.bound()}  # fmt: skip
    ways = weak_scaling.WAYS if os.environ.get("CAESURA_PARALLEL_PYTHON") else weak_scaling.CODECS
    import caesura

    for way in ways:
        assert weak_scaling.once(plan, way, 2, said, None) > 0
        name = "data/0/meshes/field" if way in weak_scaling.CODECS else "0/field"
        with caesura.open(files / "run.h5") as file:
            data = file[name][...]
        for part in np.split(data, 2):
            error = np.abs(part - field.values).max()
            assert error <= (0 if way == "HDF5" else field.bound())


def test_gains_are_those_of_the_sizes():
    pytest.importorskip("scipy")
    import by_region

    row = {
        "raw": 1000, "auto": 100, "tuned": 80, "fast": 120, "strong": 110, "planes": 200,
        "settings": [{"bytes": 90}],
        "sz3": {"settings": {"a": 60, "b": 50}, "regions": [{"best": 40}, {"best": 45}]},
        "sz2": {"SZ_BEST_SPEED": {"whole": 60, "slabs": 50}},
    }  # fmt: skip
    made = by_region.gains(row)
    assert made["gain"] == pytest.approx(0.25)
    assert made["over_best_single"] == pytest.approx(90 / 80 - 1)
    assert made["sz3_gain"] == pytest.approx(0.25)
    assert made["sz2_fast_gain"] == pytest.approx(0.2)
    assert "sz2_gain" not in made
