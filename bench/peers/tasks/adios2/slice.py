"""A slice of a field that was written as it is."""

import adios2

with adios2.FileReader("run.bp") as file:
    print(file.read("rho", [48, 0, 0], [1, 96, 96]).astype("f8").sum())
