"""Small blocks that are the same bit for bit on every machine: pieces of real fields, arithmetic.

Invariants: the real pieces lie in tests/data; the others use integer arithmetic alone, so neither
the processor nor a library's version can change them. Whoever changes one changes the sizes that
codec_ratio.csv records.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import fields
import numpy as np

DATA = fields.ROOT / "tests" / "data"


def _piece(name: str) -> np.ndarray:
    return np.fromfile(DATA / f"{name}.f32", "<f4").astype(np.float32).reshape(32, 32, 32)


def random_words(count: int, seed: int) -> np.ndarray:
    """Uniform 64-bit words (splitmix64)."""
    word = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    word += np.uint64(seed)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def _noise(shape: tuple[int, ...], seed: int, bits: int) -> np.ndarray:
    """Signed integers of `bits` bits."""
    words = random_words(int(np.prod(shape)), seed) >> np.uint64(64 - bits)
    return words.astype(np.int64).reshape(shape) - (1 << (bits - 1))


def _walk(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Rough but connected: a random walk along every axis, added up."""
    total = np.zeros(shape, np.int64)
    for axis in range(len(shape)):
        steps = [1] * len(shape)
        steps[axis] = shape[axis]
        total += np.cumsum(_noise(tuple(steps), seed + axis, 6), axis=axis)
    return total + _noise(shape, seed + 9, 3)


def ramp() -> np.ndarray:
    """Lorenzo predicts it exactly."""
    x, y, z = np.ogrid[0:40, 0:41, 0:43]
    return (3 * x + 5 * y - 7 * z) * 0.125


def steps() -> np.ndarray:
    """Constant boxes."""
    x, y, z = np.ogrid[0:48, 0:48, 0:48]
    return ((x // 8 * 17 + y // 4 * 5 + z // 16) % 23) * 1.0


def noise() -> np.ndarray:
    """Nothing to predict."""
    return _noise((30, 31, 37), 1, 20) * 2.0**-20


def mostly_zero() -> np.ndarray:
    """One value in 64 is not zero."""
    drawn = _noise((48, 48, 48), 2, 16)
    return np.where(drawn % 64 == 0, drawn, 0) * 1.0


def specials() -> np.ndarray:
    """A walk with NaN, Inf, -0 and a large value in it."""
    values = _walk((33, 29, 31), 4) * 0.5
    flat = values.reshape(-1)
    for index, value in enumerate((np.nan, np.inf, -np.inf, -0.0, 1e6)):
        flat[1000 * (index + 1) :: 7919] = value
    return values


ARITHMETIC: dict[str, Callable[[], np.ndarray]] = {
    "ramp": ramp,
    "steps": steps,
    "noise": noise,
    "mostly_zero": mostly_zero,
    "specials": specials,
    "walk_1d": lambda: _walk((30011,), 5) * 0.25,
    "walk_2d": lambda: _walk((257, 131), 6) * 0.25,
    "walk_3d": lambda: _walk((47, 37, 29), 7) * 0.25,
    "walk_4d": lambda: _walk((5, 17, 23, 31), 8) * 0.25,
    "flat_1x1xn": lambda: _walk((1, 1, 5003), 9) * 0.25,
}

PIECES = (
    "lwfa_Ey",
    "lwfa_rho",
    "nyx_z2.5_baryon_density",
    "nyx_z2.5_dark_matter_density",
    "nyx_z2.5_temperature",
    "nyx_z50_velocity_x",
)


def blocks() -> list[fields.Block]:
    """Every sample, as float32 and as float64."""
    found = []
    for name in PIECES:
        field = name.split("_", 2)[-1] if name.startswith("nyx") else name.split("_")[1]
        found.append(fields.Block(f"sample_{name}", field, "sample", partial(_piece, name)))
    found += [fields.Block("exact", name, "sample", make) for name, make in ARITHMETIC.items()]
    return found + fields.as_float64(found)
