"""Fields whose entropy differs from region to region, from seeds: what per-region tuning is for.

Invariants:
 - A field depends on its name and the side alone, float32, C order.
 - "mixing" stands for S4's Miranda density (a mixing layer between two fluids at rest), "rain" for
   its QRAIN (nearly all of it zero). The others are made to differ in one way each.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import synthetic

Array = np.ndarray


def _axes(n: int) -> tuple[Array, Array, Array]:
    x = (np.arange(n, dtype=np.float32) + 0.5) / n
    return x[:, None, None], x[None, :, None], x[None, None, :]


def _noise(n: int, seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal((n, n, n), dtype=np.float32)


def _turbulence(n: int, seed: int) -> Array:
    return synthetic.turbulence(synthetic.Grid(n, np.float32, seed), 0.0)


def _smooth(n: int) -> Array:
    z, y, x = _axes(n)
    return np.sin(9 * z + 4 * y) * np.cos(7 * x) + 0.3 * np.sin(23 * x * y + 11 * z)


def half(n: int) -> Array:
    """Smooth in the lower half of the slowest axis, and so with noise on it in the upper."""
    z, _, _ = _axes(n)
    return _smooth(n) + np.where(z > 0.5, 0.1, 0.0) * _noise(n, 1)


def half_last(n: int) -> Array:
    """The same along the fastest axis, along which no slab is cut."""
    _, _, x = _axes(n)
    return _smooth(n) + np.where(x > 0.5, 0.1, 0.0) * _noise(n, 1)


def mixing(n: int) -> Array:
    """Two fluids of constant density, and turbulence where they mix."""
    z, _, _ = _axes(n)
    front = z - 0.5 + 0.05 * _turbulence(n, 11)
    mixed = np.clip(0.5 + front / 0.24, 0.0, 1.0)
    inside = np.exp(-(((z - 0.5) / 0.1) ** 2))
    density = 1.0 + 2.0 * mixed + 0.05 * inside * _turbulence(n, 12)
    return np.where(np.abs(z - 0.5) > 0.3, np.where(z > 0.5, 3.0, 1.0), density)


def rain(n: int) -> Array:
    """Zero but for a few clouds, which gather at one end of the slowest axis."""
    z, _, _ = _axes(n)
    cloud = _turbulence(n, 21) + 2.0 * z - 2.6
    return 4e-3 * np.maximum(cloud, 0.0) ** 1.5


def shock(n: int) -> Array:
    """A blast wave: at rest outside, a thin dense shell, turbulence and little density inside."""
    z, y, x = _axes(n)
    r = np.sqrt((z - 0.35) ** 2 + (y - 0.45) ** 2 + (x - 0.5) ** 2)
    radius = 0.3
    inside = (r < radius) * (r / radius) ** 4
    density = np.where(r < radius, 4.0 * inside, 1.0)
    return density * (1.0 + np.where(r < radius, 0.08, 0.0) * _turbulence(n, 31))


def voids(n: int) -> Array:
    """Log-normal density: empty voids, dense halos."""
    return synthetic.Universe(synthetic.Grid(n)).baryon_density(2.0)


def stripes(n: int) -> Array:
    """Eight layers across the slowest axis that ask for different predictors: waves along each
    axis, steps, planes of noise, noise along rows, turbulence, and nothing."""
    z, y, x = _axes(n)
    rng = np.random.default_rng(41)
    steps = np.repeat(np.repeat(np.repeat(rng.standard_normal((n // 8,) * 3), 8, 0), 8, 1), 8, 2)
    layers = [
        np.sin(300 * z) * np.cos(5 * y) + 0.0 * x,
        np.sin(300 * y) * np.cos(5 * z) + 0.0 * x,
        np.sin(300 * x) * np.cos(5 * y) + 0.0 * z,
        steps,
        rng.standard_normal((n, 1, 1)) + 0.2 * np.sin(20 * x * y),
        rng.standard_normal((1, n, 1)) + 0.2 * np.sin(20 * x * z),
        _turbulence(n, 42),
        np.zeros((1, 1, 1)),
    ]
    which = np.minimum((z * len(layers)).astype(int), len(layers) - 1)
    field = np.zeros((n, n, n))
    for number, layer in enumerate(layers):
        field = np.where(which == number, layer, field)
    return field


def patches(n: int) -> Array:
    """The same eight in eight octants, so that no cut along one axis tells them apart."""
    layered = stripes(n)
    side, thin = n // 2, n // 8
    field = np.zeros((n, n, n))
    for number, corner in enumerate(np.ndindex(2, 2, 2)):
        part = layered[number * thin : (number + 1) * thin]
        octant = np.concatenate([part, part[::-1], part, part[::-1]])[:side, :side, :side]
        at = tuple(slice(c * side, (c + 1) * side) for c in corner)
        field[at] = octant
    return field


FIELDS: dict[str, Callable[[int], Array]] = {
    "half": half,
    "half_last": half_last,
    "mixing": mixing,
    "rain": rain,
    "shock": shock,
    "voids": voids,
    "stripes": stripes,
    "patches": patches,
}


def make(name: str, side: int = 128) -> Array:
    """The field of that name."""
    return np.ascontiguousarray(FIELDS[name](side), dtype=np.float32)
