"""The examples of examples/service: systemd takes the unit, and the Slurm script starts a service,
runs an application beside it and ends it. There is no Slurm here: its srun is a script that runs
the command once, on this node."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import caesura
import pytest
from caesura import serving, vol

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "service"
SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do shift; done
exec "$@"
"""

try:
    PROGRAM = serving.program_path()
except RuntimeError as missing:
    pytest.skip(str(missing), allow_module_level=True)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_unit(tmp_path):
    unit = tmp_path / "caesura-serve.service"
    text = (EXAMPLES / unit.name).read_text()
    assert "/usr/local/bin/caesura-serve" in text
    unit.write_text(text.replace("/usr/local/bin/caesura-serve", PROGRAM))
    command = ["systemd-analyze", "verify", "--user", "--man=no", str(unit)]
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    said = [line for line in answer.stderr.splitlines() if unit.name in line]
    assert (answer.returncode, said) == (0, [])


@pytest.mark.parametrize("command", ["bash -n", "shellcheck"])
def test_the_slurm_script_is_well_formed(command):
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"needs {command.split()[0]}")
    subprocess.run([*command.split(), str(EXAMPLES / "slurm.sh")], check=True)


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs mpirun")
def test_the_slurm_script_runs_an_application_beside_a_service(tmp_path):
    program = Path(os.environ.get("CAESURA_BUILD", "build")) / "tests" / "vol" / "vol_paced"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    (tmp_path / "lib" / "hdf5").mkdir(parents=True)
    (tmp_path / "bin").symlink_to(Path(PROGRAM).parent)
    (tmp_path / "lib" / "hdf5" / "vol").symlink_to(vol.connector_path())
    (tmp_path / "lib" / "hdf5" / "plugin").symlink_to(caesura.plugin_path())
    srun = tmp_path / "path" / "srun"
    srun.parent.mkdir()
    srun.write_text(SRUN)
    srun.chmod(0o755)
    output = tmp_path / "output"
    output.mkdir()
    env = {name: text for name, text in os.environ.items() if not name.startswith("HDF5_")}
    env |= {
        "PATH": f"{srun.parent}:{env['PATH']}",
        "CAESURA": str(tmp_path),
        "OUTPUT": str(output),
        "TMPDIR": str(tmp_path),
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NUM_NODES": "1",
        "VOL_TEST_CONNECTOR": "caesura",
    }
    command = [str(EXAMPLES / "slurm.sh"), "mpirun", "-n", "2", "-x", "HDF5_PLUGIN_PATH"]
    command += ["-x", "HDF5_VOL_CONNECTOR", "-x", "VOL_TEST_CONNECTOR", str(program), str(output)]
    command += ["2"]
    answer = subprocess.run(
        command, input="on\n" * 4, capture_output=True, text=True, env=env, timeout=120
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "nothing lost" in answer.stderr
    assert {path.name for path in output.glob("*.h5")} == {"dump_0.h5", "dump_1.h5", "all.h5"}
    assert not (tmp_path / "caesura-7").exists()
