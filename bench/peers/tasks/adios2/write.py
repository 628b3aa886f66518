"""A field as it is: the wheel of PyPI has no compressor."""

from adios2 import Stream
from field import field

with Stream("run.bp", "w") as stream:
    rho = field(0)
    stream.write("rho", rho, rho.shape, [0, 0, 0], rho.shape)
