"""Goal: files as dolfinx, netCDF, mpi4py-fft, openPMD and a code of one axis write them, all of
whose datasets one bound reaches: fields beside meshes, coordinates, complex numbers, and what has
no bound. tests/vol/one_bound.py compares them."""

import h5py
import numpy as np
from vol_check import DIRECTORY, check_connector, comm, share

SEED = 41
N = 4096


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    """The same on all ranks."""
    return np.random.default_rng(SEED + seed).normal(size=shape)


def put(group: h5py.Group, name: str, values: np.ndarray, **more) -> h5py.Dataset:
    """Made by all, and written together, each rank its share of the first axis."""
    dataset = group.create_dataset(name, values.shape, values.dtype, **more)
    mine = share(values.shape[0])
    with dataset.collective:
        dataset[mine] = values[mine]
    return dataset


def dolfinx(file: h5py.File) -> None:
    """A mesh, and functions on it."""
    put(file, "Mesh/mesh/geometry", noise(N, 3))
    put(file, "Mesh/mesh/topology", np.arange(4 * N, dtype=np.int64).reshape(N, 4))
    put(file, "Function/u/0", noise(N, 3, seed=1))
    put(file, "Function/z/0", noise(N, 1, seed=2) + 1j * noise(N, 1, seed=3))


def ocean(file: h5py.File) -> None:
    """What netCDF-4 and h5netcdf make: scales, bounds, stations. Attributes come after the data."""
    lat = put(file, "lat", np.linspace(-90, 90, 64))
    put(file, "lat_bnds", noise(64, 2))
    temp = put(file, "temp", noise(8, 64, 64).astype(np.float32))
    levels = put(file, "sigma", noise(64, seed=4))
    corners = put(file, "corners", noise(64, 64, seed=5))
    put(file, "anchor", noise(N, seed=6))
    put(file, "cell_edges", noise(N, 2, seed=7))
    clock = put(file, "clock", noise(N, seed=8))
    salt = put(file, "salt", noise(8, 64, 64, seed=9))
    lat.make_scale("lat")
    levels.make_scale("sigma")
    temp.dims[1].attach_scale(lat)
    salt.dims[2].attach_scale(levels)
    lat.attrs["bounds"] = "cell_edges"
    corners.attrs["units"] = "degrees_north"
    clock.attrs["units"] = "days since 1970-01-01"
    temp.attrs["coordinates"] = "anchor corners"
    temp.attrs["units"] = "degC"
    salt.attrs["standard_name"] = "sea_water_salinity"


def spectral(file: h5py.File) -> None:
    """Complex numbers as h5py has them."""
    put(file, "u_hat", noise(64, 64) + 1j * noise(64, 64, seed=1))
    put(file, "v_hat", (noise(64, 64, seed=2) + 9j * noise(64, 64, seed=3)).astype(np.complex64))


def openpmd(file: h5py.File) -> None:
    """Particles, and fields."""
    for n, path in enumerate(["position/x", "positionOffset/x", "momentum/x"]):
        put(file, f"data/0/particles/e/{path}", noise(N, seed=n))
    put(file, "data/0/fields/E/x", noise(16, 16, 16))
    phase = np.zeros(N, [(name, np.float32) for name in ("x", "y", "vx")])
    for n, name in enumerate(phase.dtype.names):
        phase[name] = noise(N, seed=n)
    put(file, "phase", phase)
    put(file, "mixed", np.rec.fromarrays([noise(N), np.arange(N)], names="a,b"))
    put(file, "words", np.array([b"ab", b"cde"] * (N // 2)))
    put(file, "charge", np.arange(N, dtype=np.int16))
    put(file, "is_there", noise(N) > 0)


def one_axis(file: h5py.File) -> None:
    """A shock tube: grid and fields have one axis."""
    cells = np.arange(N) / N
    put(file, "cells", cells[::-1].copy())
    put(file, "rho", np.where(cells < 0.5, 1.0, 0.125))
    put(file, "sound", noise(N))
    seen = file.create_dataset("seen", (0,), np.float64, maxshape=(None,), chunks=(1024,))
    for step in range(16):  # each value by one rank, on its own
        seen.resize((step + 1,))
        if comm.rank == step % comm.size:
            seen[step] = 0.1 * step + 1e-5


def main() -> None:
    """One file each."""
    for write in (dolfinx, ocean, spectral, openpmd, one_axis):
        with h5py.File(DIRECTORY / f"{write.__name__}.h5", "w", driver="mpio", comm=comm) as file:
            check_connector(file)
            write(file)


main()
