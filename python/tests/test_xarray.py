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


def test_the_package_offers_the_engine_by_name():
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    if not project.exists():
        pytest.skip("the project's file is not beside the tests")
    points = tomllib.loads(project.read_text())["project"]["entry-points"]["xarray.backends"]
    assert points == {"caesura": f"{CaesuraBackend.__module__}:{CaesuraBackend.__name__}"}


def test_xarray_finds_the_engine_of_this_package_by_its_name(path):
    with xr.open_dataset(path, engine="caesura") as data:
        assert set(data) == {"rho", "E_x"}
