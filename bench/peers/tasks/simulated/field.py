"""The simulation that all peers have in common: a field that moves, and the time it takes.

Not counted for anybody. `computing` is work of the core and then waiting, as for a device.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

SHAPE = (96, 96, 96)
BOUND = 1e-3
PSNR = 60.0
STEPS = 6
WORK_S, WAIT_S = 0.05, 0.20


def field(step: int) -> np.ndarray:
    """Waves with a little noise, the same in every process."""
    z, y, x = np.ogrid[: SHAPE[0], : SHAPE[1], : SHAPE[2]]
    noise = np.random.default_rng(step).normal(size=SHAPE)
    return (np.sin(0.1 * x + 0.2 * step) * np.cos(0.07 * y) + 0.01 * z + 1e-3 * noise).astype("f4")


def part(step: int, rank: int, size: int) -> tuple[int, np.ndarray]:
    """Where a rank's slab begins, and its values."""
    planes = SHAPE[0] // size
    return planes * rank, np.ascontiguousarray(field(step)[planes * rank : planes * (rank + 1)])


def computing() -> None:
    """What the program does between two dumps. Who wants to kill it counts the lines of `steps`."""
    with Path("steps").open("a", encoding="utf-8") as steps:
        steps.write("a step\n")
    values, end_s = np.ones(1 << 18), time.perf_counter() + WORK_S
    while time.perf_counter() < end_s:
        np.sqrt(values + 1.0, out=values)
    time.sleep(WAIT_S)


def psnr(true: np.ndarray, found: np.ndarray) -> float:
    """Peak signal-to-noise ratio in dB."""
    error = found.astype("f8") - true
    return float(20 * np.log10(np.ptp(true) / np.sqrt(np.mean(error**2))))
