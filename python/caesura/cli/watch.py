"""caesura watch: a running job in the terminal."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from caesura.cli.common import (
    JSON_HELP,
    err,
    expected_errors,
    need_core,
    out,
    plain_table,
    print_json,
)
from caesura.report.quantities import bytes_text, duration_text

if TYPE_CHECKING:
    from caesura.watching.lanes import Lane
    from caesura.watching.state import State

_SHOWN_FIELDS, _SHOWN_RANKS = 10, 8
_UNKNOWN = (
    'lanes and what limits: name the traces of Writer(trace="trace-%r.json"), or the report of '
    "the HDF5 connector"
)


def watch(
    file: Annotated[
        Path, typer.Argument(help='What the run writes; "run_%06T.h5": all of its files.')
    ],
    traces: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[TRACE...]", help="Its traces, one a rank; the connector's report."
        ),
    ] = None,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, say it, and end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP + " Looks once.")] = False,
) -> None:
    """Show a running job: dumps committed, ratio, lanes, what limits, when the next dump comes.

    It reads the file and the traces and asks nothing of the job, so it works over ssh, from another
    node of the same file system, and on what a killed run left. Without traces it knows what the
    file holds; with them (Writer(trace="trace-%r.json"), which grows with every dump) also what the
    lanes do. Of a program under the HDF5 connector name the connector's report. It ends when the
    traces are closed, or with Ctrl-C. Into a pipe it prints a line for each new dump.

    Examples:

        caesura watch run.h5 trace-*.json

        caesura watch run.h5 --once --json

    Exit codes: 0; 2 usage; 3 no such file, not HDF5, or a trace that is none.
    """
    core = need_core(as_json)
    from caesura.contents import check_is_whole, plain_words
    from caesura.watching.state import Watcher

    watcher = Watcher(core, file, traces or [])
    with expected_errors(as_json):
        check_is_whole(file)
        if words := plain_words(core, file):
            err.print(f"caesura: {words}", markup=False, soft_wrap=True)
        state = watcher.look()
        if not (once or as_json):
            _follow(watcher, state, every)
    if not (once or as_json):
        return
    if as_json:
        print_json(document(state))
    else:
        out.print(shown(state))


def _follow(watcher: Any, state: State, every: float) -> None:
    """Until the run has ended."""
    if not out.is_terminal or out.is_dumb_terminal:
        dumps = -1
        while True:
            if state.committed.dumps != dumps:
                dumps = state.committed.dumps
                out.print(line(state), markup=False, soft_wrap=True)
                out.file.flush()
            if state.ended:
                return
            time.sleep(every)
            state = watcher.look()
    with Live(shown(state), console=out, auto_refresh=False) as live:
        while not state.ended:
            time.sleep(every)
            state = watcher.look()
            live.update(shown(state), refresh=True)


def line(state: State) -> str:
    """One dump more."""
    done = state.committed
    clock = time.strftime("%H:%M:%S", time.localtime(state.now_s))
    if done.last is None:
        return f"{clock} no commit yet"
    raw, stored = done.last_dump()
    limit = f"; {busiest(state).limit()}" if state.lanes else ""
    name = f"iteration {done.last}: " if done.by_iteration else ""
    return (
        f"{clock} {name}{_dumps(done.dumps)}, the last {bytes_text(stored)}, "
        f"ratio {raw / max(1, stored):.3g}{limit}"
    )


def _dumps(count: int) -> str:
    return "1 dump" if count == 1 else f"{count} dumps"


def busiest(state: State) -> Lane:
    """The rank that others wait for."""
    return max(state.lanes, key=lambda lane: lane.load)


def document(state: State) -> dict[str, Any]:
    """What --json prints."""
    done = state.committed
    return {
        "path": state.path,
        "state": state.words(),
        "ended": state.ended,
        "no_trace_yet": state.no_trace_yet,
        "unfinished": done.unfinished,
        "dumps_in_flight": done.in_flight,
        "dumps": done.dumps,
        "last_iteration": done.last if done.by_iteration else None,
        "silent_s": state.silent_s,
        "raw_bytes": done.raw_bytes,
        "stored_bytes": done.stored_bytes,
        "ratio": done.raw_bytes / done.stored_bytes if done.stored_bytes else None,
        "file_bytes": done.file_bytes,
        "files": done.files,
        "fields": [
            {
                "name": one.name,
                "ratio": one.raw_bytes / max(1, one.stored_bytes),
                "last_ratio": one.last_raw_bytes / max(1, one.last_stored_bytes),
                "last_stored_bytes": one.last_stored_bytes,
            }
            for one in done.fields.values()
        ],
        "between_dumps_s": state.between_s,
        "next_dump_s": state.next_s,
        "limit": busiest(state).limit() if state.lanes else None,
        "ranks": [
            {
                "rank": lane.rank,
                "compress_s": lane.compress_s,
                "write_s": lane.write_s,
                "put_s": lane.put_s,
                "end_s": lane.end_s,
                "span_s": lane.span_s,
                "in_flight": lane.in_flight,
                "limit": lane.limit(),
            }
            for lane in state.lanes
        ],
    }


# --------------------------------------------------------------------------------------- for people


def shown(state: State) -> Group:
    """All of it, plain enough for any terminal."""
    done = state.committed
    parts: list[Any] = [Text.from_markup(f"[bold]{escape(state.path)}[/bold]: {state.words()}")]
    last = f", the last of iteration {done.last}" if done.by_iteration else ""
    last += f", {done.in_flight} in flight" if done.in_flight else ""
    ratio = f", ratio {done.raw_bytes / done.stored_bytes:.3g}" if done.stored_bytes else ""
    parts.append(Text(f"{_dumps(done.dumps)} committed{last}; {bytes_text(done.raw_bytes)} raw, "
                      f"{bytes_text(done.stored_bytes)} stored{ratio}"))  # fmt: skip
    if state.no_trace_yet:
        parts.append(Text(f"no trace yet: {', '.join(state.no_trace_yet)}"))
    if words := _next(state):
        parts.append(Text(words))
    if state.lanes:
        busy = busiest(state)
        who = "all ranks" if busy.rank is None else f"rank {busy.rank}"
        parts.append(Text(f"{who}: {busy.limit()}"))
        parts += [Text(""), _lanes_table(state.lanes)]
    elif done.dumps and not state.no_trace_yet:
        parts.append(Text(_UNKNOWN))
    if done.fields:
        parts += [Text(""), _fields_table(state)]
    return Group(*parts)


def _next(state: State) -> str:
    if state.ended or state.between_s is None:
        return f"dumps every {duration_text(state.between_s)}" if state.between_s else ""
    words = f"dumps every {duration_text(state.between_s)}, the next "
    left = state.next_s if state.next_s is not None else 0.0
    late = f"is {duration_text(-left)} late"
    return words + (f"in about {duration_text(left)}" if left > 0 else late)


def _lanes_table(lanes: list[Lane]) -> Table:
    """The busiest ranks, in the order of their numbers."""
    names = ("rank", "compressing a dump", "writing it", "in put", "in end", "in flight")
    table = plain_table(*names, left="")
    most = sorted(lanes, key=lambda lane: lane.load, reverse=True)[:_SHOWN_RANKS]
    for lane in sorted(most, key=lambda lane: -1 if lane.rank is None else lane.rank):
        span = max(lane.span_s, 1e-9)
        table.add_row(
            "all" if lane.rank is None else str(lane.rank),
            duration_text(lane.compress_s),
            duration_text(lane.write_s),
            f"{100 * lane.put_s / span:.1f} %",
            f"{100 * lane.end_s / span:.1f} %",
            str(lane.in_flight),
        )
    if len(lanes) > len(most):
        table.caption = f"the busiest {len(most)} of {len(lanes)} ranks"
    return table


def _fields_table(state: State) -> Table:
    table = plain_table("field", "last dump", "ratio", "ratio of all", left="field")
    fields = sorted(state.committed.fields.values(), key=lambda one: -one.last_stored_bytes)
    for one in fields[:_SHOWN_FIELDS]:
        table.add_row(
            one.name,
            bytes_text(one.last_stored_bytes),
            f"{one.last_raw_bytes / max(1, one.last_stored_bytes):.3g}",
            f"{one.raw_bytes / max(1, one.stored_bytes):.3g}",
        )
    if len(fields) > _SHOWN_FIELDS:
        table.caption = f"and {len(fields) - _SHOWN_FIELDS} smaller ones"
    return table
