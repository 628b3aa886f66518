"""What a block will cost, before it is compressed: the library's models, for looking at them.

    from caesura import prediction
    model = prediction.SizeModel("sz3")                     # one for each field
    seen = prediction.sample(array, 1e-3, codec="sz3")      # a look at about 1 % of the values
    expected = model.predict(seen)                          # .mean and .sigma, in bytes
    block = prediction.BlockCodec("sz3", array.dtype, array.shape, 1e-3).encode(array)
    model.learn(seen, block.stored_bytes)                   # the next prediction is closer

A block is an array or a box of one (`box=(slice(0, 64), slice(0, 64), slice(64, 128))`), which is
neither copied nor compressed to be predicted. Bounds are absolute (a number), or what
caesura.lossless() and pointwise_relative() give; a bound relative to a field's range is resolved by
whoever knows the field. Sampling, encoding and decoding release the GIL.

A Writer makes the same calls by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from caesura import _core
from caesura._core import Features
from caesura.bounds import as_bound
from caesura.writing import find_plugins, host_array

__all__ = [
    "BlockCodec",
    "EncodedBlock",
    "Features",
    "Prediction",
    "SizeModel",
    "estimate_block",
    "glance",
    "sample",
    "sample_block",
]

Box = tuple[slice, ...]

_OWN_MODES = {
    "caesura": "auto",
    "caesura:fast": "fast",
    "caesura:strong": "strong",
    "caesura:planes": "planes",
    "caesura:regions": "regions",
}


class Prediction(NamedTuple):
    """A size that is not known yet, in bytes: mean and standard deviation.

    shared_sigma is the part of sigma that all blocks of the field have in common: it does not
    average out over the blocks of a region.
    """

    mean: float
    sigma: float
    shared_sigma: float


class SizeModel:
    """What the finished blocks of one field have taught about the sizes of the next ones."""

    def __init__(self, codec: str, dtype: Any = "float32") -> None:
        self._model = _core.SizeModel(codec, np.dtype(dtype).name)

    def predict(self, features: Features) -> Prediction:
        """The stored size of the block that `features` were sampled from."""
        return Prediction(*self._model.predict(features))

    def learn(self, features: Features, stored_bytes: int) -> None:
        """What the block came to. 0 is passed over."""
        self._model.learn(features, stored_bytes)

    def recall(self, block: int, values: int, activity: float) -> Features | None:
        """Features that only say what became of the block in the dump before, if that is enough.

        block, values: as in Features. activity: what glance() says now. None: look.
        """
        return self._model.recall(block, values, activity)

    def settings(self, block: int, values: int, activity: float) -> _core.BlockSettings | None:
        """What to assume of the block instead of choosing, from the dumps before; None: choose."""
        return self._model.settings(block, values, activity)


@dataclass(frozen=True)
class EncodedBlock:
    """A block as it would lie in the file, and the seconds that encode() took."""

    data: bytes
    filter_mask: int  # bit i set: stage i of the pipeline was skipped
    fell_back: bool  # the codec broke the bound or failed, so the block is lossless
    max_error: float  # of the finite values; NaN: not verified
    cpu_s: float  # of the calling thread
    wall_s: float

    @property
    def stored_bytes(self) -> int:
        """What it takes in the file."""
        return len(self.data)


class BlockCodec:
    """A field's codec: how blocks of one shape, type and bound become bytes, and come back.

    codec: as for a Writer: caesura, caesura:fast, caesura:strong, caesura:planes, none, sz3, zfp,
    zstd, blosc2, round+zstd, round+blosc2, filter:<number>.
    verify: decode every block again and hold it to its bound, as a Writer does for filters (None).
    Make it in the thread that uses HDF5. Raises ValueError (bound, codec), RuntimeError (the
    filter's plugin is not installed; the message says where it was looked for).
    """

    def __init__(
        self,
        codec: str,
        dtype: Any,
        shape: tuple[int, ...],
        bound: Any,
        *,
        cd_values: tuple[int, ...] = (),
        verify: bool | None = None,
        tables: _core.TableSet | None = None,
    ) -> None:
        find_plugins()
        self.dtype = np.dtype(dtype)
        self.shape = tuple(int(n) for n in shape)
        self._codec = _core.make_block_codec(
            codec,
            dtype=self.dtype.name,
            chunk=list(self.shape),
            bound=tuple(as_bound(bound)),
            cd_values=list(cd_values),
            verify=verify,
            tables=tables,
        )

    @property
    def reentrant(self) -> bool:
        """May several threads use it at once?"""
        return self._codec.reentrant

    def encode(self, array: np.ndarray, valid: tuple[int, ...] | None = None) -> EncodedBlock:
        """Compress a whole chunk, of which `valid` (None: all) lies inside the field."""
        values = np.ascontiguousarray(array, self.dtype)
        if values.shape != self.shape:
            raise ValueError(f"the block's shape is {values.shape}, the codec's {self.shape}")
        made = self._codec.encode(values.reshape(-1).view(np.uint8), list(valid or self.shape))
        return EncodedBlock(**made)

    def decode(self, block: EncodedBlock) -> np.ndarray:
        """The chunk again. Raises CorruptError."""
        values = np.empty(self.shape, self.dtype)
        data = np.frombuffer(block.data, np.uint8)
        chunk = values.reshape(-1).view(np.uint8)
        self._codec.decode(data, chunk, filter_mask=block.filter_mask)
        return values


def _block(array: Any, box: Box | None) -> dict[str, Any]:
    """What _core takes for a block: flat bytes, type and shape; the box's offset and extent."""
    values = np.ascontiguousarray(host_array(array))
    if values.dtype not in (np.float32, np.float64):
        raise ValueError(f"the array is {values.dtype}; sizes are predicted of float32 and float64")
    box = box or ()
    if len(box) > values.ndim:
        raise ValueError(f"the box has {len(box)} axes, the array {values.ndim}")
    offset, extent = list[int](), list[int]()
    for axis, length in enumerate(values.shape):
        part = box[axis] if axis < len(box) else slice(None)
        begin, end, step = part.indices(length)
        if step != 1 or end <= begin:
            raise ValueError(f"axis {axis} of the box is {part}; give a range that is not empty")
        offset.append(begin)
        extent.append(end - begin)
    return {
        "values": values.reshape(-1).view(np.uint8),
        "dtype": values.dtype.name,
        "shape": list(values.shape),
        "offset": offset,
        "extent": extent,
    }


def _named(features: Features, block: int | None) -> Features:
    if block is not None:
        features.block = block
    return features


def sample_block(
    array: Any, bound: Any, codec: str = "", box: Box | None = None, block: int | None = None
) -> Features:
    """Features of a block for any codec, from contiguous sub-blocks (S1 III-A): about 1 % of it.

    bound: absolute or lossless, as the field wants it.
    codec: what will compress the block decides what is looked at; "": any predicting one.
    block: see sample().
    """
    limit = tuple(as_bound(bound))
    return _named(_core.sample_block(**_block(array, box), bound=limit, codec=codec), block)


def estimate_block(
    array: Any,
    bound: Any,
    mode: str = "auto",
    tables: _core.TableSet | None = None,
    box: Box | None = None,
    block: int | None = None,
    settings: _core.BlockSettings | None = None,
) -> Features:
    """Features of a block for Caesura's codec, which is asked itself: about 1 ms for 8 MiB.

    settings: what to assume of the block instead of choosing (SizeModel.settings): 0.2 ms.
    """
    limit = tuple(as_bound(bound))
    made = _core.estimate_block(
        **_block(array, box), bound=limit, mode=mode, tables=tables, settings=settings
    )
    return _named(made, block)


def glance(array: Any, bound: Any, box: Box | None = None) -> float | None:
    """How much changes from value to value in a block: bits, on the bound's lattice. About 0.03 ms.

    None where it would tell nothing: the bound is not absolute, NaN or infinity was seen.
    """
    return _core.glance(**_block(array, box), bound=tuple(as_bound(bound)))


def sample(
    array: Any,
    bound: Any,
    codec: str = "caesura",
    box: Box | None = None,
    tables: _core.TableSet | None = None,
    block: int | None = None,
    model: SizeModel | None = None,
) -> Features:
    """The features that a Writer would take of a block for this codec.

    block: a number for the block's place in the field, the same in every dump, so that a SizeModel
    can use what became of it before; None: nothing is known of its past.
    model: the field's. Where a glance finds the block as it was in the dump before, and the model
    knows that this is enough, nothing is sampled (Features.recalled).
    """
    if model is not None and block is not None:
        return _look(array, bound, codec, box, tables, block, model)
    if codec in _OWN_MODES:
        return estimate_block(array, bound, _OWN_MODES[codec], tables, box, block)
    return sample_block(array, bound, codec, box, block)


def _look(
    array: Any,
    bound: Any,
    codec: str,
    box: Box | None,
    tables: _core.TableSet | None,
    block: int,
    model: SizeModel,
) -> Features:
    """As caesura::predict::Looks::look(), of a single block of a dump."""
    extent = _block(array, box)["extent"]
    activity = glance(array, bound, box)
    if activity is not None:
        recalled = model.recall(block, math.prod(extent), activity)
        if recalled is not None:
            return recalled
    if codec in _OWN_MODES:
        known = None if activity is None else model.settings(block, math.prod(extent), activity)
        features = estimate_block(array, bound, _OWN_MODES[codec], tables, box, block, known)
    else:
        features = sample(array, bound, codec, box, tables, block)
    features.activity = -1.0 if activity is None else activity
    return features
