"""Missing values through the Python face: declared, masked arrays, suspects; as h5py reads them."""

import caesura
import h5py
import numpy as np
import pytest
from caesura import codec

RELATIVE = 1e-3


def ocean(fill, dtype=np.float32, shape=(64, 96), seed=0):
    """A sea around 280 and a coast behind which all is `fill`; and where the land is."""
    sea = 280 + np.cumsum(np.random.default_rng(seed).normal(size=shape), axis=0)
    land = np.arange(shape[1]) < 30 + 8 * np.sin(np.arange(shape[0]) / 5)[:, None]
    return np.where(land, fill, sea).astype(dtype), land


def written(path, values, **options):
    with caesura.Writer(path) as writer:
        bound = {"relative": RELATIVE} | options
        field = writer.define_field("sst", values.dtype, values.shape, **bound)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0).put(field, values)
    return caesura.read(path, "sst")


def sea_error(read, values, land):
    sea = np.asarray(values)[~land].astype(float)
    return np.abs(read[~land] - sea).max() / (sea.max() - sea.min())


@pytest.mark.parametrize("fill", [9.96921e36, 1e20, -9999.0, np.nan])
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_sea_keeps_its_bound_and_land_is_exact(tmp_path, fill, declared, dtype):
    values, land = ocean(fill, dtype)
    options = {"missing": dtype(fill)} if declared else {}
    read = written(tmp_path / "a.h5", values, **options)
    assert sea_error(read, values, land) <= RELATIVE * (1 + 1e-6)
    assert read[land].tobytes() == values[land].tobytes()


@pytest.mark.parametrize("bound", [{"relative": 1e-3}, {"absolute": 0.5}])
def test_a_masked_array_is_put_with_its_fill_value_at_masked_places(tmp_path, bound):
    values, land = ocean(np.nan)
    for fill in (1e20, 280.0):  # amid the sea: nothing would suspect it
        masked = np.ma.masked_array(np.where(land, -3e7, values), mask=land, fill_value=fill)
        path = tmp_path / f"{fill:g}.h5"
        with caesura.Writer(path) as writer:
            field = writer.define_field("sst", np.float32, values.shape, **bound)
            with writer.iteration(0) as iteration:
                iteration.begin_dump(time=0).put(field, masked.astype(np.float32))
        read = caesura.read(path, "sst")
        assert np.all(read[land] == np.float32(fill))
        limit = bound.get("absolute") or bound["relative"] * np.ptp(values[~land])
        assert np.abs(read[~land] - values[~land]).max() <= limit * (1 + 1e-6)
        with caesura.open(path) as file:
            assert file["/data/0/meshes/sst"].attrs["_FillValue"] == np.float32(fill)


def test_the_file_says_which_values_are_missing(tmp_path):
    values, _ = ocean(-9999.0)
    written(tmp_path / "one.h5", values, missing=-9999)
    with h5py.File(tmp_path / "one.h5") as file:
        dataset = file["/data/0/meshes/sst"]
        assert dataset.attrs["_FillValue"] == np.float32(-9999)
        assert dataset.attrs["_FillValue"].dtype == np.float32
        assert dataset.fillvalue == -9999
    written(tmp_path / "two.h5", values, missing=[-9999, 1e20])
    with h5py.File(tmp_path / "two.h5") as file:
        dataset = file["/data/0/meshes/sst"]
        assert list(dataset.attrs["missing_value"]) == [-9999, 1e20]
        assert "_FillValue" not in dataset.attrs
    written(tmp_path / "none.h5", values)
    with h5py.File(tmp_path / "none.h5") as file:
        assert "_FillValue" not in file["/data/0/meshes/sst"].attrs


def test_a_missing_value_that_the_type_has_not_is_an_error(tmp_path):
    writer = caesura.Writer(tmp_path / "a.h5")
    with pytest.raises(ValueError, match=r"sst.*1e\+300"):
        writer.define_field("sst", np.float32, (10,), absolute=1, missing=1e300)
    writer.close()


def test_integers_have_the_attribute_alone(tmp_path):
    values = np.arange(1000, dtype=np.int16).reshape(20, 50)
    with caesura.Writer(tmp_path / "a.h5") as writer:
        field = writer.define_field("mask", np.int16, values.shape, missing=-999)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0).put(field, values)
    with caesura.open(tmp_path / "a.h5") as file:
        dataset = file["/data/0/meshes/mask"]
        assert dataset.attrs["_FillValue"] == -999
        assert np.array_equal(dataset[...], values)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, ">f4"])
def test_the_codec_by_itself_is_told_what_is_missing(dtype):
    values, land = ocean(280.0, dtype)  # amid the sea: nothing would suspect it
    values = values + 1j * values if values.dtype.kind == "c" else values  # a range of both parts
    for bound in (caesura.absolute(2.0), caesura.relative(0.05)):
        data = codec.compress(values, bound, missing=280)
        read = codec.decompress(data)
        assert np.all(read[land] == values[land])
        assert np.abs((read - values).real).max() <= 2.0
        assert codec.info(data).missing_values >= land.sum()
        assert len(data) < values.nbytes / 4
        assert codec.estimate(values, bound, missing=280) > 0
    masked = np.ma.masked_array(np.where(land, -300, values), mask=land, fill_value=1e4)
    read = codec.decompress(codec.compress(masked.astype(dtype), 0.5))
    assert np.all(read[land] == 1e4)
    assert np.abs((read - values).real)[~land].max() <= 0.5


def test_the_codec_refuses_a_missing_value_that_the_type_has_not():
    values = np.arange(100, dtype=np.float32)
    with pytest.raises(ValueError, match=r"1e\+300.*float32"):
        codec.compress(values, 1e-3, missing=[0, 1e300])
    with pytest.raises(ValueError, match="256 missing values"):
        codec.compress(values, 1e-3, missing=np.arange(256))
    whole = np.arange(100)
    assert np.array_equal(codec.decompress(codec.compress(whole, 1, missing=5)), whole)
