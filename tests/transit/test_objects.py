"""Objects of a service from Python, and analyses in transit beside numpy's and scipy's of the same
values; what the file and `caesura info` say of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import caesura
import numpy as np
import pytest
from caesura import serving

sys.path[:0] = [str(Path(__file__).parent)]
from service_process import Service  # noqa: E402

try:
    PROGRAM = serving.program_path()
except RuntimeError as missing:
    pytest.skip(str(missing), allow_module_level=True)
from caesura import service as objects_of  # noqa: E402

SEED = 8101
SHAPE = (48, 40, 32)


def values(dump):
    random = np.random.default_rng(SEED + dump)
    field = np.sin(1e-2 * np.arange(np.prod(SHAPE))) + 0.3 * random.normal(size=np.prod(SHAPE))
    return field.reshape(SHAPE).astype(np.float32)


@pytest.fixture
def running(tmp_path):
    with Service(PROGRAM, tmp_path, threads=2, lease_s=3600) as service:
        yield service


def test_analyses_in_transit_are_numpys(tmp_path, running):
    """Exact where numpy's are, else to rounding; kept with the dataset, and shown."""
    path = tmp_path / "run.h5"
    calls = ["stats", "histogram(bins=32, low=-2, high=2)", "entropy"]
    with caesura.Writer(
        path, transport=running.address, analyses=calls, chunk_bytes=1 << 16
    ) as writer:
        field = writer.define_field("rho", np.float32, SHAPE)
        for n in range(3):
            with writer.iteration(n) as iteration:
                iteration.begin_dump(time=n).put(field, values(n))
    with caesura.open(path) as file:
        for n in range(3):
            dataset = file[f"/data/{n}/meshes/rho"]
            text = dataset.attrs["caesura_analyses"]
            found = json.loads(text.decode() if isinstance(text, bytes) else text)
            assert len(found) == len(calls)
            array = dataset[...].astype(np.float64)
            np.testing.assert_array_equal(array, values(n))
            stats = next(one for call, one in found.items() if call.startswith("stats"))
            assert stats["min"] == array.min() and stats["max"] == array.max()
            np.testing.assert_allclose(stats["mean"], array.mean(), rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(stats["variance"], array.var(), rtol=1e-12)
            histogram = next(one for call, one in found.items() if call.startswith("histogram"))
            counts, _ = np.histogram(array, bins=32, range=(-2, 2))
            np.testing.assert_array_equal(histogram["counts"], counts)
            entropy = next(one for call, one in found.items() if call.startswith("entropy"))
            _, times = np.unique(dataset[...].view(np.uint32), return_counts=True)
            shares = times / times.sum()
            number = next(value for value in entropy.values() if isinstance(value, float))
            np.testing.assert_allclose(number, -(shares * np.log2(shares)).sum(), rtol=1e-9)
    told = subprocess.run(
        [sys.executable, "-m", "caesura", "info", str(path)], capture_output=True, text=True
    )
    assert told.returncode == 0, told.stderr
    assert "variance" in told.stdout and "histogram" in told.stdout


def test_objects_are_put_found_read_and_analysed(tmp_path, running):
    with objects_of.connect(running.address) as objects:
        array = values(7)
        id = objects.create("mine", "rho", np.float32, SHAPE, tags={"run": "a"}, time=2.5)
        tickets = [
            objects.put(id, array[z : z + 8], offset=(z, 0, 0)) for z in range(0, SHAPE[0], 8)
        ]
        for ticket in tickets:
            ticket.wait()
        assert all(ticket.done for ticket in tickets)
        np.testing.assert_array_equal(objects.get(id, (0, 0, 0), SHAPE), array)
        np.testing.assert_array_equal(
            objects.get(id, (3, 5, 7), (20, 9, 11)), array[3:23, 5:14, 7:18]
        )
        stats = objects.run(id, "stats")
        assert stats["max"] == array.max() and stats["count"] == array.size
        part = objects.run(id, "mean", box=((3, 5, 7), (20, 9, 11)))
        np.testing.assert_allclose(part["mean"], array[3:23, 5:14, 7:18].mean(dtype=np.float64))
        highest = float(array.max())
        found = objects.find(
            "mine", "r*", tags={"run": "a"}, values=(highest, highest + 1), regions=True
        )
        assert found.regions_kept + found.regions_skipped == len(tickets)
        assert [one.id for one in found.objects] == [id]
        assert any(region.range[1] == highest for region in found.objects[0].regions)
        assert found.objects[0].time == 2.5
        assert any(call.startswith("stats") for call in found.objects[0].results)
        assert "histogram" in objects.functions()
        with pytest.raises(ValueError, match="nonsense"):
            objects.run(id, "nonsense")
        with pytest.raises(ValueError):
            objects.put(id, array[:8])
            objects.put(id, array[:8]).wait()
        objects.remove(id)
        with pytest.raises(ValueError):
            objects.get(id, (0, 0, 0), (1, 1, 1))


def status_of(service, objects=3):
    """As a person sees it, once it knows of so many objects."""
    service.status(lambda told: told["objects"]["objects"] == objects)
    told = subprocess.run(
        [sys.executable, "-m", "caesura", "serve", "status", str(service.config)],
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stderr
    return told.stdout


def key_file(path, fill):
    path.write_bytes(bytes([fill]) * 32)
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("at", ["client", "service"])
def test_chains_keep_their_bound_and_say_what_is_stored(running, at):
    array = values(11)
    with objects_of.connect(running.address) as objects:
        chains = {"shuffle | zstd": 0.0, "caesura@deflate(bound=1e-3)": 1e-3, "caesura | zstd": 0.0}
        for number, (chain, most) in enumerate(chains.items()):
            id = objects.create(
                "chained", f"rho{number}", np.float32, SHAPE, chain=chain, chain_at=at
            )
            for ticket in [
                objects.put(id, array[z : z + 16], offset=(z, 0, 0)) for z in range(0, SHAPE[0], 16)
            ]:
                ticket.wait()
            back = objects.get(id, (0, 0, 0), SHAPE)
            assert np.abs(back.astype(np.float64) - array).max() <= most
            part = objects.get(id, (5, 3, 1), (20, 30, 8))
            np.testing.assert_array_equal(part, back[5:25, 3:33, 1:9])
            stats = objects.run(id, "stats")
            assert stats["min"] == back.min() and stats["max"] == back.max()
            found = objects.find("chained", f"rho{number}", regions=True).objects[0]
            assert found.chain_at == at
            names = [
                [one.split("(")[0] for one in text.split(" | ")] for text in (found.chain, chain)
            ]
            assert names[0] == names[1]
            assert 0 < found.stored_bytes < array.nbytes
            assert sum(region.stored_bytes for region in found.regions) == found.stored_bytes
            assert found.range == (back.min(), back.max())
        assert "3 objects" in (told := status_of(running)) and "chains have made" in told
        with pytest.raises(ValueError, match=r"shufle.*there is:.*shuffle"):
            objects.create("chained", "x", np.float32, SHAPE, chain="shufle", chain_at=at)
        with pytest.raises(ValueError, match="key"):
            objects.create("chained", "x", np.float32, SHAPE, chain="zstd | aead", chain_at=at)


def test_what_a_client_encrypts_only_its_key_opens(tmp_path, running):
    array = values(12)
    mine, other = key_file(tmp_path / "mine", 1), key_file(tmp_path / "other", 2)
    with objects_of.connect(running.address, key=mine, encrypted_only=True) as objects:
        id = objects.create("sealed", "rho", np.float32, SHAPE, chain="zstd | aead", keep=True)
        objects.put(id, array).wait()
        np.testing.assert_array_equal(objects.get(id, (0, 0, 0), SHAPE), array)
        found = objects.find("sealed", values=(1e30, 2e30), regions=True)
        assert found.regions_kept == 1 and found.objects[0].range is None
        with pytest.raises(Exception, match=r"rho is encrypted.*stats"):
            objects.run(id, "stats")
        with pytest.raises(ValueError, match="not encrypted"):
            objects.create("sealed", "plain", np.float32, SHAPE)
    with (
        objects_of.connect(running.address, key=other) as objects,
        pytest.raises(ValueError, match=r"rho, offset.*another key"),
    ):
        objects.get(id, (0, 0, 0), SHAPE)
    with objects_of.connect(running.address, key=mine) as objects:
        np.testing.assert_array_equal(objects.get(id, (1, 2, 3), (4, 5, 6)), array[1:5, 2:7, 3:9])
        objects.remove(id)
    with (
        objects_of.connect(running.address) as objects,
        pytest.raises(ValueError, match="client"),
    ):
        objects.create("sealed", "x", np.float32, SHAPE, chain="zstd", chain_at="here")
    mine.chmod(0o644)
    with pytest.raises(ValueError, match="chmod 600"):
        objects_of.connect(running.address, key=mine)


def test_the_operators_key_is_for_chains_of_the_service(tmp_path):
    keys = {"key": str(key_file(tmp_path / "key", 3)), "objects_bytes": 200_000}
    array = values(13)
    with (
        Service(PROGRAM, tmp_path, sink=str(tmp_path), **keys) as service,
        objects_of.connect(service.address) as objects,
    ):
        id = objects.create(
            "c", "rho", np.float32, SHAPE, chain="caesura | aead", chain_at="service"
        )
        for z in range(0, SHAPE[0], 6):
            objects.put(id, array[z : z + 6], offset=(z, 0, 0)).wait()
        np.testing.assert_array_equal(objects.get(id, (0, 0, 0), SHAPE), array)
        places = {region.place for region in objects.find("c", regions=True).objects[0].regions}
        assert "sink" in places  # 246 kB of values, a key, and 200 kB of memory
        np.testing.assert_allclose(
            objects.run(id, "mean")["mean"], array.mean(dtype=np.float64), rtol=1e-9
        )


def test_an_object_goes_through_memory_device_and_sink(tmp_path):
    """Eight regions of 30,720 bytes; memory has room for two, and the device for three."""
    array = values(15)
    slab_bytes = array[:6].nbytes
    tables = f'[[device]]\nkind = "emulated"\nobject_bytes = {3 * slab_bytes}'
    with (
        Service(
            PROGRAM, tmp_path, tables, sink=str(tmp_path), objects_bytes=2 * slab_bytes, threads=1
        ) as service,
        objects_of.connect(service.address) as objects,
    ):
        id = objects.create("c", "rho", np.float32, SHAPE)
        for z in range(0, SHAPE[0], 6):
            objects.put(id, array[z : z + 6], offset=(z, 0, 0)).wait()
        places = [region.place for region in objects.find("c", regions=True).objects[0].regions]
        assert places == ["sink"] * 3 + ["device"] * 3 + ["memory"] * 2
        for _ in range(3):
            np.testing.assert_array_equal(objects.get(id, (0, 0, 0), SHAPE), array)
        told = service.status(lambda told: told["objects"]["sunk"] == 6)["objects"]
        assert told["memory_bytes"] == 2 * slab_bytes
        assert told["devices"] == [
            {
                "device": "emulated",
                "bytes": 3 * slab_bytes,
                "most_bytes": 3 * slab_bytes,
                "failed": False,
            }
        ]
        assert told["sink_bytes"] > 3 * slab_bytes  # six regions of noise, compressed
        assert "92.2 kB on emulated" in status_of(service, 1)
        objects.remove(id)
        service.status(lambda told: told["objects"]["devices"][0]["bytes"] == 0)


def test_a_field_takes_a_chain_that_a_file_can_have(tmp_path):
    array = values(14)
    with caesura.Writer(tmp_path / "run.h5") as writer:
        fields = [
            writer.define_field("a", np.float32, SHAPE, chain="caesura(bound=1e-3, mode=fast)"),
            writer.define_field("b", np.float32, SHAPE, chain="caesura"),
        ]
        for wrong in ("zstd | aead", "caesura@deflate", "shuffle | zstd"):
            with pytest.raises(Exception, match="fits no file"):
                writer.define_field("c", np.float32, SHAPE, chain=wrong)
        with pytest.raises(ValueError, match="chain"):
            writer.define_field("c", np.float32, SHAPE, chain="caesura", absolute=1.0)
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(time=0)
            for field in fields:
                dump.put(field, array)
    with caesura.open(tmp_path / "run.h5") as file:
        lossy, exact = (file[f"/data/0/meshes/{name}"][...] for name in "ab")
    assert 0 < np.abs(lossy.astype(np.float64) - array).max() <= 1e-3
    np.testing.assert_array_equal(exact, array)


READ_WITHOUT_US = """
import importlib.util, json, sys, h5py, numpy
assert importlib.util.find_spec("caesura") is None
with h5py.File(sys.argv[1]) as file:
    told = {}
    for name, dataset in file["/data/0/meshes"].items():
        numpy.save(sys.argv[2] + "/" + name, dataset[...])
        told[name] = {key: dataset.attrs[key] for key in dataset.attrs if "caesura" in key}
print(json.dumps(told, default=lambda v: v.decode() if isinstance(v, bytes) else v.item()))
"""


def read_without_us(path, place):
    """What h5py of an environment without Caesura reads, with our filter's plugin alone."""
    python = os.environ.get("CAESURA_READERS_PYTHON")
    if not python:
        pytest.skip("CAESURA_READERS_PYTHON names no Python of foreign readers (make test does)")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["HDF5_PLUGIN_PATH"] = caesura.plugin_path()
    told = subprocess.run(
        [python, "-c", READ_WITHOUT_US, str(path), str(place)],
        capture_output=True, text=True, env=environment, timeout=120,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    attributes = json.loads(told.stdout)
    return {name: np.load(place / f"{name}.npy") for name in attributes}, attributes


def put_two(objects):
    """A container of two objects, one analysed. Their arrays."""
    arrays = {"rho": values(1), "energy": values(2).astype(np.float64)}
    for name, array in arrays.items():
        id = objects.create(
            "mine", name, array.dtype, SHAPE, tags={"run": "a"}, time=2.5, keep=True
        )
        objects.put(id, array).wait()
    objects.run(objects.find("mine", "rho").objects[0].id, "stats")
    return arrays


def test_persisted_objects_are_read_without_us(tmp_path, running):
    path = tmp_path / "kept.h5"
    with objects_of.connect(running.address) as objects:
        arrays = put_two(objects)
        objects.persist(path, container="mine", absolute=1e-3).wait()
        for one in objects.find("mine").objects:
            got = objects.get(one.id, (0, 0, 0), SHAPE)
            assert got.dtype == arrays[one.name].dtype
            assert np.abs(got - arrays[one.name]).max() <= 1e-3
        energy = objects.find("mine", "energy").objects[0].id
        with objects_of.connect(running.address) as others:
            with pytest.raises(ValueError, match="it is of another type"):
                others.get(energy, (0, 0, 0), SHAPE)
            assert others.get(energy, (0, 0, 0), SHAPE, "float64").dtype == np.float64
        with pytest.raises(ValueError, match="not empty"):
            objects.persist(path, container="mine").wait()
        with pytest.raises(ValueError, match="container"):
            objects.persist(tmp_path / "none.h5")
    read, attributes = read_without_us(path, tmp_path)
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype
        assert 0 < np.abs(read[name] - array).max() <= 1e-3
        told = attributes[name]
        assert told["caesura_object_container"] == "mine"
        assert told["caesura_object_time"] == 2.5
        assert json.loads(told["caesura_object_tags"]) == [["run", "a"]]
        assert told["caesura_codec"] == "caesura" and told["caesura_bound"] == 1e-3
        assert told["caesura_object_owner"] and told["caesura_object_id"] > 0
    assert "caesura_analyses" not in attributes["energy"]
    (stats,) = json.loads(attributes["rho"]["caesura_analyses"]).values()
    assert stats["max"] == arrays["rho"].max()
    told = subprocess.run(
        [sys.executable, "-m", "caesura", "info", str(path)], capture_output=True, text=True
    )
    assert told.returncode == 0 and "variance" in told.stdout, told.stderr
    if shutil.which("h5dump") is None:
        pytest.skip("h5dump is not installed (hdf5-tools)")
    environment = {**os.environ, "HDF5_PLUGIN_PATH": caesura.plugin_path()}
    raw = tmp_path / "raw"
    subprocess.run(
        ["h5dump", "-d", "/data/0/meshes/rho", "-b", "LE", "-o", str(raw), str(path)],
        check=True, capture_output=True, env=environment, timeout=120,
    )  # fmt: skip
    np.testing.assert_array_equal(np.fromfile(raw, np.float32).reshape(SHAPE), read["rho"])


def test_persisted_objects_outlive_the_service(tmp_path):
    """Killed as soon as it has said that the file is there; the next one finds all in the file."""
    path = tmp_path / "kept.h5"
    with (
        Service(PROGRAM, tmp_path, threads=2, lease_s=3600) as service,
        objects_of.connect(service.address) as objects,
    ):
        arrays = put_two(objects)
        objects.persist(path, container="mine", lossless=True).wait()
        service.end(signal.SIGKILL)
    with (
        Service(PROGRAM, tmp_path, threads=2, lease_s=3600) as service,
        objects_of.connect(service.address) as objects,
    ):
        assert objects.find("mine").objects == []
        found = objects.find(str(path), "*rho", tags={"run": "a"}, times=(2, 3)).objects
        assert [one.origin for one in found] == ["filed"]
        got = objects.get(found[0].id, (0, 0, 0), SHAPE)
        np.testing.assert_array_equal(got, arrays["rho"])
        (stats,) = found[0].results.values()
        assert stats["max"] == arrays["rho"].max()
        assert objects.run(found[0].id, "stats")["max"] == stats["max"]
