"""Sampled features, the size model and block codecs, as Python sees them."""

from __future__ import annotations

import importlib.util
import threading

import numpy as np
import pytest

caesura = pytest.importorskip("caesura")
pytest.importorskip("caesura._core")

from caesura import prediction  # noqa: E402

SEED = 20221117
NEEDS_PLUGINS = pytest.mark.skipif(
    importlib.util.find_spec("hdf5plugin") is None, reason="needs hdf5plugin's filters"
)


def smooth(shape: tuple[int, ...], seed: int = SEED, scales: int = 3) -> np.ndarray:
    """Noise smoothed along every axis, periodic; standard deviation 1."""
    values = np.random.default_rng(seed).normal(size=shape)
    for axis in range(values.ndim):
        for _ in range(scales):
            values = values + np.roll(values, 1, axis) + np.roll(values, -1, axis)
    return (values / values.std()).astype(np.float32)


def test_a_box_is_sampled_as_the_same_values_alone():
    field = smooth((40, 48, 56))
    box = (slice(4, 36), slice(0, 40), slice(8, 50))
    alone = np.ascontiguousarray(field[box])
    for codec in ("sz3", "zfp", "zstd", "round+zstd", ""):
        inside = prediction.sample_block(field, 1e-3, codec, box)
        itself = prediction.sample_block(alone, 1e-3, codec)
        assert inside.bits_per_value == itself.bits_per_value
        assert inside.interpolated_bits_per_value == itself.interpolated_bits_per_value
        assert inside.values == alone.size


def test_what_is_sampled_depends_on_the_codec():
    field = smooth((48, 48, 48))
    bits = {c: prediction.sample(field, 1e-3, c).bits_per_value for c in ("sz3", "zfp", "zstd")}
    assert bits["sz3"] < bits["zfp"] < bits["zstd"] < 32
    own = prediction.sample(field, 1e-3, "caesura:strong")
    assert own.estimated and own.bits_per_value < bits["zfp"]
    assert prediction.sample(field, 1e-3, "sz3", block=7).block == 7


def test_caesura_is_told_within_a_few_percent_before_anything_is_learned():
    field = smooth((96, 96, 96))
    for bound in (1e-1, 1e-2, 1e-3):
        for codec in ("caesura", "caesura:fast", "caesura:strong"):
            stored = prediction.BlockCodec(codec, field.dtype, field.shape, bound).encode(field)
            expected = prediction.SizeModel(codec).predict(prediction.sample(field, bound, codec))
            assert expected.mean == pytest.approx(stored.stored_bytes, rel=0.05)


@NEEDS_PLUGINS
def test_zfp_is_told_within_two_percent_before_anything_is_learned():
    """Its steps are followed on a sample of its blocks: every rank, type and odd extents."""
    for shape in ((70, 64, 61), (260, 250), (50_000,), (20, 18, 21, 22)):
        for dtype in (np.float32, np.float64):
            field = smooth(shape).astype(dtype)
            for bound in (1e-1, 1e-3, 1e-5):
                stored = prediction.BlockCodec("zfp", dtype, shape, bound).encode(field)
                seen = prediction.sample(field, bound, "zfp")
                expected = prediction.SizeModel("zfp", dtype).predict(seen)
                assert expected.mean == pytest.approx(stored.stored_bytes, rel=0.02), (
                    shape,
                    dtype,
                    bound,
                )


@NEEDS_PLUGINS
@pytest.mark.parametrize("codec", ["sz3", "zfp"])
def test_foreign_sizes_are_known_within_two_percent_after_two_dumps(codec):
    """Goal: median <= 2 %, 95th percentile <= 10 % over blocks of a field that evolves."""
    first, second = smooth((64, 64, 64)), smooth((64, 64, 64), SEED + 1, scales=5)
    errors = []
    for bound in (1e-2, 1e-3):
        model = prediction.SizeModel(codec)
        for dump in range(6):
            field = first * np.float32(1 + 0.05 * dump) + np.float32(0.1 * dump) * second
            for block in range(4):
                box = (slice(16 * block, 16 * block + 16),)
                seen = prediction.sample(field, bound, codec, box, block=block)
                values = np.ascontiguousarray(field[box])
                made = prediction.BlockCodec(codec, field.dtype, values.shape, bound).encode(values)
                if dump >= 2:
                    errors.append(abs(model.predict(seen).mean / made.stored_bytes - 1))
                model.learn(seen, made.stored_bytes)
    assert np.median(errors) <= 0.02
    assert np.percentile(errors, 95) <= 0.10


@NEEDS_PLUGINS
def test_blocks_with_nan_are_expected_to_fall_back():
    field = smooth((64, 64, 64))
    field[::3] = np.nan
    for codec in ("sz3", "zfp"):
        seen = prediction.sample(field, 1e-3, codec)
        assert not seen.finite
        stored = prediction.BlockCodec(codec, field.dtype, field.shape, 1e-3).encode(field)
        expected = prediction.SizeModel(codec).predict(seen)
        assert expected.mean == pytest.approx(stored.stored_bytes, rel=0.25)


@NEEDS_PLUGINS
@pytest.mark.parametrize("codec", ["caesura", "sz3", "zfp", "zstd", "round+zstd", "none"])
def test_a_block_codec_there_and_back(codec):
    field = smooth((20, 24, 28))
    made = prediction.BlockCodec(codec, field.dtype, field.shape, 1e-2)
    block = made.encode(field)
    assert block.stored_bytes == len(block.data) > 0
    assert block.cpu_s >= 0 and block.wall_s > 0
    assert np.abs(made.decode(block) - field).max() <= 1e-2
    with pytest.raises(ValueError, match="shape"):
        made.encode(field[:-1])


def test_wrong_arguments_are_named():
    field = smooth((8, 8, 8))
    with pytest.raises(ValueError, match="float32 and float64"):
        prediction.sample_block(np.zeros(8, np.int32), 0.1)
    with pytest.raises(ValueError, match="not empty"):
        prediction.sample_block(field, 0.1, box=(slice(4, 4),))
    with pytest.raises(ValueError, match="axes"):
        prediction.sample_block(field, 0.1, box=(slice(0, 4),) * 4)
    with pytest.raises(ValueError, match="mode"):
        prediction.estimate_block(field, 0.1, "slow")
    with pytest.raises(ValueError, match="unknown"):
        prediction.BlockCodec("gzip", field.dtype, field.shape, 0.1)


def test_threads_sample_at_the_same_time():
    """Goal: each gets what it would alone."""
    field = smooth((64, 64, 64))
    alone = prediction.sample(field, 1e-3, "sz3").bits_per_value
    found = []
    threads = [
        threading.Thread(
            target=lambda: found.append(prediction.sample(field, 1e-3, "sz3").bits_per_value)
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 8


def test_a_block_that_is_what_it_was_is_not_sampled_again():
    model = prediction.SizeModel("caesura")
    field, rough = smooth((48, 48, 48)), smooth((48, 48, 48), scales=1)
    recalled = []
    for values in (field, 1.001 * field, 1.002 * field, rough):
        values = values.astype(np.float32)
        seen = prediction.sample(values, 0.1, block=0, model=model)
        stored = prediction.BlockCodec("caesura", values.dtype, values.shape, 0.1).encode(values)
        assert model.predict(seen).mean == pytest.approx(stored.stored_bytes, rel=0.1)
        recalled.append(seen.recalled)
        model.learn(seen, stored.stored_bytes)
    assert recalled == [False, False, True, False]
    assert prediction.glance(rough, 0.1) > prediction.glance(field, 0.1) > 0
    assert prediction.glance(field, caesura.lossless()) is None
