# What a Writer wrote is read by openPMD-api in a Python without Caesura.
[ -n "$CAESURA_READERS_PYTHON" ] ||
    { echo "CAESURA_READERS_PYTHON names no Python of foreign readers (make test does)"; exit 77; }
python - <<'END'
import caesura
import numpy

heat = numpy.linspace(300, 400, 32**3, dtype=numpy.float32).reshape(32, 32, 32)
with caesura.Writer("run.h5", absolute=0.1) as writer:
    field = writer.define_field("heat", numpy.float32, heat.shape)
    with writer.iteration(16) as iteration:
        iteration.begin_dump(time=1.6).put(field, heat)
numpy.save("heat.npy", heat)
END
# block sh 1
cat >read.py <<'END'
# block python 1
import numpy

assert abs(values - numpy.load("heat.npy")).max() <= 0.1
END
env -u PYTHONPATH "$CAESURA_READERS_PYTHON" read.py
