"""Particles beside fields: valid openPMD, and openPMD-api and openPMD-viewer get every value.

Caesura writes here; reading happens where it is not installed (elsewhere.py).
"""

from __future__ import annotations

from pathlib import Path

import caesura
import numpy as np
import pytest
from elsewhere import NONE, READERS_PYTHON, run_elsewhere

SCRIPT = Path(__file__).with_name("read_particles_with_others.py")
COUNTS = {0: 5000, 10: 0, 25: 70_001}
BOUNDS = {"position/x": 1e-4, "position/y": 1e-4, "position/z": 1e-4, "weighting": 0.0, "id": 0.0}
TYPES = {"weighting": np.float32, "id": np.uint64}

pytestmark = pytest.mark.skipif(not READERS_PYTHON.exists(), reason=NONE)


def write(path: Path) -> dict[str, np.ndarray]:
    """Fields, a level that is covered in parts, and a species; what the species has."""
    random = np.random.default_rng(11)
    expected: dict[str, np.ndarray] = {}
    with caesura.Writer(path, author="a test", durable=False) as writer:
        density = writer.define_field("density", np.float32, (40, 30), absolute=1e-3)
        level = writer.define_field("density_lvl1", np.float32, (80, 60), partial=True)
        ions = writer.define_species("ions")
        records = {
            name: ions.define_record(
                name,
                TYPES.get(name, np.float64),
                **({"absolute": bound} if bound else {"lossless": True}),
                macro_weighted=name == "weighting",
                weighting_power=1.0 if name == "weighting" else 0.0,
            )
            for name, bound in BOUNDS.items()
        }
        ions.define_constant("charge", 1.6e-19, weighting_power=1.0)
        for n, count in COUNTS.items():
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=0.5 * n)
                dump.put(density, np.ones((40, 30), np.float32))
                dump.put(level, np.ones((8, 6), np.float32), offset=(4, 4))
                for name, record in records.items():
                    values = random.random(count).astype(TYPES.get(name, np.float64))
                    if name == "id":
                        values = np.arange(count, dtype=np.uint64)
                    expected[f"{n}/{name}"] = values
                    dump.put_particles(record, values)
    return expected


def test_other_readers_get_every_particle_and_the_validator_finds_no_error(tmp_path: Path) -> None:
    path = tmp_path / "file" / "run.h5"
    path.parent.mkdir()
    expected = write(path)
    truth = tmp_path / "expected.npz"
    np.savez(truth, **expected, **{f"bound/{name}": bound for name, bound in BOUNDS.items()})
    printed = run_elsewhere(SCRIPT, path, truth, plugins=caesura.plugin_path())
    assert "by_api" in printed and "by_viewer" in printed
