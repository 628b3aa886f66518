"""Fields that stand for S4's data sets, which cannot be had: named, from seeds, of like entropy.

Invariants:
 - The entropy meant is that of the 32-bit or 64-bit patterns, beside the most that so many values
   can have. S4's Table II gives the former; its fields are larger.
 - A field depends on its name and the side alone.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
from results import ROOT

sys.path.insert(0, str(ROOT / "bench" / "codec"))

import synthetic
import uneven
from caesura import lambdas

# Bits, values: S4's Table II.
S4_ENTROPY = {
    "Nyx temperature": (23.99, 512**3),
    "ISABEL QCLOUD": (1.30, 100 * 500 * 500),
    "ISABEL QRAIN": (21.45, 100 * 500 * 500),
    "ISABEL QVAPOR": (24.19, 100 * 500 * 500),
    "S3D pressure": (26.77, 500**3),
    "Miranda density": (22.5, 96 * 3072 * 3072 * 32),
}


@dataclass(frozen=True)
class Field:
    """values: C order. stands_for: a key of S4_ENTROPY."""

    name: str
    stands_for: str
    values: np.ndarray

    def bound(self, relative: float = 1e-3) -> float:
        """Absolute, as a share of the range."""
        return relative * float(np.ptp(self.values))

    def described(self) -> dict:
        """For a result file."""
        found = lambdas.run("entropy", self.values)
        bits, count = S4_ENTROPY[self.stands_for]
        return {
            "field": self.name,
            "stands_for": self.stands_for,
            "shape": list(self.values.shape),
            "dtype": str(self.values.dtype),
            "entropy_bits": round(found["entropy_bits"], 2),
            "of_the_most": round(found["entropy_bits"] / math.log2(self.values.size), 3),
            "s4_entropy_bits": bits,
            "s4_of_the_most": round(bits / math.log2(count), 3),
        }


def vapour(side: int) -> Field:
    """Water vapour: it thins out with height, and turbulence mixes it."""
    height = (np.arange(side, dtype=np.float32) / side)[:, None, None]
    mixed = 1 + 0.3 * synthetic.turbulence(synthetic.Grid(side, np.float32, 3), 0.0)
    values = 0.02 * np.exp(-3 * height) * np.maximum(mixed, 0)
    return Field("vapour", "ISABEL QVAPOR", np.ascontiguousarray(values, np.float32))


def pressure(side: int) -> Field:
    """A smooth turbulent field in double precision."""
    grid = synthetic.Grid(side, np.float64, 5)
    values = 1e5 * (1 + 0.02 * synthetic.turbulence(grid, 0.0))
    return Field("pressure", "S3D pressure", np.ascontiguousarray(values, np.float64))


def mixing_layer(side: int) -> Field:
    """Two fluids at rest and turbulence where they mix: bench/codec/uneven.py."""
    return Field("mixing", "Miranda density", uneven.make("mixing", side))
