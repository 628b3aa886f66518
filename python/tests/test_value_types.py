"""bool, float16, bfloat16 and complex fields: h5py with our filter, the Reader, the comparison and
the codec module give what was put; arrays of a device are fetched."""

import subprocess
import sys

import caesura
import h5py
import numpy as np
import pytest
from caesura import codec
from caesura.bfloat16 import BFLOAT16, STAND_IN
from caesura.verifying import verify

SHAPE = (24, 40, 64)
LOSSY = {"float16": 0.02, "complex64": 1e-3, "complex128": 1e-3}


def wave(shift: float = 0.0) -> np.ndarray:
    return np.sin(np.arange(np.prod(SHAPE)) / 50 + shift).reshape(SHAPE)


def values_of(name: str, dump: int = 0) -> np.ndarray:
    if name == "bool":
        return wave(dump) > 0.5
    if name == "bfloat16":
        return (wave(dump).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    values = wave(dump) + (1j * wave(dump + 1) if name.startswith("complex") else 0)
    values = values.astype(name)
    values[0, 0, :3] = [np.nan, np.inf, -np.inf]
    return values


def differs(name: str, before: np.ndarray, after: np.ndarray) -> float:
    """The largest difference of a finite part; infinite if what is not finite has changed."""
    if name not in LOSSY:
        return 0.0 if np.array_equal(before, after) else np.inf
    largest = 0.0
    for x, y in ((before.real, after.real), (before.imag, after.imag)):
        finite = np.isfinite(x)
        if not np.array_equal(x[~finite], y[~finite], equal_nan=True):
            return np.inf
        x, y = x[finite].astype(np.float64), y[finite].astype(np.float64)
        largest = max(largest, float(np.abs(x - y).max()))
    return largest


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "run.h5"
    with caesura.Writer(path, absolute=1.0) as writer:
        fields = {
            name: writer.define_field(name, name, SHAPE, absolute=bound)
            for name, bound in LOSSY.items()
        }
        fields["bool"] = writer.define_field("bool", bool, SHAPE)
        fields["bfloat16"] = writer.define_field("bfloat16", "bfloat16", SHAPE, lossless=True)
        for n in range(2):
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=n)
                for name, field in fields.items():
                    values = values_of(name, n)
                    dump.put(field, values.view(BFLOAT16) if name == "bfloat16" else values)
    return path


@pytest.mark.parametrize("name", [*LOSSY, "bool"])
def test_h5py_and_the_reader_give_them_in_their_own_type(written, name):
    reader = caesura.Reader(written)
    with caesura.open(written) as file:
        for n in range(2):
            before = values_of(name, n)
            stored = file[f"/data/{n}/meshes/{name}"]
            assert stored.dtype == np.dtype(name)
            assert differs(name, before, stored[...]) <= LOSSY.get(name, 0.0)
            read = reader[name, n]
            assert read.dtype == np.dtype(name)
            assert read[...].tobytes() == stored[...].tobytes()
            assert np.array_equal(read[3:20, ::2, 5], stored[3:20, ::2, 5])


def test_bfloat16_is_read_in_its_bits_and_by_h5py_as_float32(written):
    bits = values_of("bfloat16", 1)
    read = caesura.Reader(written)["bfloat16", 1]
    assert read.dtype == BFLOAT16
    assert np.array_equal(read[...].view(np.uint16), bits)
    into = np.empty((2, 40, 64), BFLOAT16)
    read.read(slice(3, 5), out=into)
    assert np.array_equal(into.view(np.uint16), bits[3:5])
    wide = (bits.astype(np.uint32) << 16).view(np.float32)
    with caesura.open(written) as file:
        stored = file["/data/1/meshes/bfloat16"]
        assert stored.dtype == np.float32 and stored.id.get_type().get_size() == 2
        assert np.array_equal(stored[...], wide)


def test_a_process_that_knows_the_plugin_alone_reads_them(written):
    code = (
        "import sys, h5py, numpy; file = h5py.File(sys.argv[1]);"
        "numpy.savez(sys.argv[2], **{n: file['/data/1/meshes/' + n][...] for n in sys.argv[3:]})"
    )
    out = written.with_suffix(".npz")
    subprocess.run(
        [sys.executable, "-c", code, str(written), str(out), *LOSSY, "bool"],
        check=True,
        env={"HDF5_PLUGIN_PATH": caesura.plugin_path()},
        timeout=60,
    )
    found = np.load(out)
    for name in (*LOSSY, "bool"):
        assert differs(name, values_of(name, 1), found[name]) <= LOSSY.get(name, 0.0)


def test_verification_and_comparison_see_them(written, tmp_path):
    assert verify(written).findings == []
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        for name in (*LOSSY, "bool"):
            file[f"/data/0/meshes/{name}"] = values_of(name)
        damaged = file["/data/0/meshes/complex64"]
        damaged[2, 3, 4] += 1j
    with h5py.File(other) as file, caesura.open(written) as ours:
        paths = [path for path, _ in caesura.comparing.datasets(file)]
        assert len(paths) == len(LOSSY) + 1
        for path in paths:
            name = path.rsplit("/", 1)[-1]
            result = caesura.comparing.FieldResult(path, LOSSY.get(name, 0.0))
            whole = tuple(slice(0, extent) for extent in SHAPE)
            caesura.comparing.compare_block(result, file[path][...], ours[path][...], whole)
            assert result.violations == (1 if name == "complex64" else 0), result.sentence()


def test_what_cannot_be_names_field_and_type(tmp_path):
    with caesura.Writer(tmp_path / "run.h5") as writer:
        with pytest.raises(ValueError, match="field 'f': an error bound for bool"):
            writer.define_field("f", bool, SHAPE, absolute=0.5)
        with pytest.raises(ValueError, match="field 'f': complex64 of 4 axes; 1 to 3"):
            writer.define_field("f", "complex64", (2, 2, 2, 2), lossless=True)
        field = writer.define_field("f", np.float16, SHAPE, lossless=True)
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(time=0)
            with pytest.raises(ValueError, match="is float16, the array float32"):
                dump.put(field, np.zeros(SHAPE, np.float32))
            dump.put(field, np.zeros(SHAPE, np.float16))


@pytest.mark.parametrize("name", [*LOSSY, "bool"])
@pytest.mark.parametrize("shape", [SHAPE, (4, 6, 40, 64), (61440,)])
def test_the_codec_module_keeps_their_bounds(name, shape):
    values = values_of(name).reshape(shape)
    data = codec.compress(values, LOSSY.get(name, 1.0))
    back = codec.decompress(data)
    assert back.dtype == values.dtype and back.shape == shape
    assert differs(name, values, back) <= LOSSY.get(name, 0.0)
    assert codec.estimate(values, LOSSY.get(name, 1.0)) == pytest.approx(len(data), rel=0.4)
    about = codec.info(data)
    assert about.dtype == values.dtype and about.shape == shape
    assert len(data) < 0.35 * values.nbytes
    exact = codec.decompress(codec.compress(values, caesura.lossless()))
    assert exact.tobytes() == values.tobytes()


def test_an_array_that_h5py_writes_with_our_filter_keeps_its_bound(tmp_path):
    values = values_of("float16")
    path = tmp_path / "own.h5"
    with h5py.File(path, "w") as file:
        for name, data in (("half", values), ("swapped", values.astype(">f2"))):
            file.create_dataset(name, data=data, chunks=SHAPE, **caesura.filter_options(0.02))
    with h5py.File(path) as file:
        for name in ("half", "swapped"):
            assert differs("float16", values, file[name][...]) <= 0.02
            assert 0 < file[name].id.get_storage_size() < 0.4 * values.nbytes
    assert differs("float16", values, caesura.Reader(path).fields[0][...]) <= 0.02


# -------------------------------------------------------------------------------- devices


class InDevice:
    """As cupy's arrays look, in an emulated device."""

    def __init__(self, device, values: np.ndarray, strides=None) -> None:
        flat = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        self._values = values
        self.__cuda_array_interface__ = {
            "shape": values.shape,
            "typestr": values.dtype.str,
            "data": (device._core.upload(flat), False),
            "strides": strides,
            "version": 3,
        }

    def get(self) -> np.ndarray:
        return self._values


@pytest.fixture
def device():
    return caesura.EmulatedDevice(1 << 24, 1e9, 1e9, [(1e6, 1e-3)])


@pytest.mark.parametrize("name", ["float32", "float16", "complex64", "int64"])
def test_an_array_in_a_device_is_fetched(tmp_path, device, name):
    path = tmp_path / "run.h5"
    values = (100 * wave()).astype(name)
    with caesura.Writer(path) as writer:
        field = writer.define_field("f", name, (48, 40, 64), lossless=True)
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(time=0)
            array = InDevice(device, values)
            dump.put(field, array)
            array.get = None  # not asked: the library reads the device itself
            dump.put(field, InDevice(device, values, strides=(1, 2, 3)), offset=(24, 0, 0))
    with caesura.open(path) as file:
        stored = file["/data/0/meshes/f"][...]
        assert np.array_equal(stored[:24], values) and np.array_equal(stored[24:], values)


def test_an_array_in_a_device_of_another_type_is_refused(tmp_path, device):
    with caesura.Writer(tmp_path / "run.h5") as writer:
        field = writer.define_field("f", "float32", SHAPE, lossless=True)
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(time=0)
            with pytest.raises(ValueError, match="field 'f' is float32, the array float64"):
                dump.put(field, InDevice(device, wave()))
            dump.put(field, wave().astype(np.float32))


class ByDlpack:
    """Has DLPack alone."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def __dlpack__(self, **options):
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._values.__dlpack_device__()


@pytest.mark.parametrize("name", ["float64", "float16", "complex128", "bool", "uint8"])
def test_an_array_with_dlpack_is_taken(tmp_path, name):
    path = tmp_path / "run.h5"
    values = (100 * wave()).astype(name)
    with caesura.Writer(path) as writer:
        field = writer.define_field("f", name, SHAPE, lossless=True)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0).put(field, ByDlpack(values))
    with caesura.open(path) as file:
        assert np.array_equal(file["/data/0/meshes/f"][...], values)


def test_the_stand_in_for_bfloat16_is_taken(tmp_path):
    path = tmp_path / "run.h5"
    bits = values_of("bfloat16")
    with caesura.Writer(path) as writer:
        field = writer.define_field("f", STAND_IN, SHAPE, absolute=0.1)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0).put(field, bits.view(STAND_IN))
    read = caesura.Reader(path)["f", 0][...].view(np.uint16)
    wide = [(b.astype(np.uint32) << 16).view(np.float32) for b in (bits, read)]
    assert 0 < np.abs(wide[0] - wide[1]).max() <= 0.1
