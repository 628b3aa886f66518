"""Run one stage of work: say what it is, log what it prints, time it, and explain a failure.

Standard library only: this runs before any environment exists. On a terminal the last line of a
running stage is shown in place; elsewhere a stage prints one line when it begins and ends. What
each took is kept for the table that a command prints at its end.
"""

from __future__ import annotations

import os
import resource
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out"
LOGS = OUT / "logs"
TAIL_LINES = 40
LABEL_WIDTH = 44


@dataclass(frozen=True)
class Stage:
    """What one stage took: the clock's seconds, and the processors'."""

    label: str
    wall_s: float
    cpu_s: float


_stages: list[Stage] = []


def fail(message: str) -> NoReturn:
    """End with one sentence on stderr and exit status 1."""
    print(f"\n{message}", file=sys.stderr)
    sys.exit(1)


def note(label: str, text: str) -> None:
    """A stage that needed no work: one line."""
    print(f"{label:<{LABEL_WIDTH}} {text:>9}", flush=True)


def _children_cpu_s() -> float:
    """CPU seconds of the programs that have ended, theirs included that they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def measured(label: str) -> Iterator[None]:
    """Keeps what the programs that are run inside take."""
    begin_s, cpu_s = time.monotonic(), _children_cpu_s()
    try:
        yield
    finally:
        _stages.append(Stage(label, time.monotonic() - begin_s, _children_cpu_s() - cpu_s))


def where_the_time_went() -> str:
    """A table of the stages so far. CPU seconds compare processors and busy machines better."""
    lines = [f"{'where the time went':<{LABEL_WIDTH}} {'wall':>9} {'CPU':>11}"]
    total = Stage(
        f"in all, {cores()} cores", sum(s.wall_s for s in _stages), sum(s.cpu_s for s in _stages)
    )
    lines += [
        f"{stage.label:<{LABEL_WIDTH}} {stage.wall_s:7.1f} s {stage.cpu_s:9.1f} s"
        for stage in (*_stages, total)
    ]
    return "\n".join(lines)


def _show_in_place(label: str, line: str) -> None:
    width = max(20, shutil.get_terminal_size().columns - LABEL_WIDTH - 4)
    print(f"\r\033[K{label:<{LABEL_WIDTH}} {line.strip()[:width]}", end="", flush=True)


def _start(command: list[str], env: dict[str, str] | None) -> subprocess.Popen[str]:
    """The program in the checkout, its output and errors together as lines of text."""
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def run_stage(
    label: str, command: list[str], *, log: str, env: dict[str, str] | None = None, hint: str = ""
) -> None:
    """Run `command` with its output in out/logs/<log>.log; on failure show the tail and exit.

    hint: a sentence printed after a failure that says what to do next.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    path = LOGS / f"{log}.log"
    live = sys.stdout.isatty()
    print(f"{label:<{LABEL_WIDTH}}", end="", flush=True)
    with measured(label), path.open("w", buffering=1, errors="replace") as out:
        out.write(f"$ {shlex.join(command)}\n")
        process = _start(command, env)
        assert process.stdout is not None
        for line in process.stdout:
            out.write(line)
            if live:
                _show_in_place(label, line)
        code = process.wait()
    elapsed_s = _stages[-1].wall_s
    if live:
        print(f"\r\033[K{label:<{LABEL_WIDTH}}", end="")
    print(f" {elapsed_s:7.1f} s" + ("" if code == 0 else "  failed"), flush=True)
    if code != 0:
        tail = path.read_text(errors="replace").splitlines()[-TAIL_LINES:]
        print("\n".join(tail), file=sys.stderr)
        fail(
            f"{label}: exit status {code}. The whole log: {path.relative_to(ROOT)}"
            + (f"\n{hint}" if hint else "")
        )


def run_open(
    label: str,
    command: list[str],
    *,
    log: str,
    env: dict[str, str] | None = None,
    before_last: Callable[[], str] | None = None,
) -> int:
    """Run `command` with its output on the terminal and in out/logs/<log>.log; the exit status.

    before_last: asked, when the command has ended, for what is printed before its last line. That
    line stays the last; to know it, lines appear here when the next one has come.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    path = LOGS / f"{log}.log"
    print(f"{label}  (log: {path.relative_to(ROOT)})", flush=True)
    held: list[str] = []
    with measured(label), path.open("w", buffering=1, errors="replace") as out:
        process = _start(command, env)
        assert process.stdout is not None
        for line in process.stdout:
            out.write(line)
            if before_last is None:
                sys.stdout.write(line)
            elif line.strip():
                sys.stdout.writelines(held)
                held = [line]
            else:
                held.append(line)
            sys.stdout.flush()
        code = process.wait()
    if before_last is not None:
        print(f"\n{before_last()}\n")
        sys.stdout.writelines(held)
        sys.stdout.flush()
    return code


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))
