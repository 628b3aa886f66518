"""The field without loss, for the tool to try bounds on."""

import caesura
from field import field

with caesura.Writer("exact.h5") as writer:
    rho = field(0)
    handle = writer.define_field("rho", rho.dtype, rho.shape)
    with writer.iteration(0) as iteration:
        iteration.begin_dump(time=0).put(handle, rho)
