"""The measurements behind a profile: compressions over bits per value, writes over their size.

Invariants:
 - But for one turn of small ones, no measurement begins after its budget of seconds is spent, on a
   loaded machine too; what there is by then is fitted. The order is mixed, so that it covers all
   codecs, bits and sizes.
 - Compressions are measured in CPU time of the thread (what the Writer's lanes count), writes in
   wall time. Every block is met once at a time: repeated at once it would lie in the cache.
 - Nothing is left in the directory.
"""

from __future__ import annotations

import itertools
import math
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from caesura import prediction

OWN = ("caesura", "caesura:fast", "caesura:strong", "caesura:planes")
FOREIGN = ("sz3", "zfp", "zstd", "blosc2")
CODECS = (*OWN, *FOREIGN)
DTYPES = ("float32", "float64")
_LOSSLESS = ("zstd", "blosc2")
SIDE = 128  # 128^3 float32 are 8 MiB
_EXPONENTS = [0.5 * n for n in range(-14, -1)]  # of the bound relative to the range
_OWN_BLOCKS_A_TURN = 4  # ours take milliseconds, others a tenth of a second
_MOST_POINTS = 150  # a curve
_SEED = 20221114

MB = 1_000_000
WRITE_SIZES = tuple(int(s * MB) for s in (0.016, 0.064, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100))
_SMALL_WRITE = 2 * MB
_MOST_WRITTEN = 6_000 * MB
_SHARE_OF_FREE = 0.2

Progress = Callable[[float], None]  # told the share of the budget that is spent


@dataclass
class Compressions:
    """What was measured: (raw bytes, bits per value, s) by (codec, mode, dtype)."""

    points: dict[tuple[str, str, str], list[tuple[int, float, float]]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)  # codecs that are not installed, and why


def fields(side: int = SIDE) -> list[np.ndarray]:
    """Cubes from smooth to rough: power-law spectra, a density, and white noise (float64).

    Their ranges are 1, so that a bound is relative by itself.
    """
    generator = np.random.default_rng(_SEED)
    noise = generator.standard_normal((side, side, side))
    spectrum = np.fft.rfftn(noise)
    k = np.fft.fftfreq(side, 1 / side)
    square = k[:, None, None] ** 2 + k[None, :, None] ** 2 + np.arange(side // 2 + 1) ** 2
    square[0, 0, 0] = 1.0
    axes = (0, 1, 2)
    made = [
        np.fft.irfftn(spectrum * square ** (-slope / 2), noise.shape, axes) for slope in (3.0, 2.0)
    ]
    made.append(np.exp(2.0 * made[1] / made[1].std()))
    made.append(noise)
    return [np.ascontiguousarray((cube - cube.min()) / np.ptp(cube)) for cube in made]


def installed(codec: str) -> str:
    """Empty if the codec can be used, else why not."""
    try:
        prediction.BlockCodec(codec, "float32", (8, 8, 8), 0.1)
    except RuntimeError as error:
        return str(error)
    return ""


@dataclass(frozen=True)
class _Case:
    cube: int
    exponent: float
    side: int


def _cases(codec: str, dtype: str, side: int) -> Iterator[_Case]:
    """All cases of one codec, mixed, again and again.

    Of ours every fourth is a small block, which tells the fixed cost; of others, which are slow,
    two of three.
    """
    mixed = random.Random(f"{codec} {dtype}")
    while True:
        cases = [_Case(c, e, side) for c in range(4) for e in _EXPONENTS]
        mixed.shuffle(cases)
        for i, case in enumerate(cases):
            small = i % 4 == 3 if codec in OWN else i % 3 > 0
            yield _Case(case.cube, case.exponent, side // 2) if small else case


def _block(cubes: list[np.ndarray], case: _Case, dtype: str, codec: str) -> np.ndarray:
    """128^3 of float32, 64 x 128 x 128 of float64: as many bytes."""
    planes = case.side if dtype == "float32" else case.side // 2
    block = cubes[case.cube][:planes, : case.side, : case.side]
    if codec in _LOSSLESS:  # whose bits follow from the values: these are rounded to the bound
        step = 2.0 * 10.0**case.exponent
        block = np.round(block / step) * step
    return np.ascontiguousarray(block, dtype)


def measure_compressions(
    codecs: tuple[str, ...], budget_s: float, progress: Progress, side: int = SIDE
) -> Compressions:
    """Compress blocks by all codecs in turn until the budget, without making fields, is spent."""
    found = Compressions()
    cubes = fields(side)
    usable = []
    for codec in codecs:
        if why := installed(codec):
            found.missing[codec] = why
        else:
            usable.append(codec)
    end_s = time.monotonic() + budget_s
    turns = {(c, d): _cases(c, d, side) for c in usable for d in DTYPES}
    for turn in itertools.count():
        if not turns:
            break
        for codec, dtype in list(turns):
            for _ in range(_OWN_BLOCKS_A_TURN if codec in OWN else 1):
                left_s = end_s - time.monotonic()
                if left_s <= 0.0 and turn > 0:
                    return found
                progress(1.0 - left_s / budget_s)
                _measure(found, cubes, codec, dtype, next(turns[codec, dtype]))
            counts = [len(p) for (c, _, d), p in found.points.items() if (c, d) == (codec, dtype)]
            if counts and max(counts) >= _MOST_POINTS:
                del turns[codec, dtype]
    return found


def _measure(
    found: Compressions, cubes: list[np.ndarray], codec: str, dtype: str, case: _Case
) -> None:
    values = _block(cubes, case, dtype, codec)
    bound = 10.0**case.exponent
    mode = prediction.sample(values, bound, codec).mode if codec in OWN else ""
    made = prediction.BlockCodec(codec, dtype, values.shape, bound).encode(values)
    if made.cpu_s > 0.0:
        points = found.points.setdefault((codec, mode, dtype), [])
        points.append((values.nbytes, 8.0 * made.stored_bytes / values.size, made.cpu_s))


def measure_writes(
    directory: Path, budget_s: float, progress: Progress, most_bytes: int = _MOST_WRITTEN
) -> dict[bool, list[tuple[int, float]]]:
    """(bytes, s) of writes one after the other into one file: alone, and with an fsync after each.

    The Writer's lane does the first for every block or buffer, the second once a dump. Raises
    OSError (the directory cannot be written).
    """
    end_s = time.monotonic() + budget_s
    free = shutil.disk_usage(directory).free
    left = int(min(most_bytes, _SHARE_OF_FREE * free))
    sizes = [size for size in WRITE_SIZES if size <= left / 8]
    if not sizes:
        return {False: [], True: []}
    data = np.random.default_rng(_SEED).bytes(max(sizes, default=1))
    mixed = random.Random(_SEED)
    found: dict[bool, list[tuple[int, float]]] = {False: [], True: []}
    with tempfile.NamedTemporaryFile(dir=directory, prefix="caesura-calibrate-") as file:
        descriptor, offset = file.fileno(), 0
        for turn in itertools.count():
            for size in sizes:
                left_s = end_s - time.monotonic()
                small = turn == 0 and size <= _SMALL_WRITE
                if size > left or (left_s <= 0.0 and not small):
                    return found
                progress(1.0 - left_s / budget_s)
                begin_s = time.perf_counter()
                _write_all(descriptor, memoryview(data)[:size], offset)
                written_s = time.perf_counter()
                os.fsync(descriptor)
                synced_s = time.perf_counter()
                found[False].append((size, written_s - begin_s))
                found[True].append((size, synced_s - begin_s))
                offset += math.ceil(size / 4096) * 4096
                left -= size
            mixed.shuffle(sizes)  # at first from small to large: few seconds are enough for some
    return found


def _write_all(descriptor: int, data: memoryview, offset: int) -> None:
    while data:
        count = os.pwrite(descriptor, data, offset)
        data = data[count:]
        offset += count
