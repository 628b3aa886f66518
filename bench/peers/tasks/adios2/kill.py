"""A step a dump; its index entry follows its data."""

from adios2 import Stream
from field import STEPS, computing, field

with Stream("run.bp", "w") as stream:
    for _ in stream.steps(STEPS):
        computing()
        rho = field(stream.current_step())
        stream.write("rho", rho, rho.shape, [0, 0, 0], rho.shape)
