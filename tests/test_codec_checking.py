"""The judges of the codec's benchmarks: what they count, and that they can find a fault."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench" / "codec"))

import checking
import goals
import reliability
import samples
import svg


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_value_a_hair_outside_the_bound_is_found(dtype):
    values = np.ones(1000, dtype)
    decoded = values.copy()
    decoded[17] = np.nextafter(np.dtype(dtype).type(1.25), np.dtype(dtype).type(2))
    found = checking.compare(values, decoded, 0.25)
    assert (found.violations, found.changed_specials) == (1, 0)
    decoded[17] = 1.25
    assert checking.compare(values, decoded, 0.25).violations == 0


def test_a_finite_value_that_became_nan_is_a_violation_and_a_changed_nan_is_counted():
    values = np.array([1.0, np.nan, np.inf], np.float32)
    payload = values.copy()
    payload.view(np.uint32)[1] ^= 1
    assert checking.compare(values, payload, 1.0).changed_specials == 1
    lost = np.array([np.nan, np.nan, np.inf], np.float32)
    assert checking.compare(values, lost, 1.0).violations == 1
    assert checking.compare(values, values.copy(), 1.0).changed_specials == 0


def test_pointwise_and_noise_bounds_are_judged():
    values = np.array([0.0, 1.0, -100.0])
    assert (
        reliability.check_pointwise(values, np.array([0.0, 1.01, -101.0]), 0.0101).violations == 0
    )
    assert (
        reliability.check_pointwise(values, np.array([0.0, 1.02, -101.0]), 0.0101).violations == 1
    )
    assert reliability.check_pointwise(values, np.array([1e-9, 1.0, -100.0]), 0.01).violations == 1
    wave = np.sin(np.arange(1000.0))
    assert reliability.check_psnr(wave, wave + 0.02, 39).violations == 0
    assert reliability.check_psnr(wave, wave + 0.02, 41).violations == 1


def test_minus_zero_counts_in_lossless():
    values = np.array([-0.0, 1.0], np.float32)
    assert reliability.check_lossless(values, np.array([0.0, 1.0], np.float32)).violations == 1


def test_samples_are_the_same_bits_everywhere():
    words = samples.random_words(3, 0)
    assert [int(w) for w in words] == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
    ]


def test_a_broken_bound_shows_in_the_goals():
    row = {
        "block": "b",
        "bound": "r1e-3",
        "codec": "Caesura auto",
        "kind": "ours",
        "bytes": 1,
        "violations": 1,
        "raw_bytes": 4,
        "dtype": "float32",
    }
    assert goals.bound_goal([row]).met is False
    assert goals.bound_goal([row | {"violations": 0}]).met is True
    assert goals.bound_goal([]).met is None


def test_labels_stand_apart_and_inside():
    places = svg.spread_out([10.0, 11.0, 12.0, 50.0, 99.0, 100.0], 8, 0, 100)
    ordered = sorted(places)
    assert all(b - a >= 8 - 1e-9 for a, b in itertools.pairwise(ordered))
    assert min(places) >= 0 and max(places) <= 100
    assert places == ordered
