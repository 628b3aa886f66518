# A Writer takes the profile; at most it says that the machine is another one.
cat >profile.json <<'END'
# block json 1
END
python - <<'END'
import json
import platform

import caesura
import numpy

said = []
with caesura.Writer("run.h5", calibration="profile.json", on_message=said.append) as writer:
    field = writer.define_field("rho", numpy.float32, (64, 64))
    with writer.iteration(0) as iteration:
        iteration.begin_dump(time=0).put(field, numpy.ones((64, 64), "f4"))
about = [line for line in said if "profile.json" in line]
print(about)
assert all("this machine is" in line for line in about), about
END
