"""Predictions held against what happens: sizes and times of blocks, over the dumps of fields.

Invariants:
 - A block is predicted before it is compressed, from what earlier dumps of its field have taught
   and nothing else: all blocks of a dump are predicted, then compressed, then learned.
 - Every codec and every bound of a field has models of its own, as in a Writer.
 - One dump is in memory at a time; a block is a box of it and is copied only to be compressed.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from caesura import prediction
from caesura.bounds import Bound
from caesura.boxes import boxes

MOST_AXES = 4
HIGH_RATIO = 60.0  # beyond, a size is mostly headers and luck, and costs next to nothing

_MESH = re.compile(r"^/data/(\d+)/(?:meshes|fields)/(.+)$")


@dataclass(frozen=True)
class Dump:
    """One array of a series, not yet read."""

    label: str
    shape: tuple[int, ...]
    dtype: str
    load: Callable[[], np.ndarray]

    @property
    def raw_bytes(self) -> int:
        """Uncompressed."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Series:
    """The dumps of one field in order of time."""

    name: str
    dumps: tuple[Dump, ...]


@dataclass
class Row:
    """One block: what was said, and what came."""

    field: str
    dump: str
    block: int
    codec: str
    bound: str
    learned: int  # dumps of this field that had been learned
    raw_bytes: int
    stored_bytes: int
    predicted_bytes: float
    sigma_bytes: float
    predict_s: float  # CPU seconds of sampling and asking the model
    compress_s: float  # CPU seconds of compressing, checking included
    predicted_compress_s: float
    fell_back: bool
    recalled: bool = False  # predicted from the dump before, without a sample

    @property
    def ratio(self) -> float:
        """Raw over stored bytes."""
        return self.raw_bytes / max(1, self.stored_bytes)

    @property
    def error(self) -> float:
        """Predicted over real size, less one."""
        return self.predicted_bytes / max(1, self.stored_bytes) - 1.0

    @property
    def time_error(self) -> float:
        """Predicted over real time, less one."""
        return self.predicted_compress_s / max(1e-9, self.compress_s) - 1.0

    @property
    def sigmas(self) -> float:
        """How many claimed standard deviations the size lies above its prediction."""
        return (self.stored_bytes - self.predicted_bytes) / max(1.0, self.sigma_bytes)


# ------------------------------------------------------------------------------------- what to read


def series_of(path: Path) -> list[Series]:
    """The float datasets of an HDF5 file; those of /data/N/meshes/FIELD are dumps of one field.

    Raises OSError (no such file, not HDF5).
    """
    import h5py

    with path.open("rb"):
        pass  # h5py's own errors do not say what is wrong
    if not h5py.is_hdf5(path):
        raise OSError(f"{path} is no HDF5 file")
    found: dict[tuple, list[tuple[int, Dump]]] = {}

    def visit(name: str, item: object) -> None:
        if not isinstance(item, h5py.Dataset) or item.dtype.newbyteorder("=") not in (
            np.float32,
            np.float64,
        ):
            return
        if item.ndim < 1 or item.size < 1:
            return
        match = _MESH.match(f"/{name}")
        number, title = (int(match[1]), match[2]) if match else (0, name)
        shape = tuple(item.shape)
        if len(shape) > MOST_AXES:
            shape = (math.prod(shape[: 1 - MOST_AXES]), *shape[1 - MOST_AXES :])
        dtype = np.dtype(item.dtype).newbyteorder("=")
        dump = Dump(
            str(number) if match else name,
            shape,
            dtype.name,
            lambda: _read(path, name, dtype).reshape(shape),
        )
        found.setdefault((title, shape, dtype.name), []).append((number, dump))

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return [
        Series(title, tuple(dump for _, dump in sorted(dumps, key=lambda entry: entry[0])))
        for (title, *_), dumps in found.items()
    ]


def _read(path: Path, name: str, dtype: np.dtype) -> np.ndarray:
    import h5py

    with h5py.File(path, "r") as file:
        return np.ascontiguousarray(file[name][...], dtype)


# ------------------------------------------------------------------------------------ what to ask


@dataclass(frozen=True)
class Asked:
    """A bound by its name: relative ones are resolved by each dump's range."""

    label: str
    bound: Bound

    def resolve(self, values: np.ndarray) -> Bound | None:
        """An absolute bound or lossless; None where the field is constant."""
        if self.bound.kind != "relative":
            return self.bound
        with np.errstate(invalid="ignore"):
            finite = values if np.isfinite(values.sum()) else values[np.isfinite(values)]
        span = float(finite.max()) - float(finite.min()) if finite.size else 0.0
        return Bound("absolute", self.bound.value * span) if span > 0 else None


def parse_bound(text: str) -> Asked:
    """rel=1e-3, abs=0.2 or lossless. Raises ValueError."""
    kind, _, number = text.partition("=")
    kinds = {"rel": "relative", "relative": "relative", "abs": "absolute", "absolute": "absolute"}
    if text == "lossless":
        return Asked(text, Bound("lossless", 0.0))
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    good = kind in kinds and value > 0 and math.isfinite(value)
    if not good or (kinds[kind] == "relative" and value >= 1):
        raise ValueError(
            f"the bound is '{text}'; give rel=FRACTION of the value range (below 1), "
            "abs=NUMBER in the field's unit, or lossless"
        )
    return Asked(text, Bound(kinds[kind], value))


# --------------------------------------------------------------------------------------- evaluating


class Where(NamedTuple):
    """Which block, by which codec, at which bound."""

    field: str
    dump: str
    block: int
    codec: str
    bound: str


Encoder = Callable[[Where, np.ndarray, Bound], prediction.EncodedBlock]


@dataclass
class _Learner:
    """One field with one codec at one bound."""

    codec: str
    dtype: str
    profile: Any
    encode: Encoder | None
    sizes: prediction.SizeModel = field(init=False)
    times: Any = field(init=False)
    codecs: dict[tuple, prediction.BlockCodec] = field(default_factory=dict)
    dumps: int = 0

    def __post_init__(self) -> None:
        from caesura import calibration

        self.sizes = prediction.SizeModel(self.codec, self.dtype)
        self.times = calibration.CompressModel(self.codec, self.dtype, self.profile)

    def dump(self, name: str, dump: Dump, values: np.ndarray, asked: Asked, bound: Bound,
             block_bytes: int, tell: Callable[[int], None]) -> list[Row]:  # fmt: skip
        """Predict every block of a dump, compress them, learn."""
        made = []
        for number, box in enumerate(boxes(values.shape, values.itemsize, block_bytes)):
            begin = time.thread_time()
            seen = prediction.sample(values, bound, self.codec, box, block=number, model=self.sizes)
            expected = self.sizes.predict(seen)
            predict_s = time.thread_time() - begin
            made.append((number, box, seen, expected, predict_s))
        rows = []
        for number, box, seen, expected, predict_s in made:
            block = np.ascontiguousarray(values[box])
            where = Where(name, dump.label, number, self.codec, asked.label)
            stored = self.encode(where, block, bound) if self.encode else self._encode(block, bound)
            bits = 8.0 * expected.mean / block.size
            predicted_s = self.times.predict_s(block.nbytes, bits, seen.mode, seen.adaptive)
            rows.append(
                Row(name, dump.label, number, self.codec, asked.label, self.dumps, block.nbytes,
                    stored.stored_bytes, expected.mean, expected.sigma, predict_s, stored.cpu_s,
                    predicted_s, stored.fell_back, seen.recalled)
            )  # fmt: skip
            tell(block.nbytes)
            self.sizes.learn(seen, stored.stored_bytes)
            bits = 8.0 * stored.stored_bytes / block.size
            self.times.learn(block.nbytes, bits, stored.cpu_s, seen.mode, seen.adaptive)
        self.dumps += 1
        return rows

    def _encode(self, block: np.ndarray, bound: Bound) -> prediction.EncodedBlock:
        key = (block.shape, bound)
        if key not in self.codecs:
            self.codecs = {k: made for k, made in self.codecs.items() if k[1] == bound}
            self.codecs[key] = prediction.BlockCodec(self.codec, self.dtype, block.shape, bound)
        return self.codecs[key].encode(block)


def evaluate(
    series: Sequence[Series],
    bounds: Sequence[Asked],
    codecs: Sequence[str],
    block_bytes: int = 8 << 20,
    tell: Callable[[int], None] = lambda count: None,
    encode: Encoder | None = None,
) -> list[Row]:
    """Predict and compress every block of every dump; `tell` hears raw bytes done.

    encode: compresses instead of the codec itself (to remember what is slow and never changes).
    Raises ValueError (a codec that is none), RuntimeError (a filter that is not installed).
    """
    from caesura import calibration

    profile = calibration.load()
    rows = []
    for one in series:
        learners: dict[tuple[str, str], _Learner] = {}
        for dump in one.dumps:
            values = dump.load()
            for asked in bounds:
                bound = asked.resolve(values)
                for codec in codecs:
                    if bound is None:
                        tell(dump.raw_bytes)
                        continue
                    key = (codec, asked.label)
                    if key not in learners:
                        learners[key] = _Learner(codec, values.dtype.name, profile, encode)
                    rows += learners[key].dump(
                        one.name, dump, values, asked, bound, block_bytes, tell
                    )
    return rows


# --------------------------------------------------------------------------------------- summing up


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """The distribution of the relative error of sizes and times, and what predicting costs.

    byte_weighted: sum of |predicted - real| over the sum of the real sizes. beyond_N_sigma: share
    of blocks larger than mean + N standard deviations as they were claimed (a normal has 2.3 % and
    0.13 %).
    """
    if not rows:
        return {"blocks": 0}
    errors = np.abs([row.error for row in rows])
    times = np.abs([row.time_error for row in rows])
    sigmas = np.array([row.sigmas for row in rows])
    stored = sum(row.stored_bytes for row in rows)
    wrong = sum(abs(row.predicted_bytes - row.stored_bytes) for row in rows)
    costs = np.array([row.predict_s / max(1e-9, row.compress_s) for row in rows])
    return {
        "blocks": len(rows),
        "median": float(np.median(errors)),
        "p90": float(np.percentile(errors, 90)),
        "p95": float(np.percentile(errors, 95)),
        "p99": float(np.percentile(errors, 99)),
        "bias": float(np.median([row.error for row in rows])),
        "byte_weighted": wrong / max(1, stored),
        "beyond_2_sigma": float(np.mean(sigmas > 2)),
        "beyond_3_sigma": float(np.mean(sigmas > 3)),
        "sigma": float(
            np.median([row.sigma_bytes / max(1.0, row.predicted_bytes) for row in rows])
        ),
        "ratio": sum(row.raw_bytes for row in rows) / max(1, stored),
        "time_median": float(np.median(times)),
        "time_p90": float(np.percentile(times, 90)),
        "predict_s": float(np.median([row.predict_s for row in rows])),
        "cost": float(np.median(costs)),
        "recalled": float(np.mean([row.recalled for row in rows])),
    }


def as_json(row: Row) -> dict[str, Any]:
    """A row as a document has it."""
    return {**asdict(row), "ratio": row.ratio, "error": row.error, "sigmas": row.sigmas}
