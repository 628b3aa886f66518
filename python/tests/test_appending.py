"""A Writer that goes on with a file: what h5py finds in it afterwards, and errors by their kind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import caesura
import h5py
import numpy as np
import pytest

SHAPE = (20, 16, 12)

CHILD = """
import os, signal, sys
import numpy as np
import caesura
writer = caesura.Writer(sys.argv[1], codec="none")
field = writer.define_field("rho", np.float32, (20, 16, 12))
for n in range(4):
    with writer.iteration(n) as iteration:
        iteration.begin_dump(time=n).put(field, np.full((20, 16, 12), n, np.float32))
while writer.committed is None or writer.committed < 1:
    n += 1
    with writer.iteration(n):
        pass
os.kill(os.getpid(), signal.SIGKILL)
"""


def dump(writer, numbers, dtype=np.float32):
    field = writer.define_field("rho", dtype, SHAPE)
    for n in numbers:
        with writer.iteration(n) as iteration:
            iteration.begin_dump(time=n).put(field, np.full(SHAPE, n, dtype))


def found(path):
    """By iteration: the one value that all of rho has, and its type."""
    out = {}
    with caesura.open(path) as file:
        for name, group in file["data"].items():
            values = group["meshes/rho"][...]
            assert (values == values.flat[0]).all()
            out[int(name)] = (values.flat[0], values.dtype)
    return out


def test_goes_on_behind_the_last_dump_or_behind_a_named_one(tmp_path):
    path, messages = tmp_path / "run.h5", []
    with caesura.Writer(path) as writer:
        dump(writer, [0, 1, 2, 3])
    with caesura.Writer.open(path, after=1, on_message=messages.append) as writer:
        assert writer.committed == 1
        assert sorted(found(path)) == [0, 1]
        assert writer.report().superseded_bytes > 0
        dump(writer, [2, 5], np.float64)
    assert any("iterations 2, 3 are dropped" in text for text in messages)
    with caesura.Writer.open(path, codec="none") as writer:
        assert writer.committed == 5
        dump(writer, [6])
    single, double = np.dtype(np.float32), np.dtype(np.float64)
    assert found(path) == {
        0: (0, single), 1: (1, single), 2: (2, double), 5: (5, double), 6: (6, single)
    }  # fmt: skip
    assert caesura.recover(path)["was_clean"]


def test_a_killed_run_is_recovered_and_gone_on_with(tmp_path):
    path = tmp_path / "run.h5"
    killed = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)], env=os.environ, check=False
    ).returncode
    assert killed == -signal.SIGKILL
    with caesura.Writer.open(path) as writer:
        last = writer.committed
        assert last in (1, 2, 3)
        dump(writer, [last + 1])
    assert {n: value for n, (value, _) in found(path).items()} == {n: n for n in range(last + 2)}


def test_attributes_of_the_file_are_replaced_with_the_first_dump(tmp_path):
    path = tmp_path / "run.h5"
    with caesura.Writer(path, author="one", root_attributes={"a": 1, "b": [1.5]}) as writer:
        dump(writer, [0])
    with caesura.Writer.open(path, root_attributes={"a": 2}) as writer:
        dump(writer, [1])
    with h5py.File(path) as file:
        assert file.attrs["a"] == 2
        assert file.attrs["b"] == [1.5]
        assert file.attrs["author"] in (b"one", "one")


def test_errors_say_what_to_do(tmp_path):
    path = tmp_path / "run.h5"
    with pytest.raises(OSError, match=r"Writer::create makes a new file"):
        caesura.Writer.open(path)
    with caesura.Writer(path) as writer:
        dump(writer, [0, 10])
        with pytest.raises(OSError, match="in use"):
            caesura.Writer.open(path)
    with pytest.raises(ValueError, match="iteration 5 is not there; of its 2 dumps the nearest"):
        caesura.Writer.open(path, after=5)
    writer = caesura.Writer.open(path)
    with pytest.raises(ValueError, match="iteration 10 is in"):
        dump(writer, [10])
    writer.close()
    with pytest.raises(RuntimeError, match="a service cannot go on"):
        caesura.Writer.open(path, transport="service:nowhere")
    plain = tmp_path / "plain.h5"
    with h5py.File(plain, "w") as file:
        file["x"] = np.zeros(20000)
    with pytest.raises(caesura.CorruptError, match="not a Caesura file"):
        caesura.Writer.open(plain)
    assert sorted(found(path)) == [0, 10]
