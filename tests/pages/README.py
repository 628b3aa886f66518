# What the ten lines of Python take for granted: a size, an array, and where it lies.
import numpy

nz, ny, nx = 16, 16, 16
steps, dt, offset = 12, 0.5, (0, 0, 0)


def compute(n):
    return numpy.full((nz, ny, nx), n, numpy.float32)


# block python 1

with caesura.open("run.h5") as file:
    assert sorted(file["data"]) == ["0", "10"]
    assert abs(file["data/10/meshes/density"][...] - 10).max() <= 0.2
