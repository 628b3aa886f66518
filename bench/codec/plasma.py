#!/usr/bin/env python3
"""Run FBPIC and keep its fields: laser-plasma acceleration, where most of a block is silent.

Two runs of different density, strength of the laser and number of modes, each kept twice: fields.py
finds them in out/bench/plasma. FBPIC is not among the requirements: `pip install fbpic pyfftw` into
the environment that runs this. Some minutes.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import fields
import numpy as np

KEPT_STEPS = (600, 900)


@dataclass(frozen=True)
class Run:
    """What differs between the runs."""

    name: str
    density_m3: float
    laser_a0: float
    modes: int


RUNS = (Run("thin", 4e24, 4.0, 2), Run("dense", 1e25, 2.0, 3))


def ramp(z: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Relative density: none before 30 um, then growing over 40 um."""
    return np.clip((z - 30e-6) / 40e-6, 0.0, 1.0) * np.ones_like(r)


def simulate(run: Run, place: Path) -> None:
    """Write the fields of all kept steps under `place`."""
    from fbpic.lpa_utils.laser import GaussianLaser, add_laser_pulse
    from fbpic.main import Simulation
    from fbpic.openpmd_diag import FieldDiagnostic
    from scipy.constants import c, e, m_e

    begin, end, cells = -10e-6, 30e-6, 800
    step_s = (end - begin) / cells / c
    simulation = Simulation(
        cells,
        end,
        60,
        20e-6,
        run.modes,
        step_s,
        zmin=begin,
        boundaries={"z": "open", "r": "reflective"},
    )
    simulation.add_new_species(
        q=-e, m=m_e, n=run.density_m3, dens_func=ramp, p_zmin=30e-6, p_zmax=500e-6, p_rmax=18e-6,
        p_nz=2, p_nr=2, p_nt=4,
    )  # fmt: skip
    add_laser_pulse(simulation, GaussianLaser(run.laser_a0, 5e-6, 16e-15, 15e-6))
    simulation.set_moving_window(v=c)
    simulation.diags = [
        FieldDiagnostic(300, simulation.fld, comm=simulation.comm, write_dir=str(place))
    ]
    simulation.step(max(KEPT_STEPS) + 1, show_progress=False)


def make() -> str:
    """Run what is not there yet. Returns what was missing, or an empty string."""
    if importlib.util.find_spec("fbpic") is None:
        return "no FBPIC: pip install fbpic pyfftw"
    for run in RUNS:
        kept = [fields.plasma_dir() / f"{run.name}_{step:04d}.h5" for step in KEPT_STEPS]
        if all(path.exists() for path in kept):
            continue
        print(f"running FBPIC, {run.name} (some minutes)", flush=True)
        with tempfile.TemporaryDirectory() as place:
            simulate(run, Path(place))
            fields.plasma_dir().mkdir(parents=True, exist_ok=True)
            for step, path in zip(KEPT_STEPS, kept, strict=True):
                shutil.copy(Path(place) / "hdf5" / f"data{step:08d}.h5", path)
    return ""


if __name__ == "__main__":
    missing = make()
    if missing:
        sys.exit(missing)
    print(f"{len(fields.plasma_blocks())} fields in {fields.plasma_dir()}")
