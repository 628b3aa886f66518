#!/usr/bin/env python3
"""Is every bound kept? Compress and decompress everything there is and look at every value.

All fields at all bounds in all modes and both types, every kind of bound, then random bit patterns
of random shapes from a seed. Counts values outside their bound, NaN and infinities that are not the
same bits, and frames larger than the raw values + 64 bytes. Prints the table of
docs/evidence/reliability.md and writes out/bench/reliability.json; any fault ends with exit status
1.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import checking
import fields
import numpy as np
import ours
import samples
from conditions import conditions
from rich.console import Console
from rich.progress import Progress

OVERHEAD_BYTES = 64
Modes = tuple[str, ...]
console = Console(soft_wrap=True)


@dataclass
class Count:
    """One line of the table."""

    what: str
    cases: int = 0
    values: int = 0
    violations: int = 0
    changed_specials: int = 0
    too_large: int = 0
    failures: int = 0
    worst: float = 0.0  # largest error over the bound

    @property
    def faults(self) -> int:
        """Everything that must be 0."""
        return self.violations + self.changed_specials + self.too_large + self.failures


@dataclass(frozen=True)
class Case:
    """An array, what was asked for, and how."""

    values: np.ndarray
    kind: str
    bound: float
    mode: str
    label: str


def run(case: Case, count: Count) -> None:
    """There and back once; what is wrong is counted and shown with the case's name."""
    count.cases += 1
    count.values += case.values.size
    try:
        asked = ours.bound(case.kind, case.bound)
        frame = ours.compress(case.values, asked, case.mode)
        decoded = ours.decompress(frame)
        found = CHECKS[case.kind](case.values, decoded, case.bound)
    except Exception as error:  # counted: the run goes on and fails at its end
        count.failures += 1
        console.print(f"{case.label}: {type(error).__name__}: {error}")
        return
    count.violations += found.violations
    count.changed_specials += found.changed_specials
    count.too_large += len(frame) > case.values.nbytes + OVERHEAD_BYTES
    if case.kind == "absolute" and case.bound:
        count.worst = max(count.worst, found.max_error / case.bound)
    if found.violations or found.changed_specials:
        console.print(f"{case.label}: {found.violations} out of bound, "
                      f"{found.changed_specials} NaN or Inf changed")  # fmt: skip


# -------------------------------------------------------------------------------- kinds of bound


def check_relative(values: np.ndarray, decoded: np.ndarray, fraction: float) -> checking.Errors:
    """Against the share of the range of the finite values."""
    finite = values[np.isfinite(values)].astype(np.longdouble)
    span = finite.max() - finite.min() if finite.size else np.longdouble(0)
    return checking.compare(values, decoded, np.longdouble(fraction) * span)


def check_pointwise(values: np.ndarray, decoded: np.ndarray, fraction: float) -> checking.Errors:
    """Against each value's own magnitude. Products round in long double: one unit is let go."""
    result = checking.Errors(values=values.size)
    finite = np.isfinite(values)
    result.changed_specials = int(
        (checking.bits(values) != checking.bits(np.ascontiguousarray(decoded)))[~finite].sum()
    )
    x, y = values[finite].astype(np.longdouble), decoded[finite].astype(np.longdouble)
    allowed = np.abs(x) * np.longdouble(fraction) * (1 + np.finfo(np.longdouble).eps)
    result.violations = int((~(np.abs(x - y) <= allowed)).sum())
    return result


def check_psnr(values: np.ndarray, decoded: np.ndarray, decibels: float) -> checking.Errors:
    """One violation if the whole array's signal-to-noise ratio is too low."""
    result = checking.compare(values, decoded, np.inf)
    finite = values[np.isfinite(values)].astype(np.float64)
    if finite.size and result.sum_squares:
        rmse = np.sqrt(result.sum_squares / finite.size)
        result.violations += int(20 * np.log10((finite.max() - finite.min()) / rmse) < decibels)
    return result


CHECKS: dict[str, Callable[[np.ndarray, np.ndarray, float], checking.Errors]] = {
    "absolute": checking.compare,
    "relative": check_relative,
    "pointwise_relative": check_pointwise,
    "psnr": check_psnr,
    "lossless": lambda values, decoded, _: check_lossless(values, decoded),
}


def check_lossless(values: np.ndarray, decoded: np.ndarray) -> checking.Errors:
    """Bit for bit."""
    different = checking.bits(values) != checking.bits(np.ascontiguousarray(decoded))
    return checking.Errors(values=values.size, violations=int(different.sum()))


# ---------------------------------------------------------------------------------------- cases


def field_cases(block: fields.Block, modes: Modes) -> Iterator[Case]:
    """Absolute bounds in every mode."""
    values = block.values()
    for bound in fields.bounds_of(block, values):
        for mode in modes:
            label = f"{block.name} {bound.label} {mode}"
            yield Case(values, "absolute", bound.absolute, mode, label)


OTHER_BOUNDS = (
    *(("relative", 10.0**-p) for p in (1, 2, 3, 5, 7)),
    *(("pointwise_relative", 10.0**-p) for p in (1, 2, 4, 6)),
    *(("psnr", float(d)) for d in (30, 60, 90, 140)),
    ("lossless", 0.0),
)


def kind_cases(block: fields.Block, modes: Modes) -> Iterator[Case]:
    """Every other kind of bound."""
    values = block.values()
    for kind, bound in OTHER_BOUNDS:
        for mode in modes:
            label = f"{block.name} {kind} {bound:g} {mode}"
            yield Case(values, kind, bound, mode, label)


def random_shape(rng: np.random.Generator, most: int) -> tuple[int, ...]:
    """1 to 4 axes, extents of 1 and primes among them, `most` values at most."""
    rank = int(rng.integers(1, 5))
    while True:
        side = max(2, int(most ** (1 / rank) * 2))
        shape = tuple(int(n) for n in rng.integers(1, side, rank))
        if rng.random() < 0.2:
            shape = tuple(1 if rng.random() < 0.5 else n for n in shape)
        if np.prod(shape) <= most:
            return shape


def random_values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Bits of any kind, bits of nearby exponents, or something smooth with bits strewn in."""
    count = int(np.prod(shape))
    size = np.dtype(dtype).itemsize
    words = rng.integers(0, 256, count * size, dtype=np.uint8).view(f"u{size}")
    style = int(rng.integers(0, 4))
    if style == 0:
        return words.view(dtype).reshape(shape)
    if style == 1:  # exponents within a few powers of two of each other, both signs
        mantissa = rng.random(count) + 1
        exponent = rng.integers(-140, 120) + rng.integers(0, 1 + int(rng.integers(0, 20)), count)
        with np.errstate(over="ignore"):
            values = np.ldexp(mantissa * rng.choice([-1, 1], count), exponent)
            return values.astype(dtype).reshape(shape)
    scale = 10.0 ** rng.integers(-30, 30)
    walk = np.cumsum(rng.standard_normal(count)) + rng.choice([0, 1e3, 1e7])
    values = (walk * scale).astype(dtype)
    if style == 3:
        strewn = rng.random(count) < 0.01
        values[strewn] = words.view(dtype)[strewn]
    return values.reshape(shape)


def random_cases(rng: np.random.Generator, dtype: str, most: int, modes: Modes) -> Iterator[Case]:
    """One array, bounds of many sizes, every mode."""
    values = random_values(rng, random_shape(rng, most), dtype)
    finite = np.abs(values[np.isfinite(values)].astype(np.float64))
    typical = float(np.median(finite)) if finite.size else 1.0
    share = 10.0 ** float(rng.uniform(-9, 1))
    absolute = min(max(typical * share, 1e-300), 1e300)
    asked = [("absolute", absolute), ("pointwise_relative", min(share, 0.5))]
    with np.errstate(over="ignore"):
        span = float(values[np.isfinite(values)].max(initial=0)) if finite.size else 0.0
    if np.isfinite(span):
        asked.append(("relative", min(share, 0.5)))
    for kind, bound in asked:
        for mode in modes:
            label = f"random {dtype}{values.shape} {kind} {bound:g} {mode}"
            yield Case(values, kind, bound, mode, label)


# ----------------------------------------------------------------------------------------- main


def count_all(
    blocks: list[fields.Block], cases: Callable, name: str, modes: Modes
) -> Iterator[Count]:
    """A line per origin and type of the blocks."""
    groups: dict[tuple[str, str], list[fields.Block]] = {}
    for block in blocks:
        groups.setdefault((block.origin, block.dtype), []).append(block)
    for (origin, dtype), members in groups.items():
        count = Count(f"{origin} {dtype}, {name}")
        with Progress(console=console, disable=not console.is_terminal) as progress:
            for block in progress.track(members, description=count.what):
                for case in cases(block, modes):
                    run(case, count)
        yield count


def count_random(seed: int, arrays: int, most: int, modes: Modes) -> Iterator[Count]:
    """A line per type."""
    for dtype in ("float32", "float64"):
        count = Count(f"random bits {dtype}, seed {seed}")
        rng = np.random.default_rng([seed, np.dtype(dtype).itemsize])
        with Progress(console=console, disable=not console.is_terminal) as progress:
            for _ in progress.track(range(arrays), description=count.what):
                for case in random_cases(rng, dtype, most, modes):
                    run(case, count)
        yield count


def table(counts: list[Count]) -> list[str]:
    """Markdown."""
    lines = [
        "| what | cases | values | out of bound | NaN/Inf changed | > raw + 64 B | failed "
        "| largest error / bound |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for c in counts:
        worst = f"{np.floor(c.worst * 1e6) / 1e6:.6f}" if c.worst else "–"
        lines.append(
            f"| {c.what} | {c.cases:,} | {c.values:,} | {c.violations} | {c.changed_specials} "
            f"| {c.too_large} | {c.failures} | {worst} |"
        )
    return lines


def main() -> int:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="samples and a little randomness")
    parser.add_argument("--blocks", help="only fields whose name contains one of these")
    parser.add_argument("--seed", type=int, default=20260101)
    parser.add_argument("--arrays", type=int, default=2000, help="random arrays per type")
    options = parser.parse_args()
    begin = time.monotonic()
    counts: list[Count] = []
    modes = ours.MODES
    small = samples.blocks()
    big = [] if options.quick else fields.everything()
    if options.blocks:
        words = options.blocks.split(",")
        big = [b for b in big if any(word in b.name for word in words)]
    lines = [
        count_all(small + big, field_cases, "absolute bounds", modes),
        count_all(
            small + [b for b in big if b.part == "whole" and b.origin == "real"],
            kind_cases,
            "other kinds of bound",
            modes,
        ),
        count_random(options.seed, 50 if options.quick else options.arrays, 40_000, modes),
    ]
    for part in lines:
        for count in part:
            counts.append(count)
            console.print(f"{count.what}: {count.values:,} values, {count.faults} faults")
    total = Count("all")
    for count in counts:
        for key in ("cases", "values", "violations", "changed_specials", "too_large", "failures"):
            setattr(total, key, getattr(total, key) + getattr(count, key))
        total.worst = max(total.worst, count.worst)
    counts.append(total)
    print("\n".join(table(counts)))
    document = {
        "conditions": conditions() | {"seed": options.seed, "modes": modes},
        "seconds": round(time.monotonic() - begin, 1),
        "counts": [asdict(c) for c in counts],
    }
    path = fields.OUT / "reliability.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{total.values:,} values in {document['seconds']:.0f} s, {total.faults} faults: {path}")
    return 1 if total.faults else 0


if __name__ == "__main__":
    sys.exit(main())
