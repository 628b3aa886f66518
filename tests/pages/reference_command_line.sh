# What the commands of the page need lies here, small; the instances and the profile are read.
caesura() {
    local code=0
    command caesura "$@" || code=$?
    # By exit code 1 the doctor says that this machine needs a setting.
    [ $code = 0 ] || { [ "$1" = doctor ] && [ $code = 1 ]; }
}
python - <<'END'
from pathlib import Path

import caesura
import h5py
import numpy

for place in ("raw", "run", "bench/simulate/scenarios"):
    Path(place).mkdir(parents=True)
axis = numpy.linspace(0, 20, 32)
z, y, x = numpy.meshgrid(axis, axis, axis, indexing="ij")
with caesura.Writer("run.h5", absolute=0.2, trace="run/trace-%r.json") as writer:
    field = writer.define_field("baryon_density", numpy.float32, x.shape)
    for n in range(3):
        with writer.iteration(n) as iteration:
            values = (100 * numpy.sin(x + n) * numpy.cos(y + z)).astype("f4")
            values.tofile(f"raw/baryon_density_{n}.bin")
            iteration.begin_dump(time=n).put(field, values)
Path("trace.json").symlink_to("run/trace-0.json")
noise = numpy.random.default_rng(1).normal(size=x.shape)
for redshift in ("002.5", "010"):
    with h5py.File(f"nyx_64_z{redshift}.h5", "w") as file:
        file["native_fields/velocity_x"] = (1e7 * (numpy.sin(x) + 0.2 * noise)).astype("f4")
END
sed 's/^nodes = .*/nodes = 2/' "$CAESURA_SOURCES/bench/simulate/scenarios/nyx.toml" \
    >bench/simulate/scenarios/nyx.toml

# block console 1
# block console 2
# block console 3
# block console 4
# block console 5
# block console 6
cat >instances.json <<'END'
# block json 1
END
caesura plan instances.json
cat >uncertain.json <<'END'
# block json 2
END
caesura plan uncertain.json --robust
# block console 7
cat >profile.json <<'END'
# block json 3
END
caesura together profile.json
# block console 8
