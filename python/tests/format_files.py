"""Small files of everything that today's Caesura writes: makers of golden files, and what
test_frozen_format.py compares with the lists of version 1. No test by itself.

As a program it is three ranks' part: mpirun -n 3 python format_files.py FILE
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import caesura
import numpy as np

SHAPE, LARGER = (12, 14, 16), (48, 32, 32)
CHUNK = 1 << 16  # bytes: LARGER has several
CACHE = 1 << 20
CURVE = [(1e3, 1e-5), (1e8, 1e-3)]
QUIET = {"calibration": "none", "on_message": lambda _: None}


def values_of(name: str, dtype: type, step: int, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """Sums of products of integers, divided by a power of two: the same on every machine."""
    k, j, i = np.indices(shape)
    seed = sum(map(ord, name)) % 7
    integer = (i * i + (3 + seed) * j * k + step * (i + 2 * j)) % 1024 + i * k
    return (integer / 64.0).astype(dtype)


def written(
    writer: caesura.Writer,
    fields: dict[str, tuple[type, dict]],
    numbers: list[int],
    shape: tuple[int, ...] = SHAPE,
) -> None:
    """Define the fields, by type and options, and dump all of them in each of these iterations."""
    defined = {
        name: (writer.define_field(name, dtype, shape, **how), dtype)
        for name, (dtype, how) in fields.items()
    }
    for n in numbers:
        with writer.iteration(n) as iteration:
            dump = iteration.begin_dump(time=0.5 * n)
            for name, (field, dtype) in defined.items():
                dump.put(field, values_of(name, dtype, n, shape))


def codecs(folder: Path) -> None:
    """A codec of its own for each field, and every kind of bound."""
    fields = {
        "smooth": (np.float32, {"absolute": 1e-3}),
        "fast": (np.float64, {"relative": 1e-3, "codec": "caesura:fast"}),
        "strong": (np.float32, {"absolute": 1e-3, "codec": "caesura:strong"}),
        "planes": (np.float32, {"absolute": 1e-2, "codec": "caesura:planes"}),
        "regions": (np.float32, {"absolute": 1e-3, "codec": "caesura:regions"}),
        "pointwise": (np.float64, {"bound": caesura.pointwise_relative(1e-3)}),
        "psnr": (np.float32, {"bound": caesura.psnr(60)}),
        "exact": (np.float64, {"lossless": True}),
        "zstd": (np.float32, {"lossless": True, "codec": "zstd"}),
        "sz3": (np.float32, {"absolute": 1e-3, "codec": "sz3"}),
        "rounded": (np.float32, {"absolute": 1e-3, "codec": "round+zstd"}),
        "raw": (np.float64, {"lossless": True, "codec": "none"}),
    }
    with caesura.Writer(folder / "codecs.h5", **QUIET) as writer:
        written(writer, fields, [0, 10])


def types(folder: Path) -> None:
    """A field of every type."""
    names = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
             "float16", "float32", "float64", "complex64", "complex128")  # fmt: skip
    fields = {name: (np.dtype(name), {"lossless": True}) for name in names}
    fields["half"] = (np.float16, {"absolute": 0.5})
    fields["wave"] = (np.complex64, {"absolute": 1e-2})
    with caesura.Writer(folder / "types.h5", **QUIET) as writer:
        written(writer, fields, [0])


def places(folder: Path) -> None:
    """Bounds that differ from place to place, block by block and within blocks."""
    tight = caesura.BoundMap().in_box((0, 0, 0), (4, 32, 32), 1e-5)
    tight = tight.of_values(15, 20, 1e-4).where_steep(change=8, bound=0)
    fields = {"rho": (np.float32, {"absolute": 1e-2, "bound_map": tight})}
    with caesura.Writer(folder / "places.h5", chunk_bytes=CHUNK, **QUIET) as writer:
        written(writer, fields, [0, 1], LARGER)


def patches(folder: Path) -> None:
    """A field that is covered in parts, and that changes its shape."""
    with caesura.Writer(folder / "patches.h5", absolute=1e-3, chunk_bytes=CHUNK, **QUIET) as writer:
        level = writer.define_field("rho", np.float32, (64, 32, 32), partial=True, fill_value=-1)
        whole = values_of("rho", np.float32, 0, (64, 32, 32))
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(time=0)
            dump.put(level, whole[:16, :16, :16], offset=(0, 0, 0))
            dump.put(level, whole[48:, 16:, :8], offset=(48, 16, 0))
        level = writer.reshape(level, (72, 32, 32), grid_offset=(1, 2, 3))
        with writer.iteration(1) as iteration:
            iteration.begin_dump(time=1).put(level, whole[:8], offset=(64, 0, 0))


def particles(folder: Path) -> None:
    """Records of a species, constants, and a dump of none."""
    with caesura.Writer(folder / "particles.h5", **QUIET) as writer:
        ions = writer.define_species("ions")
        x = ions.define_record("position/x", np.float64, absolute=1e-4)
        weighting = ions.define_record("weighting", np.float32, macro_weighted=True)
        number = ions.define_record("id", np.uint64)
        ions.define_constant("charge", 1.6e-19, weighting_power=1.0)
        for n, count in enumerate((300, 0, 1)):
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=n)
                dump.put_particles(x, np.arange(count) * 37 % 64 / 64.0)
                dump.put_particles(weighting, np.full(count, 2.0, np.float32))
                dump.put_particles(number, np.arange(count, dtype=np.uint64) + (1 << 60))


def attributes(folder: Path) -> None:
    """Attributes of every type at every object, and components of a record."""
    with caesura.Writer(folder / "attributes.h5", author="A. Author", **QUIET) as writer:
        ex = writer.define_field("E/x", np.float32, SHAPE, absolute=1e-3, unit_si=2.0)
        ey = writer.define_field("E/y", np.float32, SHAPE, absolute=1e-3)
        writer.set_attribute("run", "x17")
        writer.set_attribute("numbers", [1, 2, 3], field=ex)
        writer.set_attribute("words", ["a", "b"], field=ey)
        with writer.iteration(5) as iteration:
            dump = iteration.begin_dump(time=2.5)
            dump.set_attribute("redshift", 0.5)
            for name, field in (("E/x", ex), ("E/y", ey)):
                dump.put(field, values_of(name, np.float32, 5))


NETCDF = float(np.float32(9.969209968386869e36))
# Type, options, and what land has.
MISSING = {
    "declared": (np.float32, {"relative": 1e-3, "missing": -9999}, -9999),
    "two": (np.float64, {"absolute": 1e-2, "missing": [-9999, 2.5]}, 2.5),
    "suspected": (np.float32, {"relative": 1e-3}, NETCDF),
    "nan": (np.float64, {"absolute": 1e-3}, np.nan),
    "half": (np.float16, {"absolute": 0.5, "missing": 999}, 999),
    "fast": (np.float32, {"absolute": 1e-2, "codec": "caesura:fast", "missing": 3}, 3),
    "strong": (np.float64, {"relative": 1e-3, "codec": "caesura:strong"}, 1e20),
    "planes": (np.float32, {"absolute": 1e-2, "codec": "caesura:planes"}, 1e20),
    "regions": (np.float32, {"absolute": 1e-2, "codec": "caesura:regions"}, 1e20),
    "psnr": (np.float32, {"bound": caesura.psnr(60), "missing": 1e20}, 1e20),
    "pointwise": (np.float32, {"bound": caesura.pointwise_relative(1e-3)}, -9999),
    "wave": (np.complex64, {"absolute": 1e-2, "missing": 7}, 7),
    "exact": (np.float32, {"lossless": True, "missing": -9999}, -9999),
    "rounded": (np.float32, {"absolute": 1e-2, "codec": "round+zstd", "missing": 3}, 3),
    "count": (np.int32, {"missing": -1}, -1),
    "masked": (np.float32, {"absolute": 1e-2}, 5),
}


def with_land(name: str, dtype: type, step: int, fill: float) -> np.ndarray:
    """A sea, and land that has this value."""
    values = values_of(name, np.float64, step)
    k, j, i = np.indices(SHAPE)
    values[i * 3 < k + j + step] = fill
    return values.astype(dtype)


def missing(folder: Path) -> None:
    """Missing values of every kind: one or several declared, suspected, NaN, with a put; in every
    mode of the codec, and under codecs of others."""
    with caesura.Writer(folder / "missing.h5", **QUIET) as writer:
        defined = {
            name: writer.define_field(name, dtype, SHAPE, **how)
            for name, (dtype, how, _) in MISSING.items()
        }
        for n in (0, 1):
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=n)
                for name, (dtype, _, fill) in MISSING.items():
                    values = with_land(name, dtype, n, fill)
                    if name == "masked":
                        values = np.ma.masked_equal(values, fill)
                    dump.put(defined[name], values)
    own_paths = {"layout": "/step_%06T/{field}", **QUIET}
    with caesura.Writer(folder / "missing_layout.h5", **own_paths) as writer:
        fields = {
            "rho": (np.float32, {"absolute": 1e-3, "missing": -9999}),
            "two": (np.float32, {"absolute": 1e-3, "missing": [-9999, 1e20]}),
        }
        written(writer, fields, [3])


def layout(folder: Path) -> None:
    """Paths of one's own."""
    with caesura.Writer(folder / "layout.h5", layout="/step_%06T/{field}", **QUIET) as writer:
        written(writer, {"rho": (np.float32, {"absolute": 1e-3})}, [10])


def series(folder: Path) -> None:
    """A file for each dump."""
    with caesura.Writer(folder / "series_%06T.h5", dumps_per_file=1, **QUIET) as writer:
        written(writer, {"rho": (np.float32, {"absolute": 1e-3})}, [0, 10])


def appended(folder: Path) -> None:
    """A file that a later run went on with, behind the first of two dumps."""
    fields = {"rho": (np.float32, {"absolute": 1e-3})}
    with caesura.Writer(folder / "appended.h5", **QUIET) as writer:
        written(writer, fields, [0, 10])
    with caesura.Writer.open(folder / "appended.h5", after=0, **QUIET) as writer:
        written(writer, fields, [20, 30])


def restored(folder: Path) -> None:
    """Checkpoints, raw and compressed."""
    device = caesura.EmulatedDevice(CACHE, 1e7, 5e9, CURVE)
    with caesura.Checkpointer(
        device, SHAPE, np.float32, bound=1e-3, cache_bytes=CACHE, link_bytes_per_s=1e7,
        compress_curve=CURVE, path=folder / "restored.h5", write_all=True,
    ) as kept:  # fmt: skip
        for n in range(4):
            kept.checkpoint(n, values_of("state", np.float32, n))


def ranks_part(path: str) -> None:
    """A rank's slab of fields and of particles; rank 2 of three puts no particle."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    planes = LARGER[0] // comm.size
    begin = planes * comm.rank
    with caesura.Writer(path, comm=comm, chunk_bytes=CHUNK, **QUIET) as writer:
        rho = writer.define_field("rho", np.float32, LARGER, absolute=1e-3)
        ids = writer.define_field("ids", np.int32, LARGER)
        ions = writer.define_species("ions")
        x = ions.define_record("position/x", np.float64, absolute=1e-4)
        for n in (0, 1):
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=n)
                for field, name, dtype in ((rho, "rho", np.float32), (ids, "ids", np.int32)):
                    mine = values_of(name, dtype, n, LARGER)[begin : begin + planes]
                    dump.put(field, mine, offset=(begin, 0, 0))
                count = 0 if comm.rank == 2 else 50
                dump.put_particles(x, np.arange(count) / 64.0 + comm.rank)


def ranks(folder: Path) -> None:
    """Three ranks, one file."""
    from mpi_parts import run_ranks

    run_ranks(3, Path(__file__), folder / "ranks.h5")


CONNECTOR = """
threshold_bytes = 1024
[[dataset]]
path = "**/rho"
bound = 1e-3
[[dataset]]
path = "rho"
bound = 1e-3
bound_map = { values = [{ lowest = 0.5, highest = 1.0, bound = 1e-4 }] }
"""


def connector(folder: Path) -> None:
    """A program of parallel HDF5 that knows nothing of us: floats with a bound, and integers."""
    from mpi_parts import DEFAULTS

    build = Path(os.environ["CAESURA_BUILD"])
    program, place = build / "tests" / "vol" / "vol_paced", folder / "connector"
    place.mkdir()
    (place / "run.toml").write_text(CONNECTOR)
    variables = {
        "HDF5_PLUGIN_PATH": f"{build / 'vol'}:{build / 'plugins'}",
        "HDF5_VOL_CONNECTOR": f"caesura config={place / 'run.toml'}",
        "VOL_TEST_CONNECTOR": "caesura",
    }
    exports = [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]
    env = {n: v for n, v in os.environ.items() if not n.startswith("HDF5_")}
    done = subprocess.run(
        ["mpirun", "-n", "2", *exports, str(program), str(place), "1"], env={**DEFAULTS, **env},
        input="\n" * 8, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.move(place / "dump_0.h5", folder / "connector.h5")


def has_connector() -> bool:
    """Whether this build can make `connector`."""
    build = Path(os.environ.get("CAESURA_BUILD", "build"))
    there = (build / "vol" / "libcaesura_vol.so", build / "tests" / "vol" / "vol_paced")
    return all(path.exists() for path in there) and shutil.which("mpirun") is not None


# By name; each makes files that begin with its name.
MAKERS: dict[str, Callable[[Path], None]] = {
    make.__name__: make
    for make in (codecs, types, places, patches, particles, attributes, missing, layout, series,
                 appended, restored, ranks, connector)
}  # fmt: skip

if __name__ == "__main__":
    ranks_part(sys.argv[1])
