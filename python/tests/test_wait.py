"""`caesura wait`: until all that was handed over lies in a file, and any reader opens it."""

from __future__ import annotations

import json

import caesura
import h5py
import numpy as np
import pytest
from caesura import _core
from caesura.waiting import LOOK_S, wait_for, what_is_missing
from command_line import caesura as run_cli

STATUS_FLAGS = 11  # of a superblock of version 3: its byte


class VirtualClock:
    """Sleeping lets things happen, each at its second."""

    def __init__(self, **happens):
        self.now_s = 0.0
        self.happens = sorted((float(at[2:]), what) for at, what in happens.items())

    def __call__(self):
        return self.now_s

    def sleep(self, seconds):
        self.now_s += seconds
        while self.happens and self.happens[0][0] <= self.now_s:
            self.happens.pop(0)[1]()


def wait(paths, timeout_s, clock):
    told = []
    missing = wait_for(_core, paths, timeout_s, lambda *what: told.append(what), clock, clock.sleep)
    return missing, told


def write(path):
    with caesura.Writer(str(path), codec="zstd") as writer:
        field = writer.define_field("rho", np.float32, (16, 16))
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0).put(field, np.zeros((16, 16), np.float32))


def set_flags(path, flags):
    with path.open("r+b") as file:
        file.seek(STATUS_FLAGS)
        file.write(bytes([flags]))


def test_a_complete_file_is_not_waited_for(tmp_path):
    write(tmp_path / "run.h5")
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["x"] = 1
    clock = VirtualClock()
    assert wait([tmp_path / "run.h5", tmp_path / "plain.h5"], 60, clock) == ({}, [])
    assert clock.now_s == 0


def test_a_file_is_waited_for_that_comes_later(tmp_path):
    path = tmp_path / "run.h5"
    clock = VirtualClock(at3=lambda: write(path))
    missing, told = wait([path], 60, clock)
    assert missing == {}
    assert 3 <= clock.now_s <= 3 + LOOK_S
    assert told[0] == (path, "it is not there", 0.0)


def test_the_mark_of_a_file_in_flight_is_waited_for(tmp_path):
    path = tmp_path / "run.h5"
    write(path)
    set_flags(path, 1)
    with pytest.raises(OSError):
        h5py.File(path)
    clock = VirtualClock(at2=lambda: set_flags(path, 0))
    assert wait([path], 60, clock)[0] == {}
    assert clock.now_s >= 2


def test_a_dump_that_is_not_committed_is_waited_for(tmp_path):
    path = tmp_path / "run.h5"
    writer = caesura.Writer(str(path), codec="zstd")
    field = writer.define_field("rho", np.float32, (16, 16))
    assert what_is_missing(_core, path) in ("it is not there", "nothing of it is committed yet")
    with writer.iteration(0) as iteration:
        iteration.begin_dump(time=0).put(field, np.zeros((16, 16), np.float32))
    clock = VirtualClock(at1=writer.close)
    assert wait([path], 60, clock)[0] == {}
    assert 1 <= clock.now_s < 60


def test_after_the_time_it_is_said_what_is_missing(tmp_path):
    path = tmp_path / "never.h5"
    clock = VirtualClock()
    assert wait([path], 2, clock)[0] == {path: "it is not there"}
    assert clock.now_s == pytest.approx(2)


def test_the_command_says_so_and_what_to_do(tmp_path):
    whole, never = tmp_path / "run.h5", tmp_path / "never.h5"
    write(whole)
    answer = run_cli("wait", whole)
    assert (answer.returncode, answer.stdout) == (0, "")
    answer = run_cli("wait", whole, never, "--timeout", "0")
    assert answer.returncode == 1
    assert "never.h5 is not complete after 0 s: it is not there" in answer.stdout
    assert "caesura recover" in answer.stdout
    answer = run_cli("wait", whole, never, "--timeout", "0", "--json")
    assert answer.returncode == 1
    found = json.loads(answer.stdout)["files"]
    assert [one["missing"] for one in found] == ["", "it is not there"]
