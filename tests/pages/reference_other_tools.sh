# VTK, of which ParaView is made, reads the page's XDMF file without Caesura.
[ -n "$CAESURA_READERS_PYTHON" ] ||
    { echo "CAESURA_READERS_PYTHON names no Python of foreign readers (make test does)"; exit 77; }
python - <<'END'
import caesura
import numpy

values = numpy.linspace(0, 1, 96**3, dtype=numpy.float32).reshape(96, 96, 96)
with caesura.Writer("run.h5", absolute=1e-3) as writer:
    field = writer.define_field("density", numpy.float32, values.shape)
    with writer.iteration(0) as iteration:
        iteration.begin_dump(time=0.0).put(field, values)
numpy.save("values.npy", values)
END
# block sh 1
cat >run.xmf <<'END'
# block xml 1
END
cat >read.py <<'END'
import numpy
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOXdmf2 import vtkXdmfReader

reader = vtkXdmfReader()
reader.SetFileName("run.xmf")
reader.Update()
values = vtk_to_numpy(reader.GetOutputDataObject(0).GetPointData().GetArray("density"))
wanted = numpy.load("values.npy").ravel()  # XDMF's axes are the file's
assert values.size == wanted.size and abs(values - wanted).max() <= 1e-3
END
env -u PYTHONPATH "$CAESURA_READERS_PYTHON" read.py
