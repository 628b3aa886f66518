"""Comparing: one wrong value among many is found, and what is right is not complained of."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from caesura.comparing import (
    ComparisonError,
    FieldResult,
    blocks,
    compare_block,
    datasets,
    mesh_of,
    open_reference,
)

WHERE = (slice(10, 14), slice(0, 5))


def compared(original, stored, bound):
    result = FieldResult("/data/0/meshes/rho", bound)
    where = tuple(slice(0, n) for n in original.shape)
    compare_block(result, original, stored, where)
    return result


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bound_itself_is_kept_and_just_beyond_is_not(dtype):
    original = np.zeros((4, 5), dtype)
    stored = original.copy()
    stored[2, 3] = 0.5
    assert compared(original, stored, 0.5).ok
    stored[2, 3] = np.nextafter(dtype(0.5), dtype(1.0))
    result = compared(original, stored, 0.5)
    assert result.violations == 1
    assert "[2, 3]" in result.sentence()


def test_a_pointwise_bound_is_a_share_of_each_value():
    original = np.array([0.0, 1.0, -100.0, np.nan], np.float64)
    result = FieldResult("/data/0/meshes/rho", 0.1, pointwise=True)
    compare_block(result, original, np.array([0.0, 1.05, -92.0, np.nan]), (slice(0, 4),))
    assert result.ok and result.max_error == pytest.approx(0.08)
    for wrong in ([1e-9, 1.0, -100.0], [0.0, 1.11, -100.0], [0.0, 1.0, -89.0]):
        result = FieldResult("/data/0/meshes/rho", 0.1, pointwise=True)
        compare_block(result, original, np.array([*wrong, np.nan]), (slice(0, 4),))
        assert result.violations == 1


def test_lossless_means_bit_for_bit():
    original = np.array([0.0, 1.0], np.float32)
    assert compared(original, original.copy(), 0.0).ok
    assert not compared(original, np.array([-0.0, 1.0], np.float32), 0.0).ok
    assert not compared(original, np.array([0.0, np.nextafter(np.float32(1), 2)], np.float32), 0).ok


def test_special_values_must_stay_what_they_were():
    original = np.array([np.nan, np.inf, -np.inf, 1.0], np.float32)
    assert compared(original, original.copy(), 0.1).ok
    assert compared(original, np.array([np.nan, np.inf, -np.inf, 1.05], np.float32), 0.1).ok
    for index, wrong in ((0, 0.0), (1, np.nan), (1, 3e38), (2, np.inf)):
        stored = original.copy()
        stored[index] = wrong
        assert compared(original, stored, 0.1).special_changed == 1
    stored = original.copy()
    stored[3] = np.nan  # a finite value lost
    assert compared(original, stored, 0.1).violations == 1


def test_position_of_a_violation_is_that_in_the_whole_array():
    original = np.zeros((4, 5), np.float32)
    stored = original.copy()
    stored[1, 2] = 9
    result = FieldResult("rho", 0.1)
    compare_block(result, original, stored, WHERE)
    assert result.first_violation.startswith("[11, 2]")


def test_random_errors_are_counted_exactly():
    rng = np.random.default_rng(11)
    original = rng.normal(size=(17, 23)).astype(np.float32)
    noise = rng.uniform(-0.2, 0.2, size=original.shape).astype(np.float32)
    stored = original + noise
    error = np.abs(original.astype(np.float64) - stored)
    result = compared(original, stored, 0.1)
    assert result.violations == np.count_nonzero(error > 0.1) > 0
    assert result.max_error == error.max()


@pytest.fixture
def reference_file(tmp_path):
    path = tmp_path / "reference.h5"
    with h5py.File(path, "w") as file:
        file["/data/2/meshes/rho"] = np.arange(24, dtype=np.float32).reshape(4, 6)
        file["/data/10/meshes/rho"] = np.ones((4, 6), np.float32)
        file["/data/10/meshes/velocity/x"] = np.ones((4, 6), np.float32)
        file["/data/2/meshes/id"] = np.arange(3)
        file["/name"] = "not a field"
    return path


def test_datasets_come_in_order_of_iteration(reference_file):
    with h5py.File(reference_file) as file:
        names = [name for name, _ in datasets(file)]
    assert names == [
        "/data/2/meshes/id",
        "/data/2/meshes/rho",
        "/data/10/meshes/rho",
        "/data/10/meshes/velocity/x",
    ]
    assert mesh_of(names[3]) == (10, "velocity/x")


def test_reference_of_another_shape_or_name_is_refused(reference_file):
    reference = open_reference(reference_file)
    float32 = np.dtype(np.float32)
    assert reference.find("/data/2/meshes/rho", (4, 6), float32)[1, 2] == 8
    with pytest.raises(ComparisonError, match="no dataset"):
        reference.find("/data/3/meshes/rho", (4, 6), float32)
    with pytest.raises(ComparisonError, match=r"\(4, 6\)"):
        reference.find("/data/2/meshes/rho", (6, 4), float32)
    with pytest.raises(ComparisonError, match="float64"):
        reference.find("/data/2/meshes/rho", (4, 6), np.dtype(np.float64))


def test_raw_directory_is_a_reference_too(tmp_path):
    values = np.arange(24, dtype=np.float32)
    values.tofile(tmp_path / "velocity_x_7.bin")
    reference = open_reference(tmp_path)
    found = reference.find("/data/7/meshes/velocity/x", (2, 3, 4), np.dtype(np.float32))
    assert np.array_equal(found[1, 2], values[20:])
    with pytest.raises(ComparisonError, match="96 bytes"):
        reference.find("/data/7/meshes/velocity/x", (2, 3, 5), np.dtype(np.float32))
    with pytest.raises(ComparisonError, match="rho_7"):
        reference.find("/data/7/meshes/rho", (2, 3, 4), np.dtype(np.float32))


@pytest.mark.parametrize("chunks", [None, (3, 4)])
def test_blocks_cover_a_dataset_once(tmp_path, chunks):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("x", (10, 9), np.float32, chunks=chunks)
        seen = np.zeros((10, 9), int)
        for where in blocks(dataset):
            seen[where] += 1
    assert np.all(seen == 1)
