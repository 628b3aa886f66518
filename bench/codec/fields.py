"""Where blocks come from: real simulation output, the mini-app's dumps, synthetic fields.

Invariants:
 - A Block's values are C-contiguous, writable, float32 or float64; values() loads them, and
   nothing else does.
 - Names are stable: they are the keys of codec_ratio.csv and of every result file.
 - What is not there (no data directory, no dumps) is left out, and missing() says so.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
OUT = Path(os.environ.get("CAESURA_OUT", ROOT / "out")) / "bench"
BLOCK_SIDE = 128  # 128^3 float32 = 8 MiB

RELATIVE_BOUNDS = (1e-2, 1e-3, 1e-4, 1e-5)
# The papers' absolute bounds for Nyx's fields, in the fields' units.
PAPER_BOUNDS = {
    "baryon_density": 0.2,
    "dark_matter_density": 0.4,
    "temperature": 1e3,
    "velocity_x": 2e5,
    "velocity_y": 2e5,
    "velocity_z": 2e5,
}


@dataclass(frozen=True)
class Block:
    """An array to be compressed, not yet loaded."""

    source: str  # nyx_128_z050, lwfa_it0200, synthetic_t2, ...
    field: str
    origin: str  # real, miniapp or synthetic
    load: Callable[[], np.ndarray]
    part: str = "whole"  # or "block": 128^3 from the middle
    dtype: str = "float32"

    @property
    def name(self) -> str:
        """Stable and unique."""
        suffix = "" if self.dtype == "float32" else f":{self.dtype}"
        return f"{self.source}/{self.field}:{self.part}{suffix}"

    def values(self) -> np.ndarray:
        """The array itself."""
        array = self.load()
        if self.part == "block":
            middle = tuple(
                slice((n - min(n, BLOCK_SIDE)) // 2, (n + min(n, BLOCK_SIDE)) // 2)
                for n in array.shape
            )
            array = array[middle]
        return np.require(array, self.dtype, ["C", "A", "W", "O"])


@dataclass(frozen=True)
class Bound:
    """What is asked for: `label` is r1e-3 (of the value range) or paper (absolute)."""

    label: str
    absolute: float


def bounds_of(block: Block, values: np.ndarray) -> list[Bound]:
    """Every bound a block is measured at. A constant array has no range, so no relative bound."""
    finite = values[np.isfinite(values)]
    span = float(finite.max()) - float(finite.min()) if finite.size else 0.0
    bounds = [Bound(f"r{b:.0e}".replace("e-0", "e-"), b * span) for b in RELATIVE_BOUNDS if span]
    if block.field in PAPER_BOUNDS:
        bounds.append(Bound("paper", PAPER_BOUNDS[block.field]))
    return bounds


# ------------------------------------------------------------------------------------- real data


def data_dir() -> Path | None:
    """$CAESURA_DATA, or shared/data in or beside the checkout."""
    if "CAESURA_DATA" in os.environ:
        return Path(os.environ["CAESURA_DATA"])
    for place in (ROOT / "shared" / "data", ROOT.parent / "shared" / "data"):
        if place.is_dir():
            return place
    return None


@lru_cache(maxsize=4)
def _read_hdf5(path: Path, dataset: str) -> np.ndarray:
    import h5py

    with h5py.File(path, "r") as file:
        return file[dataset][...]


def _hdf5_blocks(path: Path, source: str, origin: str) -> Iterator[Block]:
    """Every float dataset of a file that has at least 2 axes."""
    import h5py

    names: list[str] = []
    with h5py.File(path, "r") as file:
        file.visititems(
            lambda name, item: (
                names.append(name)
                if isinstance(item, h5py.Dataset) and item.dtype.kind == "f" and item.ndim >= 2
                else None
            )
        )
    for name in sorted(names):
        yield Block(source, name.rsplit("/", 1)[-1], origin, lambda n=name: _read_hdf5(path, n))


def real_blocks() -> list[Block]:
    """Nyx at five redshifts, FBPIC's laser wakefield."""
    place = data_dir()
    if place is None:
        return []
    return [
        block
        for path in sorted(place.glob("*.h5"))
        for block in _hdf5_blocks(path, path.stem, "real")
    ]


# -------------------------------------------------------------------------------- the mini-app

DUMP_FIELDS = tuple(PAPER_BOUNDS)
AGES = 12
STRETCHES = {"early": 4, "middle": 20, "late": 36}  # the first dump of each


def dump_dir() -> Path:
    """Where dumps.py leaves FIELD_NUMBER.bin: raw float32 cubes."""
    return OUT / "dumps"


def dump_numbers() -> list[int]:
    """The dumps that are there, in order of time."""
    return sorted(int(p.stem.rsplit("_", 1)[1]) for p in dump_dir().glob("baryon_density_*.bin"))


def dump_values(field: str, number: int) -> np.ndarray:
    """One field of one dump."""
    values = np.fromfile(dump_dir() / f"{field}_{number}.bin", np.float32)
    side = round(values.size ** (1 / 3))
    return values.reshape(side, side, side)


def miniapp_blocks(numbers: list[int] | None = None) -> list[Block]:
    """The cosmology mini-app's fields at the first, the middle and the last dump."""
    there = dump_numbers()
    if numbers is None:
        numbers = sorted({there[0], there[len(there) // 2], there[-1]}) if there else []
    return [
        Block(f"miniapp_d{n:03d}", field, "miniapp", lambda f=field, n=n: dump_values(f, n))
        for n in numbers
        for field in DUMP_FIELDS
    ]


# ------------------------------------------------------------------------------ laser and plasma


def plasma_dir() -> Path:
    """Where plasma.py leaves FBPIC's fields."""
    return OUT / "plasma"


def plasma_blocks() -> list[Block]:
    """Every field of every file there: modes x radius x length, as float32."""
    import h5py

    blocks = []
    for path in sorted(plasma_dir().glob("*.h5")):
        names: list[str] = []
        with h5py.File(path, "r") as file:
            file.visititems(
                lambda name, item, names=names: (
                    names.append(name)
                    if isinstance(item, h5py.Dataset) and "/fields/" in name
                    else None
                )
            )
        blocks += [
            Block(
                f"fbpic_{path.stem}",
                name.split("/fields/")[1].replace("/", "_"),
                "real",
                lambda path=path, name=name: _read_hdf5(path, name),
            )
            for name in sorted(names)
        ]
    return blocks


# ------------------------------------------------------------------------------------ synthetic

SYNTHETIC_SIDE = 256


SYNTHETIC_FIELDS = (
    "baryon_density",
    "dark_matter_density",
    "temperature",
    "velocity_x",
    "turbulence",
    "laser_plasma",
)


def can_make_synthetic() -> bool:
    """Whether scipy's transforms are there."""
    return importlib.util.find_spec("scipy") is not None


@lru_cache(maxsize=1)
def _maker(side: int) -> Callable[[str, float], np.ndarray]:
    import synthetic

    return synthetic.Maker(side)


def synthetic_values(field: str, step: float, side: int = SYNTHETIC_SIDE) -> np.ndarray:
    """A whole synthetic field, from the cache in out/bench/synthetic or made now."""
    path = OUT / "synthetic" / f"{field}_{side}_{step:g}.npy"
    if path.exists():
        return np.load(path, mmap_mode="r")
    values = _maker(side)(field, step)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.npy")
    np.save(partial, values)
    partial.rename(path)
    return values


def synthetic_blocks(steps: tuple[int, ...] = (0, 1, 2), whole: bool = False) -> list[Block]:
    """The middle 128^3 of every synthetic 256^3 field; `whole`: all of it."""
    if not can_make_synthetic():
        return []
    return [
        Block(
            f"synthetic_t{step}",
            field,
            "synthetic",
            lambda f=field, s=step: synthetic_values(f, s),
            part="whole" if whole else "block",
        )
        for step in steps
        for field in SYNTHETIC_FIELDS
    ]


# ------------------------------------------------------------------------------------ selections


def as_float64(blocks: list[Block]) -> list[Block]:
    """The same blocks as doubles."""
    return [replace(block, dtype="float64") for block in blocks]


QUICK = {
    "nyx_128_z050/baryon_density:whole",
    "nyx_128_z050/temperature:whole",
    "nyx_128_z050/velocity_x:whole",
    "nyx_64_z002.5/baryon_density:whole",
    "nyx_64_z002.5/temperature:whole",
    "lwfa_it0200/Ey:whole",
    "lwfa_it0200/rho:whole",
}


def quick() -> list[Block]:
    """A selection for a few minutes; synthetic fields stand in where there is no real data."""
    chosen = [block for block in real_blocks() if block.name in QUICK]
    made = synthetic_blocks((2,))
    return chosen + (made[4:] if chosen else made)


def everything(whole: bool = True) -> list[Block]:
    """All blocks, some of them as float64 too, and with `whole` the 256^3 fields of one step."""
    real = real_blocks()
    blocks = real + plasma_blocks() + miniapp_blocks() + synthetic_blocks()
    doubles = [b for b in real if "z050" in b.source or "z002.5" in b.source or b.field == "Ez"]
    blocks += as_float64(doubles)
    if whole:
        blocks += synthetic_blocks((2,), whole=True)
    return blocks


def missing() -> list[str]:
    """One line for each source that is not there."""
    lines = []
    if not real_blocks():
        lines.append(
            "no real simulation data: put the HDF5 files into ../shared/data or set CAESURA_DATA"
        )
    if not dump_numbers():
        lines.append("no dumps of the mini-app: bench/codec/dumps.py makes them")
    if not can_make_synthetic():
        lines.append("no synthetic fields: they need scipy (tools/requirements-bench.txt)")
    return lines
