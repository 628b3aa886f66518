"""caesura report: a run's traces as a page or a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from caesura.cli.common import JSON_HELP, err, expected_errors, need_core, print_json


def report(
    traces: Annotated[list[Path], typer.Argument(help="Chrome traces of one run, one a rank.")],
    html: Annotated[
        Path | None, typer.Option(help="Write the page here (default: report.html).")
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(help="Write one iteration as a standalone picture.")
    ] = None,
    service: Annotated[
        Path | None,
        typer.Option(help="The trace of the service that compressed: add what its devices did."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="The file that was written: add what analyses found.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Draw what a run had planned and what it did, around the application's own needs.

    The page is one file that needs nothing else: the whole run, one iteration enlarged (wheel and
    buttons zoom), and the lanes in numbers. The same traces open in Perfetto.

    Exit codes: 0; 2 usage; 3 a trace cannot be read.
    """
    from caesura.report.page import summary, trace_page
    from caesura.report.timeline import standalone_svg
    from caesura.trace import read_traces

    if html is None and svg is None:
        html = Path("report.html")
    with expected_errors(as_json):
        trace = read_traces(traces)
        written = []
        more = _devices(service) + _analyses(file, as_json)
        if html is not None:
            html.write_text(trace_page(trace, *more), encoding="utf-8")
            written.append(str(html))
        if svg is not None:
            svg.write_text(standalone_svg(trace), encoding="utf-8")
            written.append(str(svg))
    if as_json:
        print_json({"written": written, "ranks": summary(trace)})
    else:
        err.print(f"written: {', '.join(written)}", markup=False, soft_wrap=True)


def _devices(service: Path | None) -> list[str]:
    """The section of a service's devices, if its trace is given."""
    if service is None:
        return []
    from caesura import devices
    from caesura.report.markup import tag
    from caesura.report.where_page import where_section

    section = where_section(devices.read(service), [], str(service))
    return [tag("h2", "Where blocks were compressed and regions analysed"), section]


def _analyses(file: Path | None, as_json: bool) -> list[str]:
    """The section of what analyses found, if the file is given."""
    if file is None:
        return []
    from caesura.report.analyses_section import analyses_section

    listing = need_core(as_json).OpenFile(str(file)).info()
    return [analyses_section(listing["datasets"], str(file))]
