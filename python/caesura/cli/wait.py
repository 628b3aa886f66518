"""caesura wait: until a run has completed a file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from caesura.cli.common import (
    FINDING,
    JSON_HELP,
    OK,
    err,
    expected_errors,
    need_core,
    out,
    print_json,
)


def wait(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="What a run writes.")],
    timeout: Annotated[
        float, typer.Option(min=0.0, metavar="SECONDS", help="Wait no longer; without: for ever.")
    ] = math.inf,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Wait until files are complete: all that was handed over is there, and any reader opens them.

    A program under the HDF5 connector closes a file before its blocks are written. A Writer returns
    from `end()` before its dump is written. A script that goes on with the file waits here. A file
    that is not there yet is waited for, too. No lock is asked for. Files of others are complete
    when HDF5 opens them.

    Examples:

        caesura wait plt00010.h5 && cp plt00010.h5 /archive

        caesura wait plt00010.h5 --timeout 60

    Exit codes: 0 all are complete; 1 one is not after that time, and what it lacks is said; 2
    usage; 3 a file cannot be read.
    """
    core = need_core(as_json)
    from caesura.waiting import wait_for

    with expected_errors(as_json), _status(err, as_json) as tell:
        missing = wait_for(core, files, timeout, tell)
    if as_json:
        print_json(
            {"files": [{"path": str(one), "missing": missing.get(one, "")} for one in files]}
        )
    for path, why in missing.items():
        if not as_json:
            out.print(
                f"{path} is not complete after {timeout:g} s: {why}. If its run has ended: "
                f"caesura recover {path}",
                markup=False,
                soft_wrap=True,
            )
    raise typer.Exit(FINDING if missing else OK)


class _status:
    """What is waited for, in one line of a terminal; nothing elsewhere."""

    def __init__(self, console: Console, as_json: bool):
        self.line = None if as_json or not console.is_terminal else console.status("")

    def __enter__(self):
        if self.line:
            self.line.start()
        return self.tell

    def __exit__(self, *_: object) -> None:
        if self.line:
            self.line.stop()

    def tell(self, path: Path, why: str, waited_s: float) -> None:
        if self.line:
            self.line.update(escape(f"{path}: {why} ({waited_s:.0f} s)"))
