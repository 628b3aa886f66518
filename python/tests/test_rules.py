"""A rule for each quantity of a file: what looks like coordinates stays exact and says why, and
what `caesura tune --all` and `caesura vol check --rules` write, the connector takes."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import h5py
import numpy as np
import pytest
from caesura import vol

try:
    vol.connector_path()
except RuntimeError as error:
    pytest.skip(str(error), allow_module_level=True)

BOUND = "threshold_bytes = 1024\nbound = 1e-3\nbound_kind = 'relative'\n"
SEED = 7


def caesura(*arguments, code=0):
    command = [sys.executable, "-m", "caesura", *map(str, arguments)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == code, answer.stdout + answer.stderr
    assert "Traceback" not in answer.stderr
    return answer.stdout


@pytest.fixture(scope="module")
def ocean(tmp_path_factory) -> Path:
    """A file with fields, coordinates of every kind, complex numbers and particles."""
    path = tmp_path_factory.mktemp("rules") / "ocean.h5"
    random = np.random.default_rng(SEED)
    lat = np.linspace(-90.0, 90.0, 256)
    wave = np.sin(np.linspace(0, 9, 256))[:, None] * np.cos(np.linspace(0, 7, 256))
    phase = np.zeros(4096, [("x", "f4"), ("vx", "f4")])
    phase["x"], phase["vx"] = random.normal(size=(2, 4096))
    with h5py.File(path, "w") as file:
        file["lat"] = lat
        file["cells"] = np.arange(512.0) ** 2
        file["rate"] = random.normal(size=512)
        file["stations"] = random.normal(size=512)
        file["edges"] = random.normal(size=(256, 2))
        file["data/100/fields/T"] = wave
        file["data/200/fields/T"] = 2 * wave
        file["spectrum"] = wave + 1j * wave[::-1]
        file["phase"] = phase
        file["level"] = np.arange(512)
        file["note"] = np.full(512, b"text")
        file["flat"] = np.zeros(512)
        file["sigma"] = random.normal(size=256)
        file["data/100/fields/T"].attrs["coordinates"] = "stations"
        file["lat"].attrs["bounds"] = "edges"
        file["sigma"].make_scale("sigma")
    return path


@pytest.fixture
def config(tmp_path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(BOUND)
    return path


def checked(file: Path, config: Path, *more) -> dict[str, dict]:
    answer = json.loads(caesura("vol", "check", file, "--config", config, "--json", *more))
    assert answer["rules_without_use"] == []
    return {dataset["path"]: dataset for dataset in answer["datasets"]}


def test_a_bound_without_a_path_is_none_of_coordinates(ocean, config):
    found = checked(ocean, config)
    why = {
        path: dataset["kept_exact"] for path, dataset in found.items() if "kept_exact" in dataset
    }
    looks = "it looks like coordinates: "
    lists = looks + "an attribute lists it among coordinates or their bounds"
    assert why == {
        "/lat": looks + "its name is 'lat'",
        "/cells": looks + "its values rise, or fall, from each to the next",
        "/stations": lists,
        "/edges": lists,
        "/sigma": looks + "it is a dimension scale",
        "/phase": "it holds 2 quantities, and no rule gives each of them a bound",
    }
    assert found["/rate"]["components"][0]["in_units"] > 0
    assert found["/spectrum"]["by_part"]
    assert all(part["in_units"] > 0 for part in found["/spectrum"]["components"])
    assert found["/cells"]["components"][0]["in_units"] == 0
    table = caesura("vol", "check", ocean, "--config", config)
    assert "kept exact" in table


def test_a_rule_that_names_a_coordinate_holds_for_it(ocean, config):
    config.write_text(BOUND + "[[dataset]]\npath = '/lat'\nbound = 0.5\n"
                      "[[dataset]]\npath = '/c*'\nbound = 0.25\n")  # fmt: skip
    found = checked(ocean, config)
    assert found["/lat"]["components"][0]["in_units"] == 0.5
    assert found["/cells"]["components"][0]["in_units"] == 0.25


def bounds_of(found: dict[str, dict]) -> dict:
    """By dataset and component: what each is held to, in units."""
    return {
        (path, one["name"]): one["in_units"]
        for path, dataset in found.items()
        for one in dataset.get("components", [])
    }


def test_the_rules_of_a_check_mean_what_its_configuration_means(ocean, config, tmp_path):
    rules = tmp_path / "rules.toml"
    before = bounds_of(checked(ocean, config, "--rules", rules))
    text = rules.read_text()
    # Without the bound that is for all, so that each rule has to say its own.
    bare = tmp_path / "bare.toml"
    bare.write_text(text.replace('bound = 0.001\nbound_kind = "relative"\n', "", 1))
    for written in (rules, bare):
        assert bounds_of(checked(ocean, written)) == before
    paths = [rule["path"] for rule in tomllib.loads(text)["dataset"]]
    assert "/data/*/fields/T" in paths and paths.count("/spectrum") == 2
    assert "# exact: it looks like coordinates: its name is 'lat', from -90 to 90" in text
    assert "# /note: exact, no rule needed: neither of floating point nor of integers" in text


def test_every_quantity_is_tuned_and_the_connector_takes_the_answer(ocean, config, tmp_path):
    config.write_text("threshold_bytes = 1024\n")
    target = tmp_path / "tuned.toml"
    said = caesura("tune", "--all", ocean, "-q", "psnr=60", "--codec", "caesura", "--config",
                   config, "--out", target)  # fmt: skip
    assert "with a bound" in said
    rules = tomllib.loads(target.read_text())["dataset"]
    by_name = {(rule["path"], rule.get("component", "")): rule for rule in rules}
    assert len(by_name) == len(rules), "two rules for one quantity"
    for name in [("/data/*/fields/T", ""), ("/spectrum", "r"), ("/spectrum", "i"), ("/rate", ""),
                 ("/phase", "vx")]:  # fmt: skip
        assert by_name[name]["bound_kind"] == "relative", name
        assert 0 < by_name[name]["bound"] < 0.1
    for name in [("/lat", ""), ("/cells", ""), ("/stations", ""), ("/edges", ""), ("/sigma", ""),
                 ("/level", ""), ("/phase", "x"), ("/flat", "")]:  # fmt: skip
        assert by_name[name]["bound_kind"] == "lossless", name
    found = checked(ocean, target)
    for (path, name), rule in by_name.items():
        paths = [one for one in found if one == path.replace("*", "100")]
        one = next(each for each in found[paths[0]]["components"] if name in (each["name"], ""))
        assert (one["in_units"] > 0) == (rule["bound_kind"] != "lossless"), (path, name)
        assert one["psnr"] is None or one["psnr"] >= 60, (path, name)


def test_fills_in_members_are_left_out_and_their_rules_say_so(tmp_path):
    """Goal: a fill in a part of complex numbers or in a member ends, and is named to the
    connector, which keeps it in a range where nobody declares it."""
    sea = np.cumsum(np.random.default_rng(SEED).normal(size=(128, 200)), axis=0)
    land = np.where(np.arange(200) < 50, -9999.0, sea)
    wind = np.zeros(sea.shape, [("u", "f4"), ("v", "f4")])
    wind["u"], wind["v"] = land, sea
    once = sea.copy()
    once[3, 4] = 1e5
    with h5py.File(tmp_path / "fills.h5", "w") as file:
        file["wind"], file["wave"], file["plain"] = wind, land + 1j * sea, land
        file["once"] = once
    target, config = tmp_path / "rules.toml", tmp_path / "base.toml"
    config.write_text("threshold_bytes = 1024\n")
    caesura("tune", "--all", tmp_path / "fills.h5", "-q", "psnr=60", "--codec", "caesura", "--out",
            target, "--config", config)  # fmt: skip
    text = target.read_text()
    assert text.count("FEW VALUES STRETCH THE RANGE") == 1
    missing = {rule["path"]: rule["missing"] for rule in tomllib.loads(text)["dataset"]
               if "missing" in rule}  # fmt: skip
    assert missing == {path: [-9999.0] for path in ("/wind", "/wave", "/plain")}
    found = checked(tmp_path / "fills.h5", target)
    for path, name in (("/wind", "u"), ("/wave", "r"), ("/plain", "")):
        (part,) = (one for one in found[path]["components"] if one["name"] == name)
        assert part["min"] == pytest.approx(sea[:, 50:].min()), path
        assert part["missing"] == [-9999.0]
        assert part["psnr"] >= 60


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tune", "--all", "a.h5", "b.h5", "-q", "psnr=60"], "one file, not 2"),
        (["tune", "--all", "a.h5", "-q", "psnr=60", "-f", "T"], "every field of a file"),
        (["tune", "a.h5", "-q", "psnr=60", "--out", "x.toml"], "belong to --all"),
        (["vol", "check", "--rules", "x.toml"], "needs FILE"),
    ],
)
def test_what_does_not_go_together_is_said(arguments, words):
    command = [sys.executable, "-m", "caesura", *arguments]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert words in " ".join(answer.stderr.split())
