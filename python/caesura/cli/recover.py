"""caesura recover: finish a file whose writer was killed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from caesura.cli.common import (
    FINDING,
    JSON_HELP,
    OK,
    UNREADABLE,
    err,
    expected_errors,
    need_core,
    out,
    print_json,
)
from caesura.series import files_of


def recover(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help='What the killed run was writing; "run_%06T.h5": all of them.'
        ),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done; change nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Finish or drop what a killed run left unfinished.

    Replays an interrupted commit, commits dumps whose blocks are all there, and drops dumps that
    are incomplete (named, with how many blocks were found). So it finishes a file that an
    application under the connector had closed. Needs nothing but the file. Dumps that were
    committed are never touched. Of several files each is done by itself.

    Exit codes: 0 the file is whole, nothing was lost; 1 a dump was (or with --dry-run: would be)
    dropped; 2 usage; 3 not a Caesura file, or a writer still has it open.
    """
    core = need_core(as_json)
    from caesura.contents import check_can_be_recovered

    with expected_errors(as_json):
        chosen = files_of(files)
        alone = chosen == files and len(files) == 1
        if alone:
            check_can_be_recovered(files[0])
        report = core.recover(str(files[0]), dry_run) if alone else {}
    if not alone:
        recover_each(core, chosen, dry_run, as_json)
    tell(files[0], report, dry_run, as_json)
    raise typer.Exit(FINDING if report["dropped"] else OK)


def recover_each(core: Any, files: list[Path], dry_run: bool, as_json: bool) -> NoReturn:
    """An error of one file does not keep the others from being done."""
    from caesura.contents import check_can_be_recovered

    results: list[dict[str, Any]] = []
    for file in files:
        try:
            check_can_be_recovered(file)
            report = core.recover(str(file), dry_run)
        except Exception as error:
            if not isinstance(error, OSError) and type(error).__name__ != "CorruptError":
                raise
            results.append({"path": str(file), "error": str(error)})
            if not as_json:
                err.print(f"caesura: {error}", markup=False, soft_wrap=True)
            continue
        results.append({"path": str(file), **report})
        if not as_json:
            tell(file, report, dry_run, False)
    if as_json:
        print_json({"dry_run": dry_run, "files": results})
    if any("error" in result for result in results):
        raise typer.Exit(UNREADABLE)
    raise typer.Exit(FINDING if any(result["dropped"] for result in results) else OK)


def tell(file: Path, report: dict[str, Any], dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json({"path": str(file), "dry_run": dry_run, **report})
        return
    for line in sentences(file, report, dry_run):
        out.print(line, markup=False, soft_wrap=True)


def sentences(file: Path, report: dict[str, Any], dry_run: bool) -> list[str]:
    """What was done, one line each."""
    if report["was_clean"]:
        if not holds_hdf5(file):
            return [f"{file} is empty: its writer ended before its first commit. Delete it."]
        return [f"{file} is whole: {dumps(report['committed_dumps'])}, nothing to do."]
    verb = "would be " if dry_run else ""
    lines = []
    if report["journal_replayed"]:
        lines.append(f"The interrupted commit {verb or 'was '}finished from the journal.")
    if report["journal_dropped"]:
        lines.append(
            f"The journal was torn and {verb or 'was '}dropped; the state before it is intact."
        )
    if report["finished_iterations"]:
        names = ", ".join(map(str, report["finished_iterations"]))
        lines.append(f"Complete but uncommitted, {verb or 'now '}committed: iteration {names}.")
    for dump in report["dropped"]:
        lines.append(dropped_text(dump, verb or "was "))
    after = "would hold" if dry_run else "holds"
    lines.append(f"{file} {after} {dumps(report['committed_dumps'])}.")
    return lines


def holds_hdf5(file: Path) -> bool:
    """Our files begin with HDF5's signature once there has been a commit."""
    with file.open("rb") as opened:
        return opened.read(8) == b"\x89HDF\r\n\x1a\n"


def dropped_text(dump: dict, verb: str) -> str:
    """Why a dump was or would be dropped."""
    found = dump["blocks_found"]
    if dump["iteration"] is None:
        return (
            f"Dump {dump['dump']} (from 0) {verb}dropped: {found} blocks had been written, but not "
            "what says of which iteration they are."
        )
    why = f"{found} of {dump['blocks_expected']} blocks had been written"
    if dump["of_application"]:
        why = (
            "its application had not closed the file, or a dump beside it is not whole; "
            f"{found} blocks had been written"
        )
    if dump["lacking"]:
        parts = ", ".join(f"{one['dataset']} lacks {one['blocks']}" for one in dump["lacking"][:5])
        more = len(dump["lacking"]) - 5
        why = f"{found} of {dump['blocks_expected']} blocks had been written: {parts}"
        why += f" and {more} more datasets" if more > 0 else ""
    return f"Iteration {dump['iteration']} {verb}dropped: {why}."


def dumps(count: int) -> str:
    return f"{count} committed dump" + ("" if count == 1 else "s")
