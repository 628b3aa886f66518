"""Goal: an application on one node and its service on another, over a cable of stated speed: what
goes over the cable is what was handed over; a cable that is cut for seconds delays and loses
nothing; whoever dies takes nothing committed with it. Root only, else skipped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from caesura import serving

sys.path.insert(0, str(Path(__file__).parent))
from killable_client import FIELDS, SHAPE
from kills import Client, wrong_in
from nodes import ADDRESSES, Cable, NotHere
from service_process import Service

try:
    PROGRAM = serving.program_path()
except RuntimeError as missing:
    pytest.skip(str(missing), allow_module_level=True)

DUMPS = 8
STOP = 3  # the dump before which things happen; those before are committed
DUMP_BYTES = len(FIELDS) * 4 * SHAPE[0] * SHAPE[1] * SHAPE[2]
TIMEOUT_S = 120.0
CUT_S = 10.0 if "CAESURA_NIGHTLY" in os.environ else 3.0


class Run:
    """A service on node 0, a client on node 1."""

    def __init__(self, place: Path, cable: Cable, lease_s: float) -> None:
        self.place, self.cable, self.lease_s = place, cable, lease_s
        self.secret = place / "secret"
        self.secret.write_text("a secret that both sides know, of some length")
        self.secret.chmod(0o600)
        self.service = Service(
            cable.command(0, [str(PROGRAM)]),
            place,
            listen=[f"tcp:{ADDRESSES[0]}:0"],
            secret=str(self.secret),
            threads=1,
            lease_s=lease_s,
        )

    def start(self, on_loss: str, bound: float = 1e-3) -> Client:
        """The client; what it says is read by `line` and `wait`."""
        path = self.place / "client.h5"
        transport = f"{self.service.address},secret={self.secret},on_loss={on_loss}"
        transport += f",silence_s={self.lease_s}"
        words = [sys.executable, str(Path(__file__).with_name("killable_client.py"))]
        words += [str(path), transport, str(DUMPS), "7", str(bound), str(STOP)]
        process = subprocess.Popen(
            self.cable.command(1, words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return Client(process, path, 7, bound, on_loss == "write")


def read_until_it_stops(client: Client) -> None:
    """It has three dumps committed then, and waits."""
    while "stops" not in (client.lines or [""])[-1]:
        line = client.process.stdout.readline()
        assert line, client.lines
        client.lines.append(line)
    assert client.committed() == STOP - 1


def go_on(client: Client) -> None:
    client.process.stdin.write("\n")
    client.process.stdin.flush()


def wait(client: Client) -> int:
    """Until it has ended; its exit code."""
    rest, _ = client.process.communicate(timeout=TIMEOUT_S)
    client.lines += rest.splitlines()
    return client.process.returncode


@pytest.fixture(params=[""])
def cable(request):
    try:
        made = Cable(rate=request.param)
    except NotHere as why:
        pytest.skip(str(why))
    with made:
        yield made


@pytest.fixture
def run_with(tmp_path, cable):
    runs: list[Run] = []

    def make(lease_s: float) -> Run:
        runs.append(Run(tmp_path, cable, lease_s))
        return runs[-1]

    yield make
    for run in runs:
        run.service.__exit__()


@pytest.mark.parametrize("cable", ["400mbit"], indirect=True)
def test_values_go_over_the_cable_and_files_are_whole(run_with, cable):
    run = run_with(lease_s=10)
    before, begin_s = cable.received_bytes(0), time.monotonic()
    client = run.start("error")
    go_on(client)
    assert wait(client) == 0, client.lines
    took_s, carried = time.monotonic() - begin_s, cable.received_bytes(0) - before
    raw_bytes = DUMPS * DUMP_BYTES
    print(f"{raw_bytes} bytes handed over, {carried} carried in {took_s:.2f} s")
    assert raw_bytes <= carried <= 1.15 * raw_bytes
    assert carried <= took_s * 50e6 + 1e6, "faster than the cable"
    assert client.committed() == DUMPS - 1
    assert wrong_in(client) == [], client.lines
    run.service.status(lambda told: not told["clients"])
    assert run.service.end() == 0


def test_a_cable_that_is_cut_for_seconds_loses_nothing(run_with, cable):
    run = run_with(lease_s=40)
    client = run.start("error")
    read_until_it_stops(client)
    cable.cut()
    go_on(client)
    time.sleep(CUT_S)
    cable.mend()
    assert wait(client) == 0, client.lines
    assert client.committed() == DUMPS - 1
    assert wrong_in(client) == [], client.lines


@pytest.mark.parametrize("on_loss", ["error", "write"])
def test_a_cable_that_stays_cut_ends_in_an_error_or_in_writing_by_oneself(run_with, cable, on_loss):
    run = run_with(lease_s=2)
    client = run.start(on_loss)
    read_until_it_stops(client)
    cable.cut()
    go_on(client)
    code = wait(client)
    if on_loss == "write":
        assert code == 0, client.lines
        assert client.committed() == DUMPS - 1
    else:
        assert code == 1
        assert client.lines[-1].startswith("lost "), client.lines
    assert wrong_in(client) == [], client.lines
    cable.mend()
    run.service.status(lambda told: not told["clients"])


@pytest.mark.parametrize("on_loss", ["error", "write"])
def test_a_killed_service_takes_nothing_committed_with_it(run_with, on_loss):
    run = run_with(lease_s=2)
    client = run.start(on_loss)
    read_until_it_stops(client)
    run.service.process.kill()
    go_on(client)
    code = wait(client)
    assert code == (0 if on_loss == "write" else 1), client.lines
    if on_loss == "write":
        assert client.committed() == DUMPS - 1
    assert wrong_in(client) == [], client.lines


def test_a_killed_client_is_noticed_and_its_file_recovered(run_with):
    run = run_with(lease_s=2)
    client = run.start("error")
    read_until_it_stops(client)
    client.process.kill()
    wait(client)
    run.service.status(lambda told: not told["clients"])
    assert wrong_in(client) == [], client.lines
    assert run.service.end() == 0


def test_an_object_larger_than_either_memory_is_read_and_analysed_on_both_nodes(tmp_path, cable):
    secret = tmp_path / "secret"
    secret.write_text("a secret that both sides know, of some length")
    secret.chmod(0o600)
    memory_bytes, slab_bytes, slabs = 4 << 20, 1 << 18, 20  # 5 MiB
    services = []
    for node in (1, 0):
        keys = {"members": [f"tcp:{ADDRESSES[1]}:4712"]} if node == 0 else {}
        services.append(
            Service(
                cable.command(node, [str(PROGRAM)]),
                tmp_path,
                listen=[f"tcp:{ADDRESSES[node]}:{4711 + node}"],
                secret=str(secret),
                threads=1,
                objects_bytes=memory_bytes if node == 0 else 3 << 20,
                **keys,
            )
        )
    there, here = services
    with there, here:
        words = [sys.executable, str(Path(__file__).with_name("objects_client.py"))]
        words += [f"{here.address},secret={secret}", str(slabs)]
        before = cable.received_bytes(1)
        done = subprocess.run(
            cable.command(0, words), capture_output=True, text=True, timeout=TIMEOUT_S
        )
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["bytes"] == slabs * slab_bytes > memory_bytes
        assert told["same"]
        assert told["found"] == pytest.approx(told["numpy"], rel=1e-12)
        assert told["counts"] == told["numpy_counts"]
        away = told["bytes"] - memory_bytes
        member = here.status(lambda told: told["members"][0]["got_bytes"] > 0)["members"][0]
        # What had no room went to the other node, was analysed there twice, and came back once.
        assert member["put_bytes"] == away
        assert member["passed_bytes"] == 2 * away
        assert member["got_bytes"] == away
        assert away <= cable.received_bytes(1) - before <= 1.2 * away + 100_000
