"""caesura together: a run's checkpoints in, a letter for each out."""

from __future__ import annotations

import enum
import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from caesura.cli.common import JSON_HELP, expected_errors, need_core, out, print_json
from caesura.report.quantities import duration_text

if TYPE_CHECKING:
    from caesura.together import Plan


class Goal(enum.StrEnum):
    """Of plans; the values are those of caesura.together.GOALS."""

    HOST = "host"
    APPLICATION = "application"


def together(
    profile: Annotated[
        Path, typer.Argument(help="A run's profile as JSON; - is standard input.", dir_okay=False)
    ],
    states: Annotated[
        int,
        typer.Option(
            min=0,
            help="How much is looked at: states kept for each checkpoint. 0: exact for up to 20 "
            "checkpoints, quick for more.",
        ),
    ] = 0,
    goal: Annotated[
        Goal,
        typer.Option(
            help="What is to be soonest: host, the last byte is there; application, it goes on "
            "after its last checkpoint, whatever is still to be carried."
        ),
    ] = Goal.HOST,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Plan which checkpoints of a GPU to send raw, to compress, and to hold.

    In the plan U is sent raw, C compressed, A held, and X compressed with those held. The last one
    then reaches the host soonest, or the application goes on soonest.

    A profile is {"checkpoint_bytes", "intervals_s": [...], "compressed_bytes": [...],
    "compress_curve": [[bytes, seconds]...], "link_bytes_per_s", "cache_bytes", "header_bytes",
    "copy_bytes_per_s"}, the last two optional.

    Exit codes: 0; 2 usage; 3 the profile cannot be read.
    """
    need_core(as_json)
    with expected_errors(as_json):
        from caesura.together import parse

        stdin = str(profile) == "-"
        text = sys.stdin.read() if stdin else profile.read_text(encoding="utf-8")
        run = parse(text, "standard input" if stdin else str(profile))
        plan, raw, each = run.plan(states, goal.value), run.send_all_raw(), run.compress_each()
    if as_json:
        print_json(
            {
                "plan": plan.word,
                "flush_end_s": plan.flush_end_s,
                "application_end_s": plan.application_end_s,
                "raw_flush_end_s": raw.flush_end_s,
                "each_flush_end_s": each.flush_end_s,
                "exact": plan.exact,
                "plan_us": 1e6 * plan.plan_s,
            }
        )
        return
    _show(plan, raw, each, goal)


def _show(plan: Plan, raw: Plan, each: Plan, goal: Goal) -> None:
    def goal_s(made: Plan) -> float:
        return made.flush_end_s if goal is Goal.HOST else made.application_end_s

    out.print(runs(plan.word) or "no checkpoints", soft_wrap=True)
    kind = "no better one exists" if plan.exact else "found, not proven"
    out.print(f"made in {duration_text(plan.plan_s)}; {kind}", style="dim")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("", "all at the host", "application done", "to the plan"):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for name, made in (("this plan", plan), ("all raw", raw), ("each compressed", each)):
        ratio = f"{goal_s(made) / goal_s(plan):.2f}" if goal_s(plan) > 0 else ""
        table.add_row(
            name, duration_text(made.flush_end_s), duration_text(made.application_end_s), ratio
        )
    out.print(table)


def runs(word: str) -> str:
    """UUUAAX as 3 U, 3 together."""
    parts, held = [], 0
    for letter, group in itertools.groupby(word):
        n = len(list(group))
        if letter == "A":
            held = n
        elif letter == "X":
            parts.append(f"{held + 1} together")
        else:
            parts.append(f"{n} {'raw' if letter == 'U' else 'compressed'}")
    return ", ".join(parts)
