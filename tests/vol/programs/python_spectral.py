"""Goal: a simulation that writes through a package from PyPI: the Taylor-Green vortex by
pseudo-spectral steps on mpi4py-fft, which opens, extends and closes its HDF5 file at every dump."""

import h5py
import numpy as np
from mpi4py_fft import PFFT, HDF5File, newDistArray
from vol_check import DIRECTORY, check_connector, check_near, comm

N, VISCOSITY, STEP_S, STEPS, EVERY = 32, 0.01, 0.02, 6, 2


class Flow:
    """Velocity in a periodic box, advanced by Adams-Bashforth steps in Fourier space."""

    def __init__(self) -> None:
        # The plan that does not depend on the machine's mood: the same bits in every run.
        self.fft = PFFT(comm, (N, N, N), dtype=np.float64, planner_effort="FFTW_ESTIMATE")
        self.u = newDistArray(self.fft, False, rank=1)
        self.u_hat = newDistArray(self.fft, True, rank=1)
        start = self.u.local_slice()[1:]
        x = [np.arange(s.start, s.stop) * 2 * np.pi / N for s in start]
        x = np.meshgrid(*x, indexing="ij", sparse=True)
        self.u[0] = np.sin(x[0]) * np.cos(x[1]) * np.cos(x[2])
        self.u[1] = -np.cos(x[0]) * np.sin(x[1]) * np.cos(x[2])
        self.u[2] = 0.0
        waves = [np.fft.fftfreq(N, 1 / N), np.fft.fftfreq(N, 1 / N), np.fft.rfftfreq(N, 1 / N)]
        local = self.u_hat.local_slice()[1:]
        grids = np.meshgrid(*[w[s] for w, s in zip(waves, local, strict=True)], indexing="ij")
        self.k = np.array(grids)
        self.k2 = np.sum(self.k**2, axis=0)
        self.k_over_k2 = self.k / np.where(self.k2 == 0, 1, self.k2)
        self.keep = np.all(np.abs(self.k) < N / 3, axis=0)  # the 2/3 rule
        for i in range(3):
            self.fft.forward(self.u[i], self.u_hat[i])
        self.before = None

    def curl(self) -> np.ndarray:
        """Vorticity in space."""
        out = newDistArray(self.fft, False, rank=1)
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            hat = newDistArray(self.fft, True)
            hat[...] = 1j * (self.k[j] * self.u_hat[k] - self.k[k] * self.u_hat[j])
            self.fft.backward(hat, out[i])
        return out

    def step(self) -> None:
        """One step of the incompressible Navier-Stokes equations in rotational form."""
        w, force = self.curl(), newDistArray(self.fft, True, rank=1)
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            product = newDistArray(self.fft, False)
            product[...] = self.u[j] * w[k] - self.u[k] * w[j]
            self.fft.forward(product, force[i])
        force[...] = np.asarray(force) * self.keep
        force[...] = np.asarray(force) - self.k * np.sum(
            np.asarray(force) * self.k_over_k2, axis=0, keepdims=True
        )
        force[...] = np.asarray(force) - VISCOSITY * self.k2 * np.asarray(self.u_hat)
        now = np.array(force)
        rate = now if self.before is None else 1.5 * now - 0.5 * self.before
        self.before = now
        self.u_hat[...] = np.asarray(self.u_hat) + STEP_S * rate
        for i in range(3):
            self.fft.backward(self.u_hat[i].copy(), self.u[i])


def main() -> None:
    """Simulate, dump, read every dump back."""
    flow, name, kept = Flow(), str(DIRECTORY / "spectral.h5"), {}
    out = HDF5File(name, mode="w")
    for step in range(STEPS + 1):
        if step % EVERY == 0:
            plane = [slice(None), slice(None), 4]
            out.write(step, {"velocity": [flow.u, (flow.u, plane)]})
            kept[step] = np.array(flow.u)
        flow.step()
    energy = comm.allreduce(float(np.sum(np.asarray(flow.u) ** 2))) / (2 * N**3)
    assert 0.1 < energy < 0.125, energy  # it starts at 1/8 and decays slowly
    for step, wanted in kept.items():
        again = newDistArray(flow.fft, False, rank=1)
        out.read(again, "velocity", step=step)
        check_near(np.array(again), wanted)
    with h5py.File(name, "r", driver="mpio", comm=comm) as file:
        check_connector(file)
        found = []
        file.visit(found.append)
        assert {path.split("/")[-1] for path in found} >= {str(step) for step in kept}, found


main()
