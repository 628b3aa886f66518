"""The demonstration's numbers and report, from an outcome made up with a seed."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import jsonschema
import pytest
from caesura.demo.campaign import order_of
from caesura.demo.checking import expected_paths
from caesura.demo.result import build_report, schema
from caesura.demo.scenario import MODES, PEERS, Scenario
from caesura.demo.statistics import half_range, improvement, overheads_percent
from caesura.report.demo_page import demo_page
from caesura.trace import read_traces
from synthetic_outcome import MACHINE, make_outcome


@pytest.fixture
def report():
    scenario = Scenario()
    return build_report(scenario, make_outcome(scenario), MACHINE)


def test_report_keeps_its_schema(report):
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(json.loads(json.dumps(report, allow_nan=False)), schema())


@pytest.mark.parametrize("gone", ["modes", "caesura", "machine", "emulated"])
def test_schema_misses_what_is_missing(report, gone):
    del report[gone]
    with pytest.raises(jsonschema.ValidationError, match=gone):
        jsonschema.validate(report, schema())


def test_schema_refuses_a_report_with_findings(report):
    report["verified"]["caesura"]["findings"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report, schema())


def test_overheads_compare_within_a_repeat():
    # A machine that slows down by half between repeats does not change the overhead.
    assert overheads_percent([11.0, 16.5], [10.0, 15.0]) == pytest.approx([10.0, 10.0])
    assert half_range([3.0, 9.0, 4.0]) == 3.0


def test_improvement_never_divides_by_less_than_one_per_cent():
    assert improvement(40.0, 8.0) == 5.0
    assert improvement(40.0, 0.01) == 40.0
    assert improvement(40.0, -2.0) == 40.0


def test_report_numbers_follow_from_the_times(report):
    for mode in MODES:
        entry = report["modes"][mode]
        assert len(entry["wall_s"]) == (2 if mode in PEERS else 3)
        bases = report["modes"]["compute"]["wall_s"][: len(entry["wall_s"])]
        ratios = [100 * (w / b - 1) for w, b in zip(entry["wall_s"], bases, strict=True)]
        assert entry["overhead_percent"] == pytest.approx(median(ratios))
        assert entry["spread_percent"] == pytest.approx((max(ratios) - min(ratios)) / 2)
    ours = report["modes"]["caesura"]["overhead_percent"]
    assert ours > 1
    sync = report["modes"]["sync"]["overhead_percent"]
    assert report["caesura"]["improvement_over_sync"] == pytest.approx(sync / ours)


def test_every_repeat_runs_every_mode_once_and_the_reference_comes_first():
    for repeat in range(7):
        assert sorted(order_of(repeat)) == sorted(MODES)
    first = list(order_of(0))
    assert all(first.index("sync") < first.index(m) for m in MODES[2:])
    assert len({tuple(order_of(repeat)) for repeat in range(len(MODES))}) == len(MODES)


def test_expected_datasets_are_those_the_mini_app_dumps():
    # Dumps at steps k-1, 2k-1, ... but never at the last step.
    paths = expected_paths(Scenario(steps=9, dump_every=2))
    iterations = {int(path.split("/")[2]) for path in paths}
    assert iterations == {1, 3, 5, 7}
    assert len(paths) == 4 * 6


def test_page_shows_the_numbers_of_the_report(report, traces):
    html = demo_page(report, read_traces(traces))
    for mode in MODES[1:]:
        assert f"{report['modes'][mode]['overhead_percent']:.1f} %" in html
    assert "37.2 %" in html  # the paper's own figures stand beside ours
    assert "emulated: file system, device" in html
    assert report["machine"]["cpu"] in html
    assert demo_page(report, None).count("<section") == 3  # without a trace the rest still stands


def test_nothing_emulated_is_not_labelled_emulated(traces):
    scenario = Scenario(device_s=0.0, bandwidth=0.0)
    report = build_report(scenario, make_outcome(scenario), MACHINE)
    assert 'class="badge"' not in demo_page(report, read_traces(traces))


def test_command_repeats_the_scenario():
    assert Scenario().command_line() == "caesura demo"
    assert Scenario(grid=64, device_s=0.5).command_line() == "caesura demo --grid 64 --device-s 0.5"


def test_report_names_no_path(report):
    assert str(Path.home()) not in json.dumps(report)
    assert "/tmp" not in json.dumps(report)
