"""What a user asks of a compressed field, and whether a measured quality meets it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Quality:
    """A kind of quality: what it is called, which direction is better, what may be asked."""

    name: str
    title: str
    more_is_better: bool
    exact: float  # of a field that came back bit for bit
    limits: tuple[float, float]  # of a goal, both excluded but for `exact` of SSIM
    lacking: str = ""  # what a field has not of which the quality is NaN
    needs_finite: bool = False  # defined for fields without NaN and infinities only
    percent: bool = False


QUALITIES = {
    one.name: one
    for one in (
        Quality("psnr", "PSNR", True, math.inf, (0.0, 400.0)),
        Quality("ssim", "SSIM", True, 1.0, (0.0, 1.0), lacking="windows of finite values"),
        Quality("spectrum", "largest error of the power spectrum", False, 0.0, (0.0, 1.0),
                lacking="power at these wave numbers", needs_finite=True, percent=True),
        Quality("gradient", "RMS error of gradients", False, 0.0, (0.0, 1.0),
                lacking="central differences other than 0", percent=True),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Goal:
    """A quality and how good it has to be."""

    quality: Quality
    value: float

    def met_by(self, measured: float) -> bool:
        """Not by NaN."""
        if self.quality.more_is_better:
            return measured >= self.value
        return measured <= self.value

    @property
    def worst(self) -> Callable[..., float]:
        """Of several dumps the one that counts; none of them is NaN."""
        return min if self.quality.more_is_better else max

    def text(self) -> str:
        """As a sentence has it."""
        relation = "at least" if self.quality.more_is_better else "at most"
        return f"{self.quality.title} {relation} {shown(self.quality, self.value)}"


def parse_goal(text: str) -> Goal:
    """psnr=80, ssim=0.999, spectrum=1% or gradient=0.01. Raises ValueError."""
    name, equals, number = (part.strip() for part in text.partition("="))
    if name not in QUALITIES or not equals:
        known = ", ".join(QUALITIES)
        raise ValueError(f"--quality is '{text}'; give NAME=VALUE, and as the name one of {known}")
    quality = QUALITIES[name]
    percent = quality.percent and number.endswith("%")
    try:
        value = float(number[:-1] if percent else number) / (100.0 if percent else 1.0)
    except ValueError:
        value = math.nan
    low, high = quality.limits
    if not low < value < high:
        span = f"between {shown(quality, low)} and {shown(quality, high)}"
        raise ValueError(f"--quality is '{text}'; {name} takes a number {span}, both excluded")
    return Goal(quality, value)


def shown(quality: Quality, value: float) -> str:
    """With as many figures as tell values apart."""
    if quality.name == "psnr":
        return "exact" if math.isinf(value) else f"{value:.2f} dB"
    if quality.name == "ssim":
        # Nines are what tells one from another: 0.999987, not 1.000.
        lost = 1.0 - value
        return f"{value:.{3 if lost <= 0 else max(3, 2 - math.floor(math.log10(lost)))}f}"
    return f"{100 * value:.3g} %"
