"""caesura report: what a run left as a page, its timeline as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caesura.cli.common import JSON_HELP, err, expected_errors, need_core, print_json, stop

if TYPE_CHECKING:
    from caesura.report.facts import Facts
    from caesura.report.inputs import Inputs
    from caesura.trace import Trace


_WHAT = (
    "What the run wrote, in any order: its HDF5 files, its traces, the connector's report, the "
    "trace or status of caesura-serve."
)


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="WHAT...", help=_WHAT),
    ],
    html: Annotated[
        Path | None, typer.Option(help="Write the page here (default: report.html).")
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(help="Write one iteration as a standalone picture.")
    ] = None,
    iteration: Annotated[
        int | None, typer.Option(help="The one that the page enlarges; else a typical one.")
    ] = None,
    service: Annotated[
        Path | None, typer.Option(help="The trace of a service, named apart from the others.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="The file that was written, named apart from the others.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Draw what a run wrote, had planned and did, and say what limits it.

    The page is one file that needs nothing else: ratio and error of each field, the timeline,
    lanes, predictions, delays and space. It says what is missing.

    Examples:

        caesura report run.h5 trace-*.json

    Exit codes: 0; 2 usage; 3 something cannot be read, or is none of these.
    """
    from caesura.report.advice import advice_of
    from caesura.report.inputs import told_apart
    from caesura.report.page import summary
    from caesura.report.run_page import facts_json, run_page
    from caesura.report.timeline import standalone_svg
    from caesura.series import files_of
    from caesura.trace import read_traces

    if html is None and svg is None:
        html = Path("report.html")
    with expected_errors(as_json):
        given = told_apart(paths)
        given.files += files_of([file]) if file else []
        given.services += [service] if service else []
        trace = read_traces(given.traces) if given.traces else None
        if svg is not None and trace is None:
            stop("a picture of one iteration needs the run's traces; name them, too", as_json)
        _say_what_is_plain(given.files, as_json)
        facts = _facts(given, trace, as_json)
        advice = advice_of(facts, trace)
        if html is not None:
            more = _more(given, facts)
            try:
                document = run_page(facts, trace, advice, given.connector, more, iteration)
            except KeyError:
                stop(f"the traces have no iteration {iteration}", as_json)
            html.write_text(document, encoding="utf-8")
        if svg is not None:
            svg.write_text(standalone_svg(trace), encoding="utf-8")
    written = [str(path) for path in (html, svg) if path is not None]
    if as_json:
        ranks = summary(trace) if trace is not None else []
        print_json({"written": written, "ranks": ranks, **facts_json(facts, advice)})
        return
    for said in (*[one.said for one in advice], f"written: {', '.join(written)}"):
        err.print(said, markup=False, soft_wrap=True)


def _say_what_is_plain(files: list[Path], as_json: bool) -> None:
    from caesura.contents import check_is_whole, plain_words

    for file in files:
        check_is_whole(file)
        if words := plain_words(need_core(as_json), file):
            err.print(f"caesura: {words}", markup=False, soft_wrap=True)


def _facts(given: Inputs, trace: Trace | None, as_json: bool) -> Facts:
    from caesura.report.connector_section import add_connector, files_in
    from caesura.report.facts import Facts, facts_of

    files = given.files or files_in(given.connector)
    if not files and trace is None:
        return Facts()
    core: Any = need_core(as_json) if files else None
    facts = facts_of(core, files, trace, captured=bool(given.connector))
    add_connector(facts, given.connector)
    return facts


def _more(given: Inputs, facts: Facts) -> list[str]:
    """Sections of services, and of what analyses found."""
    from caesura import devices
    from caesura.analyses import analyses_of
    from caesura.report.analyses_section import analyses_section
    from caesura.report.run_page import service_section
    from caesura.report.where_page import where_section

    title = "Where blocks were compressed and regions analysed"
    sections = [where_section(devices.read(path), [], str(path), title) for path in given.services]
    sections += service_section(given.status)
    if any(analyses_of(dataset) for dataset in facts.datasets):
        names = ", ".join(str(path) for path in facts.files)
        sections.append(analyses_section(facts.datasets, names))
    return sections
