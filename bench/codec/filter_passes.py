"""What the filter's promise costs in ratio: python bench/codec/filter_passes.py [FILE.h5 ...]

Each field is stored in one chunk: by the codec alone, written whole, written whole by a process
that has read the dataset before, and written row by row through a small chunk cache. Without files
the fields are made here.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import caesura
import h5py
import numpy as np
from caesura import codec


def made_fields() -> dict[str, np.ndarray]:
    x = np.linspace(0, 6, 96)
    a, b, c = np.meshgrid(x, x, x, indexing="ij")
    wave = np.sin(3 * a + b) * np.cos(2 * c - b)
    noise = np.random.default_rng(0).normal(size=wave.shape)
    return {"smooth": wave.astype("f4"), "noisy": (wave + 0.01 * noise).astype("f4")}


def fields_of(path: str) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}

    def take(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset) and item.ndim == 3 and item.dtype.kind == "f":
            found[name] = item[...]

    with h5py.File(path) as file:
        file.visititems(take)
    return found


def bytes_after_reading(path: Path, field: np.ndarray) -> int:
    with h5py.File(path, "r+") as file:
        data = file["x"]
        data[field.shape[0] :]
        before = data.id.get_storage_size()
        data[: field.shape[0]] = field
        file.flush()
        return data.id.get_storage_size() - before


def stored_bytes(path: Path, field: np.ndarray, bound: object, how: str) -> int:
    path.unlink(missing_ok=True)
    options = caesura.filter_options(bound)
    cache = 1 if how == "rows" else 1 << 28
    with h5py.File(path, "w", rdcc_nbytes=cache) as file:
        shape = (2 * field.shape[0], *field.shape[1:])
        data = file.create_dataset("x", shape, field.dtype, chunks=field.shape, **options)
        n = field.shape[0]
        if how == "after reading":
            data[n:] = field * 0.9
            file.close()
            return bytes_after_reading(path, field)
        if how == "rows":
            for i in range(n):
                data[i] = field[i]
        else:
            data[:n] = field
        data.flush()
        return data.id.get_storage_size()


def main() -> None:
    fields = made_fields() if len(sys.argv) < 2 else {}
    for path in sys.argv[1:]:
        fields |= fields_of(path)
    print("| field | bound / range | codec alone | whole | after reading | row by row |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, field in fields.items():
            for share in (1e-2, 1e-3, 1e-4):
                bound = caesura.absolute(share * float(np.ptp(field)))
                sizes = [len(codec.compress(field, bound))]
                for how in ("whole", "after reading", "rows"):
                    sizes.append(stored_bytes(Path(folder) / "x.h5", field, bound, how))
                ratios = " | ".join(f"{field.nbytes / size:.1f}" for size in sizes)
                print(f"| {name.split('/')[-1]} | {share:.0e} | {ratios} |")


if __name__ == "__main__":
    main()
