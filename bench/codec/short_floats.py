#!/usr/bin/env python3
"""What float16 and bfloat16 take, against bit shuffle and zstd: in docs/reference/types.md.

Fields of 128^3 values with power-law spectra (seed 1), made float16 or bfloat16 (by rounding):
a velocity (k^-5/3 energy) and a log-normal density. Not with HDF5_PLUGIN_PATH set: hdf5plugin would
then not write with its own filter.
"""

from __future__ import annotations

import caesura
import h5py
import hdf5plugin
import numpy as np
from caesura import codec
from caesura.bfloat16 import BFLOAT16

N = 128
BOUNDS = {
    "lossless": caesura.lossless(),
    "1e-2": caesura.relative(1e-2),
    "1e-3": caesura.relative(1e-3),
    "point-wise 1e-2": caesura.pointwise_relative(1e-2),
}


def random_field(power: float) -> np.ndarray:
    """Of mean 0 and standard deviation 1; energy falls as k^power."""
    noise = np.random.default_rng(1).standard_normal((N, N, N))
    k = np.sqrt(sum(axis**2 for axis in np.meshgrid(*[np.fft.fftfreq(N) * N] * 3, indexing="ij")))
    k[0, 0, 0] = np.inf
    field = np.fft.ifftn(np.fft.fftn(noise) * k ** ((power - 2) / 2)).real
    return field / field.std()


def bits_of(values: np.ndarray, name: str) -> np.ndarray:
    """As an array of the type; bfloat16 in its bits."""
    if name == "float16":
        return values.astype(np.float16)
    wide = values.astype(np.float32).view(np.uint32)
    return ((wide + 0x7FFF + (wide >> 16 & 1)) >> 16).astype(np.uint16)


def peer_bytes(bits: np.ndarray) -> int:
    with h5py.File("peer.h5", "w", driver="core", backing_store=False) as file:
        words = file.create_dataset(
            "f", data=bits.view(np.uint16), chunks=bits.shape, **hdf5plugin.Bitshuffle(cname="zstd")
        )
        file.flush()
        return words.id.get_storage_size()


def main() -> None:
    velocity = random_field(-5 / 3)
    fields = {
        "velocity": velocity,
        "density": np.exp(1.5 * random_field(-3.0)),
    }
    print("| field | type | bit shuffle + zstd |", " | ".join(BOUNDS), "|")
    print("|---|---|---|" + "---|" * len(BOUNDS))
    for name, values in fields.items():
        for kind in ("float16", "bfloat16"):
            bits = bits_of(values, kind)
            array = bits if kind == "float16" else bits.view(BFLOAT16)
            sizes = [peer_bytes(bits)]
            sizes += [len(codec.compress(array, bound)) for bound in BOUNDS.values()]
            cells = " | ".join(f"{bits.nbytes / size:.2f}" for size in sizes)
            print(f"| {name} | {kind} | {cells} |")


if __name__ == "__main__":
    main()
