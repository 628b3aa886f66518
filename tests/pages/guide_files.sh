# A run's file with its trace, and the same values without loss beside it.
python - <<'END'
import caesura
import numpy

for name, bound in (("run.h5", caesura.absolute(1e-3)), ("reference.h5", caesura.lossless())):
    trace = "trace-%r.json" if name == "run.h5" else ""
    with caesura.Writer(name, trace=trace) as writer:
        field = writer.define_field("rho", numpy.float32, (32, 32, 32), bound=bound)
        for n in range(3):
            with writer.iteration(n) as iteration:
                values = numpy.random.default_rng(n).random((32, 32, 32), dtype="f4")
                iteration.begin_dump(time=n).put(field, values.cumsum(axis=0, dtype="f4"))
END
# block sh 1
grep -q "<svg" report.html
# block sh 2
h5dump -H -p plain.h5 >plain
if grep -q FILTER_ID plain; then exit 1; fi
