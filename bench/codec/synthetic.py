"""Synthetic simulation output: what cosmology, turbulence and laser-plasma codes write, from seeds.

Invariants:
 - A field depends on its name, the grid's side, the type, the seed and the step, and on nothing
   else; a whole array is made, blocks are cut from it afterwards.
 - All fields of one cosmology step come from one realisation, so they are correlated as in a run;
   step 0, 1, 2 (fractions allowed) are one universe growing.
 - Exponentials and transforms may differ in the last bit between machines: good for measuring
   speed and ratio, not for sizes that have to repeat exactly (those use samples on disk).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.fft

BOX_MPC = 28.0
SEED = 20260101
WORKERS = len(os.sched_getaffinity(0))

Array = np.ndarray


class Grid:
    """Wave numbers and seeded Gaussian noise of an n^3 periodic box."""

    def __init__(self, n: int, dtype: np.dtype | type = np.float32, seed: int = SEED) -> None:
        self.n, self.dtype, self.seed = n, np.dtype(dtype), seed

    @cached_property
    def axes(self) -> tuple[Array, Array, Array]:
        """Integer wave numbers along x, y, z, broadcastable to the half spectrum."""
        full = (scipy.fft.fftfreq(self.n) * self.n).astype(self.dtype)
        half = (scipy.fft.rfftfreq(self.n) * self.n).astype(self.dtype)
        return full[:, None, None], full[None, :, None], half[None, None, :]

    @cached_property
    def k(self) -> Array:
        """|k| in units of the fundamental mode; 1 in place of 0, whose noise is removed."""
        kx, ky, kz = self.axes
        k = np.sqrt(kx * kx + ky * ky + kz * kz)
        k[0, 0, 0] = 1
        return k

    @cached_property
    def k_mpc(self) -> Array:
        """|k| in 1/Mpc."""
        return self.k * self.dtype.type(2 * np.pi / BOX_MPC)

    def noise(self, stream: int) -> Array:
        """The half spectrum of white noise without mean; one stream, one realisation."""
        white = np.random.default_rng([self.seed, stream]).standard_normal(
            (self.n,) * 3, dtype=self.dtype
        )
        spectrum = scipy.fft.rfftn(white, workers=WORKERS)
        spectrum[0, 0, 0] = 0
        return spectrum

    def real(self, spectrum: Array) -> Array:
        """Back to space."""
        return scipy.fft.irfftn(spectrum, s=(self.n,) * 3, workers=WORKERS)

    def unit(self, spectrum: Array) -> Array:
        """Back to space, scaled to standard deviation 1."""
        field = self.real(spectrum)
        field /= field.std()
        return field


def growth(step: float) -> float:
    """How far structure has grown; 1 at step 2."""
    return 1.0 + 0.04 * (step - 2.0)


def cold_dark_matter_amplitude(k_mpc: Array) -> Array:
    """Square root of a cold-dark-matter power spectrum (the fit of Bardeen et al. 1986)."""
    q = k_mpc / 0.2
    poly = 1 + 3.89 * q + (16.1 * q) ** 2 + (5.46 * q) ** 3 + (6.71 * q) ** 4
    return np.sqrt(k_mpc**0.965) * np.log1p(2.34 * q) / (2.34 * q) / np.sqrt(np.sqrt(poly))


class Universe:
    """One realisation of a cosmological box."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    @cached_property
    def modes(self) -> Array:
        """The linear density contrast, in Fourier space."""
        return self.grid.noise(1) * cold_dark_matter_amplitude(self.grid.k_mpc)

    @cached_property
    def gas_modes(self) -> Array:
        """The same, smoothed by the gas's pressure below 0.1 Mpc."""
        return self.modes * np.exp(-((self.grid.k_mpc * 0.1) ** 2))

    def baryon_density(self, step: float) -> Array:
        """Log-normal with a heavy tail, in units of its mean."""
        g, spread = self.grid.unit(self.gas_modes), 1.3 * growth(step)
        density = np.exp(spread * g + 0.12 * spread * np.maximum(g, 0) ** 2)
        return density / density.mean(dtype=np.float64).astype(self.grid.dtype)

    def temperature(self, step: float) -> Array:
        """K: the power law of photo-heated gas, and gas behind shocks around dense regions."""
        density = self.baryon_density(step)
        around = self.grid.unit(self.gas_modes * np.exp(-((self.grid.k_mpc * 0.35) ** 2)))
        strength = self.grid.unit(
            self.grid.noise(2)
            * cold_dark_matter_amplitude(self.grid.k_mpc)
            * np.exp(-((self.grid.k_mpc * 0.25) ** 2))
        )
        # A front a few cells wide wherever the smoothed density passes a threshold.
        behind = 1 / (1 + np.exp(-14 * (around - (2.1 - growth(step)) + 0.25 * strength)))
        cool = 1.1e4 * density**0.6
        hot = np.exp(12.3 + 0.7 * strength + 0.3 * np.log1p(density))
        return np.clip(cool + behind * hot, 1e2, 3e7)

    def velocity_x(self, step: float) -> Array:
        """cm/s: the linear flow into the density's potential."""
        kx = self.grid.axes[0]
        return self.grid.unit(1j * kx / self.grid.k**2 * self.gas_modes) * (1e7 * growth(step))

    def dark_matter_density(self, step: float) -> Array:
        """Zel'dovich-displaced particles, one per cell, by cloud-in-cell; in units of the mean."""
        n = self.grid.n
        shifts = [self.grid.real(1j * ka / self.grid.k**2 * self.modes) for ka in self.grid.axes]
        scale = 3.0 * growth(step) / shifts[0].std()
        places = []
        for axis, shift in enumerate(shifts):
            lattice = np.arange(n).reshape([n if i == axis else 1 for i in range(3)])
            places.append((lattice + scale * shift.astype(np.float64)).ravel() % n)
        return cloud_in_cell(places, n).astype(self.grid.dtype)


def cloud_in_cell(places: list[Array], n: int) -> Array:
    """Mass on the mesh of particles at `places` (in cells): each shared by the eight around it."""
    lower = [np.floor(p).astype(np.int64) for p in places]
    upper_share = [p - cell for p, cell in zip(places, lower, strict=True)]
    mesh = np.zeros(n**3)
    for corner in np.ndindex(2, 2, 2):
        index = np.zeros_like(lower[0])
        weight = np.ones_like(places[0])
        for cell, share, side in zip(lower, upper_share, corner, strict=True):
            index = index * n + (cell + side) % n
            weight *= share if side else 1 - share
        mesh += np.bincount(index, weight, n**3)
    return mesh.reshape(n, n, n)


def turbulence(grid: Grid, step: float) -> Array:
    """One velocity component with Kolmogorov's spectrum: P ~ k^(-11/3) and a dissipation range."""
    angle = (0.05 * step) * np.cbrt(grid.k) ** 2  # small eddies turn over faster
    mixed = np.cos(angle) * grid.noise(3) + np.sin(angle) * grid.noise(4)
    return grid.unit(mixed * grid.k ** (-11 / 6) * np.exp(-((grid.k / (0.24 * grid.n)) ** 2)))


def laser_plasma(grid: Grid, step: float) -> Array:
    """V/m: a laser's wave packet along z, the wake behind it, and the plasma's noise."""
    n, scale = grid.n, grid.n / 256
    across = (np.arange(n) - n / 2) / scale
    r2 = (across[:, None] ** 2 + across[None, :] ** 2)[:, :, None]
    zeta = (np.arange(n) / scale - (150.0 + 6.0 * step))[None, None, :]
    pulse = 3e12 * np.exp(-r2 / 42.0**2 - (zeta / 17.0) ** 2) * np.cos(2 * np.pi * zeta / 9.7)
    wake = 4.5e10 * np.exp(-r2 / 31.0**2) * np.sin(2 * np.pi * zeta / 57.0) * (zeta < 0)
    noise = grid.unit(
        Grid(n, grid.dtype, grid.seed + round(1000 * step)).noise(5)
        * np.exp(-((grid.k / (0.35 * n)) ** 2))
    )
    inside = np.exp(-r2 / 95.0**2) * (zeta < 24)
    return (pulse + wake + 1.5e9 * noise * inside).astype(grid.dtype)


class Maker:
    """Makes fields by name; keeps the realisation between calls."""

    def __init__(self, n: int, dtype: np.dtype | type = np.float32) -> None:
        grid = Grid(n, dtype)
        universe = Universe(grid)
        self._dtype = grid.dtype
        self._calls: dict[str, Callable[[float], Array]] = {
            "baryon_density": universe.baryon_density,
            "dark_matter_density": universe.dark_matter_density,
            "temperature": universe.temperature,
            "velocity_x": universe.velocity_x,
            "turbulence": lambda step: turbulence(grid, step),
            "laser_plasma": lambda step: laser_plasma(grid, step),
        }

    def __call__(self, name: str, step: float) -> Array:
        """The field of one step: C order, of the maker's type."""
        return np.ascontiguousarray(self._calls[name](step), dtype=self._dtype)
