"""What all commands share: exit codes, errors as one sentence, JSON, progress bars.

Invariants: with --json stdout holds one JSON document and nothing else; people's messages and
progress go to stderr; an expected error never shows a traceback.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

OK, FINDING, USAGE, UNREADABLE = 0, 1, 2, 3

_WIDE = 80  # columns from which on tables need not be tight
_UNWATCHED_WIDTH = 200  # a pipe has no width; tables must not be cut for it

out = Console(highlight=False, width=None if sys.stdout.isatty() else _UNWATCHED_WIDTH)
err = Console(stderr=True, highlight=False)

JSON_HELP = "Print one JSON document on stdout instead of text."


def print_json(document: object) -> None:
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


def stop(message: str, as_json: bool, code: int = UNREADABLE) -> NoReturn:
    """One sentence and the exit code."""
    if as_json:
        print_json({"error": message})
    err.print(f"caesura: {message}", markup=False, soft_wrap=True)
    raise typer.Exit(code)


@contextmanager
def expected_errors(as_json: bool, hint: str = "") -> Iterator[None]:
    """Errors that are about the user's files become a sentence and exit code 3.

    hint: what to do after an interruption.
    """
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        stop(_sentence(error), as_json)
    except Exception as error:
        if type(error).__name__ not in ("CorruptError", "TraceError", "ComparisonError"):
            raise
        stop(str(error), as_json)
    except KeyboardInterrupt:
        err.print("caesura: interrupted" + (f"; {hint}" if hint else ""))
        raise typer.Exit(130) from None


def _sentence(error: BaseException) -> str:
    """The operating system's errors say what but not what to do."""
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return f"{error.filename} does not exist; check the path"
    if isinstance(error, PermissionError) and error.filename is not None:
        return f"{error.filename} may not be opened by this user; check its permissions"
    if isinstance(error, IsADirectoryError) and error.filename is not None:
        return f"{error.filename} is a directory; name a file in it"
    return str(error) or type(error).__name__


def plain_table(*columns: str, left: str) -> Table:
    """A table without lines, numbers to the right. Where a terminal is narrow words go on in the
    next line: nothing is cut off."""
    wide = out.width >= _WIDE
    table = Table(box=None, padding=(0, 2 if wide else 1), pad_edge=wide, header_style="bold")
    for name in columns:
        table.add_column(name, justify="left" if name == left else "right", overflow="fold")
    return table


def need_core(as_json: bool) -> Any:
    """The compiled module, or a sentence on how to get it."""
    try:
        from caesura import _core
    except ImportError as error:
        stop(
            f"the compiled module caesura._core cannot be loaded ({error}); "
            "build with -DCAESURA_PYTHON=ON or `pip install .`",
            as_json,
        )
    return _core


def _bar(as_json: bool) -> Progress:
    """Of bytes. Silent when nobody watches."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=32),
        DownloadColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    shown = err.is_terminal and not as_json
    return Progress(*columns, console=err, transient=True, disable=not shown)


@contextmanager
def byte_progress(description: str, total: int, as_json: bool) -> Iterator[Any]:
    """Yields a function that is told bytes done."""
    with _bar(as_json) as progress:
        task = progress.add_task(description, total=total)
        yield lambda count: progress.advance(task, count)


@contextmanager
def phase_progress(as_json: bool) -> Iterator[Any]:
    """Yields a function that is told what is being done, bytes done of it, and all bytes of it."""
    with _bar(as_json) as progress:
        task = progress.add_task("", total=None)
        yield lambda doing, done, total: progress.update(
            task, description=doing, completed=done, total=total
        )
