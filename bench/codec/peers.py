"""The peers: other people's compressors behind one small interface.

Invariants:
 - compress() gets a C-contiguous array and an absolute bound, and returns bytes-like data that
   decompress() alone can turn back, given the array's type and shape.
 - Each peer runs with its own defaults in the error-bounded mode its authors recommend, on the
   calling thread alone.
 - A peer that cannot be imported is in missing(), with the reason, and nowhere else.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import numpy as np


@dataclass(frozen=True)
class Codec:
    """Something that compresses a block. `kind`: ours, bounded, lossless or copy."""

    name: str
    version: str
    kind: str
    compress: Callable[[np.ndarray, float], object]
    decompress: Callable[[object, np.dtype, tuple[int, ...]], np.ndarray]
    dtypes: tuple[str, ...] = ("float32", "float64")
    note: str = ""
    estimate: Callable[[np.ndarray, float], int] | None = None  # bytes, without compressing


def size_of(data: object) -> int:
    """Bytes of what compress() returned."""
    return memoryview(data).nbytes


# ----------------------------------------------------------------------------------- the peers


def sz3_newest() -> list[Codec]:
    """SZ3 as pysz has it; the default algorithm is INTERP_LORENZO."""
    pysz = importlib.import_module("pysz")

    def codec(name: str, algorithm: int | None) -> Codec:
        def compress(values: np.ndarray, bound: float) -> object:
            config = pysz.szConfig(values.shape)
            config.errorBoundMode = pysz.szErrorBoundMode.ABS
            config.absErrorBound = bound
            if algorithm is not None:
                config.cmprAlgo = algorithm
            return pysz.sz.compress(values, config)[0]

        def decompress(data: object, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
            return pysz.sz.decompress(data, dtype, shape)[0]

        return Codec(name, sz3_format(pysz), "bounded", compress, decompress)

    return [codec("SZ3", None), codec("SZ3 Lorenzo", pysz.szAlgorithm.LORENZO_REG)]


def sz3_format(pysz) -> str:
    """SZ3's version, from the four bytes a stream carries after its magic number."""
    config = pysz.szConfig((8, 8, 8))
    config.errorBoundMode = pysz.szErrorBoundMode.ABS
    config.absErrorBound = 0.1
    stream = bytes(pysz.sz.compress(np.zeros((8, 8, 8), np.float32), config)[0])
    return f"{stream[7]}.{stream[6]}.{stream[5]} (pysz {version('pysz')})"


def sz3_previous() -> list[Codec]:
    """SZ3 3.3.2, which older figures refer to."""
    ic = importlib.import_module("imagecodecs")

    def compress(values: np.ndarray, bound: float) -> object:
        return ic.sz3_encode(values, ic.SZ3.MODE.ABS, abs=bound)

    def decompress(data: object, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        return ic.sz3_decode(data, shape, dtype)

    number = imagecodecs_part(ic, "sz3")
    return [Codec(f"SZ3 {number.split()[0]}", number, "bounded", compress, decompress)]


def imagecodecs_part(ic, name: str) -> str:
    """The version of a library inside the imagecodecs wheel."""
    for line in ic.version().replace(",", "\n").split("\n"):
        if line.strip().startswith(f"{name}-"):
            return f"{line.strip().removeprefix(f'{name}-')} (imagecodecs {ic.__version__})"
    return f"imagecodecs {ic.__version__}"


def sperr() -> list[Codec]:
    """SPERR in its point-wise error mode; a block is one chunk."""
    ic = importlib.import_module("imagecodecs")

    def compress(values: np.ndarray, bound: float) -> object:
        return ic.sperr_encode(values, bound, ic.SPERR.MODE.PWE, chunks=values.shape, numthreads=1)

    def decompress(data: object, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        return ic.sperr_decode(data, numthreads=1)

    return [Codec("SPERR", imagecodecs_part(ic, "sperr"), "bounded", compress, decompress)]


def lerc() -> list[Codec]:
    """LERC: a bound per raster tile; an array is a stack of 2-D bands."""
    ic = importlib.import_module("imagecodecs")

    def compress(values: np.ndarray, bound: float) -> object:
        return ic.lerc_encode(values, level=bound, planar=True)

    def decompress(data: object, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        return ic.lerc_decode(data)

    return [Codec("LERC", imagecodecs_part(ic, "lerc"), "bounded", compress, decompress)]


def zfp() -> list[Codec]:
    """ZFP in fixed-accuracy mode."""
    zfpy = importlib.import_module("zfpy")

    def compress(values: np.ndarray, bound: float) -> object:
        return zfpy.compress_numpy(values, tolerance=bound)

    def decompress(data: object, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        return zfpy.decompress_numpy(data)

    return [Codec("ZFP", version("zfpy"), "bounded", compress, decompress)]


def sz2() -> list[Codec]:
    """SZ 2, the papers' compressor, through its HDF5 filter and a file in memory."""
    h5py = importlib.import_module("h5py")
    hdf5plugin = importlib.import_module("hdf5plugin")

    def scratch():
        return h5py.File(f"{id(hdf5plugin)}.h5", "w", driver="core", backing_store=False)

    def options(bound: float) -> dict:
        return dict(hdf5plugin.SZ(absolute=bound))

    def compress(values: np.ndarray, bound: float) -> object:
        with scratch() as file:
            data = file.create_dataset("x", data=values, chunks=values.shape, **options(bound))
            file.flush()
            return np.array([bound]).tobytes() + data.id.read_direct_chunk((0,) * values.ndim)[1]

    def decompress(data: object, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        bound = float(np.frombuffer(data, np.float64, 1)[0])
        with scratch() as file:
            there = file.create_dataset("x", shape, dtype, chunks=shape, **options(bound))
            there.id.write_direct_chunk((0,) * len(shape), bytes(data)[8:])
            return there[...]

    number = f"2.1 (hdf5plugin {version('hdf5plugin')})"
    return [Codec("SZ2", number, "bounded", compress, decompress, note="as an HDF5 filter")]


def lossless() -> list[Codec]:
    """Exact compressors, for scale: pcodec, fpzip, Blosc2 (bit shuffle + zstd)."""
    codecs = []
    pco = importlib.import_module("pcodec.standalone")
    settings = importlib.import_module("pcodec").ChunkConfig()
    codecs.append(
        Codec(
            "pcodec",
            version("pcodec"),
            "lossless",
            lambda values, _: pco.simple_compress(values.ravel(), settings),
            lambda data, _, shape: pco.simple_decompress(data).reshape(shape),
        )
    )
    fpzip = importlib.import_module("fpzip")
    codecs.append(
        Codec(
            "fpzip",
            version("fpzip"),
            "lossless",
            lambda values, _: fpzip.compress(values, precision=0, order="C"),
            lambda data, _, shape: fpzip.decompress(data, order="C").reshape(shape),
        )
    )
    blosc2 = importlib.import_module("blosc2")
    blosc2.set_nthreads(1)
    codecs.append(
        Codec(
            "Blosc2",
            version("blosc2"),
            "lossless",
            lambda values, _: blosc2.compress2(
                values,
                codec=blosc2.Codec.ZSTD,
                clevel=3,
                filters=[blosc2.Filter.BITSHUFFLE],
                typesize=values.itemsize,
                nthreads=1,
            ),
            lambda data, dtype, shape: np.frombuffer(
                blosc2.decompress2(data, nthreads=1), dtype
            ).reshape(shape),
            note="bit shuffle + zstd",
        )
    )
    return codecs


def memcpy() -> list[Codec]:
    """The yardstick: a copy into memory that is there already."""
    kept: dict[tuple, np.ndarray] = {}

    def copy(values: np.ndarray, key: str) -> np.ndarray:
        target = kept.get((key, values.shape, values.dtype.str))
        if target is None:
            kept.clear()
            target = kept[(key, values.shape, values.dtype.str)] = np.empty_like(values)
        np.copyto(target, values)
        return target

    return [
        Codec(
            "memcpy",
            f"numpy {np.__version__}",
            "copy",
            lambda values, _: copy(values, "there"),
            lambda data, _dtype, _shape: copy(data, "back"),
        )
    ]


MAKERS = (sz3_newest, sz3_previous, zfp, sperr, sz2, lerc, lossless, memcpy)


def find() -> tuple[list[Codec], list[str]]:
    """The peers that are installed, and a line for each that is not."""
    there, absent = [], []
    for maker in MAKERS:
        try:
            there += maker()
        except (ImportError, PackageNotFoundError) as error:
            absent.append(f"{maker.__name__}: {error}")
    return there, absent
