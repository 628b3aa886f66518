"""Goal: services that a launcher has started together are members of one group without being told
of each other, and all end when they are asked to."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from caesura import serving

try:
    PROGRAM = serving.program_path()
except RuntimeError as missing:
    pytest.skip(str(missing), allow_module_level=True)
if shutil.which("mpirun") is None:
    pytest.skip("no mpirun", allow_module_level=True)

TIMEOUT_S = 60.0


def status_of(place: Path, rank: int, until) -> dict:
    """What a service says, once `until` is true of it."""
    end_s = time.monotonic() + TIMEOUT_S
    while True:
        path = place / f"status-{rank}.json"
        told = json.loads(path.read_text()) if path.exists() else {}
        if told and until(told):
            return told
        assert time.monotonic() < end_s, told
        time.sleep(0.05)


def alone(config: Path) -> str:
    """What a service says that no launcher has started."""
    done = subprocess.run([PROGRAM, str(config)], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 3
    return done.stderr


@pytest.fixture
def config(tmp_path):
    """Of any number of services."""
    secret = tmp_path / "secret"
    secret.write_text("a secret that both sides know, of some length")
    secret.chmod(0o600)
    config = tmp_path / "serve.toml"
    config.write_text(
        f"""listen = ["tcp:127.0.0.1:0"]
group = "pmix"
secret = "{secret}"
status = "{tmp_path}/status-%r.json"
threads = 1
objects_bytes = 4194304
[[write]]
directory = "{tmp_path}"
"""
    )
    return config


@pytest.fixture
def group(tmp_path, config):
    """Two services under mpirun; their directory and the launcher."""
    if "built without PMIx" in alone(config):
        pytest.skip("built without PMIx")
    launcher = subprocess.Popen(
        ["mpirun", "--bind-to", "none", "-n", "2", PROGRAM, str(config)],
        stdout=subprocess.PIPE,
        text=True,
    )
    yield tmp_path, launcher
    if launcher.poll() is None:
        launcher.kill()
        launcher.wait()
    for path in tmp_path.glob("status-*.json"):
        os.kill(json.loads(path.read_text())["process"], signal.SIGKILL)


def test_a_service_that_no_launcher_has_started_says_what_to_do(config):
    said = alone(config)
    assert "built without PMIx (libpmix-dev)" in said or "use mpirun or srun" in said


def test_a_service_that_waits_in_vain_for_another_one_names_it(config):
    if "built without PMIx" in alone(config):
        pytest.skip("built without PMIx")
    config.write_text("group_wait_s = 1.5\n" + config.read_text())
    # The other program of the launcher never joins.
    command = ["mpirun", "--bind-to", "none", "-n", "1", PROGRAM, str(config)]
    command += [":", "-n", "1", "sleep", "50"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode != 0
    assert "rank 0 of 2 has waited 1.5 s" in done.stderr
    assert "these ranks have not come: 1" in done.stderr


def test_services_of_one_launcher_lend_each_other_memory_and_end_together(group):
    place, launcher = group
    addresses = [launcher.stdout.readline().strip() for _ in range(2)]
    told = [status_of(place, rank, lambda told: told["members"]) for rank in (0, 1)]
    names = {f"service:{one['members'][0]['address']}" for one in told}
    assert names == set(addresses)
    client = Path(__file__).with_name("objects_client.py")
    for address in addresses:  # so that both are clients of each other
        done = subprocess.run(
            [sys.executable, str(client), f"{address},secret={place}/secret", "20"],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["same"]
    for rank in (0, 1):
        told = status_of(place, rank, lambda told: told["members"][0]["got_bytes"] > 0)
        assert told["members"][0]["put_bytes"] == 20 * (1 << 18) - (4 << 20)
    for one in (0, 1):
        os.kill(status_of(place, one, lambda _: True)["process"], signal.SIGTERM)
    assert launcher.wait(TIMEOUT_S) == 0
