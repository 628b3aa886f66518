"""Whole files that were made once are read by this tree, value for value.

tests/golden/files holds them with zeros packed away (gzip), and decoded.json what their values are.
They are frozen (docs/reference/format_promise.md) and not made again; `make` says how they were.
test_frozen_format.py has those of every other kind.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import caesura
import h5py
import numpy as np
import pytest

FILES = Path(__file__).resolve().parents[2] / "tests" / "golden" / "files"
SHAPE = (12, 14, 16)
# Name, type and bound of each field: every stage of the codec, a filter of HDF5's own, none.
FIELDS = (
    ("smooth", np.float32, {"absolute": 1e-3}),
    ("fast", np.float64, {"relative": 1e-3, "codec": "caesura:fast"}),
    ("planes", np.float32, {"absolute": 1e-2, "codec": "caesura:planes"}),
    ("pointwise", np.float64, {"bound": caesura.pointwise_relative(1e-3)}),
    ("exact", np.float32, {"lossless": True}),
    ("filtered", np.float32, {"lossless": True, "codec": "zstd"}),
    ("raw", np.float64, {"lossless": True, "codec": "none"}),
)
STEPS = 3
CHECKPOINTS = 6
CACHE = 1 << 20
CURVE = [(1e3, 1e-5), (1e8, 1e-3)]


def values_of(name: str, dtype: type, step: int) -> np.ndarray:
    """Sums of products of integers, divided by a power of two: the same on every machine."""
    k, j, i = np.meshgrid(*(np.arange(n) for n in SHAPE), indexing="ij")
    seed = sum(map(ord, name)) % 7
    integer = (i * i + (3 + seed) * j * k + step * (i + 2 * j)) % 1024 + i * k
    return (integer / 64.0).astype(dtype)


class Run:
    """A Writer of FIELDS."""

    def __init__(self, path: Path) -> None:
        self.writer = caesura.Writer(str(path), calibration="none")
        self.fields = [self.writer.define_field(n, t, SHAPE, **how) for n, t, how in FIELDS]

    def dump(self, step: int) -> None:
        with self.writer.iteration(10 * step) as iteration:
            dump = iteration.begin_dump(time=0.5 * step)
            for field, (name, dtype, _) in zip(self.fields, FIELDS, strict=True):
                dump.put(field, values_of(name, dtype, step))


def checkpointer_of(path: Path, mode: str) -> caesura.Checkpointer:
    """A link that is too slow for most checkpoints as they are: raw and compressed ones."""
    return caesura.Checkpointer(
        caesura.EmulatedDevice(CACHE, 1e7, 5e9, CURVE), SHAPE, np.float32, bound=1e-3,
        cache_bytes=CACHE, link_bytes_per_s=1e7, compress_curve=CURVE,
        path=path, mode=mode, write_all=True,
    )  # fmt: skip


def write_checkpoints(path: Path) -> None:
    with checkpointer_of(path, "w") as checkpointer:
        for n in range(CHECKPOINTS):
            checkpointer.checkpoint(n, values_of("state", np.float32, n))


def die_while_writing(path: str) -> None:
    """The end of a run that was killed: some steps are committed, the last one is not."""
    run = Run(Path(path))
    run.dump(0)
    number = 0
    while run.writer.committed is None:
        number += 1
        with run.writer.iteration(number):
            pass
    run.dump(STEPS)
    time.sleep(15.0)  # written by then, and nobody calls the Writer to commit it
    os.kill(os.getpid(), signal.SIGKILL)


def contents(path: Path) -> dict[str, str]:
    """SHA-256 of the values of every dataset, as h5py reads them."""
    found: dict[str, str] = {}

    def visit(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            found[name] = hashlib.sha256(np.ascontiguousarray(item[...]).tobytes()).hexdigest()

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return found


def unpack(name: str, folder: Path) -> Path:
    path = folder / name
    path.write_bytes(gzip.decompress((FILES / f"{name}.gz").read_bytes()))
    return path


def decoded() -> dict[str, dict[str, str]]:
    return json.loads((FILES / "decoded.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["whole.h5", "checkpoints.h5"])
def test_a_file_of_an_earlier_caesura_reads_as_it_did(tmp_path, name):
    assert contents(unpack(name, tmp_path)) == decoded()[name]


def test_the_values_of_the_whole_file_are_within_their_bounds(tmp_path):
    with caesura.open(unpack("whole.h5", tmp_path)) as file:
        for step in range(STEPS):
            for name, dtype, options in FIELDS:
                found = file[f"/data/{10 * step}/meshes/{name}"][...]
                true = values_of(name, dtype, step)
                error = np.abs(found.astype(np.float64) - true.astype(np.float64))
                if options.get("lossless"):
                    assert np.array_equal(found, true), name
                elif "absolute" in options:
                    assert error.max() <= options["absolute"], name
                elif "relative" in options:
                    assert error.max() <= options["relative"] * np.ptp(true), name
                else:
                    assert np.all(error <= 1e-3 * np.abs(true.astype(np.float64))), name


def test_a_file_of_an_earlier_caesura_that_was_killed_is_recovered(tmp_path):
    path = unpack("killed.h5", tmp_path)
    report = caesura.recover(path)
    assert report["finished_iterations"] == [10 * STEPS]
    assert contents(path) == decoded()["killed.h5"]


def test_checkpoints_of_an_earlier_caesura_are_restored_and_gone_on_with(tmp_path):
    with checkpointer_of(unpack("checkpoints.h5", tmp_path), "r+") as checkpointer:
        for n in range(CHECKPOINTS):
            state = np.empty(SHAPE, np.float32)
            checkpointer.restore(n, out=state)
            assert np.abs(state - values_of("state", np.float32, n)).max() <= 1e-3
        checkpointer.checkpoint(CHECKPOINTS, values_of("state", np.float32, CHECKPOINTS))


def make() -> None:
    FILES.mkdir(exist_ok=True)
    said = {}
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        run = Run(at / "whole.h5")
        for step in range(STEPS):
            run.dump(step)
        run.writer.close()
        write_checkpoints(at / "checkpoints.h5")
        command = [sys.executable, __file__, "--die", str(at / "killed.h5")]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
        for path in sorted(at.glob("*.h5")):
            whole = path.read_bytes()
            (FILES / f"{path.name}.gz").write_bytes(gzip.compress(whole, mtime=0))
            if path.name == "killed.h5":
                copy = at / "recovered.h5"
                shutil.copy(path, copy)
                print(caesura.recover(copy))
                path = copy
            said["killed.h5" if path.name == "recovered.h5" else path.name] = contents(path)
    (FILES / "decoded.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "--die":
        die_while_writing(sys.argv[2])
    else:
        make()
