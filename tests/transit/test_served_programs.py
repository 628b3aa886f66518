"""The service from Python, from ranks of mpirun, and for an unmodified HDF5 program under the
connector: the values are what they are without it, and a service that is killed costs no committed
dump. And what `caesura serve` says of it."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import caesura
import h5py
import numpy as np
import pytest
from caesura import serving, vol
from caesura.report.page import summary
from caesura.trace import read_traces

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "python" / "tests")]
import command_line  # noqa: E402
from mpi_parts import DEFAULTS, run_ranks  # noqa: E402
from service_process import Service  # noqa: E402

try:
    PROGRAM = serving.program_path()
except RuntimeError as missing:
    pytest.skip(str(missing), allow_module_level=True)
LONG_LEASE_S = 3600  # nobody waits for its end: the tests' own limit comes first
SHAPE = (64, 64, 64)
PACED = Path(os.environ.get("CAESURA_BUILD", "build")) / "tests" / "vol" / "vol_paced"
needs_mpi = pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs mpirun")


@pytest.fixture
def service(tmp_path):
    with Service(PROGRAM, tmp_path, threads=1, lease_s=LONG_LEASE_S) as running:
        yield running


def values(dump):
    grid = np.arange(np.prod(SHAPE), dtype=np.float64).reshape(SHAPE)
    return np.sin(1e-3 * grid + dump).astype(np.float32)


def write(path, transport, dumps, before=lambda n, writer: None, **options):
    """One rank's dumps; before each `before` is called."""
    with caesura.Writer(path, transport=transport, chunk_bytes=1 << 18, **options) as writer:
        field = writer.define_field("rho", np.float32, SHAPE)
        for n in range(dumps):
            before(n, writer)
            with writer.iteration(n) as iteration:
                iteration.begin_dump(time=n).put(field, values(n))
    return writer


def check(path, dumps, bound=0.0):
    with caesura.open(path) as file:
        for n in range(dumps):
            stored = file[f"/data/{n}/meshes/rho"][...].astype(np.float64)
            assert np.max(np.abs(stored - values(n))) <= bound, n


# ------------------------------------------------------------------------------------- Python


def test_a_python_program_writes_through_it(tmp_path, service):
    for bound in (0.0, 1e-3):
        path = tmp_path / f"run_{bound}.h5"
        write(path, service.address, 4, **({"absolute": bound} if bound else {}))
        check(path, 4, bound)
    told = service.status(lambda told: told["lost"] == 2)
    assert told["connected"] == 2
    assert service.end() == 0
    assert not service.socket.exists()
    assert not service.status_path.exists()


def test_its_trace_tells_values_handed_over_from_bytes_stored(tmp_path, service):
    trace = tmp_path / "trace_%r.json"
    writer = write(tmp_path / "run.h5", service.address, 2, absolute=1e-3, trace=str(trace))
    (row,) = summary(read_traces([tmp_path / "trace_0.json"]))
    assert row["given_bytes"] == writer.report().raw_bytes == 2 * values(0).nbytes
    assert row["stored_bytes"] == writer.report().overflow_bytes  # all others the service wrote


def test_the_file_is_that_of_a_writer_without_it(tmp_path, service):
    for name, transport in (("own", ""), ("served", service.address)):
        write(tmp_path / f"{name}.h5", transport, 3)
    with caesura.open(tmp_path / "own.h5") as own, caesura.open(tmp_path / "served.h5") as served:
        names = []
        own.visit(names.append)
        there = []
        served.visit(there.append)
        assert names == there
        for name in names:
            assert dict(own[name].attrs).keys() == dict(served[name].attrs).keys(), name


def test_killed_it_loses_nothing_of_who_writes_by_himself(tmp_path, service):
    path = tmp_path / "run.h5"
    write(
        path,
        service.address + ",on_loss=write",
        6,
        lambda n, _: service.end(signal.SIGKILL) if n == 3 else None,
    )
    check(path, 6)


def test_started_again_it_is_used_again_within_a_file(tmp_path, service):
    path, said = tmp_path / "run.h5", []
    transport = service.address + ",on_loss=write"
    with caesura.Writer(
        path, transport=transport, chunk_bytes=1 << 18, on_message=said.append
    ) as writer:
        field = writer.define_field("rho", np.float32, SHAPE)
        dumps, end = 0, time.monotonic() + 60

        def dump():
            nonlocal dumps
            with writer.iteration(dumps) as iteration:
                iteration.begin_dump(time=dumps).put(field, values(dumps))
            dumps += 1
            assert time.monotonic() < end

        dump()
        service.end(signal.SIGKILL)
        while writer.report().lost_services == 0:
            dump()
        service.start()
        while writer.report().regained_services == 0:  # by the clock: after 1 s, or 2
            dump()
            time.sleep(0.05)
        for _ in range(3):
            dump()
        writer.finish_by(60.0)
        told = service.status(lambda told: told["clients"] and told["clients"][0]["dumps"] >= 3)
        assert told["clients"][0]["raw_bytes"] > 0
    assert writer.report().lost_services == 1
    assert len([text for text in said if "it compresses and writes from now on" in text]) == 1
    check(path, dumps)
    service.status(lambda told: not told["clients"])


def test_started_again_it_writes_the_next_file_after_an_error(tmp_path, service):
    def before(n, writer):
        if n == 1:
            service.end(signal.SIGKILL)

    with pytest.raises(OSError, match="the service is gone"):
        write(tmp_path / "run.h5", service.address, 4, before)
    service.start()
    write(tmp_path / "next.h5", service.address, 2)
    check(tmp_path / "next.h5", 2)
    service.status(lambda told: told["lost"] == 1)


def test_killed_it_is_an_error_that_says_so(tmp_path, service):
    path = tmp_path / "run.h5"

    def before(n, writer):
        if n == 3:
            writer.finish_by(60.0)
            service.end(signal.SIGKILL)

    with pytest.raises(OSError, match="the service is gone"):
        write(path, service.address, 6, before)
    caesura.recover(path)
    check(path, 3)


def test_a_service_that_is_not_there_is_named(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        write(tmp_path / "run.h5", f"service:unix:{tmp_path}/nowhere.sock", 1)
    with pytest.raises(ValueError, match="on_loss"):
        write(tmp_path / "run.h5", "service:unix:/nowhere.sock,on_los=write", 1)


def test_a_program_that_forgets_its_writer_ends(tmp_path, service):
    """Its connection ends before UCX does. Ten times in the nightly run."""
    text = (
        "import caesura, numpy, os, sys\n"
        "writer = caesura.Writer(sys.argv[1], transport=sys.argv[2])\n"
        "field = writer.define_field('f', numpy.float32, (64, 64, 64))\n"
        "iteration = writer.begin_iteration(0)\n"
        "iteration.begin_dump(time=0).put(field, numpy.ones((64, 64, 64), numpy.float32))\n"
        "iteration.end()\n"
        "sys.forgotten = writer\n"
    )
    command = [sys.executable, "-c", text, str(tmp_path / "run.h5"), service.address]
    times = 10 if command_line.NIGHTLY else 3
    for _ in range(times):
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert answer.returncode == 0, answer.stderr
    service.status(lambda told: told["lost"] == times)


@needs_mpi
@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="needs mpi4py")
def test_ranks_write_one_file_through_it(tmp_path, service):
    path, bound = tmp_path / "run.h5", 1e-4
    program = ROOT / "python" / "tests" / "mpi_writer_program.py"
    answer = run_ranks(2, program, path, bound, service.address)
    assert json.loads(answer.stdout.splitlines()[-1])["committed"] == [3, 3]
    shape = (100, 30, 20)
    grid = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    with caesura.open(path) as file:
        for n in range(4):
            expected = np.sin(grid * 1e-3 + n, dtype=np.float32)
            stored = file[f"/data/{n}/meshes/rho"][...].astype(np.float64)
            assert np.max(np.abs(stored - expected)) <= bound
    service.status(lambda told: told["lost"] == told["connected"] > 2)


# ----------------------------------------------------------------- an unmodified HDF5 program


class Paced:
    """vol_paced on two ranks under the connector; it goes on when it is told to."""

    def __init__(self, directory, transport, dumps=3):
        self.directory, self.dumps = directory, dumps
        self.report = directory / "report.json"
        config = directory / "run.toml"
        lines = ["threshold_bytes = 4096", "chunk_bytes = 262144", f'report = "{self.report}"']
        lines += [f'transport = "{transport}"'] if transport else []
        config.write_text("\n".join(lines) + "\n")
        plugins = f"{vol.connector_path()}:{caesura.plugin_path()}"
        exports = ["-x", f"HDF5_PLUGIN_PATH={plugins}"]
        exports += ["-x", f"HDF5_VOL_CONNECTOR=caesura config={config}"]
        exports += ["-x", "VOL_TEST_CONNECTOR=caesura"]
        command = ["mpirun", "-n", "2", *exports, str(PACED), str(directory), str(dumps)]
        env = {name: text for name, text in os.environ.items() if not name.startswith("HDF5_")}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**DEFAULTS, **env},
        )
        self.said = ""

    def to(self, dump):
        """Until it has handed over that dump, which is counted through both parts."""
        for line in self.process.stdout:
            self.said += line
            if line.strip() == f"dump {dump}":
                return
            if line.startswith("dump "):
                self.go_on()
        raise AssertionError(f"it ended before dump {dump}: {self.said}")

    def go_on(self):
        self.process.stdin.write("on\n")
        self.process.stdin.flush()

    def end(self, code=0):
        last = 2 * self.dumps
        for line in self.process.stdout:
            self.said += line
            if line.startswith("dump ") and int(line.split()[1]) < last:
                self.go_on()
        self.process.stdin.close()
        self.process.stdout.close()
        assert (self.process.wait(60) == 0) == (code == 0), self.said
        return self.said

    def check(self, names):
        """Values of these dumps, by h5py with our filter and nothing else of ours."""
        at = np.arange(np.prod(SHAPE)).reshape(SHAPE)
        for name, place, dump in names:
            with h5py.File(self.directory / name) as file:
                expected = (np.sin(1e-3 * at) + dump).astype(np.float32)
                assert np.array_equal(file[place + "rho"][...], expected), (name, place)
                assert np.array_equal(file[place + "ids"][...], at + dump), (name, place)

    def all_dumps(self):
        return [(f"dump_{n}.h5", "", n) for n in range(self.dumps)] + [
            ("all.h5", f"step_{n}/", n) for n in range(self.dumps)
        ]


def h5dumped(path, dataset, count):
    """The first values, as stock h5dump has them with the filter plugin."""
    command = ["h5dump", "-y", "-d", dataset, "-s", "0,0,0", "-c", f"1,1,{count}", str(path)]
    env = {**os.environ, "HDF5_PLUGIN_PATH": caesura.plugin_path()}
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout
    numbers = said.split("DATA {")[1].split("}")[0].replace(",", " ")
    return [float(word) for word in numbers.split()]


needs_connector = pytest.mark.skipif(not PACED.exists(), reason=f"{PACED} is not built")


@needs_mpi
@needs_connector
def test_an_unmodified_program_writes_through_it(tmp_path, service):
    (tmp_path / "served").mkdir()
    (tmp_path / "own").mkdir()
    own = Paced(tmp_path / "own", "")
    own.end()
    served = Paced(tmp_path / "served", service.address)
    served.to(1)
    told = service.status(lambda told: len(told["clients"]) == 2)
    assert {one["application"] for one in told["clients"]} == {
        f"vol_paced, rank {rank} of 2" for rank in range(2)
    }
    served.go_on()
    said = served.end()
    assert "nothing lost" in said
    served.check(served.all_dumps())
    own.check(own.all_dumps())
    assert h5dumped(tmp_path / "served" / "all.h5", "/step_2/rho", 4) == pytest.approx(
        np.sin(1e-3 * np.arange(4)) + 2
    )
    report = json.loads(served.report.read_text())
    assert [one["handled_by"] for one in report["files"]] == ["caesura"] * 4
    blocks = sum(one["blocks"]["count"] for one in report["files"])
    assert blocks == sum(
        one["blocks"]["count"] for one in json.loads(own.report.read_text())["files"]
    )
    told = service.status(lambda told: told["lost"] == 2)
    assert not told["clients"]


@needs_mpi
@needs_connector
@pytest.mark.parametrize("dump", [1, 4])  # in a series of files, and inside one
def test_an_unmodified_program_goes_on_where_it_is_killed(tmp_path, service, dump):
    paced = Paced(tmp_path, service.address + ",on_loss=write")
    paced.to(dump)
    service.end(signal.SIGKILL)
    paced.go_on()
    assert "nothing lost" in paced.end()
    paced.check(paced.all_dumps())


@needs_mpi
@needs_connector
@pytest.mark.parametrize("dump", [1, 14])  # in a series of files, and inside one
def test_an_unmodified_program_goes_back_where_it_is_started_again(tmp_path, service, dump):
    paced = Paced(tmp_path, service.address + ",on_loss=write", 12)
    paced.to(dump)
    service.end(signal.SIGKILL)
    paced.go_on()
    paced.to(dump + 1)
    service.start()

    def is_back(told):
        return told["process"] == service.process.pid and len(told["clients"]) == 2

    # A dump looks for it, after 1 s and then after 2. Its status comes once a second.
    for step in range(2, 10):
        paced.go_on()
        paced.to(dump + step)
        with contextlib.suppress(TimeoutError):
            service.status(is_back, timeout_s=1.1)
            break
    assert is_back(service.status())
    paced.go_on()
    said = paced.end()
    assert "nothing lost" in said
    assert "the service was lost and is back" in said
    paced.check(paced.all_dumps())
    told = service.status(lambda told: told["lost"] == 2)
    assert told["connected"] == 2


@needs_mpi
@needs_connector
def test_an_unmodified_program_is_told_that_it_is_killed(tmp_path, service):
    paced = Paced(tmp_path, service.address)
    paced.to(4)  # dumps 3 and 4 of the last file are flushed
    whole = tmp_path / "dump_2.h5"  # the last one that was closed
    subprocess.run([sys.executable, "-m", "caesura", "wait", whole], check=True, timeout=60)
    service.end(signal.SIGKILL)
    paced.go_on()
    assert "the service is gone" in paced.end(code=1)
    paced.check([(f"dump_{n}.h5", "", n) for n in range(3)])
    for name in tmp_path.glob("*.h5"):
        caesura.recover(name)
    paced.check([("all.h5", f"step_{n}/", n) for n in range(2)])


@needs_mpi
@needs_connector
def test_an_unmodified_program_is_told_that_nobody_is_there(tmp_path):
    said = Paced(tmp_path, f"service:unix:{tmp_path}/nowhere.sock").end(code=1)
    assert "nowhere.sock" in said


# ------------------------------------------------------------------------------- caesura serve


def serve(*arguments, code=0):
    answer = command_line.caesura("serve", *arguments)
    assert answer.returncode == code, answer.stdout + answer.stderr
    assert "Traceback" not in answer.stderr
    return answer.stdout + answer.stderr


def test_the_command_starts_it_and_says_how_it_stands(tmp_path):
    command = [sys.executable, "-m", "caesura", "serve"]
    with Service(command, tmp_path, threads=1) as running:
        seen = []

        def before(n, writer):
            if n == 2:
                writer.finish_by(60.0)
                running.status(lambda told: told["clients"] and told["clients"][0]["dumps"] == 2)
                seen.append(serve("status", running.config))
                seen.append(json.loads(serve("status", running.status_path, "--json")))
                seen.append(serve("drain", running.config))
                running.status(lambda told: told["draining"])
                with pytest.raises(OSError, match="about to end"):
                    write(tmp_path / "late.h5", running.address, 1)

        write(tmp_path / "run.h5", running.address + ",weight=0.5", 4, before)
        table, told, _ = seen
        assert "caesura, rank 0 of 1" in table
        assert "2.1 MB" in table
        client = told["clients"][0]
        assert told["alive"]
        assert client["weight"] == 0.5
        assert client["raw_bytes"] == 2 * 4 * np.prod(SHAPE)
        assert 0 < client["stored_bytes"] < client["raw_bytes"]
        assert client["age_s"] >= 0
        assert running.process.wait(60) == 0
        check(tmp_path / "run.h5", 4)


def test_a_service_that_was_killed_is_a_finding(tmp_path, service):
    told = service.status()
    service.end(signal.SIGKILL)
    assert told["process"] == service.process.pid
    assert "IT IS GONE" in serve("status", service.status_path, code=1)
    assert "is no service any more" in serve("drain", service.status_path, code=3)


def test_stop_ends_it_while_clients_are_there(tmp_path, service):
    with caesura.Writer(tmp_path / "run.h5", transport=service.address + ",on_loss=write"):
        service.status(lambda told: told["clients"])
        serve("stop", service.config)
        assert service.process.wait(60) == 1


def test_draining_it_again_changes_nothing(tmp_path, service):
    def before(n, writer):
        if n == 1:
            for _ in range(3):
                serve("drain", service.config)
            service.status(lambda told: told["draining"])
            serve("drain", service.config)

    write(tmp_path / "run.h5", service.address, 4, before)
    assert service.process.wait(60) == 0
    check(tmp_path / "run.h5", 4)


def test_dumps_under_way_survive_that_it_is_stopped(tmp_path, service):
    """It recovers no file of a program that goes on by itself."""

    def before(n, writer):
        if n in (2, 3):  # 0 is committed; what came since is handed over, or under way
            os.kill(service.process.pid, signal.SIGQUIT) if n == 3 else writer.finish_by(60.0)

    write(tmp_path / "run.h5", service.address + ",on_loss=write", 6, before)
    assert service.process.wait(60) == 1
    check(tmp_path / "run.h5", 6)


def test_its_loss_is_said_once_and_reported(tmp_path, service):
    said = []

    def before(n, writer):
        if n == 1:
            service.end(signal.SIGKILL)

    transport = service.address + ",on_loss=write"
    writer = write(tmp_path / "run.h5", transport, 4, before, on_message=said.append)
    assert len([text for text in said if "by itself until" in text]) == 1
    assert writer.report().lost_services == 1
    check(tmp_path / "run.h5", 4)


def test_analyses_without_a_service_are_an_error(tmp_path):
    with pytest.raises(ValueError, match="set transport"):
        caesura.Writer(tmp_path / "run.h5", analyses=["stats"])


def test_one_that_stood_still_touches_nothing_afterwards(tmp_path):
    """Its clients have given it up and write themselves; it wakes up and finds them gone."""
    with Service(PROGRAM, tmp_path, threads=1, lease_s=2) as service:

        def before(n, writer):
            if n == 2:
                os.kill(service.process.pid, signal.SIGSTOP)
            if n == 5:
                os.kill(service.process.pid, signal.SIGCONT)

        transport = service.address + ",on_loss=write,silence_s=2"
        write(tmp_path / "run.h5", transport, 6, before)
        check(tmp_path / "run.h5", 6)
        service.status(lambda told: not told["clients"])
        check(tmp_path / "run.h5", 6)
        assert service.end() == 0


def test_what_cannot_be_read_is_said_in_one_sentence(tmp_path):
    assert "no service writes it" in serve("status", tmp_path / "no.json", code=3)
    bad = tmp_path / "bad.toml"
    bad.write_text('listen = ["unix:/tmp/x"]\n[[write]]\ndirectory = "/tmp"\n')
    assert "names no status file" in serve("status", bad, code=3)
    bad.write_text("threads = 0\n")
    assert "line 1: threads" in serve(bad, code=3)
    said = serve("--help")
    assert "listen = [" in said
    assert "[[write]]" in said
