# ADIOS2 of Python, by the page's configuration; stock h5py reads what the engine wrote.
export ADIOS2_PLUGIN_PATH="$CAESURA_BUILD/adios2"
[ -e "$ADIOS2_PLUGIN_PATH/libcaesura_adios2.so" ] || { echo "this build found no ADIOS2"; exit 77; }
cat >engine.xml <<'END'
<adios-config>
# block xml 1
</adios-config>
END
cat >operator.xml <<'END'
<adios-config>
<io name="output">
# block xml 2
</io>
</adios-config>
END
cat >write.py <<'END'
import sys
import adios2
import numpy as np

values = np.sin(np.arange(4096.0))
io = adios2.Adios(sys.argv[1]).declare_io("output")
U = io.define_variable("U", values, [4096], [0], [4096])
with adios2.Stream(io, sys.argv[2], "w") as stream:
    for _ in stream.steps(2):
        stream.write(U, values)
END
python write.py engine.xml ignored
python write.py operator.xml run.bp
cat >read.py <<'END'
import adios2
import h5py
import hdf5plugin
import caesura
import numpy as np

values = np.sin(np.arange(4096.0))
with caesura.open("run.h5") as file:
    assert 0 < abs(file["data/1/meshes/U"][...] - values).max() <= 1e-4
with adios2.Stream("run.bp", "r") as stream:
    for _ in stream.steps():
        assert 0 < abs(stream.read("U") - values).max() <= 1e-4
END
python read.py
