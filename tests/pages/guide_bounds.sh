# A dump without loss, as the page asks for.
python - <<'END'
import caesura
import numpy

long, axis = numpy.linspace(0, 20, 128), numpy.linspace(0, 20, 32)
z, y, x = numpy.meshgrid(axis, axis, long, indexing="ij")
noise = numpy.random.default_rng(1).normal(size=x.shape)
with caesura.Writer("dump.h5") as writer:
    field = writer.define_field("density", numpy.float32, x.shape)
    with writer.iteration(0) as iteration:
        values = numpy.sin(x) * numpy.cos(y + z) + 2 + 0.3 * noise
        iteration.begin_dump(time=0).put(field, values.astype("f4"))
END
# block sh 1
grep -q "<svg" density.svg
