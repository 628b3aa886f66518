"""A field that goes into a file, named on the command line, while the program computes on."""

import sys

import caesura
import numpy

path = sys.argv[1] if len(sys.argv) > 1 else "heat.h5"
cells = numpy.arange(32**3).reshape(32, 32, 32)
with caesura.Writer(path) as writer:
    field = writer.define_field("temperature", numpy.float64, cells.shape, absolute=1e-4)
    for n in range(10):
        with writer.iteration(n) as iteration:
            heat = numpy.sin(0.001 * cells + n)
            iteration.begin_dump(time=0.1 * n).put(field, heat)

first = caesura.read(path, "temperature", iteration=0)
assert abs(first - numpy.sin(0.001 * cells)).max() <= 1e-4
