"""caesura where, or caesura plan where: where a service's blocks and regions go, and why."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from caesura.cli.common import JSON_HELP, expected_errors, need_core, out, print_json
from caesura.report.quantities import bytes_text, duration_text

if TYPE_CHECKING:
    from caesura.devices import Choice, Decided, Decisions

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SIZES = ("256k", "1M", "4M", "16M", "64M")


def where(
    trace: Annotated[
        Path, typer.Argument(help="The trace of a caesura-serve: its setting `trace`.")
    ],
    sizes: Annotated[
        list[str] | None, typer.Option("--bytes", help="Of a block: 4194304, 4M. Several times.")
    ] = None,
    busy: Annotated[
        list[str] | None,
        typer.Option(help="DEVICE=SHARE: busy with other things, 0 to 1. Several times."),
    ] = None,
    waiting: Annotated[
        list[str] | None,
        typer.Option(help="DEVICE=SECONDS: what waits there. Several times."),
    ] = None,
    away: Annotated[
        list[str] | None, typer.Option(help="DEVICE: it cannot be had. Several times.")
    ] = None,
    variant: Annotated[str, typer.Option(help="As in the trace; else the most frequent.")] = "",
    name: Annotated[str, typer.Option("--field", help="As in the trace; else any.")] = "",
    data_on: Annotated[str, typer.Option(help="DEVICE that has the values; else the host.")] = "",
    result_on: Annotated[str, typer.Option(help="DEVICE that wants the result.")] = "",
    html: Annotated[Path | None, typer.Option(help="Write a page with pictures here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Show where a service has compressed blocks and analysed regions, and where others would go.

    The options say size and load of the others. The choice is the service's own, taught by the
    runs in the trace.

    Exit codes: 0; 2 usage; 3 the trace cannot be read.
    """
    need_core(as_json)
    with expected_errors(as_json):
        from caesura import devices

        decisions = devices.read(trace)
        load = devices.Load(
            {k: _share(v) for k, v in _pairs(busy)},
            {k: float(v) for k, v in _pairs(waiting)},
            tuple(away or ()),
        )
        choices = (
            devices.choices(
                decisions,
                [_size(text) for text in sizes or _SIZES],
                load,
                variant=variant,
                name=name,
                data_on=data_on,
                result_on=result_on,
            )
            if decisions.blocks
            else []
        )
        if html is not None:
            from caesura.report.where_page import where_page

            html.write_text(where_page(decisions, choices, str(trace)), encoding="utf-8")
    if as_json:
        print_json(_document(decisions, choices))
        return
    _show(decisions, choices)


def _pairs(given: list[str] | None) -> list[tuple[str, str]]:
    pairs = []
    for one in given or ():
        key, equals, value = one.rpartition("=")
        if not equals:
            raise ValueError(f"'{one}' is no DEVICE=NUMBER")
        pairs.append((key, value))
    return pairs


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share <= 1:
        raise ValueError(f"busy is {text}; it is a share, 0 to 1")
    return share


def _size(text: str) -> int:
    unit = text[-1:].lower() if text[-1:].isalpha() else ""
    number = float(text[: len(text) - len(unit)])
    if unit not in _UNITS or not 0 < number < 1 << 40:
        raise ValueError(f"'{text}' is no size; use 4194304, 4096k, 4M")
    return int(number * _UNITS[unit])


def _document(decisions: Decisions, choices: list[Choice]) -> dict:
    def number(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "devices": [
            {
                "device": device,
                "blocks": _count(decisions.of(device), True),
                "regions": _count(decisions.of(device), False),
                "bytes": sum(block.bytes for block in decisions.of(device)),
                "failed": sum(b.failed for b in decisions.blocks if b.chosen == device),
                "median_error": decisions.median_error(device),
            }
            for device in decisions.devices
        ],
        "variants": [
            {
                "function": function,
                "variant": variant,
                "device": device,
                "done": len(done),
                "bytes": sum(one.bytes for one in done),
                "median_error": decisions.median_error(device, variant),
            }
            for function, variant in decisions.variants()
            for device in decisions.devices
            if (done := decisions.of(device, variant))
        ],
        "choices": [
            {
                "bytes": choice.bytes,
                "device": choice.device,
                "is_trial": choice.is_trial,
                "options": [
                    {
                        "device": part.device,
                        "latency_s": number(part.latency_s),
                        "queue_s": number(part.queue_s),
                        "to_s": part.to_s,
                        "compute_s": part.compute_s,
                        "from_s": part.from_s,
                        "known": part.known,
                    }
                    for part in choice.parts
                ],
            }
            for choice in choices
        ],
    }


def _count(done: list[Decided], blocks: bool) -> int:
    return sum((one.function == "compress") == blocks for one in done)


def _error(error: float | None) -> str:
    return "–" if error is None else f"{100 * error:.1f} %"


def _show_variants(decisions: Decisions) -> None:
    """Of each function, once there is more than compressing."""
    if all(function == "compress" for function, _ in decisions.variants()):
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("variant", "device", "done", "values", "median error of the prediction"):
        left = column in ("variant", "device")
        table.add_column(column, justify="left" if left else "right", no_wrap=True)
    for _, variant in decisions.variants():
        for device in decisions.devices:
            if not (done := decisions.of(device, variant)):
                continue
            error = decisions.median_error(device, variant)
            values = bytes_text(sum(one.bytes for one in done))
            table.add_row(variant, device, str(len(done)), values, _error(error))
    out.print()
    out.print(table)


def _show(decisions: Decisions, choices: list[Choice]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("device", "blocks", "regions", "values", "failed", "median error"):
        table.add_column(column, justify="left" if column == "device" else "right", no_wrap=True)
    for device in decisions.devices:
        blocks = decisions.of(device)
        error = decisions.median_error(device)
        table.add_row(
            device,
            str(_count(blocks, True)),
            str(_count(blocks, False)),
            bytes_text(sum(block.bytes for block in blocks)),
            str(sum(b.failed for b in decisions.blocks if b.chosen == device)),
            _error(error),
        )
    out.print(table)
    _show_variants(decisions)
    for choice in choices:
        trial = ", to learn what it takes" if choice.is_trial else ""
        out.print(f"\n{bytes_text(choice.bytes)}: [bold]{choice.device or 'nowhere'}[/]{trial}")
        table = Table(box=None, padding=(0, 2, 0, 2), header_style="dim")
        for column in ("", "latency", "= queue", "+ there", "+ compute", "+ back", "known from"):
            table.add_column(column, justify="right" if column else "left", no_wrap=True)
        for part in sorted(choice.parts, key=lambda part: part.latency_s):
            if not math.isfinite(part.latency_s):
                table.add_row(part.device, "cannot take it")
                continue
            seconds = (part.latency_s, part.queue_s, part.to_s, part.compute_s, part.from_s)
            table.add_row(part.device, *(duration_text(s) for s in seconds), part.known)
        out.print(table)
