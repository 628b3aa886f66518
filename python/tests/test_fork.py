"""fork() and file locks: a child leaves its parent's files alone, and nobody hangs.

Each case is a program of its own: a child of fork() must not run pytest's exit.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import caesura
import h5py
import numpy as np
import pytest

PATIENCE_S = 60  # of a program that hangs
HEAD = """
import os, sys, numpy as np, caesura
values = np.random.default_rng(0).normal(size=(16, 64, 64)).astype("f4")

def child(body):
    \"\"\"The exit status of a forked child; what its body raises is 1.\"\"\"
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        body()
        sys.exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def dump(writer, field, n):
    with writer.iteration(n) as iteration:
        iteration.begin_dump(float(n)).put(field, values)
"""


def run(tmp_path: Path, body: str, **environment: str) -> str:
    program = subprocess.Popen(
        [sys.executable, "-c", HEAD + textwrap.dedent(body)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    try:
        said, _ = program.communicate(timeout=PATIENCE_S)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)  # children that hang, too
    assert program.returncode == 0, said
    return said


def assert_whole(path: Path, iterations: int) -> None:
    values = np.random.default_rng(0).normal(size=(16, 64, 64)).astype("f4")
    reader = caesura.Reader(path)
    assert reader.iterations == list(range(iterations))
    for n in reader.iterations:
        assert np.abs(reader["a", n][...] - values).max() <= 1e-3


@pytest.mark.parametrize("leaves", ["sys.exit(0)", "None", "os._exit(0)"])
def test_a_child_that_exits_beside_an_open_writer_neither_hangs_nor_harms(leaves, tmp_path):
    """Goal: the child ends with status 0, and the parent goes on with a whole file."""
    run(
        tmp_path,
        f"""
        writer = caesura.Writer("run.h5", absolute=1e-3)
        field = writer.define_field("a", np.float32, values.shape)
        dump(writer, field, 0)
        assert child(lambda: {leaves}) == 0
        dump(writer, field, 1)
        writer.close()
        """,
    )
    assert_whole(tmp_path / "run.h5", 2)


def test_a_child_inside_the_with_of_a_writer_ends_with_its_own_status(tmp_path):
    """Goal: leaving the block by sys.exit does not close the parent's Writer."""
    run(
        tmp_path,
        """
        with caesura.Writer("run.h5", absolute=1e-3) as writer:
            field = writer.define_field("a", np.float32, values.shape)
            dump(writer, field, 0)
            sys.stdout.flush()
            pid = os.fork()
            if pid == 0:
                sys.exit(5)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
            dump(writer, field, 1)
        """,
    )
    assert_whole(tmp_path / "run.h5", 2)


def test_every_call_of_a_child_says_whose_the_writer_is(tmp_path):
    """Goal: a clear error, not a hang, and no change of the parent's file."""
    run(
        tmp_path,
        """
        import pytest
        writer = caesura.Writer("run.h5", absolute=1e-3)
        field = writer.define_field("a", np.float32, values.shape)
        dump(writer, field, 0)
        open_iteration = writer.begin_iteration(1)
        open_dump = open_iteration.begin_dump(1.0)
        open_dump.put(field, values)

        def body():
            for call in (
                lambda: writer.define_field("b", np.float32, (4, 4)),
                lambda: open_dump.put(field, values),
                lambda: open_iteration.end(),
                lambda: dump(writer, field, 2),
                lambda: writer.set_attribute("x", 1),
                lambda: writer.finish_by(1.0),
                lambda: writer.close(),
            ):
                with pytest.raises(RuntimeError, match="run.h5: the Writer belongs to process"):
                    call()
            assert caesura.Reader("run.h5").iterations in ([], [0])
            with caesura.Writer("child.h5", absolute=1e-3) as own:
                dump(own, own.define_field("a", np.float32, values.shape), 0)

        assert child(body) == 0
        open_iteration.end()
        writer.close()
        """,
    )
    assert_whole(tmp_path / "run.h5", 2)
    assert_whole(tmp_path / "child.h5", 1)


def test_a_child_that_outlives_the_writer_keeps_no_lock(tmp_path):
    """Goal: once the parent has closed the file, others may write it."""
    run(
        tmp_path,
        """
        writer = caesura.Writer("run.h5", absolute=1e-3)
        field = writer.define_field("a", np.float32, values.shape)
        dump(writer, field, 0)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(write)
            os.read(read, 1)
            os._exit(0)
        writer.close()
        import h5py
        h5py.File("run.h5", "r+").close()
        caesura.recover("run.h5")
        os.close(write)
        assert os.waitpid(pid, 0)[1] == 0
        """,
    )
    assert_whole(tmp_path / "run.h5", 1)


def test_children_read_with_their_parents_reader(tmp_path):
    """Goal: multiprocessing by fork, with a Reader that has decoded by several threads before."""
    out = run(
        tmp_path,
        """
        import multiprocessing
        with caesura.Writer("run.h5", absolute=1e-3, chunk_bytes=1 << 16) as writer:
            field = writer.define_field("a", np.float32, values.shape)
            for n in range(4):
                dump(writer, field, n)
        reader = caesura.Reader("run.h5", threads=2)
        assert np.abs(reader["a", 0][...] - values).max() <= 1e-3

        def worst(n):
            return float(np.abs(reader["a", n][...] - values).max())

        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert max(pool.map(worst, range(4))) <= 1e-3
        assert worst(3) <= 1e-3
        print("read")
        """,
    )
    assert "read" in out


def test_a_child_leaves_checkpoints_to_its_parent(tmp_path):
    """Goal: the Checkpointer's threads and its file are the parent's alone."""
    run(
        tmp_path,
        """
        import pytest
        curve = [(1e3, 34e-6), (2e7, 3.7e-3)]
        device = caesura.EmulatedDevice(128_000, 250e6, 5e9, curve)
        data = np.arange(5000, dtype=np.float32)
        saved = caesura.Checkpointer(
            device, data.shape, path="c.h5", write_all=True, cache_bytes=128_000,
            link_bytes_per_s=250e6, compress_curve=curve, host_bytes=3 * 128_000,
        )
        saved.checkpoint(0, data)
        saved.flush()

        def body():
            with pytest.raises(RuntimeError, match="the Checkpointer belongs to process"):
                saved.checkpoint(1, data)

        assert child(body) == 0
        saved.checkpoint(1, data)
        saved.save()
        state = np.empty_like(data)
        assert np.array_equal(saved.restore(0, out=state), data)
        saved.close()
        """,
    )


def test_a_program_that_never_closes_its_writer_ends(tmp_path):
    """Goal: neither the interpreter's end nor an exception hangs; the file is recoverable."""
    run(
        tmp_path,
        """
        writer = caesura.Writer("run.h5", absolute=1e-3, on_message=print)
        field = writer.define_field("a", np.float32, values.shape)
        dump(writer, field, 0)
        iteration = writer.begin_iteration(1)
        """,
    )
    caesura.recover(tmp_path / "run.h5")
    assert caesura.Reader(tmp_path / "run.h5").iterations in ([], [0])


@pytest.mark.parametrize("word", ["FALSE", "0"])
def test_with_locking_off_a_reader_does_not_stop_a_writer(word, tmp_path):
    """Goal: HDF5_USE_FILE_LOCKING means what it means to HDF5."""
    code = """
        with caesura.Writer("run.h5", absolute=1e-3) as writer:
            dump(writer, writer.define_field("a", np.float32, values.shape), 0)
    """
    run(tmp_path, code)
    with h5py.File(tmp_path / "run.h5", "r", locking=True):
        run(tmp_path, code, HDF5_USE_FILE_LOCKING=word)
    assert_whole(tmp_path / "run.h5", 1)


@pytest.mark.parametrize("word", ["TRUE", "BEST_EFFORT", ""])
def test_with_locking_on_a_reader_stops_a_writer(word, tmp_path):
    """Goal: the file that somebody reads is not emptied under him."""
    code = """
        with caesura.Writer("run.h5", absolute=1e-3) as writer:
            dump(writer, writer.define_field("a", np.float32, values.shape), 0)
    """
    run(tmp_path, code)
    refused = 'try: caesura.Writer("run.h5")\nexcept OSError as error: print(error)'
    with h5py.File(tmp_path / "run.h5", "r", locking=True):
        assert "in use by another process" in run(tmp_path, refused, HDF5_USE_FILE_LOCKING=word)
    assert_whole(tmp_path / "run.h5", 1)


def test_what_another_program_destroys_without_locks_is_found(tmp_path):
    """Goal: with locking off others may write; changed bytes are an error, not values."""
    path = tmp_path / "run.h5"
    with caesura.Writer(path, absolute=1e-3) as writer:
        field = writer.define_field("a", np.float32, (16, 64, 64))
        with writer.iteration(0) as iteration:
            iteration.begin_dump(0.0).put(
                field, np.random.default_rng(0).random((16, 64, 64), "f4")
            )
    (dataset,) = caesura._core.OpenFile(str(path)).info()["datasets"]
    (chunk,) = dataset["chunks"]
    with path.open("r+b") as file:
        file.seek(chunk["address"] + chunk["bytes"] // 2)
        file.write(b"\0" * 64)
    with pytest.raises(caesura.CorruptError, match="checksum"):
        caesura.read(path, "a", 0)
