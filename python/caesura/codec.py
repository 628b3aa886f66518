"""The codec by itself: an array becomes bytes, the bytes become the array, within the bound.

    from caesura import codec
    data = codec.compress(array, 1e-3)                  # |x - x'| <= 1e-3 for every finite value
    array = codec.decompress(data)

    data = codec.compress(array, caesura.relative(1e-4), mode="strong")
    codec.estimate(array, 1e-3)                         # bytes it would take; a look at 1 % of it

NaN, infinities and -0 come back as they were. float16, bfloat16 (ml_dtypes), float32, float64 and
complex numbers (each part by itself) are compressed within the bound; every other type exactly,
whatever the bound: integers and bool by their values, all else (structures, dates, ...) as bytes.

Fields that are compressed again and again share what was learnt of them:

    statistics = codec.TableStatistics()
    codec.compress(rho_now, 1e-3, statistics=statistics)
    tables = statistics.train()                         # at most 1 KiB; keep tables.bytes()
    data = codec.compress(rho_later, 1e-3, tables=tables)
    codec.decompress(data, tables=tables)

The bytes of a native array of floats or integers of 1 to 4 axes are a frame as
docs/reference/block_frame.md describes it: what caesura::compress() gives in C++. Arrays that a
frame alone cannot describe (other types, byte orders, no axis or more than four, no values) are a
frame after the header of numpy's .npy format, which holds their type and
shape; decompress() and info() take both.

All calls release the GIL and may run in several threads at once. For measurements,
CAESURA_INSTRUCTION_SET=avx2 (avx512, sse4, ssse3, scalar) in the environment caps the instruction
set; the bytes are the same on all of them.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from caesura import _core
from caesura._core import CorruptError, TableSet, TableStatistics
from caesura.bfloat16 import NAME, name_of, number_type
from caesura.bounds import Bound, as_bound
from caesura.writing import host_array

__all__ = [
    "FrameInfo",
    "TableSet",
    "TableStatistics",
    "compress",
    "decompress",
    "estimate",
    "info",
]

_FRAME_AXES = 4
_LARGEST_VALUE_BYTES = 65536
_MOST_MISSING = 255
_NPY_MAGIC = b"\x93NUMPY"
_NPY_VERSION = (3, 0)  # the one in UTF-8
_NPY_LIMIT_BYTES = 65536  # what is read without knowing who wrote it


@dataclass(frozen=True)
class FrameInfo:
    """What compressed bytes say of themselves."""

    dtype: np.dtype
    shape: tuple[int, ...]
    raw_bytes: int
    bound: Bound  # as asked for
    absolute_bound: float  # what it came to; 0: exact, or per value
    mode: str  # "fast", "strong" or "planes"; "exact" if stored exactly, asked for or not
    table_set_id: int  # the TableSet that decompress() needs; 0: none
    inline_tables: bool  # it carries a set of its own
    slabs: int  # parts that threads can decode
    regions: int  # with settings of their own
    exact_values: int  # values that were stored as they are
    missing_values: int  # places of missing values
    checksum: bool
    version: int


def compress(
    array: Any,
    bound: Any,
    mode: str = "auto",
    tables: TableSet | None = None,
    *,
    threads: int | None = None,
    checksum: bool = True,
    statistics: TableStatistics | None = None,
    drift_check: bool = True,
    missing: Any = None,
) -> bytes:
    """Compress an array: numpy, or what has DLPack; any strides; copied only if not contiguous.

    bound: a number (absolute), or caesura.lossless(), absolute(x), relative(x) (of this array's
    range), pointwise_relative(x), psnr(x).
    mode: "auto" (the better of fast and strong, by their predicted sizes), "fast" (Lorenzo),
    "strong" (interpolation; smaller on smooth fields), "planes" (fastest, larger), "regions"
    (auto with settings of their own for regions that differ; never larger, slow).
    tables: what TableStatistics.train() gave; decompress() then needs it too.
    threads: for arrays above 16 MiB; None or 0: as many as the machine has. The bytes do not
    depend on it.
    checksum: eight bytes that let decompress() notice damage.
    statistics: where to count what was coded.
    drift_check: give blocks that `tables` do not fit tables of their own. Off: to measure what that
    saves.
    missing: a value or several, at most 255, that mark places without data, as converted to the
    array's type, which must have them: bit for bit, and in no range. A masked array of numpy has
    its fill_value at masked places, which are missing.

    Raises ValueError (bound, mode, missing, type with Python objects), OSError (memory).
    """
    kind = as_bound(bound)
    values = _as_values(array)
    typed = _frame_view(values)
    if typed is not None:
        shape = list(_frame_shape(typed.shape))
        frame = _core.codec_compress(
            _flat_bytes(typed),
            name_of(typed.dtype),
            shape,
            _bound_for(typed, kind),
            mode=mode,
            tables=tables,
            statistics=statistics,
            checksum=checksum,
            threads=threads or 0,
            drift_check=drift_check,
            missing=_missing_bytes(typed.dtype, array, missing),
        )
    else:
        frame = _core.codec_compress_bytes(
            _flat_bytes(values), value_bytes=_value_bytes(values), checksum=checksum
        )
    return frame if _describes_itself(values) else _npy_header(values) + frame


def decompress(
    data: Any, tables: TableSet | None = None, *, threads: int | None = None
) -> np.ndarray:
    """The array of what compress() gave: bytes or any buffer. C-contiguous and your own.

    tables: the set given to compress(), if one was: info(data).table_set_id says which.

    Raises CorruptError (damaged or cut off, or no such bytes at all), ValueError (the table set is
    missing or another one), OSError (memory), RuntimeError (a later version's).
    """
    dtype, shape, frame, about = _parse(data)
    stored = number_type(about["dtype"]) if about["dtype"] else dtype
    parts = dtype.kind == "c" and stored.kind == "f"
    try:
        values = np.empty((2, *shape) if parts else shape, dtype=stored)
    except (MemoryError, ValueError) as error:
        raise OSError(f"no memory for an array of {about['raw_bytes']} bytes") from error
    _core.codec_decompress(frame, _flat_bytes(values), tables=tables, threads=threads or 0)
    if parts:
        whole = np.empty(shape, dtype)
        whole.real, whole.imag = values
        return whole
    return values.astype(dtype, copy=False)


def estimate(
    array: Any,
    bound: Any,
    mode: str = "auto",
    tables: TableSet | None = None,
    *,
    threads: int | None = None,
    missing: Any = None,
) -> int:
    """How many bytes compress() would give, from a sample: about 0.1 ms for 8 MiB.

    relative and psnr bounds also look at every value for the range. Integers take longer, about 1
    ms for each MiB; types that are neither floats nor integers are predicted by compressing up to 1
    MiB of them. Raises as compress().
    """
    kind = as_bound(bound)
    values = _as_values(array)
    typed = _frame_view(values)
    header = 0 if _describes_itself(values) else len(_npy_header(values))
    if typed is not None:
        return header + _core.codec_estimate(
            _flat_bytes(typed),
            name_of(typed.dtype),
            list(_frame_shape(typed.shape)),
            _bound_for(typed, kind),
            mode=mode,
            tables=tables,
            threads=threads or 0,
            missing=_missing_bytes(typed.dtype, array, missing),
        )
    return header + _estimate_bytes(_flat_bytes(values), _value_bytes(values))


def info(data: Any) -> FrameInfo:
    """What compressed bytes say of themselves, without decoding them. Raises as decompress()."""
    dtype, shape, _, about = _parse(data)
    return FrameInfo(
        dtype=dtype,
        shape=shape,
        raw_bytes=about["raw_bytes"],
        bound=Bound(*about["bound"]),
        absolute_bound=about["absolute_bound"],
        mode=about["mode"],
        table_set_id=about["table_set_id"],
        inline_tables=about["inline_tables"],
        slabs=about["slabs"],
        regions=about["regions"],
        exact_values=about["exact_values"],
        missing_values=about["missing_values"],
        checksum=about["checksum"],
        version=about["version"],
    )


# ---------------------------------------------------------------- arrays as a frame sees them


def _as_values(array: Any) -> np.ndarray:
    values = np.asarray(host_array(array))
    if values.dtype.hasobject:
        raise ValueError(f"{values.dtype} holds Python objects, which are no bytes to compress")
    # ascontiguousarray would give an array without axes one
    return values if values.flags.c_contiguous else values.copy(order="C")


def _is_lossy_type(dtype: np.dtype) -> bool:
    return (dtype.kind == "f" and dtype.itemsize in (2, 4, 8)) or name_of(dtype) == NAME


def _is_typed(dtype: np.dtype) -> bool:
    """Does the codec know the type?"""
    return _is_lossy_type(dtype) or dtype.kind in "iub"


def _bound_for(values: np.ndarray, bound: Bound) -> tuple[str, float]:
    return tuple(bound) if _is_lossy_type(values.dtype) else ("lossless", 0.0)


def _frame_view(values: np.ndarray) -> np.ndarray | None:
    """The values in native byte order if the codec knows their type; None if they go as bytes."""
    if values.dtype.kind == "c" and values.size > 0 and values.itemsize in (8, 16):
        return _parts_of(values.astype(values.dtype.newbyteorder("="), copy=False))
    if not _is_typed(values.dtype) or values.size == 0:
        return None
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _parts_of(values: np.ndarray) -> np.ndarray:
    """All real parts of complex numbers, then all imaginary ones."""
    shape = _frame_shape(values.shape, _FRAME_AXES - 1)
    return np.stack([values.real.reshape(shape), values.imag.reshape(shape)])


def _missing_bytes(dtype: np.dtype, array: Any, missing: Any) -> np.ndarray:
    """The missing values in the array's type, as bytes; none of a type without a bound."""
    named = [] if missing is None else list(np.atleast_1d(missing))
    if np.ma.is_masked(array):
        named.append(array.fill_value)
    if not named or not _is_lossy_type(dtype):
        return np.empty(0, np.uint8)
    if len(named) > _MOST_MISSING:
        raise ValueError(f"{len(named)} missing values; at most {_MOST_MISSING} can be declared")
    with np.errstate(over="ignore"):
        values = np.array([np.real(one) for one in named]).astype(dtype)
    for one, value in zip(named, values, strict=True):
        if np.isinf(value) and not np.isinf(one):
            raise ValueError(f"missing value {one}: {dtype} has no such value")
    return values.view(np.uint8)


def _frame_shape(shape: tuple[int, ...], most: int = _FRAME_AXES) -> tuple[int, ...]:
    """At most four axes: the first ones join."""
    if len(shape) <= most:
        return shape or (1,)
    first = len(shape) - most + 1
    return (math.prod(shape[:first]), *shape[first:])


def _describes_itself(values: np.ndarray) -> bool:
    return (
        values.dtype.isnative
        and _is_typed(values.dtype)
        and 1 <= values.ndim <= _FRAME_AXES
        and values.size > 0
    )


def _value_bytes(values: np.ndarray) -> int:
    return values.itemsize if 1 <= values.itemsize <= _LARGEST_VALUE_BYTES else 1


def _flat_bytes(values: np.ndarray) -> np.ndarray:
    if values.nbytes == 0:
        return np.empty(0, np.uint8)
    return values.reshape(-1).view(np.uint8)


def _estimate_bytes(flat: np.ndarray, value_bytes: int) -> int:
    pieces, piece = 16, 65536 // value_bytes * value_bytes
    sample = flat
    if flat.size > pieces * piece:
        count = flat.size // piece
        starts = [(2 * i + 1) * count // (2 * pieces) * piece for i in range(pieces)]
        sample = np.concatenate([flat[at : at + piece] for at in starts])
    coded = len(_core.codec_compress_bytes(sample, value_bytes=value_bytes, checksum=True))
    return coded if sample is flat else round(coded * flat.size / sample.size)


# ------------------------------------------------------------------- the header of other arrays


def _npy_header(values: np.ndarray) -> bytes:
    descr = np.lib.format.dtype_to_descr(values.dtype)
    text = repr({"descr": descr, "fortran_order": False, "shape": values.shape}).encode()
    if len(text) > _NPY_LIMIT_BYTES:
        raise ValueError(f"a type of {len(text)} characters is too long to be described")
    return _NPY_MAGIC + bytes(_NPY_VERSION) + len(text).to_bytes(4, "little") + text


def _parse(data: Any) -> tuple[np.dtype, tuple[int, ...], np.ndarray, dict[str, Any]]:
    """Type, shape, frame and what the frame says; consistent with each other."""
    flat = np.frombuffer(data, np.uint8)
    if flat[: len(_NPY_MAGIC)].tobytes() != _NPY_MAGIC:
        about = _core.codec_info(flat)
        if not about["dtype"]:
            about["shape"] = (about["raw_bytes"],)  # of compress_bytes() in C++: plain bytes
        return number_type(about["dtype"] or np.uint8), about["shape"], flat, about
    dtype, shape, header_bytes = _read_npy_header(flat)
    frame = flat[header_bytes:]
    about = _core.codec_info(frame)
    stored = number_type(about["dtype"]) if about["dtype"] else dtype
    native = dtype.newbyteorder("=")
    parts = 2 if native.kind == "c" and stored == np.empty(0, native).real.dtype else 1
    same_type = not about["dtype"] or stored == native or parts == 2
    if not same_type or math.prod(shape) * parts * stored.itemsize != about["raw_bytes"]:
        raise CorruptError(
            f"the header says {dtype} {shape}, the frame holds {about['raw_bytes']} bytes of "
            f"{about['dtype'] or 'any type'}"
        )
    return dtype, shape, frame, about


def _read_npy_header(flat: np.ndarray) -> tuple[np.dtype, tuple[int, ...], int]:
    start = len(_NPY_MAGIC) + 6
    try:
        if tuple(flat[len(_NPY_MAGIC) : len(_NPY_MAGIC) + 2].tolist()) != _NPY_VERSION:
            raise ValueError("of an unknown version")
        length = int.from_bytes(flat[len(_NPY_MAGIC) + 2 : start].tobytes(), "little")
        if length > min(flat.size - start, _NPY_LIMIT_BYTES):
            raise ValueError("cut off")
        header = ast.literal_eval(flat[start : start + length].tobytes().decode())
        dtype = np.lib.format.descr_to_dtype(header["descr"])
        shape = header["shape"]
        if dtype.hasobject or header["fortran_order"] is not False:
            raise ValueError("of a kind that compress() does not write")
        if not isinstance(shape, tuple) or any(type(n) is not int or n < 0 for n in shape):
            raise ValueError(f"with shape {shape}")
    except (ValueError, TypeError, KeyError, SyntaxError, RecursionError, MemoryError) as error:
        raise CorruptError(f"an array header that is no header: {error}") from error
    return dtype, shape, start + length
