"""engine="caesura": xarray sees the fields of a file lazily, with coordinates and stored chunks."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path

import caesura
import h5py
import numpy as np
import pytest

if importlib.util.find_spec("xarray") is None:
    pytest.skip("xarray is not installed", allow_module_level=True)

import xarray as xr
from caesura.xarray_backend import CaesuraBackend

SHAPE = (24, 400, 136)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("xarray") / "run.h5"
    random = np.random.default_rng(22)
    grid = {"grid_spacing": [0.5, 0.25, 2.0], "grid_offset": [10.0, 0.0, -4.0]}
    with caesura.Writer(path, chunk_bytes=1 << 20) as writer:
        rho = writer.define_field("rho", np.float32, SHAPE, **grid)
        ex = writer.define_field("E/x", np.float64, SHAPE, **grid)
        coarse = writer.define_field("coarse", np.float32, (6, 10, 8))
        for n in (0, 4):
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=0.5 * n)
                dump.put(rho, random.normal(size=SHAPE).astype(np.float32), offset=(0, 0, 0))
                dump.put(ex, random.normal(size=SHAPE), offset=(0, 0, 0))
                if n == 0:
                    dump.put(coarse, np.ones((6, 10, 8), np.float32), offset=(0, 0, 0))
    return path


def test_all_dumps_lie_along_an_axis_with_their_times(path):
    with xr.open_dataset(path, engine=CaesuraBackend) as data:
        assert set(data) == {"rho", "E_x"}
        assert data.attrs["left_out"] == ["coarse"]
        assert data["rho"].dims == ("iteration", "z", "y", "x")
        assert data["time"].values.tolist() == [0.0, 2.0]
        assert np.array_equal(data["z"], 10.0 + 0.5 * np.arange(24))
        reader = caesura.Reader(path)
        for variable, name in (("rho", "rho"), ("E_x", "E/x")):
            expected = np.stack([reader[name, n][...] for n in (0, 4)])
            assert np.array_equal(data[variable], expected)
        part = data["E_x"].sel(iteration=4).isel(z=slice(2, 9, 3), x=[5, 1], y=-1)
        assert np.array_equal(part, reader["E/x", 4][...][2:9:3, -1, [5, 1]])


def test_one_dump_has_all_its_fields_and_fields_of_other_points_have_axes_of_their_own(path):
    with xr.open_dataset(path, engine=CaesuraBackend, iteration=0) as data:
        assert data["rho"].dims == data["E_x"].dims
        assert not set(data["coarse"].dims) & set(data["rho"].dims)
        assert data["rho"].attrs["codec"] == "caesura"
    with pytest.raises(ValueError, match="no dump of iteration 3; there are 0, 4"):
        xr.open_dataset(path, engine=CaesuraBackend, iteration=3)


def test_nothing_is_read_before_it_is_asked_for(path, tmp_path):
    broken = tmp_path / "broken.h5"
    content = bytearray(Path(path).read_bytes())
    for dataset in caesura._core.OpenFile(str(path)).info()["datasets"]:
        for chunk in dataset["chunks"]:
            content[chunk["address"] + chunk["bytes"] // 2] ^= 0xFF
    broken.write_bytes(content)
    data = xr.open_dataset(broken, engine=CaesuraBackend)
    with pytest.raises(caesura.CorruptError, match="checksum"):
        data["rho"].load()


def test_dasks_chunks_are_the_stored_ones(path):
    if importlib.util.find_spec("dask") is None:
        pytest.skip("dask is not installed")
    with xr.open_dataset(path, engine=CaesuraBackend, chunks={}) as data:
        stored = caesura.Reader(path)["rho", 0].chunks
        assert stored != SHAPE
        assert tuple(sizes[0] for sizes in data["rho"].chunks) == (1, *stored)
        mean = float(data["rho"].mean().compute())
        values = [caesura.read(path, "rho", n) for n in (0, 4)]
        assert mean == pytest.approx(np.mean(values, dtype=np.float64), abs=1e-6)


def test_a_file_of_stock_hdf5_opens_too(tmp_path):
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["counts"] = np.arange(12).reshape(3, 4)
    with xr.open_dataset(tmp_path / "plain.h5", engine=CaesuraBackend, iteration=0) as data:
        assert np.array_equal(data["counts"], np.arange(12).reshape(3, 4))


@pytest.mark.parametrize("name", ["time", "iteration", "x", "axis_0", "phony_dim_0"])
def test_names_of_others_clash_with_no_name_of_ours(name, tmp_path):
    """Goal: a dataset may be called as a coordinate or an axis is."""
    with h5py.File(tmp_path / "others.h5", "w") as file:
        file[name] = np.arange(5.0)
        file["rho"] = np.zeros((5, 4))
        file["cube"] = np.ones((3, 4, 5))
    with xr.open_dataset(tmp_path / "others.h5", engine=CaesuraBackend) as data:
        assert set(data.variables) == {name, "rho", "cube"}
        assert data[name].dims == data["rho"].dims[:1] == data["cube"].dims[2:]
        assert np.array_equal(data[name], np.arange(5.0))


@pytest.mark.parametrize("name", ["x", "z", "iteration", "time", "E_x"])
def test_a_field_called_as_an_axis_keeps_its_name(name, tmp_path):
    """Goal: the field keeps its name, the axis or coordinate gets another one."""
    path, values = tmp_path / "own.h5", np.random.default_rng(3).normal(size=(4, 4, 4))
    with caesura.Writer(path) as writer:
        fields = [writer.define_field(n, np.float64, (4, 4, 4)) for n in (name, "rho", "E/x")]
        for n in (2, 3):
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=0.5 * n)
                for field in fields:
                    dump.put(field, n * values)
    for chosen in (None, 3):
        with xr.open_dataset(path, engine=CaesuraBackend, iteration=chosen) as data:
            last = data[name][-1] if chosen is None else data[name]
            assert np.array_equal(last, 3 * values)
            assert {"rho", "E_x"} <= set(data)
            assert data["rho"].dims == data[name].dims
            iterations = data["dump_iteration" if name == "iteration" else "iteration"]
            times = data["dump_time" if name == "time" else "time"]
            assert np.array_equal(iterations, [2, 3] if chosen is None else 3)
            assert np.array_equal(times, [1.0, 1.5] if chosen is None else 1.5)


@pytest.fixture
def netcdf(tmp_path):
    """A file as netCDF-4 writes it."""
    path = tmp_path / "ocean.nc"
    with h5py.File(path, "w") as file:
        time = file.create_dataset("time", (2,), "f8", maxshape=(None,), chunks=(1,))
        time[:] = [0.0, 6.0]
        time.attrs["units"] = "hours since 2000-01-01"
        file["lat"] = np.array([1, 2, 3], "f4")
        file.create_dataset("lon", (4,), "f4")
        for name in ("time", "lat", "lon"):
            alone = "This is a netCDF dimension but not a netCDF variable.         4"
            file[name].make_scale(alone if name == "lon" else name)
        values = np.arange(24, dtype="f4").reshape(2, 3, 4)
        values[0, 0, 0] = 1e20
        sst = file.create_dataset("sst", (2, 3, 4), "f4", chunks=(1, 3, 4), maxshape=(None, 3, 4))
        sst[...] = values
        sst.attrs["_FillValue"] = np.array([1e20], "f4")
        packed = file.create_dataset("packed", data=np.array([1, -1, 3], "i2"))
        packed.attrs.update({"_FillValue": np.array([-1], "i2"), "scale_factor": [0.5]})
        for name, dims in (("sst", ("time", "lat", "lon")), ("packed", ("lat",))):
            for axis, dim in enumerate(dims):
                file[name].dims[axis].attach_scale(file[dim])
        file["scalar"] = np.int32(5)
        file["words"] = ["a", "bb", "\u00fc"]
        file["words"].dims[0].attach_scale(file["lat"])
        file["group/inner"] = np.full(3, 7.0)
        file.attrs["title"] = "ocean"
    return path


def test_a_netcdf_file_has_its_dimensions_and_is_masked(netcdf):
    """Goal: dimension scales, unlimited dimensions, fill values, packing, times and text are what
    netCDF's conventions say."""
    with xr.open_dataset(netcdf, engine=CaesuraBackend) as data:
        assert dict(data.sizes) == {"time": 2, "lat": 3, "lon": 4, "phony_dim_0": 3}
        assert data.encoding["unlimited_dims"] == {"time"}
        assert data["sst"].dims == ("time", "lat", "lon")
        assert str(data["time"].values[1]).startswith("2000-01-01T06:00")
        assert np.isnan(data["sst"][0, 0, 0])
        assert float(data["sst"].sum()) == np.arange(1, 24).sum()
        assert np.array_equal(data["packed"], [0.5, np.nan, 1.5], equal_nan=True)
        assert data["scalar"].item() == 5
        assert data["words"].values.tolist() == ["a", "bb", "\u00fc"]
        assert np.array_equal(data["group_inner"], np.full(3, 7.0))
        assert data.attrs == {"title": "ocean"}
    with xr.open_dataset(netcdf, engine=CaesuraBackend, mask_and_scale=False) as data:
        assert data["sst"][0, 0, 0] == np.float32(1e20)
        assert data["packed"].values.tolist() == [1, -1, 3]
    with xr.open_dataset(netcdf, engine=CaesuraBackend, group="group") as data:
        assert list(data.variables) == ["inner"]
    with pytest.raises(ValueError, match="there is no group 'other'"):
        xr.open_dataset(netcdf, engine=CaesuraBackend, group="other")


def test_a_netcdf_file_is_what_h5netcdf_shows(netcdf):
    """Goal: the same variables, dimensions, values and attributes as xarray's own engine."""
    pytest.importorskip("h5netcdf")
    for options in ({}, {"mask_and_scale": False}, {"group": "group"}, {"decode_times": False}):
        with (
            xr.open_dataset(netcdf, engine="h5netcdf", **options) as theirs,
            xr.open_dataset(netcdf, engine=CaesuraBackend, **options) as ours,
        ):
            assert set(theirs.coords) == set(ours.coords)
            for name in theirs.variables:
                xr.testing.assert_identical(theirs[name].variable, ours[name].variable)


def test_what_xarray_cannot_hold_is_named_and_the_rest_opens(tmp_path):
    """Goal: any healthy file opens; odd types, links to nothing and cycles keep nothing back."""
    with h5py.File(tmp_path / "odd.h5", "w") as file:
        file["six"] = np.arange(64.0).reshape((2,) * 6)
        file["back"] = np.arange(5, dtype=">i2")
        file["none"] = np.zeros((0, 3))
        file["flags"] = np.array([True, False])
        file["part"] = np.array([1 + 2j])
        file["pairs"] = np.zeros(3, [("a", "f4"), ("b", "i4")])
        file["text"] = "words"
        file["empty"] = h5py.Empty("f4")
        file["where"] = np.array([file["six"].ref], h5py.ref_dtype)
        file["lists"] = h5py.SoftLink("/nowhere")
        file["group/rho"] = np.ones(7)
        file["group_rho"] = np.ones(3)
        file["group/itself"] = file["group"]
    with xr.open_dataset(tmp_path / "odd.h5", engine=CaesuraBackend) as data:
        assert data.attrs["left_out"] == ["empty", "lists", "where"]
        assert set(data.variables) == {
            "six", "back", "none", "flags", "part", "pairs", "text", "group_rho", "group_rho_",
        }  # fmt: skip
        assert np.array_equal(data["six"][1, ::-1, 0, :, 0, 1], np.arange(64.0).reshape((2,) * 6)[
            1, ::-1, 0, :, 0, 1])  # fmt: skip
        assert data["back"][[4, 1]].values.tolist() == [4, 1]
        assert data["text"].item() == "words"
        assert data["group_rho_"].shape == (7,)


def test_the_package_offers_the_engine_by_name():
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    if not project.exists():
        pytest.skip("the project's file is not beside the tests")
    points = tomllib.loads(project.read_text())["project"]["entry-points"]["xarray.backends"]
    assert points == {"caesura": f"{CaesuraBackend.__module__}:{CaesuraBackend.__name__}"}


def test_xarray_finds_the_engine_of_this_package_by_its_name(path):
    with xr.open_dataset(path, engine="caesura") as data:
        assert set(data) == {"rho", "E_x"}
