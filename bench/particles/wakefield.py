"""FBPIC's particles after a few hundred steps: a laser drives a wake through a plasma, one process.

Argument: the openPMD file to make. After FBPIC's example of a laser-wakefield accelerator.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from fbpic.lpa_utils.laser import add_laser
from fbpic.main import Simulation
from fbpic.openpmd_diag import ParticleDiagnostic
from scipy.constants import c

STEPS = 600
np.random.seed(1)  # noqa: NPY002 - FBPIC draws angles from this one
NZ, NR, MODES = 800, 60, 2
ZMIN, ZMAX, RMAX = -10e-6, 30e-6, 20e-6
simulation = Simulation(
    NZ, ZMAX, NR, RMAX, MODES, (ZMAX - ZMIN) / NZ / c, zmin=ZMIN, n_order=32,
    boundaries={"z": "open", "r": "reflective"}, verbose_level=0,
)  # fmt: skip
electrons = simulation.add_new_species(
    q=-1.602176634e-19, m=9.1093837015e-31, n=4e24, p_zmin=10e-6, p_zmax=500e-6, p_rmax=18e-6,
    p_nz=2, p_nr=2, p_nt=4,
)  # fmt: skip
add_laser(simulation, a0=4.0, w0=5e-6, ctau=16e-15 * c, z0=15e-6)
simulation.set_moving_window(v=c)
with tempfile.TemporaryDirectory() as folder:
    simulation.diags = [
        ParticleDiagnostic(STEPS, {"electrons": electrons}, comm=simulation.comm, write_dir=folder)
    ]
    simulation.step(STEPS + 1, show_progress=False)
    shutil.move(Path(folder) / "hdf5" / f"data{STEPS:08d}.h5", sys.argv[1])
