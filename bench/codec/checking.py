"""Was the bound kept, and what became of the values no bound covers?

Invariants: differences are formed in a wider type than the field's, so that the verdict itself does
not round (float32 in double, float64 in long double); NaN and Inf never count as kept unless they
are the same bits.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

import numpy as np
from peers import Codec

PIECE = 1 << 20


@dataclass
class Errors:
    """What a decompressed array differs by."""

    values: int = 0
    violations: int = 0  # finite values with |x - x'| > bound, or that came back not finite
    changed_specials: int = 0  # NaN, Inf that are not the same bits
    max_error: float = 0.0
    sum_squares: float = 0.0

    def add(self, other: Errors) -> None:
        """Of several arrays together."""
        self.values += other.values
        self.violations += other.violations
        self.changed_specials += other.changed_specials
        self.max_error = max(self.max_error, other.max_error)
        self.sum_squares += other.sum_squares


def bits(values: np.ndarray) -> np.ndarray:
    """The values as unsigned integers of their size."""
    return values.view(f"u{values.itemsize}")


def compare(original: np.ndarray, decoded: np.ndarray, bound: float) -> Errors:
    """Count every value outside the bound. `decoded` must have the original's type and shape."""
    if decoded.dtype != original.dtype or decoded.shape != original.shape:
        raise ValueError(
            f"decoded {decoded.dtype}{decoded.shape}, original {original.dtype}{original.shape}"
        )
    wide = np.float64 if original.dtype == np.float32 else np.longdouble
    flat, back = original.reshape(-1), np.ascontiguousarray(decoded).reshape(-1)
    total = Errors(values=flat.size)
    for begin in range(0, flat.size, PIECE):
        x, y = flat[begin : begin + PIECE], back[begin : begin + PIECE]
        finite = np.isfinite(x)
        if not finite.all():
            total.changed_specials += int((bits(x) != bits(y))[~finite].sum())
            x, y = x[finite], y[finite]
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs(x.astype(wide) - y.astype(wide))
        total.violations += int((~(error <= wide(bound))).sum())
        error = error[np.isfinite(error)]
        if error.size:
            total.max_error = max(total.max_error, float(error.max()))
            with np.errstate(over="ignore"):
                total.sum_squares += float((error.astype(np.float64) ** 2).sum())
    return total


def special_values(dtype: str) -> np.ndarray:
    """A smooth 32^3 field with NaN, Inf, -0 and denormals strewn in, away from one corner."""
    axis = np.linspace(0, 3, 32)
    field = (np.sin(axis[:, None, None]) + np.cos(axis[:, None]) * axis).astype(dtype)
    flat = field.reshape(-1)
    tiny = np.finfo(dtype).smallest_subnormal
    for index, value in enumerate((np.nan, np.inf, -np.inf, -0.0, 7 * tiny)):
        flat[16384 + 977 * index :: 5003] = value
    return field


def verdict_on_specials(codec: Codec, limit_s: int = 60) -> str:
    """In words: what the codec does to NaN and Inf, and to the finite values beside them.

    In a process of its own, because some codecs end theirs.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(limit_s)
        os.write(writing, _verdict_here(codec, "float32", 1e-3).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        text = answer.read().decode()
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        return text
    number = os.WTERMSIG(status)
    return "hung" if number == signal.SIGALRM else f"crashed ({signal.Signals(number).name})"


def _verdict_here(codec: Codec, dtype: str, bound: float) -> str:
    field = special_values(dtype)
    try:
        decoded = codec.decompress(codec.compress(field, bound), field.dtype, field.shape)
        errors = compare(field, np.asarray(decoded), bound)
    except Exception as error:  # a peer may refuse in any way it likes
        return f"refused ({type(error).__name__})"
    if errors.violations:
        return f"{errors.violations} finite values out of bound"
    return "kept" if errors.changed_specials == 0 else "NaN/Inf lost, finite values in bound"
