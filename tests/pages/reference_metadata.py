# A Writer, its field and a dump, to which the page gives attributes; then all of them are there.
import caesura
import numpy

time = 0.5
with caesura.Writer("run.h5") as writer:
    rho = writer.define_field("rho", numpy.float32, (16,))
    with writer.iteration(0) as iteration:
        # block python 1
        dump.put(rho, numpy.ones(16, "f4"))

with caesura.open("run.h5") as file:
    assert file.attrs["run"] == b"x17"
    assert file["data/0"].attrs["redshift"] == 0.5
    assert file["data/0/meshes/rho"].attrs["colour"] == b"blue"
