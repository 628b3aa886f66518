"""FBPIC with its own diagnostics: a laser drives a wake through a plasma, on all ranks together.

Arguments: DIRECTORY, steps between dumps. After FBPIC's example of a laser-wakefield accelerator.
"""

import functools
import sys

import numpy as np
import pyfftw
from fbpic.lpa_utils.laser import add_laser
from fbpic.main import Simulation
from fbpic.openpmd_diag import FieldDiagnostic, ParticleDiagnostic
from mpi4py import MPI
from scipy.constants import c

directory, period = sys.argv[1], int(sys.argv[2])
# By default FFTW chooses the quickest algorithm by timing, and results differ in their last bits.
pyfftw.FFTW = functools.partial(pyfftw.FFTW, flags=("FFTW_ESTIMATE",))
np.random.seed(1 + MPI.COMM_WORLD.rank)  # noqa: NPY002 - FBPIC draws angles from this one
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
simulation.diags = [
    FieldDiagnostic(period, simulation.fld, comm=simulation.comm, write_dir=directory),
    ParticleDiagnostic(period, {"electrons": electrons}, comm=simulation.comm, write_dir=directory),
]
simulation.step(4 * period + 1, show_progress=False)
