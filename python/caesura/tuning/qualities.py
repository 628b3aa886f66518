"""PSNR, SSIM, power spectrum and gradients of a field that was compressed, beside the original.

A measure is told pairs of arrays, original and decoded, which together are a dump or a sample of
it. docs/reference/qualities.md defines each of them.

Invariants: arithmetic in double precision, in units of the dump's range, so that no square
overflows or vanishes; temporaries are those of one slab for each core, but for the spectrum, whose
transform holds the whole array.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

WINDOW = 7  # SSIM, values along an axis
_SSIM_AXES = 3
_C1, _C2 = 0.01**2, 0.03**2  # of the squared range, as Wang et al. (2004) have them
_SLAB_VALUES = 1 << 19
# Power of a shell, of the strongest one's, below which a transform of doubles is rounding.
_ROUNDING = 1e-26


class Measure(Protocol):
    """Sums up over pairs of arrays of one dump."""

    def add(self, original: np.ndarray, decoded: np.ndarray) -> None:
        """Arrays of the same shape, 1 to 4 axes."""

    def value(self) -> float:
        """Of all that was added; NaN where there is nothing that could be kept."""


@dataclass
class About:
    """What measures need to know of the whole dump."""

    name: str  # of the quality
    span: float  # largest less smallest finite value
    longest: int  # extent
    waves: tuple[int, int] | None = None  # first and last shell of the spectrum that counts
    # Spectra of originals, by id: the same ones are measured again and again.
    spectra: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def measure(self) -> Measure:
        """One that has been told nothing yet."""
        made = {"psnr": Psnr, "ssim": Ssim, "spectrum": Spectrum, "gradient": Gradient}
        return made[self.name](self)


class Psnr:
    """20 log10(range / root of the mean squared error) over the finite values."""

    def __init__(self, about: About) -> None:
        self._span, self._squares, self._values = about.span, 0.0, 0

    def add(self, original: np.ndarray, decoded: np.ndarray) -> None:
        def of(part: slice) -> tuple[float, int]:
            finite = np.isfinite(original[part])
            with np.errstate(invalid="ignore"):
                error = np.subtract(decoded[part], original[part], dtype=np.float64)
            error = error.ravel() if finite.all() else error[finite]
            error /= self._span
            return float(error @ error), error.size

        for squares, values in _over(original, of):
            self._squares += squares
            self._values += values

    def value(self) -> float:
        if self._squares == 0.0:
            return math.inf
        return -10.0 * math.log10(self._squares / self._values)


class Ssim:
    """The mean over all windows of WINDOW values along each of the last three axes."""

    def __init__(self, about: About) -> None:
        self._span, self._sum, self._windows = about.span, 0.0, 0

    def add(self, original: np.ndarray, decoded: np.ndarray) -> None:
        if original.ndim > _SSIM_AXES:
            for before, after in zip(original, decoded, strict=True):
                self.add(before, after)
            return
        halo = min(WINDOW, original.shape[0]) - 1
        # Variances of what lies around 0 lose nothing to the values' common offset.
        middle = _any_finite(original)

        def of(part: slice) -> tuple[float, int]:
            whole = slice(part.start, part.stop + halo)
            with np.errstate(invalid="ignore"):
                found = self._windows_of(original[whole], decoded[whole], middle)
            found = found[np.isfinite(found)]  # a window with a value that is not finite
            return float(found.sum()), found.size

        for total, windows in _over(original, of, halo):
            self._sum += total
            self._windows += windows

    def _windows_of(self, original: np.ndarray, decoded: np.ndarray, middle: float) -> np.ndarray:
        x = (original.astype(np.float64) - middle) / self._span
        y = (decoded.astype(np.float64) - middle) / self._span
        offset = middle / self._span
        mean_x, mean_y = _means(x), _means(y)
        both = mean_x * mean_y
        squares = mean_x * mean_x + mean_y * mean_y
        covariance = _means(x * y) - both
        variances = _means(x * x + y * y) - squares
        mean_x += offset
        mean_y += offset
        light = (2 * mean_x * mean_y + _C1) / (mean_x * mean_x + mean_y * mean_y + _C1)
        return light * (2 * covariance + _C2) / (variances + _C2)

    def value(self) -> float:
        return self._sum / self._windows if self._windows > 0 else math.nan


def _any_finite(values: np.ndarray) -> float:
    """One finite value; 0 if all are NaN or infinite."""
    one = float(values.flat[values.size // 2])
    if math.isfinite(one):
        return one
    finite = np.isfinite(values)
    return float(values.flat[int(np.argmax(finite))]) if finite.any() else 0.0


def _means(values: np.ndarray) -> np.ndarray:
    """Over every window that lies inside; along a shorter axis the window is the axis."""
    count = 1
    for axis, extent in enumerate(values.shape):
        width = min(WINDOW, extent)
        count *= width
        inside = extent - width + 1
        parts = [_along(values, axis, at, inside) for at in range(width)]
        values = parts[0] if width == 1 else parts[0] + parts[1]
        for part in parts[2:]:
            values += part
    return values / count


def _along(values: np.ndarray, axis: int, begin: int, count: int) -> np.ndarray:
    return values[(slice(None),) * axis + (slice(begin, begin + count),)]


class Gradient:
    """Root of the mean squared error of central differences, over theirs; all axes together."""

    def __init__(self, about: About) -> None:
        self._span, self._wrong, self._whole = about.span, 0.0, 0.0

    def add(self, original: np.ndarray, decoded: np.ndarray) -> None:
        def of(axis: int, part: slice) -> tuple[float, float]:
            halo = 2 if axis == 0 else 0
            whole = slice(part.start, part.stop + halo)
            with np.errstate(invalid="ignore"):
                before = _differences(original[whole], axis, self._span)
                wrong = (_differences(decoded[whole], axis, self._span) - before).ravel()
            before = before.ravel()
            good = np.isfinite(before)  # of two finite values
            if not good.all():
                before, wrong = before[good], wrong[good]
            return float(wrong @ wrong), float(before @ before)

        for axis, extent in enumerate(original.shape):
            if extent < 3:
                continue
            halo = 2 if axis == 0 else 0
            for wrong, whole in _over(original, lambda part, axis=axis: of(axis, part), halo):
                self._wrong += wrong
                self._whole += whole

    def value(self) -> float:
        return math.sqrt(self._wrong / self._whole) if self._whole > 0 else math.nan


def _differences(values: np.ndarray, axis: int, unit: float) -> np.ndarray:
    """Twice the central ones: only their share counts."""
    inside = values.shape[axis] - 2
    ahead, behind = _along(values, axis, 2, inside), _along(values, axis, 0, inside)
    found = np.subtract(ahead, behind, dtype=np.float64)
    found /= unit
    return found


class Spectrum:
    """The largest relative error of the radially averaged power spectrum."""

    def __init__(self, about: About) -> None:
        self._about, self._before, self._after = about, 0.0, 0.0
        self._longest = 0

    def add(self, original: np.ndarray, decoded: np.ndarray) -> None:
        """All of one shape: shells of others are other ones."""
        known = self._about.spectra.get(id(original))
        if known is None or known[0] is not original:
            known = (original, power_spectrum(original, self._about.span))
            self._about.spectra[id(original)] = known
        self._before = self._before + known[1]
        self._after = self._after + power_spectrum(decoded, self._about.span)
        self._longest = max(original.shape)

    def value(self) -> float:
        first, last = self._about.waves or (1, self._about.longest // 2)
        # A part of the field has fewer shells, at the same wavelengths.
        scale = self._longest / self._about.longest
        last = max(1, round(last * scale))
        return spectrum_error(self._before, self._after, (min(last, round(first * scale)), last))


def power_spectrum(values: np.ndarray, unit: float = 1.0) -> np.ndarray:
    """Mean of |FFT|^2 over the modes of each shell; entry s is shell s, from 0 to N / 2.

    A mode with f_i cycles a cell along axis i lies in shell round(|f| * N), N the longest axis.
    unit: of the values that are transformed.
    """
    scaled = values.astype(np.float64)
    scaled -= scaled.flat[0]
    scaled /= unit
    work = np.fft.rfftn(scaled)
    del scaled
    power = work.real**2
    power += work.imag**2
    longest = max(values.shape)
    squares = np.zeros((1,) * values.ndim)
    for axis, extent in enumerate(values.shape):
        last = axis == values.ndim - 1
        f = np.fft.rfftfreq(extent) if last else np.fft.fftfreq(extent)
        shape = [1] * values.ndim
        shape[axis] = f.size
        squares = squares + (f * longest).reshape(shape) ** 2
    shells = np.rint(np.sqrt(squares)).astype(np.int64).ravel()
    # Half of the modes are not there: their mirrors count twice, but for those without one.
    weights = np.full(work.shape[-1], 2.0)
    weights[0] = 1.0
    if values.shape[-1] % 2 == 0:
        weights[-1] = 1.0
    weights = np.broadcast_to(weights, work.shape).ravel()
    sums = np.bincount(shells, weights=power.ravel() * weights)
    counts = np.bincount(shells, weights=weights)
    means = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
    return means[: longest // 2 + 1]


def spectrum_error(before: np.ndarray, after: np.ndarray, waves: tuple[int, int]) -> float:
    """The largest |after / before - 1| of the shells from the first to the last that have power;
    NaN where none has."""
    shells = slice(max(1, waves[0]), waves[1] + 1)
    has_power = before[shells] > _ROUNDING * before[1:].max(initial=0.0)
    if not has_power.any():
        return math.nan
    return float(np.abs(after[shells][has_power] / before[shells][has_power] - 1.0).max())


def _over(values: np.ndarray, function: Callable[[slice], tuple], halo: int = 0) -> Iterator[tuple]:
    """What the function gives for slabs of the first axis, by all cores, in their order.

    halo: values of the next slab that it needs too; slabs end so far before the end.
    """
    rows = values.shape[0] - halo
    step = max(1, _SLAB_VALUES // max(1, values.size // values.shape[0]))
    parts = [slice(begin, min(begin + step, rows)) for begin in range(0, rows, step)]
    if len(parts) < 2:
        yield from map(function, parts)
        return
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from pool.map(function, parts)
