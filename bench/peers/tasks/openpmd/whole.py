"""Which dumps are whole."""

import openpmd_api as io

print(*io.Series("run_%06T.bp5", io.Access.read_only).iterations)
