# A service of this folder instead of /run/user/1000 and /scratch/me, with a dump that passed.
[ -x "$CAESURA_BUILD/bin/caesura-serve" ] || { echo "this build has no service"; exit 77; }
here() { sed "s|/run/user/1000|$PWD|; s|/scratch/me|$PWD|; s|/etc/caesura|$PWD|; s|/scratch|$PWD|"; }
here >serve.toml <<'END'
listen = ["unix:/run/user/1000/caesura.sock"]
status = "/run/user/1000/caesura.json"
objects_bytes = 1073741824

[[write]]
directory = "/scratch/me"
END
caesura serve serve.toml &
until caesura serve status serve.toml >said 2>&1; do
    kill -0 $! # it runs still
done
python - <<'END'
import os

import caesura
import numpy

made = numpy.ones((64, 64, 64), "f4")
path, transport = os.path.abspath("run.h5"), f"service:unix:{os.getcwd()}/caesura.sock"
with caesura.Writer(path, absolute=1e-3, transport=transport) as writer:
    field = writer.define_field("density", made.dtype, made.shape)
    with writer.iteration(0) as iteration:
        iteration.begin_dump(time=0).put(field, made)
with open("my.key", "wb") as key:
    key.write(bytes(range(32)))
os.chmod("my.key", 0o600)
END
here >page.py <<'END'
# block python 1

import numpy as np

address = "service:unix:/run/user/1000/caesura.sock"
# block python 2
rho = np.zeros((512, 512, 512), np.float32)
# block python 3
END
python page.py
test -s kept.h5
caesura serve stop serve.toml
wait $! || [ $? = 1 ]

# The operator's settings are read: what is not on this machine is named, and no line of the file.
head -c 32 /dev/urandom >key
chmod 600 key
mkdir -p plugins functions sink
here >operator.toml <<'END'
listen = ["unix:/run/user/1000/other.sock"]
status = "/run/user/1000/other.json"
# block toml 2
# block toml 1

[[write]]
directory = "/scratch/me"
END
if timeout 20 caesura serve operator.toml >said 2>&1; then exit 1; fi
cat said
if grep -q 'line [0-9]' said; then exit 1; fi
