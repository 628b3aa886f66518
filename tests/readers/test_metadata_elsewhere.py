"""openPMD-api and openPMD-viewer see the attributes that a user has set, as what they are."""

from __future__ import annotations

import json
from pathlib import Path

import caesura
import numpy as np
import pytest
from elsewhere import NONE, READERS_PYTHON, run_elsewhere

SCRIPT = Path(__file__).with_name("read_metadata.py")

pytestmark = pytest.mark.skipif(not READERS_PYTHON.exists(), reason=NONE)


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What the readers say of a file, which they get without Caesura in their way."""
    path = tmp_path_factory.mktemp("file") / "run.h5"
    with caesura.Writer(path, software="a code") as writer:
        rho = writer.define_field(
            "rho",
            np.float32,
            (4, 6),
            geometry="cylindrical",
            data_order="F",
            axis_labels=["r", "z"],
            grid_spacing=[0.5, 0.25],
            grid_offset=[1, 2],
            position=[0.5, 0],
            time_offset=0.125,
            attributes={"colour": "blue"},
        )
        modes = writer.define_field(
            "modes",
            np.float64,
            (3, 4, 6),
            geometry="thetaMode",
            geometry_parameters="m=2;imag=+",
            grid_spacing=[0.5, 0.25],
        )
        x = writer.define_field("v/x", np.float32, (4, 6))
        writer.set_attribute("run", "x17")
        writer.set_attribute("stage", -1, group="iteration")
        writer.set_attribute("timeUnitSI", 2, group="iteration")
        writer.set_attribute("fieldBoundary", ["periodic", "open"], group="meshes")
        writer.set_attribute("origin", "a model", record=x)
        writer.set_attribute("counts", [-1, 2], field=x)
        with writer.iteration(3) as iteration:
            dump = iteration.begin_dump(time=1.5)
            dump.set_attribute("stage", 7)
            for field in (rho, modes, x):
                dump.put(field, np.full(field.shape, 2.5, field.dtype))
    printed = run_elsewhere(SCRIPT, path, plugins=caesura.plugin_path())
    return json.loads(printed.splitlines()[-1])


def test_openpmd_api_sees_what_was_set(seen):
    assert seen["api"] == {
        "software": "a code",
        "run": "x17",
        "stage": 7,
        "time_unit_si": 2,
        "boundary": ["periodic", "open"],
        "rho": {
            "geometry": "cylindrical",
            "data_order": "F",
            "axis_labels": ["r", "z"],
            "grid_spacing": [0.5, 0.25],
            "grid_offset": [1, 2],
            "time_offset": 0.125,
            "position": [0.5, 0],
            "colour": "blue",
        },
        "modes": {
            "geometry": "thetaMode",
            "parameters": "m=2;imag=+",
            "axis_labels": ["r", "z"],
        },
        "v": {"origin": "a model", "x": [-1, 2]},
    }


def test_openpmd_viewer_reads_a_field_of_modes(seen):
    assert seen["viewer"]["geometry"] == "thetaMode"
    assert seen["viewer"]["shape"] == [8, 6], "both halves of the plane"
    assert seen["viewer"]["value"] == 2.5
