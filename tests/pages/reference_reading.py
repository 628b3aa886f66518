# A file with the field that the page reads, in four dumps.
import caesura
import numpy
import xarray

made = numpy.random.default_rng(1).random((64, 64, 64), dtype="f4")
with caesura.Writer("run.h5", absolute=1e-3) as writer:
    ex = writer.define_field("E/x", numpy.float32, made.shape)
    for n in range(4):
        with writer.iteration(n) as iteration:
            iteration.begin_dump(time=n).put(ex, made + n)

array = numpy.empty((10, 64, 64), "f4")
# block python 1
assert values.shape == (10, 64, 32)
assert abs(values - (made + 3)[10:20, ..., ::2]).max() <= 1e-3
assert abs(array - (made + 3)[10:20]).max() <= 1e-3
# block python 2
assert "E/x" in data or "E_x" in data, list(data)
