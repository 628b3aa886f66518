"""Commands of `caesura`, each in a process of its own, without a new Python for each.

Starting one takes half a second, nearly all of it imports. One process imports the command line and
forks for each command. A command's output, its exit code and its end are those of any process. With
CAESURA_NIGHTLY each command is started by itself.

Part of the tests; no test by itself.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import json
import os
import runpy
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import forked

NIGHTLY = "CAESURA_NIGHTLY" in os.environ
# What a process reads when it starts, or when it loads its libraries.
EARLY = ("CAESURA_", "HDF5_", "PYTHON", "LD_", "LC_", "LANG", "OMP_", "OMPI_", "PMIX_", "UCX_",
         "TERMINAL_WIDTH", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS")  # fmt: skip
_forking: dict[frozenset[tuple[str, str]], tuple[subprocess.Popen[str], str]] = {}


def _early(env: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset((name, text) for name, text in env.items() if name.startswith(EARLY))


def caesura(
    *arguments: object, env: Mapping[str, str] | None = None, started: bool = NIGHTLY
) -> subprocess.CompletedProcess[str]:
    """`python -m caesura ARGUMENTS` in this environment; `started`: by itself, as users do."""
    words = [str(argument) for argument in arguments]
    env = dict(os.environ if env is None else env)
    if started:
        command = [sys.executable, "-m", "caesura", *words]
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env, check=False
        )
    with (
        open(os.devnull) as nothing,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        files = [nothing.fileno(), out.fileno(), err.fileno()]
        code = forked.ask(forking(env), words, os.getcwd(), env, files)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(words, code, out.read(), err.read())


def forking(env: Mapping[str, str]) -> str:
    """The socket of a process in such an environment that forks; it ends with this one."""
    key = _early(env)
    if key not in _forking:
        path = f"{tempfile.mkdtemp(prefix='caesura-forks-')}/socket"
        process = subprocess.Popen(
            [sys.executable, __file__, path],
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        _forking[key] = (process, path)
        assert process.stdout.readline(), "the process that forks did not start"
    return _forking[key][1]


@atexit.register
def _end() -> None:
    for process, path in _forking.values():
        process.communicate()
        shutil.rmtree(Path(path).parent)


def _import_the_command_line() -> None:
    """With what its commands import only when they run."""
    from caesura import _core, block_bounds, contents, verifying  # noqa: F401
    from caesura.cli import app

    with contextlib.redirect_stdout(io.StringIO()):
        app(["verify", "--help"], prog_name="caesura", standalone_mode=False)
    gc.freeze()  # a child copies fewer pages


def _become(wanted: dict, files: list[int]) -> None:
    for standard, given in enumerate(files):
        os.dup2(given, standard)
        os.close(given)
    os.environ.clear()
    os.environ.update(wanted["env"])
    os.chdir(wanted["folder"])
    sys.path[0] = wanted["folder"]
    sys.argv[1:] = wanted["words"]


def _is_the_command(asked: socket.socket) -> bool:
    """In a process of its own: True in its child, which is the command; this one answers."""
    head, files, *_ = socket.recv_fds(asked, 4, 3)
    with asked.makefile("rb") as rest:
        wanted = json.loads(rest.read(int.from_bytes(head, "little")))
    if _early(wanted["env"]) != _early(os.environ):
        asked.sendall(b"-256")
        os._exit(0)
    child = os.fork()
    if child == 0:
        asked.close()
        _become(wanted, files)
        return True
    asked.sendall(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())
    os._exit(0)


def _wait_for_those_that_ended(how: int) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, how)[0]:
            pass


def _fork_for_each(path: str) -> bool:
    """Until standard input ends. True: this is a command."""
    _import_the_command_line()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        print("ready", flush=True)
        while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
            asked, _ = listening.accept()
            if os.fork() == 0:
                return _is_the_command(asked)
            asked.close()
            _wait_for_those_that_ended(os.WNOHANG)
    _wait_for_those_that_ended(0)
    return False


if __name__ == "__main__" and _fork_for_each(sys.argv[1]):
    runpy.run_module("caesura", run_name="__main__", alter_sys=True)
