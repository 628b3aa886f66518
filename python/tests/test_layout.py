"""Files whose paths a user has chosen: plain groups for h5py, all of it for our Reader."""

from __future__ import annotations

import re
import shutil
import subprocess

import caesura
import h5py
import numpy as np
import pytest

LAYOUTS = ["/step_%06T/{field}", "/{field}/%T", "/run/%T/fields/{field}", "/{field}_%04T"]
STEPS = (0, 7, 12345678)


def path_of(layout, step, field):
    width = re.search(r"%0?(\d*)T", layout).group(1)
    number = f"{step:0{int(width)}d}" if width else str(step)
    return re.sub(r"%\d*T", number, layout).replace("{field}", field)


def values_of(step, shape=(6, 5)):
    return (np.arange(np.prod(shape)).reshape(shape) + step).astype(np.float32)


def write(path, layout, **options):
    with caesura.Writer(path, layout=layout, **options) as writer:
        rho = writer.define_field("rho", np.float32, (6, 5), unit_si=2.0, attributes={"own": 1})
        x = writer.define_field("v/x", np.float32, (6, 5), grid_spacing=(0.5, 0.25))
        for step in STEPS:
            with writer.iteration(step) as iteration:
                dump = iteration.begin_dump(time=0.5 * step, dt=0.125)
                dump.put(rho, values_of(step))
                dump.put(x, -values_of(step))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_value_lies_at_the_path_that_the_layout_says(tmp_path, layout):
    write(tmp_path / "f.h5", layout, author="somebody")
    with h5py.File(tmp_path / "f.h5") as file:
        found = []
        file.visititems(lambda n, o: found.append("/" + n) if isinstance(o, h5py.Dataset) else None)
        wanted = [path_of(layout, s, f) for s in STEPS for f in ("rho", "v/x")]
        assert sorted(found) == sorted(wanted)
        for step in STEPS:
            assert np.array_equal(file[path_of(layout, step, "rho")][...], values_of(step))
            assert np.array_equal(file[path_of(layout, step, "v/x")][...], -values_of(step))
        assert file.attrs["author"] == b"somebody"
        assert file.attrs["caesura_layout"].decode() == layout
        assert not any(name.startswith(("openPMD", "basePath", "iteration")) for name in file.attrs)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nothing_is_said_of_a_field_but_what_the_user_says(tmp_path, layout):
    write(tmp_path / "f.h5", layout)
    with h5py.File(tmp_path / "f.h5") as file:
        rho = dict(file[path_of(layout, 7, "rho")].attrs)
        x = dict(file[path_of(layout, 7, "v/x")].attrs)
    ours = {"caesura_codec", "caesura_bound", "caesura_bound_kind", "caesura_bound_requested"}
    time = {"time", "dt", "timeUnitSI"}
    has_group = layout in (LAYOUTS[0], LAYOUTS[2])
    assert set(rho) - ours == {"unitSI", "own"} | (set() if has_group else time)
    assert set(x) - ours == {"gridSpacing"} | (set() if has_group else time)
    assert rho["unitSI"] == 2.0 and rho["own"] == 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_reader_finds_fields_times_and_values(tmp_path, layout):
    write(tmp_path / "f.h5", layout)
    reader = caesura.Reader(tmp_path / "f.h5")
    assert reader.iterations == list(STEPS)
    assert [reader.dumps[s]["time"] for s in STEPS] == [0.5 * s for s in STEPS]
    assert all(reader.dumps[s]["dt"] == 0.125 for s in STEPS)
    assert set(reader) == {"rho", "v/x"}
    assert {field.kind for field in reader.fields} == {"mesh"}
    for step in STEPS:
        assert np.array_equal(reader.read("rho", step), values_of(step))
        part = reader.read("v/x", step, np.s_[2:5, 1:3])
        assert np.array_equal(part, -values_of(step)[2:5, 1:3])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_particles_and_parts_follow_the_layout(tmp_path, layout):
    with caesura.Writer(tmp_path / "f.h5", layout=layout) as writer:
        level = writer.define_field("rho_lvl1", np.float64, (64, 64), partial=True, fill_value=-1)
        electrons = writer.define_species("electrons")
        x = electrons.define_record("position/x", np.float64)
        number = electrons.define_record("id", np.uint64)
        electrons.define_constant("mass", 3.5)
        for step, count in ((1, 0), (2, 40)):
            with writer.iteration(step) as iteration:
                dump = iteration.begin_dump(float(step))
                dump.put(level, np.ones((8, 4)), offset=(8, 16))
                dump.put_particles(x, np.linspace(0, 1, count))
                dump.put_particles(number, np.arange(count, dtype=np.uint64))
    with h5py.File(tmp_path / "f.h5") as file:
        array = file[path_of(layout, 2, "rho_lvl1")][...]
        assert array[8:16, 16:20].min() == 1 and array.sum() == 32 - (64 * 64 - 32)
        assert np.array_equal(file[path_of(layout, 2, "electrons/id")][...], np.arange(40))
        assert file[path_of(layout, 2, "electrons/mass")].attrs["value"] == 3.5
        assert file[path_of(layout, 1, "electrons/id")].attrs["shape"] == 0
    reader = caesura.Reader(tmp_path / "f.h5")
    kinds = {field.name: field.kind for field in reader.fields}
    assert kinds["rho_lvl1"] == "mesh" and kinds["electrons/id"] == "particles"
    assert np.array_equal(reader.read("electrons/position/x", 2), np.linspace(0, 1, 40))
    assert np.all(reader.read("electrons/mass", 2) == 3.5)
    assert reader.read("electrons/id", 1).size == 0


def test_what_a_layout_has_no_place_for_is_an_error(tmp_path):
    with caesura.Writer(tmp_path / "f.h5", layout="/{field}/%T") as writer:
        writer.define_field("rho", np.float32, (4,))
        with pytest.raises(ValueError, match="group of meshes"):
            writer.set_attribute("a", 1, group="meshes")
        with pytest.raises(ValueError, match=r"no group of its own in layout '/\{field\}/%T'"):
            writer.set_attribute("a", 1, group="iteration")
        with pytest.raises(ValueError, match="is the name of a field"):
            writer.define_species("rho")
        writer.define_species("electrons")
        with pytest.raises(ValueError, match="is the name of a species"):
            writer.define_field("electrons/x", np.float32, (4,))


@pytest.mark.parametrize("layout", ["step/{field}", "/%T/rho", "/%T/{field}/{field}", "/%T{field}"])
def test_a_layout_that_is_none_is_refused_with_one_that_is(tmp_path, layout):
    with pytest.raises(ValueError, match=re.escape("a layout is like /step_%06T/{field}")):
        caesura.Writer(tmp_path / "f.h5", layout=layout)


@pytest.mark.skipif(shutil.which("h5dump") is None, reason="no h5dump")
def test_h5dump_lists_plain_groups(tmp_path):
    write(tmp_path / "f.h5", "/step_%06T/{field}")
    said = subprocess.run(["h5dump", "-n", tmp_path / "f.h5"], capture_output=True, text=True)
    assert said.returncode == 0
    for line in ("group      /step_000007", "dataset    /step_000007/v/x"):
        assert line in said.stdout
