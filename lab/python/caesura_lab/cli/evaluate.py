"""caesura evaluate: what the library expects, held against what comes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from caesura.cli.common import (
    JSON_HELP,
    USAGE,
    byte_progress,
    err,
    expected_errors,
    need_core,
    out,
    print_json,
    stop,
)
from caesura.report import raster
from caesura.report.quantities import duration_text
from rich.table import Table

if TYPE_CHECKING:
    from caesura_lab.evaluating import Asked, Row, Series

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Hold what Caesura expects against what comes, on your own files.",
)

_BAR = 40


@app.callback()
def evaluate() -> None:
    """Hold what Caesura expects against what comes, on your own files."""


@app.command("prediction")
def prediction(
    files: Annotated[list[Path], typer.Argument(help="HDF5 files, ours or anybody's.")],
    bound: Annotated[
        list[str] | None,
        typer.Option(
            help="rel=FRACTION of each field's range, abs=NUMBER in its unit, or lossless. May be "
            "given several times.  [default: rel=1e-3]",
            show_default=False,
        ),
    ] = None,
    codec: Annotated[
        list[str] | None,
        typer.Option(
            help="caesura, caesura:fast, caesura:strong, caesura:planes, sz3, zfp, zstd, blosc2, "
            "round+zstd, round+blosc2. May be given several times.  [default: caesura]",
            show_default=False,
        ),
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(help="Only fields whose path ends so. May be given several times."),
    ] = None,
    block_bytes: Annotated[
        int, typer.Option(min=4096, help="Cut fields into blocks of at most so many bytes.")
    ] = 8 << 20,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw predicted against real sizes and the errors: OUT.svg or OUT.png."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Predict the size and the time of every block, compress it, and show how far off that was.

    A Writer reserves room in the file and orders its work by such predictions, from a look at about
    1 % of each block. Datasets named /data/N/meshes/FIELD are taken as dumps of one field: what
    finished blocks teach is used for the next dump, as in a run, and the table tells the first dump
    from later ones. All other float datasets stand alone and are predicted without.

    Fields are read whole, one at a time. Nothing is written but the picture.

    Exit codes: 0; 2 usage; 3 a file cannot be read, or a filter is not installed.
    """
    need_core(as_json)
    from caesura_lab import evaluating

    try:
        bounds = [evaluating.parse_bound(text) for text in bound or ["rel=1e-3"]]
    except ValueError as error:
        stop(str(error), as_json, USAGE)
    if picture is not None and picture.suffix not in raster.SUFFIXES:
        stop(f"the picture is {picture}; name it .svg or .png", as_json, USAGE)
    codecs = codec or ["caesura"]
    with expected_errors(as_json):
        series = _chosen([s for path in files for s in evaluating.series_of(path)], field)
        if not series:
            raise ValueError(f"no float32 or float64 dataset in {', '.join(map(str, files))}")
        total = sum(d.raw_bytes for s in series for d in s.dumps) * len(codecs) * len(bounds)
        with byte_progress("predicting and compressing", total, as_json) as progress:
            rows = evaluating.evaluate(series, bounds, codecs, block_bytes, progress)
        if not rows:
            raise ValueError("every field is constant, so a relative bound says nothing; try abs=")
        if picture is not None:
            _draw(rows, picture)
    if as_json:
        print_json(_document(files, rows))
    else:
        _show(series, rows, bounds, codecs)
        if picture is not None:
            err.print(f"picture: {picture}", soft_wrap=True)


def _chosen(series: list[Series], names: list[str] | None) -> list[Series]:
    return [s for s in series if not names or any(s.name.endswith(name) for name in names)]


def _document(files: Sequence[Path], rows: Sequence[Row]) -> dict[str, Any]:
    from caesura_lab import evaluating

    summaries = [
        {"codec": codec, "bound": bound, "blocks_of": what, **evaluating.summary(chosen)}
        for codec, bound, what, chosen in _groups(rows)
    ]
    return {
        "files": [str(path) for path in files],
        "summary": summaries,
        "blocks": [evaluating.as_json(row) for row in rows],
    }


def _groups(rows: Sequence[Row]) -> list[tuple[str, str, str, list[Row]]]:
    """Codec, bound, which blocks of it, and these."""
    groups = []
    for codec, bound in dict.fromkeys((row.codec, row.bound) for row in rows):
        mine = [row for row in rows if (row.codec, row.bound) == (codec, bound)]
        learned = [row for row in mine if row.learned >= 2]
        parts = [("all", mine)]
        if learned:
            parts = [
                ("first dump", [row for row in mine if row.learned == 0]),
                ("second", [row for row in mine if row.learned == 1]),
                ("later dumps", learned),
            ]
        groups += [(codec, bound, what, part) for what, part in parts]
    return groups


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _show(
    series: Sequence[Series], rows: Sequence[Row], bounds: Sequence[Asked], codecs: Sequence[str]
) -> None:
    from caesura_lab import evaluating

    dumps = sum(len(s.dumps) for s in series)
    out.print(
        f"{len(series)} fields, {dumps} dumps, {len(rows)} blocks compressed "
        f"({len(codecs)} codecs, {len(bounds)} bounds)\n"
    )
    table = Table(box=None, padding=(0, 1), header_style="bold")
    names = ("codec", "bound", "blocks of", "n", "ratio", "size off: median", "90 %", "95 %",
             "99 %", "of all bytes", "time off: median", "90 %", "cost of it")  # fmt: skip
    for name in names:
        table.add_column(name, justify="left" if name in names[:3] else "right", no_wrap=True)
    for codec, bound, what, chosen in _groups(rows):
        if not chosen:
            continue
        sums = evaluating.summary(chosen)
        numbers = ("median", "p90", "p95", "p99", "byte_weighted", "time_median", "time_p90")
        shown = [_percent(sums[name]) for name in numbers]
        table.add_row(codec, bound, what, str(sums["blocks"]), f"{sums['ratio']:.3g}", *shown,
                      f"{duration_text(sums['predict_s'])}, {_percent(sums['cost'])}")  # fmt: skip
    out.print(table)
    out.print(
        "\nof all bytes: the sum of what blocks were off over the sum of their sizes. cost of it: "
        "CPU time of predicting a block, median, and its share of compressing it.\n",
        style="dim",
        soft_wrap=True,
    )
    _histogram(rows, codecs)


def _histogram(rows: Sequence[Row], codecs: Sequence[str]) -> None:
    from caesura_lab.report.prediction_picture import BIN_NAMES, histogram

    for codec in codecs:
        counts = histogram([row.error for row in rows if row.codec == codec])
        if not sum(counts):
            continue
        out.print(f"{codec}: blocks by how far off their size was", style="bold")
        for name, count in zip(BIN_NAMES, counts, strict=True):
            bar = "█" * round(_BAR * count / max(counts))
            out.print(f"  {name:>8}  {bar}{'▏' if count and not bar else ''} {count or ''}")


def _draw(rows: Sequence[Row], path: Path) -> None:
    from caesura_lab.report.prediction_picture import picture

    raster.save(picture(rows, "Sizes of blocks before they are compressed"), path)
