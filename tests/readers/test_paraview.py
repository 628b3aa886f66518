"""ParaView (the system's package, without a screen) opens a file, and its picture is not empty.

Skipped without pvpython and Xvfb, which are `apt-get install paraview python3-paraview xvfb`
on Debian, whose ParaView draws on an X server only. Caesura writes here; ParaView reads with
openPMD-api, and has no other code of ours than the plugin.
CAESURA_PYTEST_SERIAL: it draws on all cores.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import caesura
import numpy as np
import pytest
from elsewhere import NONE, READERS_PYTHON

SCRIPT = Path(__file__).with_name("paraview_picture.py")
# A server that resets itself when its last client leaves may refuse the next one meanwhile.
SCREEN = ["-screen", "0", "1280x1024x24", "-nolisten", "tcp", "-noreset"]
PVPYTHON, XVFB = shutil.which("pvpython"), shutil.which("Xvfb")
BOUND = 1e-3

pytestmark = [
    pytest.mark.skipif(PVPYTHON is None or XVFB is None, reason="no pvpython, or no Xvfb"),
    pytest.mark.skipif(not READERS_PYTHON.exists(), reason=NONE),
]


def write(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """A shell that grows, and particles on it; both as they are in the first dump."""
    n = 40
    axis = np.linspace(-1, 1, n)
    radius = np.sqrt(sum(np.square(c) for c in np.meshgrid(axis, axis, axis)))
    random = np.random.default_rng(3)
    with caesura.Writer(path, durable=False) as writer:
        grid = {"grid_spacing": (axis[1] - axis[0],) * 3, "grid_offset": (-1.0,) * 3}
        density = writer.define_field("density", np.float32, (n, n, n), absolute=BOUND, **grid)
        ions = writer.define_species("ions")
        places = [ions.define_record(f"position/{c}", np.float64, absolute=BOUND) for c in "xyz"]
        number = ions.define_record("id", np.uint64)
        first = None
        for step in (0, 10):
            with writer.iteration(step) as iteration:
                shell = 0.4 + 0.02 * step
                values = np.exp(-40 * np.square(radius - shell)).astype(np.float32)
                at = random.normal(size=(3, 2000))
                at *= shell / np.linalg.norm(at, axis=0)
                dump = iteration.begin_dump(time=0.1 * step)
                dump.put(density, values)
                for place, along in zip(places, at, strict=True):
                    dump.put_particles(place, along)
                dump.put_particles(number, np.arange(2000, dtype=np.uint64))
                first = first or (values, at)
    return first


@contextmanager
def display() -> Iterator[str]:
    """An X server's, on a number that is free. The server says it when it takes connections."""
    told, tell = os.pipe()
    server = subprocess.Popen(
        [str(XVFB), "-displayfd", str(tell), *SCREEN],
        pass_fds=[tell],
        stderr=subprocess.DEVNULL,
    )
    os.close(tell)
    try:
        with os.fdopen(told) as answer:
            number = answer.readline().strip()
        assert number, f"Xvfb has ended with {server.wait()}"
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()


def draw(path: Path, picture: Path) -> dict:
    link = path.with_suffix(".pmd")
    link.write_text(path.name + "\n")
    taken = ("PYTHONPATH", "HDF5_PLUGIN_PATH", "CAESURA_PLUGIN_PATH", "VIRTUAL_ENV")
    environment = {key: value for key, value in os.environ.items() if key not in taken}
    lib = READERS_PYTHON.parent.parent / "lib"
    environment["PYTHONPATH"] = str(next(lib.glob("python3*")) / "site-packages")
    environment["HDF5_PLUGIN_PATH"] = caesura.plugin_path()
    with display() as environment["DISPLAY"]:
        answer = subprocess.run(
            [
                *(str(PVPYTHON), "--force-offscreen-rendering"),
                *(str(SCRIPT), str(link), "density", "ions", "0.5", str(picture)),
            ],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            timeout=300,
        )
    said = [line for line in answer.stdout.splitlines() if line.startswith("SAID ")]
    assert answer.returncode == 0 and said, answer.stdout + answer.stderr
    return json.loads(said[0].removeprefix("SAID "))


def test_paraview_opens_fields_and_particles_and_draws_them(tmp_path: Path) -> None:
    values, places = write(tmp_path / "run.h5")
    picture = tmp_path / "picture.png"
    said = draw(tmp_path / "run.h5", picture)
    assert said["times"] == [0.0, 1.0]
    assert said["count"] == values.size and said["particles"] == places.shape[1]
    total, low, high = said["values"]
    assert abs(total - values.sum(dtype=np.float64)) <= BOUND * values.size
    assert abs(low - values.min()) <= BOUND and abs(high - values.max()) <= BOUND
    for seen, put in zip(said["places"], places, strict=True):
        assert abs(seen - put.sum()) <= 2 * BOUND * put.size  # ParaView's are float32
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000, "nothing is drawn"
