"""caesura simulate: files say what they mean, or a sentence says why not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from caesura.cli import app
from caesura_lab.simulation import MODES, ScenarioError, load, parse, run_scenario
from caesura_lab.simulation.scenario import for_core
from typer.testing import CliRunner

EXAMPLES = sorted((Path(__file__).parents[3] / "bench" / "simulate" / "scenarios").glob("*.toml"))

NOISE = ("interval_sigma", "ratio_sigma", "compress_sigma", "write_sigma")


def document(**changes: object) -> dict:
    """Two ranks, one iteration to dump and one to write in."""
    made = {
        "machine": {"nodes": 1, "ranks_per_node": 2, "node_bytes_per_s": 1e8},
        "application": {
            "iterations": 2,
            "phases": [["host", 0.2], ["device", 0.2], ["communicate", 0.1]],
            "repeat": 2,
        },
        "data": {"ratio": 10.0, "fields": [{"blocks": 4, "block_bytes": 8e6}]},
        "compress": {"bytes_per_s": 2e8},
        "noise": dict.fromkeys(NOISE, 0.0),
        "repeats": 1,
    }
    for key, value in changes.items():
        table, _, name = key.partition("__")
        if name:
            made[table][name] = value
        else:
            made[table] = value
    return made


def test_phases_become_obstacles_of_both_lanes() -> None:
    pattern = for_core(document())["patterns"][0]
    assert pattern["iteration_s"] == pytest.approx(1.0)
    assert pattern["compress"] == [[0.0, 0.2], [0.5, 0.7]]
    assert [at for pair in pattern["write"] for at in pair] == pytest.approx([0.4, 0.5, 0.9, 1.0])


def test_synchronous_output_costs_its_bytes_over_the_bandwidth() -> None:
    (point,) = run_scenario(parse(document()), ["sync", "caesura"])
    assert list(point.modes) == ["compute", "sync", "caesura"]
    assert point.modes["compute"]["wall_s"] == pytest.approx(2.0)
    assert point.overhead("sync") == pytest.approx(2 * 4 * 8e6 / 1e8 / 2.0)
    assert point.overhead("caesura") == pytest.approx(0.0, abs=1e-12)


def test_what_grows_with_the_ranks_is_added_for_each() -> None:
    writer = {"collective_s": 0.1, "collective_per_rank_s": 0.01, "close_per_rank_s": 0.02}
    scenario = parse(document(writer=writer, sweep={"machine.nodes": [1, 8]}))
    outputs = [for_core(settings)["output"] for _, settings in scenario.points()]
    assert [one["collective_s"] for one in outputs] == pytest.approx([0.1 + 0.02, 0.1 + 0.16])
    assert [one["close_s"] for one in outputs] == pytest.approx([0.04, 0.32])
    points = run_scenario(scenario, ["caesura"])
    walls = [point.modes["caesura"]["wall_s"] for point in points]
    assert walls[1] - walls[0] == pytest.approx(0.14 + 0.28)


def test_a_sweep_runs_every_combination() -> None:
    scenario = parse(
        document(sweep={"data.ratio": [2.0, 20.0], "machine.node_bytes_per_s": [1e7, 1e9]})
    )
    points = run_scenario(scenario, ["filter"])
    assert [point.chosen for point in points] == [
        {"data.ratio": r, "machine.node_bytes_per_s": b} for r in (2.0, 20.0) for b in (1e7, 1e9)
    ]
    expected = [2 * 4 * 8e6 / r / b + 4 * 8e6 / 2e8 for r in (2.0, 20.0) for b in (1e7, 1e9)]
    for point, more_s in zip(points, expected, strict=True):
        assert point.modes["filter"]["wall_s"] - 2.0 == pytest.approx(more_s)


def test_iterations_of_their_own_come_in_turn() -> None:
    lengths = [[1.0, 2.0], [1.5, 0.5]]
    ranks = [{"iterations": [{"iteration_s": s} for s in of]} for of in lengths]
    scenario = parse(document(application={"iterations": 4, "ranks": ranks}))
    (point,) = run_scenario(scenario, ["compute"])
    assert point.modes["compute"]["wall_s"] == pytest.approx(2 * (1.5 + 2.0))
    ranks[1]["iterations"].pop()
    with pytest.raises(ScenarioError, match="equally many iterations; they have 2, 1"):
        parse(document(application={"iterations": 4, "ranks": ranks}))


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"machine__nods": 2}, ("machine.nods", "is not known", "ranks_per_node")),
        ({"machine__nodes": "two"}, ("machine.nodes", "'two'", "int")),
        ({"repeats": True}, ("repeats", "True")),
        ({"application__iteration_s": 1.0}, ("one of phases", "iteration_s")),
        ({"application__phases": [["rest", 0.1]]}, ("phases[0]", "host", "device")),
        ({"data__fields": [{"blocks": 3}]}, ("data.fields[0]", "block_bytes")),
        ({"sweep": {"machine.nods": [1, 2]}}, ("machine.nods", "is not known")),
        ({"sweep": {"data.ratio": 3.0}}, ("data.ratio", "list")),
    ],
)
def test_a_mistake_is_named_with_what_may_stand_there(changes: dict, parts: tuple) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(document(**changes))
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"data__ratio": 0.5}, "ratio is 0.5"),
        ({"machine__node_bytes_per_s": -1.0}, "storage.node_bytes_per_s is -1"),
        ({"writer": {"algorithm": "best"}}, "ext_johnson"),
        ({"writer": {"balance": "fair"}}, "best_move"),
    ],
)
def test_a_value_that_cannot_be_is_named(changes: dict, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        run_scenario(parse(document(**changes)))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_can_be_read_and_run(path: Path) -> None:
    scenario = load(path)
    settings = scenario.points()[0][1]
    settings["machine"]["nodes"] = 1
    settings["application"]["iterations"] = 3
    (point,) = run_scenario(parse(settings), repeats=1)
    assert point.overhead("sync") > point.overhead("caesura")


def test_the_command_prints_json_and_draws(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(
        'name = "two"\nrepeats = 2\n[machine]\nranks_per_node = 2\nnode_bytes_per_s = 1e8\n'
        '[application]\niterations = 3\nphases = [["host", 0.2], ["device", 0.3]]\n'
        "[data]\nratio = 8.0\nfields = [{ blocks = 4, block_bytes = 8e6 }]\n"
        '[sweep]\n"data.ratio" = [4.0, 8.0]\n'
    )
    picture, timeline = tmp_path / "o.svg", tmp_path / "t.svg"
    arguments = ["simulate", str(file), "--json", "--picture", str(picture)]
    answer = CliRunner().invoke(app, [*arguments, "--timeline", str(timeline), "--rank", "1"])
    assert answer.exit_code == 0, answer.output
    result = json.loads(answer.stdout)
    assert result["simulated"] is True
    assert [point["set"] for point in result["points"]] == [
        {"data.ratio": 4.0},
        {"data.ratio": 8.0},
    ]
    assert set(result["points"][0]["modes"]) == set(MODES)
    assert picture.read_text().startswith("<svg")
    assert "rank 1" in timeline.read_text()
    assert "#0" in timeline.read_text()  # a block


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    missing = CliRunner().invoke(app, ["simulate", str(tmp_path / "none.toml")])
    assert missing.exit_code == 3
    bad = tmp_path / "bad.toml"
    bad.write_text("[machine\n")
    answer = CliRunner().invoke(app, ["simulate", str(bad), "--json"])
    assert answer.exit_code == 3
    assert "is not TOML" in json.loads(answer.stdout)["error"]
