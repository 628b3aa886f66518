"""The field within the bound that the tool has found."""

import sys

import caesura
from field import field

with caesura.Writer("run.h5", bound=caesura.relative(float(sys.argv[1]))) as writer:
    rho = field(0)
    handle = writer.define_field("rho", rho.dtype, rho.shape)
    with writer.iteration(0) as iteration:
        iteration.begin_dump(time=0).put(handle, rho)
