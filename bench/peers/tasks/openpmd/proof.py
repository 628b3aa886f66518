"""Not counted: a dump of a task as proof.npy."""

import sys

import numpy as np
import openpmd_api as io

task, step = sys.argv[1], int(sys.argv[2])
values = []
for name in ["run_%06T.bp5"] if task == "kill" else ["run_0_%06T.bp5", "run_1_%06T.bp5"]:
    series = io.Series(name, io.Access.read_only)
    whole = series.iterations[step].meshes["rho"][()]
    series.flush()
    rank = len(values)
    values.append(whole if task == "kill" else whole[48 * rank : 48 * rank + 48])
np.save("proof.npy", np.concatenate(values))
