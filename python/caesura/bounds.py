"""How far a stored value may lie from the one handed in, as values that can be passed around.

    caesura.codec.compress(array, caesura.relative(1e-3))
    file.create_dataset("rho", data=array, **caesura.filter_options(caesura.absolute(0.2)))

Wherever a bound is taken, a plain number means absolute().
"""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

_KINDS = ("lossless", "absolute", "relative", "pointwise_relative", "psnr")


class Bound(NamedTuple):
    """Made by the functions below. A tuple (kind, value) serves as well."""

    kind: str
    value: float


def lossless() -> Bound:
    """Every value comes back bit for bit."""
    return Bound("lossless", 0.0)


def absolute(bound: float) -> Bound:
    """|x - x'| <= bound for every finite x, in units of the field. bound > 0."""
    return Bound("absolute", float(bound))


def relative(fraction: float) -> Bound:
    """|x - x'| <= fraction of the value range (max - min). 0 < fraction < 1.

    Whose range: a Writer takes the whole field's in that dump; codec.compress() that of the array
    it is given; the HDF5 filter that of each chunk, because a filter sees nothing else.
    """
    return Bound("relative", float(fraction))


def pointwise_relative(fraction: float) -> Bound:
    """|x - x'| <= fraction * |x| for every finite x; zeros stay zeros. 0 < fraction < 1."""
    return Bound("pointwise_relative", float(fraction))


def psnr(decibels: float) -> Bound:
    """Peak signal-to-noise ratio of at least so many decibels: 20 log10(range / rms error).

    A bound on the average, not on each value. 0 < decibels < 400. Range as for relative().
    """
    return Bound("psnr", float(decibels))


def as_bound(bound: Any) -> Bound:
    """A number is absolute; Bound and (kind, value) are what they say."""
    if isinstance(bound, Real) and not isinstance(bound, bool):
        return absolute(float(bound))
    if isinstance(bound, tuple) and len(bound) == 2 and bound[0] in _KINDS:
        return Bound(bound[0], float(bound[1]))
    raise ValueError(
        f"bound is {bound!r}; give a number (an absolute bound), or caesura.lossless(), "
        "absolute(x), relative(x), pointwise_relative(x) or psnr(x)"
    )


def bound_of(
    absolute: float | None, relative: float | None, bound: Any = None
) -> tuple[str, float] | None:
    """The pair the library takes; None when none is given."""
    if sum(given is not None for given in (absolute, relative, bound)) > 1:
        raise ValueError("give one of absolute, relative and bound, not several")
    if bound is not None:
        return tuple(as_bound(bound))
    if absolute is not None:
        return ("absolute", float(absolute))
    if relative is not None:
        return ("relative", float(relative))
    return None
