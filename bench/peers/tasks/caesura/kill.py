"""A dump a step; the library commits each."""

import caesura
from field import BOUND, STEPS, computing, field

with caesura.Writer("run.h5", absolute=BOUND) as writer:
    handle = writer.define_field("rho", "f4", (96, 96, 96))
    for step in range(STEPS):
        with writer.iteration(step) as iteration:
            computing()
            iteration.begin_dump(time=step).put(handle, field(step))
