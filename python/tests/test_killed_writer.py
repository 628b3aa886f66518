"""A writer killed at some instant: what was committed stays, recover finishes the rest."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import caesura
import numpy as np
import pytest

SHAPE = (32, 32, 32)

CHILD = """
import os, signal, sys
import numpy as np
import caesura
path, stop, committed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
writer = caesura.Writer(path, codec="zstd")
field = writer.define_field("rho", np.float32, (32, 32, 32))
for n in range(stop):
    with writer.iteration(n) as iteration:
        values = np.full((32, 32, 32), n, np.float32)
        values[0, 0] = np.arange(32)
        iteration.begin_dump(time=n).put(field, values)
if committed >= 0:  # go on with empty iterations until so much is in the file
    while writer.committed is None or writer.committed < committed:
        n += 1
        with writer.iteration(n):
            pass
print(-1 if writer.committed is None else writer.committed, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_run(path, stop, committed):
    """The last committed iteration as the writer knew it when it died; -1 for none."""
    command = [sys.executable, "-c", CHILD, str(path), str(stop), str(committed)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert answer.returncode == -signal.SIGKILL, answer.stderr
    return int(answer.stdout.split()[-1])


@pytest.mark.parametrize(("stop", "committed"), [(1, -1), (4, -1), (4, 1), (6, 4)])
def test_no_committed_dump_is_lost(tmp_path, stop, committed):
    path = tmp_path / "run.h5"
    known = killed_run(path, stop, committed)
    command = [sys.executable, "-m", "caesura", "recover", str(path), "--json"]
    dry = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=False)
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode in (0, 1), answer.stdout + answer.stderr
    report = json.loads(answer.stdout)
    assert report["committed_dumps"] == json.loads(dry.stdout)["committed_dumps"]
    assert report["committed_dumps"] >= known + 1
    assert (answer.returncode == 1) == bool(report["dropped"])
    if report["committed_dumps"] == 0:
        return
    with caesura.open(path) as file:
        assert len(file["/data"]) == report["committed_dumps"]
        for n in range(report["committed_dumps"]):
            values = file[f"/data/{n}/meshes/rho"][...]
            assert np.all(values[1:] == n)
            assert np.array_equal(values[0, 0], np.arange(32))
