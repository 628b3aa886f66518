"""caesura.codec: arrays of every kind come back within the bound, and wrong bytes are errors."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time

import caesura
import numpy as np
import pytest
from caesura import codec

SEED = 20260


def smooth(shape, dtype=np.float32, seed=SEED) -> np.ndarray:
    """A field with structure: sums of waves and a little noise."""
    random = np.random.default_rng(seed)
    axes = np.meshgrid(*(np.linspace(0, 3, n) for n in shape), indexing="ij")
    values = sum(np.sin((i + 2) * axis) for i, axis in enumerate(axes))
    return (10 * values + 0.01 * random.standard_normal(shape)).astype(dtype)


def largest_error(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.max(np.abs(a.astype(np.float64) - b.astype(np.float64))))


@pytest.mark.parametrize("mode", ["auto", "fast", "strong", "planes", "regions"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(5000,), (70, 71), (20, 30, 40), (7, 8, 9, 10), (1, 1, 300)])
def test_every_value_is_within_an_absolute_bound(mode, dtype, shape):
    values = smooth(shape, dtype)
    data = codec.compress(values, 1e-3, mode=mode)
    back = codec.decompress(data)
    assert type(data) is bytes
    assert back.dtype == values.dtype and back.shape == values.shape
    assert back.flags.c_contiguous and back.flags.writeable and back.flags.owndata
    assert 0 < largest_error(values, back) <= 1e-3
    assert len(data) < values.nbytes
    assert codec.info(data).mode == mode or mode in ("auto", "regions")


def test_regions_that_differ_have_settings_of_their_own():
    values = smooth((64, 64, 64))
    rows = np.random.default_rng(SEED).integers(0, 8, (64, 64, 4))
    values[:, :, 32:] = np.repeat(rows, 8, axis=2)  # steps
    data = codec.compress(values, 1e-3, mode="regions")
    whole = codec.compress(values, 1e-3)
    assert codec.info(data).regions > 1 and codec.info(whole).regions == 1
    assert len(data) < 0.97 * len(whole)
    assert largest_error(values, codec.decompress(data)) <= 1e-3


def test_every_kind_of_bound_is_kept():
    values = smooth((40, 41, 42), np.float64)
    values[3, 4, 5] = 0.0
    span = np.ptp(values)
    for fraction in (1e-2, 1e-5):
        back = codec.decompress(codec.compress(values, caesura.relative(fraction)))
        assert 0 < largest_error(values, back) <= fraction * span
        back = codec.decompress(codec.compress(values, caesura.pointwise_relative(fraction)))
        assert np.all(np.abs(back - values) <= fraction * np.abs(values))
        assert back[3, 4, 5] == 0.0
    for decibels in (40, 90):
        back = codec.decompress(codec.compress(values, caesura.psnr(decibels)))
        rms = np.sqrt(np.mean((back - values) ** 2))
        assert 20 * np.log10(span / rms) >= decibels
    assert np.array_equal(codec.decompress(codec.compress(values, caesura.lossless())), values)


def test_bounds_are_numbers_tuples_or_made_by_functions():
    values = smooth((50, 50))
    for bound in (0.01, np.float32(0.5), 1, ("absolute", 0.01), caesura.absolute(0.01)):
        asked = codec.info(codec.compress(values, bound)).bound
        assert asked == ("absolute", float(bound if np.isscalar(bound) else bound[1]))
    assert codec.info(codec.compress(values, ("lossless", 0.0))).bound == caesura.lossless()


@pytest.mark.parametrize(
    "bound", [0, -1.0, float("nan"), float("inf"), ("relative", 1.0), caesura.psnr(400)]
)
def test_bounds_that_cannot_be_kept_are_value_errors(bound):
    with pytest.raises(ValueError, match=r"bound|psnr|PSNR|relative|range"):
        codec.compress(smooth((10, 10)), bound)


def test_wrong_arguments_are_value_errors_that_list_the_right_ones():
    values = smooth((10, 10))
    for bound in ("tight", None, True, ("abs", 1.0)):
        with pytest.raises(ValueError, match="give a number"):
            codec.compress(values, bound)
    with pytest.raises(ValueError, match="auto, fast, strong, planes"):
        codec.compress(values, 1.0, mode="best")
    with pytest.raises(ValueError, match="Python objects"):
        codec.compress(np.array([object()]), 1.0)
    with pytest.raises(ValueError, match="threads"):
        codec.compress(values, 1.0, threads=-1)


def test_nan_infinities_and_negative_zero_come_back_bit_for_bit():
    values = smooth((30, 30))
    values[1, 2], values[3, 4], values[5, 6], values[7, 8] = np.nan, np.inf, -np.inf, -0.0
    values.view(np.uint32)[9, 9] = 0x7FC12345  # a NaN with a payload
    back = codec.decompress(codec.compress(values, 1e-4))
    finite = np.isfinite(values)
    assert np.array_equal(back.view(np.uint32)[~finite], values.view(np.uint32)[~finite])
    assert largest_error(values[finite], back[finite]) <= 1e-4


OTHER_TYPES = ["<i4", ">i4", "u1", "?", "S7", "<U5", "<M8[ns]", "V3", "<g"]
LOSSY_TYPES = ["<f2", ">f2", "<c8", ">c8", "<c16"]


@pytest.mark.parametrize("dtype", OTHER_TYPES + LOSSY_TYPES)
def test_other_types_come_back_bit_for_bit_whatever_the_bound(dtype):
    random = np.random.default_rng(SEED)
    kind = np.dtype(dtype)
    values = np.frombuffer(random.integers(0, 2, 24 * kind.itemsize, np.uint8), kind).reshape(4, 6)
    bound = caesura.lossless() if dtype in LOSSY_TYPES else 0.5
    back = codec.decompress(codec.compress(values, bound))
    assert back.dtype == kind and back.shape == (4, 6)
    assert back.tobytes() == values.tobytes()


def test_structures_keep_their_members():
    kind = np.dtype([("position ö", "<f4", 3), ("id", "<i8")], align=True)
    values = np.zeros(1000, kind)
    values["id"] = np.arange(1000)
    values["position ö"] = np.random.default_rng(SEED).random((1000, 3))
    data = codec.compress(values, 0.1)
    back = codec.decompress(data)
    assert back.dtype == kind and np.array_equal(back, values)
    assert codec.info(data).dtype == kind


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (2, 3, 4, 5, 6), (1,) * 9])
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i2"])
def test_shapes_and_byte_orders_a_frame_cannot_describe(shape, dtype):
    values = np.asarray(np.random.default_rng(SEED).random(shape) * 100).astype(dtype)
    data = codec.compress(values, 0.01)
    back = codec.decompress(data)
    assert back.dtype == np.dtype(dtype) and back.shape == shape
    assert values.size == 0 or largest_error(values, back) <= 0.01
    about = codec.info(data)
    assert (about.dtype, about.shape, about.raw_bytes) == (values.dtype, shape, values.nbytes)


def test_strides_do_not_matter():
    values = smooth((40, 50, 60))
    expected = codec.compress(values.transpose(2, 0, 1).copy(), 1e-3)
    assert codec.compress(values.transpose(2, 0, 1), 1e-3) == expected
    assert codec.compress(values[::-2, 5:, ::3], 1e-3) == codec.compress(
        values[::-2, 5:, ::3].copy(), 1e-3
    )
    read_only = values.copy()
    read_only.flags.writeable = False
    assert codec.compress(read_only, 1e-3) == codec.compress(values, 1e-3)
    fortran = np.asfortranarray(values)
    assert largest_error(values, codec.decompress(codec.compress(fortran, 1e-3))) <= 1e-3


def test_any_buffer_can_be_decompressed():
    values = smooth((20, 20))
    data = codec.compress(values, 1e-3)
    expected = codec.decompress(data)
    for form in (bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
        assert np.array_equal(codec.decompress(form), expected)


def test_bytes_do_not_depend_on_threads():
    values = smooth((160, 200, 200))  # 25 MB: several slabs
    data = codec.compress(values, 1e-3, threads=1)
    assert codec.info(data).slabs > 1
    assert codec.compress(values, 1e-3, threads=3) == data
    assert codec.compress(values, 1e-3) == data
    one, three = (codec.decompress(data, threads=n) for n in (1, 3))
    assert np.array_equal(one, three) and largest_error(values, one) <= 1e-3


def test_the_gil_is_released():
    values = smooth((200, 200, 200), np.float64)
    longest = 0.0

    def work() -> None:
        codec.decompress(codec.compress(values, 1e-6, mode="strong", threads=1), threads=1)

    worker = threading.Thread(target=work)
    begin = time.perf_counter()
    worker.start()
    last = begin
    while worker.is_alive():
        time.sleep(0.0005)
        now = time.perf_counter()
        longest = max(longest, now - last)
        last = now
    # With the GIL held this thread would not run from the one call's beginning to its end.
    assert longest < 0.5 * (last - begin)


def test_threads_may_share_statistics():
    statistics = codec.TableStatistics()
    values = [smooth((64, 64, 16), seed=n) for n in range(8)]
    alone = codec.TableStatistics()
    for array in values:
        codec.compress(array, 1e-4, statistics=alone)

    def work(array: np.ndarray) -> None:
        codec.compress(array, 1e-4, statistics=statistics)

    workers = [threading.Thread(target=work, args=(array,)) for array in values]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert statistics.bytes() == alone.bytes()


def test_table_sets_are_learnt_shared_and_named():
    first, later = smooth((64, 64, 64), seed=1), smooth((64, 64, 64), seed=2)
    statistics = codec.TableStatistics()
    assert statistics.empty
    codec.compress(first, 1e-4, statistics=statistics)
    assert not statistics.empty
    tables = statistics.train()
    both = codec.TableStatistics.from_bytes(statistics.bytes())
    assert both.train() == tables
    both.add(statistics)
    codec.compress(first, 1e-4, statistics=statistics)
    assert both.bytes() == statistics.bytes()
    assert tables.id != 0 and 0 < len(tables.bytes()) <= 1024

    data = codec.compress(later, 1e-4, tables=tables)
    assert len(data) <= 1.1 * len(codec.compress(later, 1e-4))
    assert codec.info(data).table_set_id == tables.id
    assert largest_error(later, codec.decompress(data, tables)) <= 1e-4
    with pytest.raises(ValueError, match=f"{tables.id:x}|{tables.id}"):
        codec.decompress(data)

    again = codec.TableSet.from_bytes(tables.bytes())
    assert again == tables and hash(again) == hash(tables) and bytes(again) == tables.bytes()
    assert pickle.loads(pickle.dumps(tables)) == tables
    assert pickle.loads(pickle.dumps(statistics)).bytes() == statistics.bytes()
    assert codec.TableSet().id == 0 and codec.TableSet() != tables


def test_without_drift_check_tables_that_do_not_fit_are_kept():
    values = smooth((64, 64, 64))
    statistics = codec.TableStatistics()
    codec.compress(values, 2e-2, mode="fast", statistics=statistics)
    tables = statistics.train()
    for drift_check in (True, False):
        data = codec.compress(values, 1e-4, mode="fast", tables=tables, drift_check=drift_check)
        assert largest_error(values, codec.decompress(data, tables)) <= 1e-4
        assert codec.info(data).inline_tables == drift_check


def test_broken_table_sets_are_corrupt():
    statistics = codec.TableStatistics()
    codec.compress(smooth((64, 64)), 1e-4, statistics=statistics)
    for kind, data in (
        (codec.TableSet, statistics.train().bytes()),
        (codec.TableStatistics, statistics.bytes()),
    ):
        for broken in (data[:-1], b"x" + data[1:], data[:-1] + bytes([data[-1] ^ 1])):
            with pytest.raises(caesura.CorruptError):
                kind.from_bytes(broken)


def test_estimates_are_close():
    for values, bound in (
        (smooth((128, 128, 64)), 1e-3),
        (smooth((400, 400), np.float64), caesura.relative(1e-5)),
        (smooth((300, 300)), caesura.lossless()),
        (smooth((200, 200, 50)).astype(">f4"), 1e-3),
    ):
        predicted = codec.estimate(values, bound)
        assert type(predicted) is int
        assert predicted == pytest.approx(len(codec.compress(values, bound)), rel=0.1)
    whole = (100 * smooth((256, 256, 64))).astype(np.int32)
    assert codec.estimate(whole, 1) == pytest.approx(len(codec.compress(whole, 1)), rel=0.2)


def test_info_says_what_was_asked_and_done():
    values = smooth((60, 70), np.float64)
    about = codec.info(codec.compress(values, caesura.relative(1e-3), mode="strong"))
    assert (about.dtype, about.shape, about.raw_bytes) == (np.float64, (60, 70), values.nbytes)
    assert about.bound == ("relative", 1e-3) and about.mode == "strong" and about.checksum
    assert about.absolute_bound == pytest.approx(1e-3 * np.ptp(values))
    exact = codec.info(codec.compress(values, caesura.lossless(), checksum=False))
    assert exact.mode == "exact" and exact.absolute_bound == 0 and not exact.checksum


@pytest.mark.filterwarnings("ignore:Data type alias")  # a flipped bit may make one
@pytest.mark.parametrize("dtype", ["<f4", "<i4"])  # a frame, and one behind a header
def test_damaged_bytes_are_corrupt(dtype):
    data = codec.compress(smooth((12, 12)).astype(dtype), 1e-2)
    random = np.random.default_rng(SEED)
    for n in range(len(data)):
        with pytest.raises(caesura.CorruptError):
            codec.decompress(data[:n])
    for at in random.permutation(len(data))[:200]:
        broken = bytearray(data)
        broken[at] ^= 1 << random.integers(8)
        try:
            back = codec.decompress(broken)
        except (caesura.CorruptError, OSError, RuntimeError):
            continue
        # only the text of the header can change unseen, and then type or shape with it
        assert dtype != "<f4" and at < len(data) and back.nbytes == 12 * 12 * 4


def test_bytes_of_other_origin_are_corrupt():
    for data in (b"", b"PK\x03\x04", b"\x93NUMPY", b"\x93NUMPY\x03\x00\xff\xff\xff\xff{}"):
        with pytest.raises(caesura.CorruptError):
            codec.decompress(data)
    with pytest.raises(caesura.CorruptError):
        codec.info(np.zeros(100, np.uint8))
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"
    with pytest.raises(caesura.CorruptError, match="does not write"):
        codec.decompress(b"\x93NUMPY\x03\x00" + len(header).to_bytes(4, "little") + header)


def test_the_instruction_set_can_be_capped_and_changes_no_byte():
    program = (
        "import hashlib, sys; sys.path.insert(0, sys.argv[1]);"
        "from test_codec import smooth; from caesura import _core, codec;"
        "data = codec.compress(smooth((40, 50, 60)), 1e-4);"
        "print(_core.instruction_set(), hashlib.sha256(data).hexdigest())"
    )
    seen = {}
    for name in ("native", "scalar"):
        environment = dict(os.environ, CAESURA_INSTRUCTION_SET=name)
        answer = subprocess.run(
            [sys.executable, "-c", program, os.path.dirname(__file__)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        seen[name] = answer.stdout.split()
    assert seen["scalar"][0] in ("EMU128", "SCALAR")
    assert seen["native"][0] != seen["scalar"][0]
    assert seen["native"][1] == seen["scalar"][1]
