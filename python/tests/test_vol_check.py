"""caesura vol check: whether HDF5 really loads the connector is told from everything that only
looks like it, and what would become of a file's datasets."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import caesura
import command_line
import h5py
import numpy as np
import pytest
from caesura import transport_check, vol

try:
    DIRECTORY = vol.connector_path()
except RuntimeError as error:
    pytest.skip(str(error), allow_module_level=True)


def check(*arguments, code, variables=None, **how):
    env = {name: text for name, text in os.environ.items() if not name.startswith("HDF5_")}
    env.update(variables or {})
    answer = command_line.caesura("vol", "check", *arguments, "--json", env=env, **how)
    assert answer.returncode == code, answer.stdout + answer.stderr
    assert "Traceback" not in answer.stderr
    return json.loads(answer.stdout)


@pytest.fixture
def native_file(tmp_path):
    path = tmp_path / "native.h5"
    with h5py.File(path, "w") as file:
        file["fields/rho"] = np.zeros((64, 64, 64), np.float32)
        file["fields/small"] = np.zeros(8)
        file["fields/ids"] = np.zeros((64, 64, 64), np.int64)
        file["fields/left"] = np.zeros((64, 64, 64))
    return path


def test_what_is_missing_in_the_environment_is_filled_in_and_shown():
    answer = check(code=0, started=True)
    assert answer["loaded"]
    assert answer["connector"] == "caesura"
    assert answer["messages"] == ""
    assert answer["environment"]["HDF5_VOL_CONNECTOR"] == "caesura"
    assert DIRECTORY in answer["environment"]["HDF5_PLUGIN_PATH"].split(":")
    assert 'durability = "close"' in answer["configuration"]


@pytest.mark.parametrize("other", ["native", "no_such_connector"])
def test_another_connector_or_none_is_a_finding(other):
    answer = check(code=1, variables={"HDF5_VOL_CONNECTOR": other}, started=True)
    assert not answer["loaded"]
    assert answer["connector"] != "caesura"


UNUSABLE = [
    ("unix:/run/here.sock", "use service:ADDRESS"),
    ("service:udp:host:1", "neither unix:"),
    ("service:tcp:host", "is not tcp:HOST:PORT"),
    ("service:unix:here.sock", "must begin with '/'"),
    ("service:unix:/nowhere/here.sock", "has the service been started?"),
    ("service:tcp:host:4711,on_los=write", "there is no 'on_los'"),
    ("service:tcp:host:4711,on_loss=writ", "use error or write"),
    ("service:tcp:host:4711,weight=0", "a number above 0"),
    ("service:tcp:host:4711,secret=/nowhere/secret", "there is no file /nowhere/secret"),
]


@pytest.mark.parametrize(("transport", "words"), UNUSABLE)
def test_what_keeps_a_service_from_being_used_is_said(transport, words):
    assert words in transport_check.problem_of(transport)


# All of them in the nightly run.
@pytest.mark.parametrize(
    ("transport", "words"), UNUSABLE if command_line.NIGHTLY else UNUSABLE[-2:]
)
def test_a_service_that_cannot_be_used_is_a_finding(tmp_path, transport, words):
    config = tmp_path / "run.toml"
    config.write_text(f'transport = "{transport}"\n')
    assert words in check("--config", config, code=1)["transport_problem"]


def test_a_service_whose_socket_is_there_is_none(tmp_path):
    config, path = tmp_path / "run.toml", tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        config.write_text(f'transport = "service:unix:{path},on_loss=write"\n')
        assert "transport_problem" not in check("--config", config, code=0)


def test_a_library_that_is_no_library_is_named(tmp_path):
    (tmp_path / vol.LIBRARY).write_text("not a library")
    answer = check(code=3, variables={"HDF5_PLUGIN_PATH": str(tmp_path)}, started=True)
    assert str(tmp_path) in answer["error"]


def test_each_dataset_is_told_what_becomes_of_it(tmp_path, native_file):
    config = tmp_path / "run.toml"
    config.write_text('bound = 1e-3\n[[dataset]]\npath = "left"\ncapture = false\n')
    answer = check(native_file, "--config", config, code=0)
    by_path = {dataset["path"]: dataset for dataset in answer["datasets"]}
    assert list(by_path) == ["/fields/ids", "/fields/left", "/fields/rho", "/fields/small"]
    qualify = [path for path, dataset in by_path.items() if dataset["qualifies"]]
    assert qualify == ["/fields/ids", "/fields/rho"]
    rho = by_path["/fields/rho"]
    assert (rho["bytes"], rho["bound_kind"], rho["bound"]) == (4 << 18, "absolute", 1e-3)
    ids = by_path["/fields/ids"]
    assert (ids["bound_kind"], ids["components"][0]["in_units"]) == ("lossless", 0)
    assert ids["components"][0]["ratio"] > 100
    assert "threshold_bytes" in by_path["/fields/small"]["why"]
    assert "configuration" in by_path["/fields/left"]["why"]


def test_members_of_a_compound_type_are_told_one_by_one(tmp_path):
    path, config = tmp_path / "particles.h5", tmp_path / "run.toml"
    particles = np.zeros(1 << 17, dtype=[(name, "<f4") for name in ("x", "y", "m")])
    particles["x"] = np.sin(np.arange(particles.size) / 1000.0)
    particles["y"] = 1e6 * np.cos(np.arange(particles.size) / 500.0)
    with h5py.File(path, "w") as file:
        file["particles"] = particles
        file["wave"] = (particles["x"] + 1e-3j * particles["y"]).astype(np.complex64)
        file["mixed"] = np.zeros(1 << 17, dtype=[("x", "<f4"), ("n", "<i4")])
    rule = '[[dataset]]\npath = "*"\ncomponent = "*"\nbound = 1e-3\nbound_kind = "relative"\n'
    config.write_text(rule)
    answer = check(path, "--config", config, code=0)
    by_path = {dataset["path"]: dataset for dataset in answer["datasets"]}
    assert by_path["/mixed"]["bound_kind"] == "lossless"
    assert [one["in_units"] for one in by_path["/mixed"]["components"]] == [0, 0]
    assert [one["name"] for one in by_path["/wave"]["components"]] == ["r", "i"]
    x, y, m = by_path["/particles"]["components"]
    assert (x["name"], y["name"], m["name"]) == ("x", "y", "m")
    assert x["in_units"] == pytest.approx(2e-3, rel=1e-2)
    assert y["in_units"] == pytest.approx(2e3, rel=1e-2)
    assert m["in_units"] == 0
    assert min(x["ratio"], y["ratio"], m["ratio"]) > 4
    config.write_text("bound = 1e-3\n")
    answer = check(path, "--config", config, code=0)
    by_path = {dataset["path"]: dataset for dataset in answer["datasets"]}
    assert "holds 3 quantities" in by_path["/particles"]["kept_exact"]
    assert [one["in_units"] for one in by_path["/particles"]["components"]] == [0, 0, 0]
    assert [one["in_units"] for one in by_path["/wave"]["components"]] == [1e-3, 1e-3]
    config.write_text('[[dataset]]\npath = "/p*"\nbound = 1e-3\n')
    answer = check(path, "--config", config, code=1)
    said = {dataset["path"]: dataset.get("error", "") for dataset in answer["datasets"]}
    assert "holds 3 quantities (x, y, m)" in said["/particles"]


@pytest.fixture
def plotfile(tmp_path):
    """As AMReX writes it: two boxes of unequal sizes, two components of unequal ranges."""
    path = tmp_path / "plt00000.h5"
    boxes = np.array(
        [(0, 0, 0, 31, 31, 31), (32, 0, 0, 55, 31, 31)],
        dtype=[(name, "<i4") for name in ("lo_i", "lo_j", "lo_k", "hi_i", "hi_j", "hi_k")],
    )
    wave = np.sin(np.arange(32**3) / 1000.0)
    with h5py.File(path, "w") as file:
        file.attrs["num_components"] = np.int32(2)
        file.attrs["component_0"] = np.bytes_("density")
        file.attrs["component_1"] = np.bytes_("Temp")
        file["level_0/boxes"] = boxes
        arrays = [
            2 + wave,
            1e4 * (2 + wave),
            2 + wave[: 24 * 32**2],
            1e4 * (2 + wave[: 24 * 32**2]),
        ]
        file["level_0/data:datatype=0"] = np.concatenate(arrays)
    return path


def test_each_component_is_told_its_range_and_bound_and_what_to_expect(tmp_path, plotfile):
    config = tmp_path / "run.toml"
    rule = '[[dataset]]\npath = "**/data:*"\n'
    config.write_text(
        "threshold_bytes = 0\n"
        + rule + 'component = "*"\nbound = 1e-3\nbound_kind = "relative"\n'
        + rule + 'component = "Temp"\nbound = 1e3\n'
        + rule + 'component = "Tepm"\nbound = 1e3\n'
    )  # fmt: skip
    answer = check(plotfile, "--config", config, code=0)
    (data,) = (d for d in answer["datasets"] if d["path"] == "/level_0/data:datatype=0")
    density, temperature = data["components"]
    assert (density["name"], temperature["name"]) == ("density", "Temp")
    assert density["max"] - density["min"] == pytest.approx(2.0, rel=1e-3)
    assert density["in_units"] == pytest.approx(2e-3, rel=1e-3)
    assert density["ratio"] > 5
    assert density["psnr"] > 55
    assert density["warnings"] == []
    assert temperature["in_units"] == 1e3
    assert "5 % of the range" in temperature["warnings"][0]
    assert answer["rules_without_use"] == ['path = "**/data:*", component = "Tepm"']


def test_a_bound_of_all_components_together_is_a_finding_that_names_them(tmp_path, plotfile):
    config = tmp_path / "run.toml"
    rule = '[[dataset]]\npath = "data:*"\n'
    config.write_text(f"threshold_bytes = 0\n{rule}bound = 1e-3\n")
    answer = check(plotfile, "--config", config, code=1)
    (data,) = (d for d in answer["datasets"] if d["path"] == "/level_0/data:datatype=0")
    assert "holds 2 quantities (density, Temp)" in data["error"]


def test_a_bound_below_the_precision_of_the_values_is_marked(tmp_path, native_file):
    with h5py.File(native_file, "a") as file:
        file["fields/rho"][:] = np.linspace(1e6, 1e6 + 1, 64**3).reshape(64, 64, 64)
    config = tmp_path / "run.toml"
    config.write_text("bound = 1e-3\n")
    answer = check(native_file, "--config", config, code=0)
    (rho,) = (d["components"][0] for d in answer["datasets"] if d["path"] == "/fields/rho")
    assert any("below the precision" in warning for warning in rho["warnings"])


def test_a_pointwise_bound_below_the_precision_of_the_type_is_marked(tmp_path):
    path, config = tmp_path / "wave.h5", tmp_path / "run.toml"
    with h5py.File(path, "w") as file:
        file["wave"] = np.sin(np.linspace(0.0, 90.0, 1 << 19)).astype(np.float32)
    epsilon = float(np.finfo(np.float32).eps)
    for bound, marked in ((0.9 * epsilon, True), (1.1 * epsilon, False)):
        config.write_text(f'bound = {bound}\nbound_kind = "pointwise_relative"\n')
        answer = check(path, "--config", config, code=0)
        (wave,) = answer["datasets"][0]["components"]
        assert wave["bound_kind"] == "pointwise_relative"
        assert [w for w in wave["warnings"] if "below the precision" in w] != [] or not marked
        assert wave["warnings"] == [] or marked


def test_a_pointwise_bound_is_held_against_the_range_by_the_largest_value(tmp_path):
    path, config = tmp_path / "far.h5", tmp_path / "run.toml"
    with h5py.File(path, "w") as file:
        file["far"] = 1e6 + np.sin(np.linspace(0.0, 90.0, 1 << 18))
    config.write_text('bound = 1e-6\nbound_kind = "pointwise_relative"\n')
    answer = check(path, "--config", config, code=0)
    (far,) = answer["datasets"][0]["components"]
    assert far["warnings"] == ["the bound of the largest value is 50 % of the range"]


@pytest.fixture
def many_boxes(tmp_path):
    """A level of 60,000 boxes of unequal sizes and five components; and each one's range."""
    path, seed = tmp_path / "plt00000.h5", 2011
    print(f"seed {seed}")
    random = np.random.default_rng(seed)
    names, n = ["rho", "u", "v", "w", "T"], 60_000
    extents = random.integers(1, 4, (n, 3)).astype(np.int32)
    boxes = np.zeros(n, dtype=[(f"{end}_{axis}", "<i4") for end in ("lo", "hi") for axis in "ijk"])
    for number, axis in enumerate("ijk"):
        boxes[f"hi_{axis}"] = extents[:, number] - 1
    cells = extents.prod(axis=1)
    component = np.repeat(np.tile(np.arange(len(names)), n), np.repeat(cells, len(names)))
    values = (random.normal(size=component.size) * 10.0**component).astype(np.float64)
    values[random.integers(0, values.size, 100)] = np.nan
    with h5py.File(path, "w") as file:
        file.attrs["num_components"] = np.int32(len(names))
        for number, name in enumerate(names):
            file.attrs[f"component_{number}"] = np.bytes_(name)
        file["level_0/boxes"] = boxes
        # Neither slabs nor chunks end where boxes do.
        file.create_dataset("level_0/data:datatype=0", data=values, chunks=(700_001,))
    ranges = [
        (np.nanmin(values[component == c]), np.nanmax(values[component == c]))
        for c in range(len(names))
    ]
    return path, dict(zip(names, ranges, strict=True))


def test_many_boxes_are_read_in_slabs_and_told_apart(tmp_path, many_boxes):
    path, ranges = many_boxes
    config = tmp_path / "run.toml"
    config.write_text(
        '[[dataset]]\npath = "**/data:*"\ncomponent = "*"\nbound = 1e-3\nbound_kind = "relative"\n'
    )
    reports = []
    answer = vol.check(str(path), str(config), lambda *report: reports.append(report))
    (data,) = (d for d in answer["datasets"] if "components" in d)
    assert {one["name"]: (one["min"], one["max"]) for one in data["components"]} == ranges
    for one in data["components"]:
        low, high = ranges[one["name"]]
        assert one["in_units"] == pytest.approx(1e-3 * (high - low))
        assert one["ratio"] > 0  # arrays of eight values, each with a header
    reading = [(done, total) for doing, done, total in reports if doing == "reading"]
    assert len(reading) <= 4  # 300,000 arrays, and 19 MB
    assert reading[-1] == (data["bytes"], data["bytes"])
    sampling = [(done, total) for doing, done, total in reports if doing == "sampling"]
    assert sampling[-1][0] == sampling[-1][1] > 0


def test_chunks_of_any_shape_and_axes_of_components_give_the_same_ranges(tmp_path):
    path, config, seed = tmp_path / "cubes.h5", tmp_path / "run.toml", 7
    print(f"seed {seed}")
    values = np.random.default_rng(seed).normal(size=(3, 70, 90, 110)) * [
        [[[1e3]]],
        [[[1]]],
        [[[0.1]]],
    ]
    layouts = {"contiguous": None, "thin": (1, 70, 1, 110), "cubes": (2, 33, 32, 31), "whole": True}
    with h5py.File(path, "w") as file:
        for name, chunks in layouts.items():
            file.create_dataset(
                name, data=values, chunks=values.shape if chunks is True else chunks
            )
        file["last"] = np.ascontiguousarray(np.moveaxis(values, 0, -1))
    config.write_text(
        '[[dataset]]\npath = "*"\ncomponent_axis = 0\n'
        '[[dataset]]\npath = "last"\ncomponent_axis = 3\n'
    )
    answer = check(path, "--config", config, code=0)
    assert len(answer["datasets"]) == len(layouts) + 1
    for dataset in answer["datasets"]:
        told = [(one["min"], one["max"]) for one in dataset["components"]]
        assert told == [(values[c].min(), values[c].max()) for c in range(3)], dataset["path"]


def test_reading_has_no_time_limit_and_loading_ends_in_a_sentence(
    tmp_path, native_file, monkeypatch
):
    config = tmp_path / "run.toml"
    config.write_text("bound = 1e-3\n")
    monkeypatch.setattr(vol, "_ask", lambda *_: {"connector": "", "messages": ""})
    monkeypatch.setattr(vol, "_TIMEOUT_S", 1e-3)
    answer = vol.check(str(native_file), str(config))
    assert [d["path"] for d in answer["datasets"] if "components" in d] == [
        "/fields/ids",
        "/fields/left",
        "/fields/rho",
    ]
    monkeypatch.undo()
    monkeypatch.setattr(vol, "_TIMEOUT_S", 1e-3)
    with pytest.raises(RuntimeError, match=r"within 0\.001 s"):
        vol.check(str(native_file), str(config))


def test_a_configuration_that_hands_files_on_says_so_of_each_dataset(tmp_path, native_file):
    config = tmp_path / "run.toml"
    config.write_text("capture = false\n")
    answer = check(native_file, "--config", config, code=0)
    assert all("capture = false" in dataset["why"] for dataset in answer["datasets"])


def test_a_configuration_or_file_that_cannot_be_read_is_named(tmp_path, native_file):
    config = tmp_path / "run.toml"
    config.write_text("treshold_bytes = 1\n")
    answer = check(native_file, "--config", config, code=3)
    assert "'threshold_bytes'" in answer["error"]
    answer = check(tmp_path / "absent.h5", code=3)
    assert "absent.h5" in answer["error"]


def test_values_of_a_file_that_caesura_wrote_are_read_without_a_plugin_path(tmp_path):
    """As the connector writes it: through our filter, of which only the connector's directory
    knows."""
    values = np.linspace(-3, 4, 1 << 18, dtype=np.float32).reshape(64, 64, 64)
    with caesura.Writer(tmp_path / "run.h5") as writer:
        rho = writer.define_field("rho", np.float32, values.shape)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0).put(rho, values)
    answer = check(tmp_path / "run.h5", code=0)
    assert "plugins" not in answer["environment"]["HDF5_PLUGIN_PATH"]
    (dataset,) = answer["datasets"]
    (rho,) = dataset["components"]
    assert (rho["min"], rho["max"]) == (-3, 4)


def test_where_the_connectors_hdf5_lies_is_said_and_the_loader_told(tmp_path, monkeypatch):
    """Goal: a program that is linked to it finds it with what is shown, and with nothing less."""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    answer = check(code=0)
    root = Path(answer["hdf5_root"])
    (version,) = re.findall(r'H5_VERS_INFO +"HDF5 library version: ([\d.]+)',
                            (root / "include" / "H5public.h").read_text())  # fmt: skip
    assert answer["hdf5"] == version
    library = next(root.glob("lib*/libhdf5.so"))
    shown = answer["environment"].get("LD_LIBRARY_PATH")
    assert shown in (None, str(library.parent))
    name = re.search(
        r"SONAME.*\[(.*)\]", subprocess.check_output(["readelf", "-d", library], text=True)
    )
    load = [sys.executable, "-c", f"import ctypes; ctypes.CDLL({name[1]!r})"]
    for variables in ({}, {"LD_LIBRARY_PATH": shown} if shown else {}):
        done = subprocess.run(
            load, env={**os.environ, **variables}, capture_output=True, check=False
        )
        assert (done.returncode == 0) == (not shown or bool(variables))
    again = check(code=0, variables=answer["environment"], started=True)
    assert again["loaded"]
    assert again["environment"].get("LD_LIBRARY_PATH") is None


def test_missing_values_are_in_no_range_and_a_stretched_one_is_warned_of(tmp_path):
    """Goal: whatever says that land is no data, the bound foreseen is one of the sea."""
    sea = 280 + np.cumsum(np.random.default_rng(1).normal(size=(96, 128)), axis=0) / 10
    land = np.arange(128) < 40
    fills = {"fill": -123.0, "attribute": 250.0, "rule": 500.0, "suspect": 1e20, "amid": 280.5}
    once = sea.copy()
    once[4, 50] = 1.5e5
    with h5py.File(tmp_path / "ocean.h5", "w") as file:
        for name, fill in fills.items():
            more = {"fillvalue": fill} if name == "fill" else {}
            file.create_dataset(name, data=np.where(land, fill, sea).astype("f4"), **more)
        file["attribute"].attrs["_FillValue"] = np.float32(250)
        file["amid"].attrs["missing_value"] = np.array([280.5, 1e30])
        file["once"] = once.astype("f4")
    config = tmp_path / "run.toml"
    config.write_text("threshold_bytes = 1024\nbound = 1e-3\nbound_kind = 'relative'\n"
                      "[[dataset]]\npath = '/rule'\nmissing = [500]\n")  # fmt: skip
    answer = check(tmp_path / "ocean.h5", "--config", config, code=0)
    found = {one["path"].strip("/"): one["components"][0] for one in answer["datasets"]}
    there = sea[:, 40:].astype("f4")
    for name, fill in fills.items():
        one = found[name]
        assert (one["min"], one["max"]) == (there.min(), there.max()), name
        assert np.float32(fill) in np.float32(one["missing"]), name
        assert one["in_units"] == pytest.approx(1e-3 * np.ptp(there.astype(float)))
        assert one["warnings"] == []
    assert "the value 150000 stretches the range" in found["once"]["warnings"][0]
