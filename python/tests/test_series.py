"""A file for each dump: written, read as one, shown by the commands, recovered after a kill."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import caesura
import numpy as np
import pytest
from caesura import series
from caesura.cli import app
from typer.testing import CliRunner

SHAPE = (24, 16, 8)


def values_of(iteration: int) -> np.ndarray:
    return (np.arange(np.prod(SHAPE)).reshape(SHAPE) * 0.25 + 1000 * iteration).astype(np.float32)


def write(pattern, iterations, **options) -> caesura.WriterReport:
    with caesura.Writer(pattern, durable=False, calibration="none", **options) as writer:
        rho = writer.define_field("rho", np.float32, SHAPE)
        for n in iterations:
            with writer.iteration(n) as iteration:
                iteration.begin_dump(time=0.5 * n).put(rho, values_of(n))
    return writer.report()


def run(*arguments) -> tuple[int, str]:
    answer = CliRunner().invoke(app, [str(one) for one in arguments])
    return answer.exit_code, answer.stdout


@pytest.mark.parametrize("each", [1, 2])
def test_each_file_and_all_of_them_have_the_dumps(tmp_path, each):
    pattern = tmp_path / "run_%05T.h5"
    report = write(pattern, range(0, 50, 10), dumps_per_file=each, pending_files=2)
    firsts = list(range(0, 50, 10 * each))
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"run_{n:05}.h5" for n in firsts]
    assert (report.files, report.dumps) == (len(firsts), 5)

    whole = caesura.Reader(pattern)
    assert list(whole.dumps) == [0, 10, 20, 30, 40]
    for n in whole.dumps:
        np.testing.assert_array_equal(whole["rho", n][...], values_of(n))
        np.testing.assert_array_equal(caesura.read(pattern, "rho", n), values_of(n))
        with caesura.open(tmp_path / f"run_{n // (10 * each) * 10 * each:05}.h5") as file:
            np.testing.assert_array_equal(file[f"data/{n}/meshes/rho"][...], values_of(n))
            encoding = file.attrs["iterationEncoding"]
            assert encoding == (b"fileBased" if each == 1 else b"groupBased")


def test_an_xarray_has_all_files(tmp_path):
    xarray = pytest.importorskip("xarray")
    write(tmp_path / "run_%05T.h5", [0, 1, 2])
    with xarray.open_dataset(tmp_path / "run_%05T.h5", engine="caesura") as dataset:
        assert dataset["rho"].shape == (3, *SHAPE)
        np.testing.assert_array_equal(dataset["rho"][2], values_of(2))


def test_names_of_files_are_found_by_number(tmp_path):
    for name in ("run_00010.h5", "run_00002.h5", "run_123456.h5", "run_2.h5", "run_000003.h5"):
        (tmp_path / name).touch()
    found = [path.name for path in series.files_of([tmp_path / "run_%05T.h5"])]
    assert found == ["run_00002.h5", "run_00010.h5", "run_123456.h5"]
    assert series.files_of([tmp_path / "run_2.h5"]) == [tmp_path / "run_2.h5"]
    assert len(series.files_of([tmp_path / "run_*.h5"])) == 5
    with pytest.raises(FileNotFoundError, match="other"):
        series.files_of([tmp_path / "other_%T.h5"])


def test_commands_take_the_pattern(tmp_path):
    pattern = tmp_path / "run_%05T.h5"
    write(pattern, [0, 1, 2])
    code, text = run("info", pattern)
    assert code == 0
    assert "3 files" in text
    assert "3 dumps (iterations 0 to 2)" in text
    code, text = run("info", pattern, "--json")
    document = json.loads(text)
    assert len(document["files"]) == 3
    assert document["iterations"] == [0, 1, 2]
    code, text = run("verify", pattern, "--json")
    assert code == 0
    assert len(json.loads(text)["files"]) == 3
    code, text = run("recover", pattern)
    assert code == 0
    assert text.count("is whole: 1 committed dump, nothing to do") == 3
    assert run("info", tmp_path / "none_%T.h5")[0] == 3
    # One that is none of ours does not keep the others from being finished.
    (tmp_path / "run_00001.h5").write_bytes(b"x" * 5000)
    code, text = run("recover", pattern, "--json")
    assert code == 3
    files = json.loads(text)["files"]
    assert [("error" in one) for one in files] == [False, True, False]


CHILD = """
import sys
import numpy as np
import caesura
pattern, each = sys.argv[1], int(sys.argv[2])
writer = caesura.Writer(pattern, dumps_per_file=each, calibration="none")
field = writer.define_field("rho", np.float32, (24, 16, 8))
known = None
for n in range(100000):
    with writer.iteration(n) as iteration:
        values = np.arange(24 * 16 * 8).reshape(24, 16, 8) * 0.25 + 1000 * n
        iteration.begin_dump(time=0.5 * n).put(field, values.astype(np.float32))
    if writer.committed != known:
        known = writer.committed
        print(known, flush=True)
"""


@pytest.mark.parametrize(("seed", "each"), [(11, 1), (12, 1), (13, 3), (14, 3)])
def test_a_kill_loses_no_file_that_was_committed(tmp_path, seed, each):
    print("seed", seed)
    draw = random.Random(seed)
    pattern = tmp_path / "run_%05T.h5"
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(pattern), str(each)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    assert child.stdout is not None
    known = -1
    for _ in range(draw.randint(1, 6)):
        known = int(child.stdout.readline())
    # Somewhere in the life of the next dump.
    end_s = time.monotonic() + draw.uniform(0.0, 0.05)
    while time.monotonic() < end_s:
        pass
    child.send_signal(signal.SIGKILL)
    rest = child.stdout.read().split()
    child.wait()
    known = int(rest[-1]) if rest else known
    command = [sys.executable, "-m", "caesura", "recover", str(pattern), "--json"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode in (0, 1, 3), answer.stdout + answer.stderr
    files = json.loads(answer.stdout)["files"]
    # Only one that had just been made may be no file of ours.
    assert all("error" not in one for one in files[: known // each + 1])
    reader = caesura.Reader(pattern)
    assert set(range(known + 1)) <= set(reader.dumps)
    for n in reader.dumps:
        np.testing.assert_array_equal(reader["rho", n][...], values_of(n))


def test_what_does_not_fit_is_refused(tmp_path):
    with pytest.raises(ValueError, match="dumps_per_file is 3"):
        caesura.Writer(tmp_path / "run.h5", dumps_per_file=3)
    with pytest.raises(ValueError, match="two places"):
        caesura.Writer(tmp_path / "run_%T_%T.h5")
    with pytest.raises(OSError, match="none"):
        write(tmp_path / "none" / "run_%T.h5", [0])
    with pytest.raises(OSError, match="no such file"):
        caesura.Reader(tmp_path / "run_%T.h5")
