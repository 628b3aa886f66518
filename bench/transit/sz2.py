"""SZ 2.1's own functions, from the HDF5 filter that hdf5plugin brings: with its lossless stage and
without, which the filter does not let choose.

Invariant: one mode a process, because the library keeps its settings: sizes() runs a process of
its own, which decodes everything and says the largest error.

    sz2.py LIBRARY MODE FILE SHAPE BOUND PARTS    (float32; cut into equal parts; prints JSON)
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

MODES = ("SZ_BEST_COMPRESSION", "SZ_BEST_SPEED")  # with zstd at the end, and without
FLOAT, ABSOLUTE = 0, 0  # SZ_FLOAT, ABS

CONFIG = """[ENV]
dataEndianType = LITTLE_ENDIAN_DATA
sol_name = SZ
[PARAMETER]
quantization_intervals = 0
max_quant_intervals = 65536
sampleDistance = 100
predThreshold = 0.99
szMode = {mode}
losslessCompressor = ZSTD_COMPRESSOR
gzipMode = Gzip_BEST_SPEED
zstdMode = Zstd_BEST_SPEED
withLinearRegression = YES
randomAccess = NO
errorBoundMode = ABS
absErrBound = 1E-3
relBoundRatio = 1E-3
psnr = 80
normErr = 0.05
pw_relBoundRatio = 1E-3
snapshotCmprStep = 5
protectValueRange = NO
"""


def library() -> Path | None:
    """The filter's shared object; None: not installed."""
    try:
        import hdf5plugin
    except ImportError:
        return None
    found = sorted(Path(hdf5plugin.PLUGINS_PATH).glob("libh5sz.*"))
    return found[0] if found else None


def sizes(values: np.ndarray, bound: float, mode: str, parts: int) -> dict:
    """Bytes of `parts` equal parts along the slowest axis, each compressed by itself."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "values"
        values.astype(np.float32).tofile(path)
        shape = "x".join(map(str, values.shape))
        done = subprocess.run(
            [sys.executable, __file__, str(library()), mode, str(path), shape, repr(bound),
             str(parts)],
            capture_output=True, text=True, cwd=place,
        )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"SZ 2: {done.stdout[-300:]}{done.stderr[-1000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """In a directory of its own, where SZ's configuration is written."""
    name, mode, path, shape_text, bound, parts = sys.argv[1:7]
    Path("sz.config").write_text(CONFIG.format(mode=mode))
    sz = ctypes.CDLL(name)
    size_t, double = ctypes.c_size_t, ctypes.c_double
    sz.SZ_compress_args.restype = ctypes.POINTER(ctypes.c_ubyte)
    sz.SZ_compress_args.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(size_t),
                                    ctypes.c_int, *[double] * 3, *[size_t] * 5]  # fmt: skip
    sz.SZ_decompress.restype = ctypes.POINTER(ctypes.c_float)
    sz.SZ_decompress.argtypes = [ctypes.c_int, ctypes.c_void_p, size_t, *[size_t] * 5]
    libc = ctypes.CDLL(None)
    libc.free.argtypes = [ctypes.c_void_p]
    if sz.SZ_Init(os.fsencode("sz.config")) != 0:
        raise SystemExit("SZ_Init failed")
    values = np.fromfile(path, np.float32).reshape(tuple(map(int, shape_text.split("x"))))
    total, worst = 0, 0.0
    for part in np.split(values, int(parts)):
        part = np.ascontiguousarray(part)
        extents = [0] * (5 - part.ndim) + list(part.shape)
        made = size_t(0)
        data = sz.SZ_compress_args(FLOAT, part.ctypes.data, ctypes.byref(made), ABSOLUTE,
                                   float(bound), 0.0, 0.0, *extents)  # fmt: skip
        back = sz.SZ_decompress(FLOAT, data, made.value, *extents)
        decoded = np.ctypeslib.as_array(back, part.shape)
        worst = max(worst, float(np.abs(decoded.astype(np.float64) - part).max()))
        total += made.value
        libc.free(data)
        libc.free(back)
    print(json.dumps({"bytes": total, "worst_error_over_bound": worst / float(bound)}))


if __name__ == "__main__":
    main()
