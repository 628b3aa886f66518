"""Which dumps are whole."""

import adios2

with adios2.FileReader("run.bp") as file:
    print(*range(file.num_steps()))
