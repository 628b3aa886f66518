"""A field with an error bound."""

import caesura
from field import BOUND, field

with caesura.Writer("run.h5", absolute=BOUND) as writer:
    rho = field(0)
    handle = writer.define_field("rho", rho.dtype, rho.shape)
    with writer.iteration(0) as iteration:
        iteration.begin_dump(time=0).put(handle, rho)
