"""caesura watch beside an unmodified HDF5 program under the connector: what it shows at each pause
is what the program has done until then."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import caesura
import pytest
from caesura import _core, vol
from caesura.cli import app
from caesura.watching import state
from mpi_parts import DEFAULTS
from typer.testing import CliRunner

PACED = Path(os.environ.get("CAESURA_BUILD", "build")) / "tests" / "vol" / "vol_paced"
pytestmark = pytest.mark.skipif(
    not PACED.exists() or shutil.which("mpirun") is None, reason=f"{PACED} or mpirun is missing"
)
DUMPS = 3
VALUES = 64**3


class Program:
    """vol_paced on two ranks: a file for each of DUMPS dumps, then all in one."""

    def __init__(self, folder: Path) -> None:
        config = folder / "run.toml"
        report = folder / "caesura.json"
        config.write_text(
            "threshold_bytes = 4096\nchunk_bytes = 262144\n"
            f'durability = "complete"\nreport = "{report}"\n'
        )
        variables = {
            "HDF5_PLUGIN_PATH": f"{vol.connector_path()}:{caesura.plugin_path()}",
            "HDF5_VOL_CONNECTOR": f"caesura config={config}",
            "VOL_TEST_CONNECTOR": "caesura",
        }
        exports = [word for item in variables.items() for word in ("-x", "{}={}".format(*item))]
        self._process = subprocess.Popen(
            ["mpirun", "-n", "2", *exports, str(PACED), str(folder), str(DUMPS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**DEFAULTS, **os.environ},
        )

    def pause(self) -> None:
        """Until it has handed over one dump more."""
        for line in self._process.stdout:
            if line.startswith("dump "):
                return
        raise AssertionError(f"it ended with {self._process.wait()}")

    def go_on(self) -> None:
        self._process.stdin.write("on\n")
        self._process.stdin.flush()

    def end(self) -> int:
        self._process.stdin.close()
        self._process.stdout.close()
        return self._process.wait(60)


def test_dumps_of_a_running_program_are_counted_in_files_and_in_one(tmp_path):
    program = Program(tmp_path)
    said = tmp_path / "caesura.json"
    series = state.Watcher(_core, tmp_path / "dump_*.h5", [])
    reported = state.Watcher(_core, tmp_path / "dump_*.h5", [said])
    for n in range(DUMPS):
        program.pause()
        seen = series.look()
        assert (seen.committed.dumps, seen.committed.files) == (n + 1, n + 1)
        assert seen.committed.raw_bytes == (n + 1) * 8 * VALUES
        assert not seen.ended
        (lane,) = reported.look().lanes  # the first file's report comes at once
        assert 1 <= lane.dumps <= n + 1
        program.go_on()
    assert lane.compress_s > 0
    assert seen.between_s > 0
    assert seen.next_s <= seen.between_s
    told = CliRunner().invoke(app, ["watch", str(tmp_path / "dump_*.h5"), "--once"])
    assert told.exit_code == 0, told.output
    assert f"{DUMPS} dumps committed;" in told.stdout
    assert "dumps every" in told.stdout
    assert "lanes and what limits: name" in told.stdout

    one = state.Watcher(_core, tmp_path / "all.h5", [])
    for n in range(DUMPS):
        program.pause()
        seen = one.look()
        assert (seen.committed.dumps, seen.committed.files) == (n + 1, 1)
        assert seen.committed.raw_bytes == (n + 1) * 8 * VALUES
        if n > 0:
            assert seen.between_s > 0
        program.go_on()
    assert program.end() == 0
    told = CliRunner().invoke(app, ["watch", str(tmp_path / "all.h5"), str(said), "--json"])
    document = json.loads(told.stdout)
    assert (document["dumps"], document["dumps_in_flight"]) == (DUMPS, 0)
    assert document["ended"]
    (lane,) = document["ranks"]
    files = json.loads(said.read_text())["files"]
    assert lane["rank"] is None
    assert lane["end_s"] == pytest.approx(sum(one["blocks"]["in_calls_s"] for one in files))
    told = CliRunner().invoke(app, ["watch", str(tmp_path / "all.h5"), str(said)])
    assert told.exit_code == 0  # it ends because the program has
