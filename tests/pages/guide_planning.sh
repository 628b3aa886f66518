# The simulation is a program of MPI that says whether it has the library; two ranks stand for 8.
cat >simulation <<'END'
#!/usr/bin/env python
from mpi4py import MPI

MPI.COMM_WORLD.barrier()
with open("/proc/self/maps") as maps:
    assert "libcaesura_pmpi.so" in maps.read()
END
chmod +x simulation
mpirun() {
    command mpirun --oversubscribe -n 2 "${@:3}"
}
cat >instance.json <<'END'
{"jobs": [{"compress_s": 0.035, "write_s": 0.021}, {"compress_s": 0.02, "write_s": 0.01}]}
END
python - <<'END'
import caesura
import numpy

with caesura.Writer("run.h5", trace="trace-%r.json") as writer:
    field = writer.define_field("rho", numpy.float32, (32, 32, 32))
    for n in range(3):
        with writer.iteration(n) as iteration:
            iteration.begin_dump(time=n).put(field, numpy.ones((32, 32, 32), "f4"))
END
cp "$CAESURA_SOURCES/bench/simulate/scenarios/demo.toml" scenario.toml
# block sh 1
# block sh 2
grep -q "<svg" plans.svg
