# A Writer of a field that has all three kinds of places.
import math

import caesura
import numpy

with caesura.Writer("run.h5") as writer:
    # block python 1
    values = numpy.linspace(0, 2e3, 64**3, dtype="f4").reshape(64, 64, 64)
    values[:, :, 32] += 0.7
    with writer.iteration(0) as iteration:
        iteration.begin_dump(time=0).put(rho, values)

with caesura.open("run.h5") as file:
    error = numpy.abs(file["data/0/meshes/rho"][...].astype("f8") - values)
assert error.max() <= 1e-2
assert error[40:56].max() <= 1e-5
assert error[values >= 1e3].max() <= 1e-4
