"""caesura verify: checksums, decoding and bounds of every block."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from caesura.cli.common import (
    FINDING,
    JSON_HELP,
    OK,
    UNREADABLE,
    byte_progress,
    expected_errors,
    need_core,
    out,
    print_json,
)
from caesura.report.quantities import bytes_text, share_text
from caesura.series import files_of

if TYPE_CHECKING:
    from caesura.verifying import Verification

_SHOWN_FINDINGS = 20


def verify(
    files: Annotated[
        list[Path],
        typer.Argument(help='HDF5 files; ours have checksums. "run_%06T.h5": all of them.'),
    ],
    against: Annotated[
        Path | None,
        typer.Option(
            help="The true values: an HDF5 file with the same datasets, or a directory of raw "
            "FIELD_ITERATION.bin. Every value is then held against the dataset's error bound.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Check every block: its checksum, that stock HDF5 decodes it, and on demand its values.

    Exit codes: 0 all is well; 1 a finding (wrong checksum, missing block, a value beyond its
    bound, a file that needs `recover`); 2 usage; 3 a file cannot be read, or a filter or file that
    reading needs is not here. Blocks that were never written are no finding.
    """
    need_core(as_json)
    from caesura import comparing, verifying

    results = []
    with expected_errors(as_json):
        files = files_of(files)
        reference = comparing.open_reference(against) if against is not None else None
        total = sum(verifying.raw_bytes_of(path) for path in files)
        with byte_progress("verifying", total, as_json) as progress:
            for path in files:
                results.append(verifying.verify(path, reference, progress))
    ok = all(result.ok for result in results)
    if as_json:
        print_json({"ok": ok, "files": [result.as_json() for result in results]})
    else:
        for result in results:
            _show(result)
    unchecked = any(result.unchecked for result in results)
    raise typer.Exit(FINDING if not ok else UNREADABLE if unchecked else OK)


def _show(result: Verification) -> None:
    checked = f"{result.blocks} blocks in {result.datasets} datasets"
    sizes = f"{bytes_text(result.raw_bytes)} raw, {bytes_text(result.stored_bytes)} stored"
    verdict = "[green]ok[/green]" if result.ok else "[red]damaged[/red]"
    if result.ok and result.unchecked:
        verdict = "[yellow]not checked in full[/yellow]"
    out.print(f"{escape(result.path)}: {verdict}, {checked}, {sizes}", soft_wrap=True)
    if result.what:
        out.print(f"  it is {result.what}", markup=False, soft_wrap=True)
    if result.never_written:
        total = result.blocks + result.never_written
        out.print(
            f"  {result.never_written} of {total} blocks were never written: they read as the fill "
            "value",
            soft_wrap=True,
        )
    for said in result.unchecked[:_SHOWN_FINDINGS]:
        out.print(f"  {said}", markup=False, soft_wrap=True)
    if result.blocks_without_checksum:
        out.print(
            f"  {result.blocks_without_checksum} blocks carry no checksum (not written by Caesura):"
            " they were decoded only",
            soft_wrap=True,
        )
    for finding in result.findings[:_SHOWN_FINDINGS]:
        out.print(f"  {finding}", markup=False, soft_wrap=True)
    if len(result.findings) > _SHOWN_FINDINGS:
        out.print(f"  ... and {len(result.findings) - _SHOWN_FINDINGS} more; --json lists all")
    if result.fields:
        out.print(_bounds_table(result))


def _bounds_table(result: Verification) -> Table:
    table = Table(box=None, padding=(0, 2), header_style="bold")
    for name in ("field", "values", "bound", "largest error", "error/bound"):
        table.add_column(name, justify="left" if name == "field" else "right")
    for name, field in result.by_field().items():
        style = None if field.ok else "red"
        bound = f"{field.bound:g}" if field.bound else "lossless"
        share = share_text(field.max_error_over_bound) if field.bound else ""
        table.add_row(
            escape(name), f"{field.values:,}", bound, f"{field.max_error:g}", share, style=style
        )
    return table
