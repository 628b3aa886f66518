"""The picture of what was simulated: everything lies where the file says."""

from __future__ import annotations

import base64
import re
import struct
import zlib

import h5py
import numpy as np
import pytest
from caesura_lab.report.universe import read_universe, universe_section, universe_svg

N = 32
MPC = 3.0856775814913673e22
CELL = 0.5  # Mpc
DENSEST = (20, 6, 11)  # right and below in the picture
# A pair beside the densest cell, one far off in z, and one just before the box ends in x.
PLACES = [(20.25, 6.0, 11.0), (20.0, 9.0, 11.2), (20.0, 6.0, 25.0), (31.75, 6.0, 11.0)]


def write_dump(file, step, *, particles):
    dump = file.create_group(f"data/{step}")
    values = np.ones((N, N, N), np.float32)
    values[DENSEST] = 1000
    field = dump.create_dataset("meshes/dark_matter_density", data=values)
    field.attrs["gridSpacing"] = [CELL] * 3
    field.attrs["gridUnitSI"] = MPC
    if not particles:
        return
    places = np.array(PLACES, np.float32)
    for number, axis in enumerate("xyz"):
        name = f"particles/dark_matter/position/{axis}"
        dump.create_dataset(name, data=places[:, number]).attrs["unitSI"] = CELL * MPC
    dump["particles/dark_matter/id"] = np.arange(len(places), dtype=np.uint64)


@pytest.fixture
def path(tmp_path):
    with h5py.File(tmp_path / "run.h5", "w") as file:
        for step in (2, 9, 10):
            write_dump(file, step, particles=True)
    return tmp_path / "run.h5"


def rasters(svg):
    """Numbers of colours of each picture in it, by row, and where it lies."""
    found = []
    for attributes in re.findall(r"<image ([^>]*)>", svg):
        place = {k: float(re.search(rf'\b{k}="([-0-9.]+)"', attributes)[1]) for k in "xy"}
        png = base64.b64decode(re.search(r"base64,([^\"]+)", attributes)[1])
        width, height = struct.unpack(">II", png[16:24])
        at = png.index(b"IDAT")
        size = struct.unpack(">I", png[at - 4 : at])[0]
        rows = np.frombuffer(zlib.decompress(png[at + 4 : at + 4 + size]), np.uint8)
        found.append((rows.reshape(height, width + 1)[:, 1:], place["x"], place["y"]))
    return found


def points(svg):
    return [(float(x), float(y)) for x, y in re.findall(r"M([-0-9.]+) ([-0-9.]+)h0", svg)]


def brightest(raster):
    """The middle of the brightest square, in the picture's places; panels are 400 wide."""
    rows, left, top = raster
    y, x = np.nonzero(rows == rows.max())
    scale = 400 / rows.shape[1]
    return left + (x.mean() + 0.5) * scale, top + (y.mean() + 0.5) * scale


def test_x_is_to_the_right_and_y_upwards(path):
    svg = universe_svg(read_universe(path))
    x, y = brightest(rasters(svg)[0])
    cell = 400 / N
    assert x == pytest.approx(64 + (DENSEST[0] + 0.5) * cell)
    assert y == pytest.approx(34 + 400 - (DENSEST[1] + 0.5) * cell)


def test_points_lie_over_the_cells_that_they_are_in(path):
    """Goal: a particle a quarter of a cell right of a node is drawn there, not a half off."""
    svg = universe_svg(read_universe(path))
    x, y = brightest(rasters(svg)[1])
    cell = 400 / 8  # the part is 8 cells a side
    found = points(svg)
    assert len(found) == 2  # neither the one far off in z nor the one outside the part
    assert found[0] == pytest.approx((x + 0.25 * cell, y), abs=0.06)
    assert found[1] == pytest.approx((x, y - 3 * cell), abs=0.06)


def test_the_box_is_periodic(path):
    """Goal: a particle more than half a cell beyond the last node lies before the first."""
    universe = read_universe(path)
    assert sorted(universe.points[0] / CELL) == pytest.approx([-0.25, 20, 20.25])


def test_the_last_density_is_drawn_with_the_particles_that_made_it(path):
    universe = read_universe(path)
    assert (universe.step, universe.points_step) == (10, 9)
    assert "particles of dump 9 in this slab, of which" in universe_section(universe)
    with h5py.File(path, "a") as file:
        del file["data/9"]
    universe = read_universe(path)
    assert (universe.step, universe.points_step) == (10, 10)
    assert "one drift after" in universe_section(universe)


def test_axes_count_megaparsecs(path):
    svg = universe_svg(read_universe(path))
    labels = re.findall(r">([-0-9.]+)</text>", svg)
    assert "15" in labels  # the box has 16
    assert "frame enlarged, 4 Mpc a side" in svg


def test_a_file_without_particles_shows_its_density(tmp_path):
    with h5py.File(tmp_path / "run.h5", "w") as file:
        write_dump(file, 3, particles=False)
    universe = read_universe(tmp_path / "run.h5")
    assert points(universe_svg(universe)) == []
    assert "The file has no particles" in universe_section(universe)


def test_a_file_of_another_program_has_no_picture(tmp_path):
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file["data/0/meshes/rho"] = np.zeros((4, 4))
    assert read_universe(tmp_path / "run.h5") is None


def test_many_particles_are_thinned_by_their_ids(tmp_path):
    """Goal: whichever mode and ranks wrote them, the same ones are drawn, and the page says so."""
    rng = np.random.default_rng(5)
    with h5py.File(tmp_path / "run.h5", "w") as file:
        write_dump(file, 3, particles=True)
        count = 20_000
        species = file["data/3/particles/dark_matter"]
        order = rng.permutation(count)
        places = rng.uniform(0, 1, (count, 3)) + DENSEST
        for name in ("position/x", "position/y", "position/z", "id"):
            unit = species[name].attrs.get("unitSI")
            del species[name]
            number = "xyz".find(name[-1])
            species[name] = order.astype(np.uint64) if name == "id" else places[order, number]
            if unit is not None:
                species[name].attrs["unitSI"] = unit
    svg = universe_svg(read_universe(tmp_path / "run.h5"))
    assert ", 1 in " in svg
    assert 4000 < len(points(svg)) <= 8000
