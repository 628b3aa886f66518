"""Checkpoints from Python: what numpy hands over comes back, in this process and in later ones."""

from __future__ import annotations

import signal
import subprocess
import sys

import caesura
import numpy as np
import pytest

CURVE = [(1e3, 34e-6), (2e7, 3.7e-3)]
CACHE = 128_000
MACHINE = {"cache_bytes": CACHE, "link_bytes_per_s": 250e6, "compress_curve": CURVE}
SHAPE = (50, 100)
SEED = 11


def device():
    return caesura.EmulatedDevice(CACHE, 250e6, 5e9, CURVE)


def wave(n, dtype=np.float32):
    y, x = np.meshgrid(*[np.linspace(0, 3, extent) for extent in SHAPE], indexing="ij")
    return np.sin(x + 2 * y + 0.1 * n).astype(dtype)


@pytest.mark.parametrize(
    ("dtype", "bound"), [(np.float32, 0), (np.float32, 1e-3), (np.float64, 1e-6)]
)
def test_what_was_made_comes_back_within_the_bound_and_the_budget(tmp_path, dtype, bound):
    gpu, size = device(), wave(0, dtype).nbytes
    with caesura.Checkpointer(
        gpu, SHAPE, dtype, bound=bound or caesura.lossless(), path=tmp_path / "run.h5",
        host_bytes=3 * CACHE, **MACHINE,
    ) as checkpointer:  # fmt: skip
        for n in range(80):
            gpu.work(1e-6)
            checkpointer.checkpoint(n, wave(n, dtype))
        numbers = list(range(80))
        assert checkpointer.numbers == numbers
        state = np.empty(SHAPE, dtype)
        for n in [*reversed(numbers), *np.random.default_rng(SEED).permutation(80)]:
            assert checkpointer.restore(int(n), out=state) is state
            assert np.abs(state - wave(n, dtype)).max() <= bound
        report = checkpointer.report
    assert report.raw_bytes == 80 * size
    assert report.peak_host_bytes <= 3 * CACHE
    assert report.peak_cache_bytes <= CACHE
    assert report.trouble == ""
    assert len(report.word) == 80
    assert gpu.now_s > 80e-6


def test_stock_readers_see_each_checkpoint_as_an_array(tmp_path):
    gpu = device()
    with caesura.Checkpointer(gpu, SHAPE, bound=1e-3, path=tmp_path / "run.h5", **MACHINE) as it:
        for n in range(20):
            gpu.work(1e-2 if n < 5 else 1e-6)
            it.checkpoint(n, wave(n))
    with caesura.open(tmp_path / "run.h5") as file:
        assert sorted(map(int, file["checkpoints"])) == list(range(20))
        raw = [n for n in range(20) if not file[f"checkpoints/{n}"]._filters]
        for n in range(20):
            stored = file[f"checkpoints/{n}"]
            assert stored.shape == SHAPE
            assert stored.dtype == np.float32
            assert np.abs(stored[...] - wave(n)).max() <= (0 if n in raw else 1e-3)
        assert 0 < len(raw) < 20


def test_anything_else_is_bytes_and_comes_back_as_it_was():
    values = np.random.default_rng(SEED).integers(-5, 5, (7, 11, 13), np.int16)
    gpu = device()
    with caesura.Checkpointer(gpu, values.shape, np.int16, **MACHINE) as checkpointer:
        for n in range(50):
            checkpointer.checkpoint(n, values + n)
        assert np.array_equal(checkpointer.restore(3), values + 3)
    with pytest.raises(ValueError, match="no shape"):
        caesura.Checkpointer(gpu, values.shape, np.int16, bound=1e-3, **MACHINE)


def test_one_run_is_the_profile_of_the_next():
    gpus, profile = [device(), device()], None
    for gpu in gpus:
        machine = {"profile": profile} if profile else MACHINE
        with caesura.Checkpointer(gpu, SHAPE, bound=1e-2, **machine) as checkpointer:
            for n in range(66):
                gpu.work(20e-6)
                checkpointer.checkpoint(n, wave(n))
            checkpointer.flush()
            profile = checkpointer.recorded()
    assert profile.checkpoints == 66
    assert gpus[1].now_s <= gpus[0].now_s


def test_told_how_many_there_will_be_the_run_is_shorter():
    gpus = [device(), device()]
    for gpu, checkpoints in zip(gpus, (0, 66), strict=True):
        with caesura.Checkpointer(
            gpu, SHAPE, bound=1e-2, checkpoints=checkpoints, **MACHINE
        ) as checkpointer:
            for n in range(66):
                gpu.work(20e-6)
                checkpointer.checkpoint(n, wave(n))
            checkpointer.flush()
    assert gpus[1].now_s < gpus[0].now_s


KILLED = """
import os, signal, sys
import numpy as np
import caesura
curve = [(1e3, 34e-6), (2e7, 3.7e-3)]
gpu = caesura.EmulatedDevice(128_000, 250e6, 5e9, curve)
checkpointer = caesura.Checkpointer(
    gpu, (50, 100), cache_bytes=128_000, link_bytes_per_s=250e6, compress_curve=curve,
    path=sys.argv[1], host_bytes=384_000, write_all=True,
)
for n in range(60):
    gpu.work(20e-6)
    checkpointer.checkpoint(n, np.full((50, 100), n, np.float32))
    if n == int(sys.argv[2]):
        checkpointer.save()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("saved", [0, 17, 59])
def test_a_killed_process_loses_nothing_that_was_saved(tmp_path, saved):
    path = tmp_path / "run.h5"
    child = subprocess.run([sys.executable, "-c", KILLED, path, str(saved)], check=False)
    assert child.returncode == -signal.SIGKILL
    gpu = device()
    with caesura.Checkpointer(gpu, SHAPE, path=path, mode="r+", **MACHINE) as checkpointer:
        there = checkpointer.numbers
        assert there == list(range(len(there)))
        assert len(there) > saved
        for n in reversed(there):
            assert np.all(checkpointer.restore(n) == n)
        checkpointer.checkpoint(1000, wave(0))
    with caesura.open(path) as file:
        assert np.array_equal(file["checkpoints/1000"][...], wave(0))


class OfGpu:
    """What a GPU's array shows of itself."""

    def __init__(self, **interface):
        self.__cuda_array_interface__ = {
            "shape": SHAPE, "typestr": "<f4", "data": (4096, False), "version": 3, **interface,
        }  # fmt: skip


class NotEmulated:
    """A device whose arrays are not numpy's: its arguments are looked at, it does nothing."""

    on_host = False

    def __init__(self, stream=0):
        self.stream = stream


def test_arrays_of_a_gpu_are_taken_by_their_interface_and_checked(monkeypatch):
    gpu = device()
    with caesura.Checkpointer(gpu, SHAPE, **MACHINE) as checkpointer:
        with pytest.raises(ValueError, match="emulated device"):
            checkpointer.checkpoint(0, OfGpu())
        monkeypatch.setattr(checkpointer, "_device", NotEmulated())

        def address(data, writable=False):
            return checkpointer._address(data, writable=writable)

        assert address(OfGpu()) == 4096
        assert address(12345) == 12345
        assert address(OfGpu(strides=(400, 4)), writable=True) == 4096
        for wrong, words in [
            (OfGpu(strides=(4, 200)), "not contiguous"),
            (OfGpu(typestr="<f8"), "float64"),
            (OfGpu(shape=(50, 99)), r"\(50, 99\)"),
            (OfGpu(data=(4096, True)), "read-only"),
            (wave(0), "ndarray is no array of a GPU"),
        ]:
            with pytest.raises(ValueError, match=words):
                address(wrong, writable=True)
        for own, stream in [(0, None), (77, None), (77, 77), (0, 1), (1, 1)]:
            monkeypatch.setattr(checkpointer, "_device", NotEmulated(own))
            assert address(OfGpu(stream=stream)) == 4096
        for own, stream in [(0, 77), (77, 1), (77, 2), (0, 2)]:
            monkeypatch.setattr(checkpointer, "_device", NotEmulated(own))
            with pytest.raises(ValueError, match=f"hands of stream {stream}, the device .* {own}"):
                address(OfGpu(stream=stream))


def test_a_gpu_is_there_or_it_is_said_what_is_missing():
    try:
        assert not caesura.CudaDevice().on_host
    except RuntimeError as error:
        assert len(str(error)) > 10


def test_mistakes_are_named(tmp_path):
    gpu = device()
    with pytest.raises(ValueError, match="three times the cache"):
        caesura.Checkpointer(gpu, SHAPE, path=tmp_path / "x.h5", host_bytes=1000, **MACHINE)
    with pytest.raises(ValueError, match="there is no store"):
        caesura.Checkpointer(gpu, SHAPE, host_bytes=3 * CACHE, **MACHINE)
    with pytest.raises(ValueError, match="mode is 'a'"):
        caesura.Checkpointer(gpu, SHAPE, mode="a", **MACHINE)
    with pytest.raises(OSError, match=r"gone\.h5"):
        caesura.Checkpointer(gpu, SHAPE, path=tmp_path / "gone.h5", mode="r+", **MACHINE)
    with pytest.raises(RuntimeError, match="absolute bound"):
        caesura.Checkpointer(gpu, SHAPE, bound=caesura.relative(1e-3), **MACHINE)
    with pytest.raises(ValueError, match="link_bytes_per_s"):
        caesura.Checkpointer(gpu, SHAPE, cache_bytes=CACHE, compress_curve=CURVE)
    with pytest.raises(ValueError, match="no points"):
        caesura.EmulatedDevice(CACHE, 250e6, 5e9, [])
    with pytest.raises(ValueError, match="seconds"):
        gpu.work(-1.0)
    checkpointer = caesura.Checkpointer(gpu, SHAPE, path=tmp_path / "x.h5", **MACHINE)
    with pytest.raises(OSError, match=r"x\.h5"):
        caesura.Checkpointer(device(), SHAPE, path=tmp_path / "x.h5", **MACHINE)
    for wrong, words in [
        (wave(0, np.float64), "float64"),
        (wave(0)[:, ::2], "not contiguous"),
        (wave(0)[:20], r"\(20, 100\)"),
        (wave(0).tolist(), "a list is no numpy array"),
    ]:
        with pytest.raises(ValueError, match=words):
            checkpointer.checkpoint(0, wrong)
    with pytest.raises(ValueError, match="checkpoint 0 was not made"):
        checkpointer.restore(0)
    frozen = wave(0)
    frozen.flags.writeable = False
    checkpointer.checkpoint(0, frozen)
    with pytest.raises(ValueError, match="read-only"):
        checkpointer.restore(0, out=frozen)
    with pytest.raises(ValueError, match="exists already"):
        checkpointer.checkpoint(0, frozen)
    checkpointer.close()
    with pytest.raises(ValueError, match="closed"):
        checkpointer.flush()


@pytest.mark.parametrize("wrong", [{"host_bytes": 1000}, {"cache_bytes": 0}])
def test_a_refused_call_leaves_an_older_file_as_it_was(tmp_path, wrong):
    path = tmp_path / "run.h5"
    with caesura.Checkpointer(device(), SHAPE, path=path, **MACHINE) as checkpointer:
        checkpointer.checkpoint(7, wave(7))
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"host_bytes|a cache of 0 bytes"):
        caesura.Checkpointer(device(), SHAPE, path=path, **{**MACHINE, **wrong})
    assert path.read_bytes() == before


def test_an_exception_inside_saves_nothing_and_gives_the_file_free(tmp_path):
    path = tmp_path / "run.h5"
    with (
        pytest.raises(KeyError),
        caesura.Checkpointer(device(), SHAPE, path=path, **MACHINE) as checkpointer,
    ):
        checkpointer.checkpoint(0, wave(0))
        raise KeyError
    with caesura.Checkpointer(device(), SHAPE, path=path, mode="r+", **MACHINE) as checkpointer:
        assert checkpointer.numbers == []
