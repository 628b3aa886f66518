# A Writer with a dump; then the particles are there.
import caesura
import numpy

time = 0.5
positions = numpy.array([0.1, 0.2, 0.3, 0.4])
with caesura.Writer("run.h5") as writer, writer.iteration(0) as iteration:
    # block python 1
    assert electrons.name == "electrons"

with caesura.open("run.h5") as file:
    found = file["data/0/particles/electrons"]
    assert abs(found["position/x"][...] - positions).max() <= 1e-6
    assert found["charge"].attrs["value"] == -1.602e-19
