"""Goal: particles put from Python lie in the file as openPMD has them, for any reader."""

from __future__ import annotations

from pathlib import Path

import caesura
import h5py
import numpy as np
import pytest

BIG = np.uint64(1 << 60)  # no double has what follows it
LENGTH = (1, 0, 0, 0, 0, 0, 0)


def write(path: Path, counts: list[int]) -> list[np.ndarray]:
    """A dump for each count; what was put as positions."""
    random = np.random.default_rng(7)
    positions = []
    with caesura.Writer(path, durable=False) as writer:
        ions = writer.define_species("ions")
        x = ions.define_record("position/x", np.float64, absolute=1e-4, unit_dimension=LENGTH)
        z = ions.define_record("position/z", np.float64, absolute=1e-4, unit_dimension=LENGTH)
        weighting = ions.define_record("weighting", np.float32, macro_weighted=True)
        number = ions.define_record("id", np.uint64)
        ions.define_constant("charge", 1.6e-19, unit_si=2.0, weighting_power=1.0)
        for n, count in enumerate(counts):
            positions.append(random.random(count))
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(0.1 * n)
                dump.put_particles(x, positions[-1])
                for half in np.array_split(positions[-1] + 1.0, 2):
                    dump.put_particles(z, half)
                dump.put_particles(number, np.arange(count, dtype=np.uint64) + BIG)
                dump.put_particles(weighting, np.full(count, 2.0, np.float32), borrow=True)
    return positions


def test_particles_of_any_number_come_back_within_their_bounds(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    put = write(path, [1000, 0, 70_000, 1])
    reader = caesura.Reader(path)
    with caesura.open(path) as file:
        assert file.attrs["particlesPath"] == b"particles/"
        for n, positions in enumerate(put):
            read = reader["ions/position/x", n][...]
            assert read.shape == positions.shape
            assert np.all(np.abs(read - positions) <= 1e-4)
            assert np.all(reader["ions/charge", n][...] == 1.6e-19)
            if len(positions):
                numbers = reader["ions/id", n][...]
                assert numbers.dtype == np.uint64
                assert np.array_equal(numbers - BIG, np.arange(len(positions)))
            species = file[f"data/{n}/particles/ions"]
            assert list(species["charge"].attrs["shape"]) == [len(positions)]
            assert species["positionOffset/z"].attrs["value"] == 0.0
            assert list(species["position"].attrs["unitDimension"]) == list(LENGTH)
            if len(positions):
                assert np.all(np.abs(species["position/z"][:] - positions - 1.0) <= 1e-4)
                assert np.all(species["weighting"][:] == 2.0)
            else:
                assert isinstance(species["weighting"], h5py.Group)
                assert list(species["weighting"].attrs["shape"]) == [0]


def test_what_cannot_be_put_names_the_record(tmp_path: Path) -> None:
    with caesura.Writer(tmp_path / "run.h5", durable=False) as writer:
        ions = writer.define_species("ions")
        x = ions.define_record("x", np.float32)
        with pytest.raises(ValueError, match="record 'ions/y': unknown option 'colour'"):
            ions.define_record("y", np.float32, colour=3)
        with pytest.raises(ValueError, match="record 'ions/x': is already defined"):
            ions.define_constant("x", 1.0)
        with pytest.raises(ValueError, match="species 'ions': is already defined"):
            writer.define_species("ions")
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(0.0)
            with pytest.raises(ValueError, match="record 'ions/x' is float32, the array float64"):
                dump.put_particles(x, np.zeros(3))
            dump.put_particles(x, np.zeros(3, np.float32))


def test_any_order_keeps_particles_whole_and_the_index_says_where_they_were(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    random = np.random.default_rng(3)
    put = {axis: random.random(50_000) for axis in "xyz"}
    with caesura.Writer(path, durable=False) as writer:
        ions = writer.define_species("ions", order="any", keep_index=True)
        records = {
            axis: ions.define_record(f"position/{axis}", np.float64, absolute=1e-4) for axis in put
        }
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(0.0)
            for axis, record in records.items():
                dump.put_particles(record, put[axis])
    reader = caesura.Reader(path)
    index = reader["ions/index", 0][...]
    assert np.array_equal(np.sort(index), np.arange(50_000))
    for axis, values in put.items():
        assert np.all(np.abs(reader[f"ions/position/{axis}", 0][...] - values[index]) <= 1e-4)
    with caesura.open(path) as file:
        patches = file["data/0/particles/ions/particlePatches"]
        assert list(patches["numParticles"]) == [50_000]
        for axis, values in put.items():
            low, extent = patches[f"offset/{axis}"][0], patches[f"extent/{axis}"][0]
            assert low <= values.min() <= values.max() < low + extent


def test_attributes_are_of_species_and_records_in_all_dumps_or_in_one(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with caesura.Writer(path, durable=False) as writer:
        ions = writer.define_species("ions")
        x = ions.define_record("position/x", np.float32)
        writer.set_attribute("source", "laser", species=ions)
        writer.set_attribute("frame", 1, record=x)
        for n in range(2):
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(0.0)
                dump.put_particles(x, np.zeros(3, np.float32))
                if n == 1:
                    dump.set_attribute("source", "beam", species=ions)
                    dump.set_attribute("quality", 0.5, field=x)
    with caesura.open(path) as file:
        assert file["data/0/particles/ions"].attrs["source"] == b"laser"
        assert file["data/1/particles/ions"].attrs["source"] == b"beam"
        assert file["data/1/particles/ions/position"].attrs["frame"] == 1
        assert file["data/1/particles/ions/position/x"].attrs["quality"] == 0.5


def test_an_order_or_an_owner_that_cannot_be_is_refused(tmp_path: Path) -> None:
    with caesura.Writer(tmp_path / "run.h5", durable=False) as writer:
        with pytest.raises(ValueError, match="species 'ions': order is 'some'; use given or any"):
            writer.define_species("ions", order="some")
        with pytest.raises(ValueError, match="species 'ions': keep_index says what"):
            writer.define_species("ions", keep_index=True)
        ions = writer.define_species("ions", order="any")
        x = ions.define_record("x", np.float32)
        with pytest.raises(ValueError, match="give one of group, record, field and species"):
            writer.set_attribute("a", 1, field=x, species=ions)
        with pytest.raises(ValueError, match="record 'ions/x': it follows from the options"):
            writer.set_attribute("unitSI", 2.0, field=x)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(0.0).put_particles(x, np.zeros(3, np.float32))
