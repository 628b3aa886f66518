# A file with the field that the page reads, in four dumps. An installed package says to xarray that
# it has an engine; here what it says stands in a folder of this program's.
import os
import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(os.environ["CAESURA_SOURCES"], "pyproject.toml").read_text())[
    "project"
]
said = Path("caesura-0.dist-info")
said.mkdir()
(said / "METADATA").write_text("Metadata-Version: 2.1\nName: caesura\nVersion: 0\n")
engines = project["entry-points"]["xarray.backends"].items()
lines = "".join(f"{name} = {place}\n" for name, place in engines)
(said / "entry_points.txt").write_text(f"[xarray.backends]\n{lines}")
sys.path.append(os.getcwd())

import caesura
import numpy
import xarray

made = numpy.random.default_rng(1).random((64, 64, 64), dtype="f4")
with caesura.Writer("run.h5", absolute=1e-3) as writer:
    ex = writer.define_field("E/x", numpy.float32, made.shape)
    for n in range(4):
        with writer.iteration(n) as iteration:
            iteration.begin_dump(time=n).put(ex, made + n)

array = numpy.empty((10, 64, 64), "f4")
# block python 1
assert values.shape == (10, 64, 32)
assert abs(values - (made + 3)[10:20, ..., ::2]).max() <= 1e-3
assert abs(array - (made + 3)[10:20]).max() <= 1e-3
# block python 2
assert "E/x" in data or "E_x" in data, list(data)
