"""Attributes of every type on every object, set by 1 and 4 ranks, as h5py reads them."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path

import caesura
import numpy as np
import pytest
from mpi_parts import run_ranks

HERE = Path(__file__).resolve().parent
VALUES = {
    "integer": -3,
    "unsigned": np.uint64(2**64 - 1),
    "large": 2**64 - 1,
    "small": np.int8(-1),
    "float": 0.5,
    "single": np.float32(0.1),
    "text": "a code",
    "none": "",
    "integers": [-1, 2],
    "unsigneds": np.array([1, 2**64 - 1], np.uint64),
    "floats": (0.5, 1),
    "singles": np.array([0.1, 0.2], np.float32),
    "texts": ["x", "longer", ""],
    "nothing": [],
}


def held(value):
    """What h5py gives back for it."""
    array = np.asarray(value)
    if array.dtype.kind == "U":
        return np.char.encode(array)
    wide = {"i": np.int64, "u": np.uint64, "f": np.float64}[array.dtype.kind]
    return array if array.dtype == np.float32 and array.ndim == 0 else array.astype(wide)


def expect_values(attributes):
    for name, value in VALUES.items():
        stored, wanted = np.asarray(attributes[name]), held(value)
        assert stored.dtype.kind == wanted.dtype.kind and stored.shape == wanted.shape, name
        if wanted.dtype.kind != "S":
            assert stored.dtype == wanted.dtype, name
        assert np.array_equal(stored, wanted), name


def write(path, **options):
    """A file of two dumps; `options` of its only field "rho"."""
    with caesura.Writer(path, root_attributes=VALUES) as writer:
        x = writer.define_field("v/x", np.float32, (8, 4), attributes=VALUES)
        rho = writer.define_field("rho", np.float64, (8, 4), **options)
        for name, value in VALUES.items():
            writer.set_attribute(name, value, group="iteration")
            writer.set_attribute(name, value, group="meshes")
            writer.set_attribute(name, value, record=x)
            writer.set_attribute(name, value, field=rho)
        for n in range(2):
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=n)
                if n == 1:
                    dump.set_attribute("text", "other")
                    dump.set_attribute("texts", ["y"], field=x)
                dump.put(x, np.ones((8, 4), np.float32))
                dump.put(rho, np.ones((8, 4)))
    return path


def test_values_of_every_type_are_on_every_object(tmp_path):
    with caesura.open(write(tmp_path / "run.h5")) as file:
        expect_values(file.attrs)
        for path in ("", "/meshes", "/meshes/v", "/meshes/v/x", "/meshes/rho"):
            expect_values(file["/data/0" + path].attrs)
        assert file["/data/1"].attrs["text"] == b"other"
        assert list(file["/data/1/meshes/v/x"].attrs["texts"]) == [b"y"]
        expect_values(file["/data/1/meshes/rho"].attrs)


def test_settings_of_openpmd_take_the_place_of_defaults(tmp_path):
    settings = {
        "geometry": "cylindrical",
        "geometry_parameters": "a=1",
        "data_order": "F",
        "axis_labels": ["r", "z"],
        "grid_spacing": [0.5, 0.25],
        "grid_offset": [1, 2],
        "position": [0.5, 0],
        "time_offset": 0.125,
    }
    path = write(tmp_path / "run.h5", **settings)
    with caesura.open(path) as file:
        attributes = dict(file["/data/1/meshes/rho"].attrs)
    assert attributes["geometry"] == b"cylindrical"
    assert attributes["geometryParameters"] == b"a=1"
    assert attributes["dataOrder"] == b"F"
    assert list(attributes["axisLabels"]) == [b"r", b"z"]
    assert list(attributes["gridSpacing"]) == [0.5, 0.25]
    assert list(attributes["gridGlobalOffset"]) == [1, 2]
    assert list(attributes["position"]) == [0.5, 0]
    assert attributes["timeOffset"] == 0.125
    field = caesura.Reader(path)["rho"][1]
    # The shape's order, whatever the file's is.
    assert list(field.axis_labels) == ["z", "r"]
    assert list(field.grid_spacing) == [0.25, 0.5]
    assert list(field.grid_offset) == [2, 1]


def test_xarray_has_coordinates_in_the_order_of_the_shape(tmp_path):
    xr = pytest.importorskip("xarray")
    from caesura.xarray_backend import CaesuraBackend

    path = write(
        tmp_path / "run.h5",
        data_order="F",
        axis_labels=["r", "z"],
        grid_spacing=[0.5, 0.25],
        grid_offset=[1, 2],
        position=[0.5, 0],
    )
    with xr.open_dataset(path, engine=CaesuraBackend, iteration=0) as data:
        assert data["rho"].dims == ("z", "r")
        assert list(data["r"].values) == [1.25, 1.75, 2.25, 2.75]
        assert list(data["z"].values[:2]) == [2, 2.25]


def test_default_labels_follow_the_geometry_and_the_order(tmp_path):
    path = tmp_path / "run.h5"
    with caesura.Writer(path) as writer:
        fields = {
            b"z y x": writer.define_field("c", np.float32, (2, 3, 4)),
            b"x y z": writer.define_field("f", np.float32, (2, 3, 4), data_order="F"),
            b"r z": writer.define_field("modes", np.float32, (3, 3, 4), geometry="thetaMode"),
        }
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(time=0)
            for field in fields.values():
                dump.put(field, np.ones(field.shape, np.float32))
    with caesura.open(path) as file:
        for labels, field in fields.items():
            attributes = file[f"/data/0/meshes/{field.name}"].attrs
            assert b" ".join(attributes["axisLabels"]) == labels
            assert len(attributes["gridSpacing"]) == len(labels.split())
            assert len(attributes["position"]) == len(labels.split())


@pytest.mark.parametrize(
    ("name", "value", "of", "why"),
    [
        ("a", True, {}, "attribute 'a' is of type bool; use an integer, a float, a string or a"),
        ("a", None, {}, "attribute 'a' is of type NoneType; use"),
        ("a", b"x", {}, "attribute 'a' is of type |S1; use"),
        ("a", [1, "x"], {}, "attribute 'a' is of type <U21; use"),
        ("a", 2**64, {}, "attribute 'a' is of type int; use"),
        ("a", [[1]], {}, "attribute 'a' is an array of 2 axes; use"),
        ("a", [2**64 - 1, -1], {}, "attribute 'a': no type of a list holds all of its integers"),
        ("a", 1, {"group": "root"}, "group is 'root'; use one of file, iteration, meshes"),
        (
            "meshesPath",
            "x",
            {},
            "attribute 'meshesPath' of the file: it says how the file is laid out and cannot be "
            "changed",
        ),
        (
            "position",
            [0.5, 2],
            {"field": "rho"},
            "attribute 'position' of field 'rho' is float64 [0.5, 2]; openPMD wants numbers from 0 "
            "to below 1",
        ),
    ],
)
def test_what_cannot_be_kept_is_an_error(tmp_path, name, value, of, why):
    with caesura.Writer(tmp_path / "run.h5") as writer:
        rho = writer.define_field("rho", np.float32, (8, 4))
        of = {key: rho if key == "field" else given for key, given in of.items()}
        with pytest.raises(ValueError, match=re.escape(why)):
            writer.set_attribute(name, value, **of)


def test_an_attribute_has_one_owner(tmp_path):
    with caesura.Writer(tmp_path / "run.h5") as writer:
        rho = writer.define_field("rho", np.float32, (8, 4))
        with pytest.raises(ValueError, match="give one of group, record, field and species, not"):
            writer.set_attribute("a", 1, field=rho, group="file")


@pytest.mark.skipif(
    shutil.which("mpirun") is None or importlib.util.find_spec("mpi4py") is None,
    reason="needs mpirun and mpi4py",
)
@pytest.mark.parametrize("ranks", [1, 4])
def test_ranks_set_the_same_or_hear_the_difference(tmp_path, ranks):
    path = tmp_path / "run.h5"
    answer = run_ranks(ranks, HERE / "mpi_metadata_program.py", path)
    difference = (
        f"attribute 'seed' of the iteration is int64 0 on rank 0 and int64 1 on rank {ranks - 1}; "
        "set the same on all ranks"
    )
    assert answer.stdout.splitlines() == ([difference] * ranks if ranks > 1 else [])
    with caesura.open(path) as file:
        assert list(file["data"]) == (["1"] if ranks > 1 else ["0", "1"])
        assert file["/data/1"].attrs["seed"] == 7
        assert file["/data/1/meshes/rho"].attrs["colour"] == b"blue"
        assert file.attrs["run"] == b"x17"
