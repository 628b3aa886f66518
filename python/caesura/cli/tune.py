"""caesura tune: the bound and the codec that keep a field good enough."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.markup import escape
from rich.table import Table

from caesura.cli.common import (
    FINDING,
    JSON_HELP,
    OK,
    USAGE,
    err,
    expected_errors,
    need_core,
    out,
    phase_progress,
    plain_table,
    print_json,
    stop,
)
from caesura.report import raster
from caesura.report.quantities import bytes_text
from caesura.series import files_of

if TYPE_CHECKING:
    from caesura.tuning.search import Answer, Asked
    from caesura.tuning.trying import OfDump, Point

_BAR, _BESIDE_BAR = 36, 36  # columns
_SHOWN_DUMPS = 12
_MISSING_HELP = (
    "A value that marks places without data; may be repeated. Fill values, _FillValue and "
    "missing_value of a dataset, NaN, and extreme values that repeat are left out without it."
)
_FIELD_HELP = "A dataset's path or the end of it, an openPMD name, or a pattern."
_CODEC_HELP = (
    "Try only this one; may be repeated.  [default: caesura, caesura:fast, caesura:strong, "
    "caesura:planes]"
)
_MISSING_HELP = (
    "A value that marks places without data; may be repeated. Fill values, _FillValue and "
    "missing_value of a dataset, NaN, and extreme values that repeat are left out without it."
)


def tune(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help='HDF5 files; "run_%06T.h5": all of them.'),
    ],
    quality: Annotated[
        str,
        typer.Option("--quality", "-q", help="psnr=80 (dB), ssim=0.999, spectrum=1%, gradient=1%."),
    ],
    field: Annotated[str | None, typer.Option("--field", "-f", help=_FIELD_HELP)] = None,
    kind: Annotated[
        str, typer.Option(help="Of the bound: relative, absolute or pointwise_relative.")
    ] = "relative",
    codec: Annotated[list[str] | None, typer.Option(help=_CODEC_HELP, show_default=False)] = None,
    waves: Annotated[
        str | None,
        typer.Option("--wavenumbers", help="FIRST:LAST of the spectrum; left out: 1 to N/2."),
    ] = None,
    sample: Annotated[
        int, typer.Option("--sample-bytes", min=1 << 16, help="Search on so much of the field.")
    ] = 32 << 20,
    missing: Annotated[
        list[float] | None,
        typer.Option(help=_MISSING_HELP, show_default=False),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Each quantity of one file; writes a configuration.")
    ] = False,
    target: Annotated[
        Path | None, typer.Option("--out", help="With --all: the configuration's file.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="With --all: what the rules are added to.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw ratio against quality: OUT.svg or OUT.png.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Find the loosest bound, and the codec, that keep a field as good as you need it.

    The search runs on a sample of the field's dumps. Its answer is then held against every value
    of every dump in the files, and moved until it holds there. Of several dumps the worst counts.
    Use data that were written without loss.

    With --all it does this for every quantity of one file, members of compound types included, and
    writes a configuration of the VOL connector with a rule for each. Coordinates, meshes, positions
    and integers stay exact, and the file says why. Read it, edit it, and ask `caesura vol check
    --config` what it would do.

    Examples:

        caesura tune plt00100.h5 --field density --quality psnr=80

        caesura tune 'run_%06T.h5' -f velocity/x -q spectrum=1% --wavenumbers 1:64

        caesura tune old.h5 -f 'step_*/rho' -q ssim=0.9999 --picture rho.svg

        caesura tune --all old.h5 -q psnr=80 --out run.toml

    Exit codes: 0 found; 1 only lossless meets the goal; 2 usage; 3 a file or the field
    cannot be used.
    """
    need_core(as_json)
    asked = _asked(quality, kind, codec, waves, sample, picture, as_json)
    if every:
        _tune_all(files, field, asked, missing, config, target, picture, as_json)
    if target is not None or config is not None:
        stop("--out and --config belong to --all", as_json, USAGE)
    _tune_field(files, field, asked, missing, picture, as_json)


def _tune_field(
    files: list[Path], field: str | None, asked: Asked, missing: list[float] | None,
    picture: Path | None, as_json: bool,
) -> NoReturn:  # fmt: skip
    """The answer for one field; ends the program."""
    from caesura.tuning import search, sources

    with expected_errors(as_json), phase_progress(as_json) as progress:
        dumps = sources.find(files_of(files), field, missing or ())
        if picture is not None:
            raster.check(picture)
        answer = search.tune(dumps, asked, progress)
    if picture is not None:
        with expected_errors(as_json):
            _draw(answer, picture)
    if as_json:
        print_json(document(answer, picture))
    else:
        show(answer, picture)
    raise typer.Exit(OK if answer.chosen is not None else FINDING)


def _tune_all(
    files: list[Path], field: str | None, asked: Asked, missing: list[float] | None,
    config: Path | None, target: Path | None, picture: Path | None, as_json: bool,
) -> NoReturn:  # fmt: skip
    """A rule for each quantity; ends the program."""
    if field is not None or picture is not None:
        stop("--all is every field of a file, without a picture", as_json, USAGE)
    if len(files) != 1:
        stop(f"--all takes one file, not {len(files)}", as_json, USAGE)
    from caesura.tuning import rules

    with expected_errors(as_json), phase_progress(as_json) as progress:
        file = files[0].absolute()
        base = config and config.absolute()
        answer, quantities = rules.tuned(file, base, asked, progress, missing or ())
        title = f"By caesura tune --all: {asked.goal.text()} for the fields of {file.name}."
        text = rules.text_of(answer, quantities, title)
        if target is not None:
            target.write_text(text)
    bounded = sum(one.bound is not None and one.bound.kind != "lossless" for one in quantities)
    if as_json:
        print_json({"rules": text, "quantities": len(quantities), "bounded": bounded})
    elif target is None:
        out.print(text, end="", markup=False, highlight=False, soft_wrap=True)
    else:
        out.print(f"{target}: {len(quantities)} rules, {bounded} with a bound", markup=False,
                  soft_wrap=True)  # fmt: skip
    raise typer.Exit(OK if bounded else FINDING)


def _asked(
    quality: str, kind: str, codecs: list[str] | None, waves: str | None, sample: int,
    picture: Path | None, as_json: bool,
) -> Asked:  # fmt: skip
    """What was asked for; usage errors end the program."""
    from caesura.tuning import goals, search

    try:
        goal = goals.parse_goal(quality)
        shells = _parse_waves(waves, goal.quality.name)
    except ValueError as error:
        stop(str(error), as_json, USAGE)
    if kind not in search.KINDS:
        stop(f"--kind is '{kind}'; known are {', '.join(search.KINDS)}", as_json, USAGE)
    if picture is not None and picture.suffix not in raster.SUFFIXES:
        stop(f"the picture is {picture}; name it .svg or .png", as_json, USAGE)
    for codec in codecs or ():
        if codec in search.WITHOUT_LOSS:
            stop(f"--codec {codec} loses nothing, whatever the bound; name another", as_json, USAGE)
    return search.Asked(goal, kind, tuple(dict.fromkeys(codecs or search.CODECS)), shells, sample)


def _parse_waves(text: str | None, quality: str) -> tuple[int, int] | None:
    if text is None:
        return None
    if quality != "spectrum":
        raise ValueError(f"--wavenumbers belong to --quality spectrum=..., not to {quality}")
    first, _, last = text.partition(":")
    if not (first.isdigit() and last.isdigit() and 1 <= int(first) <= int(last)):
        raise ValueError(f"--wavenumbers is '{text}'; give FIRST:LAST, from 1 on")
    return int(first), int(last)


def _title(answer: Answer) -> str:
    first = answer.dumps[0]
    more = f" and {len(answer.dumps) - 1} more" if len(answer.dumps) > 1 else ""
    return f"{first.name.strip('/')} of {first.file.name}{more}"


def _draw(answer: Answer, picture: Path) -> None:
    from caesura.tuning.picture import draw

    raster.save(draw(answer, _title(answer)), picture)


# ------------------------------------------------------------------------------------ as a document


def document(answer: Answer, picture: Path | None) -> dict[str, Any]:
    """What --json prints. A quality that is null is exact."""
    return {
        "field": answer.dumps[0].name,
        "goal": {"quality": answer.goal.quality.name, "value": answer.goal.value},
        "met": answer.chosen is not None,
        "dumps": [
            {"file": str(dump.file), "path": dump.path, "smallest": seen.smallest,
             "largest": seen.largest, "not_finite": seen.not_finite,
             "earlier_bound": dump.earlier_bound,
             "missing": [float(one) for one in dump.missing],
             "suspected": [float(one) for one in seen.suspects]}
            for dump, seen in zip(answer.dumps, answer.surveys, strict=True)
        ],
        "constant": [{"file": str(dump.file), "path": dump.path} for dump in answer.constant],
        "raw_bytes": answer.raw_bytes,
        "sampled_bytes": answer.sampled_bytes,
        "trials": answer.trials,
        "curves": {
            codec: [_as_json(point) for point in points] for codec, points in answer.curves.items()
        },
        "on_sample": {
            codec: _as_json(point) if point else None for codec, point in answer.found.items()
        },
        "chosen": (_as_json(answer.chosen) | _by_dump(answer.chosen)) if answer.chosen else None,
        "lossless_ratio": answer.lossless_ratio,
        "stretched_range": answer.stretched or None,
        "configuration": _configuration(answer),
        "picture": str(picture) if picture else None,
    }  # fmt: skip


def _as_json(point: Point) -> dict[str, Any]:
    return {
        "codec": point.codec, "kind": point.bound.kind, "bound": point.bound.value,
        "ratio": point.ratio, "quality": _finite(point.quality), "mb_per_s": point.mb_per_s,
    }  # fmt: skip


def _by_dump(point: Point) -> dict[str, Any]:
    return {
        "dumps": [
            {"file": one.file, "label": one.label, "in_units": one.in_units,
             "ratio": one.raw_bytes / one.stored_bytes, "quality": _finite(one.quality)}
            for one in point.dumps
        ]
    }  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _configuration(answer: Answer) -> dict[str, str]:
    from caesura.bounds import lossless
    from caesura.tuning import configuration

    first = answer.dumps[0]
    path = configuration.pattern_of([dump.path for dump in answer.dumps])
    chosen = answer.chosen
    bound, codec = (chosen.bound, chosen.codec) if chosen else (lossless(), "caesura")
    # Outside openPMD groups are no records, and a field is called by its own name.
    name = first.name if first.name != first.path else first.path.rpartition("/")[2]
    missing = tuple(one for dump in answer.dumps for one in dump.missing)
    return configuration.lines(
        configuration.Recommended(name, path, first.dtype, len(first.shape), bound, codec, missing)
    )


# --------------------------------------------------------------------------------------- for people


def show(answer: Answer, picture: Path | None) -> None:
    """What was found, as text."""
    from caesura.tuning import configuration
    from caesura.tuning.goals import shown

    first, goal = answer.dumps[0], answer.goal
    shape = " x ".join(map(str, first.shape))
    count = "1 dump" if len(answer.dumps) == 1 else f"{len(answer.dumps)} dumps"
    out.print(f"[bold]{escape(_title(answer))}[/bold]: {count} of {shape} {first.dtype.name}, "
              f"{bytes_text(answer.raw_bytes)}")  # fmt: skip
    out.print(f"goal: {goal.text()}")
    warn(answer)
    sample = "all values" if answer.complete else f"a sample of {bytes_text(answer.sampled_bytes)}"
    out.print(f"\nThe loosest bound that meets it on {sample}, by codec:\n")
    out.print(_codecs_table(answer))
    _curve(answer)
    chosen = answer.chosen
    if chosen is None:
        out.print("\n[bold]No bound that meets the goal saves anything over lossless[/bold]: ratio "
                  f"{answer.lossless_ratio:.3g}")  # fmt: skip
    else:
        out.print(
            f"\n[bold green]{escape(chosen.codec)}, {chosen.bound.kind} {chosen.bound.value:g}"
            f"[/bold green]: ratio {chosen.ratio:.3g} (lossless {answer.lossless_ratio:.3g}), "
            f"{goal.quality.title} {shown(goal.quality, chosen.quality)}, measured on all values "
            f"of {count}"
        )
        _show_dumps(answer, chosen)
    if answer.stretched:
        out.print(f"\n[yellow]{escape(answer.stretched)}[/yellow]", soft_wrap=True)
    for language, lines in _configuration(answer).items():
        out.print(f"\n[bold]{configuration.LANGUAGES[language]}[/bold]")
        out.print(lines, markup=False, soft_wrap=True)
    if picture is not None:
        err.print(f"picture: {picture}", markup=False, soft_wrap=True)


def warn(answer: Answer) -> None:
    """What the numbers cannot say by themselves."""
    earlier = max(dump.earlier_bound for dump in answer.dumps)
    if earlier > 0:
        out.print(
            f"[yellow]These data were stored with a bound of {earlier:g} before. Ratios are better "
            "and errors smaller than those of data that were not.[/yellow]",
            soft_wrap=True,
        )
    if answer.constant:
        count, one = len(answer.constant), len(answer.constant) == 1
        verbs = ("is", "does") if one else ("are", "do")
        out.print(f"[yellow]{count} of the dumps {verbs[0]} constant and {verbs[1]} not count."
                  "[/yellow]")  # fmt: skip
    left_out = sum(seen.not_finite for seen in answer.surveys)
    suspects = {float(one) for seen in answer.surveys for one in seen.suspects}
    if suspects:
        said = ", ".join(f"{one:g}" for one in sorted(suspects))
        out.print(f"[yellow]{said} looks like a fill value: it repeats, far away from all others. "
                  "It is left out. Declare it: missing= of the field, or the attribute _FillValue."
                  "[/yellow]", soft_wrap=True)  # fmt: skip
    if left_out:
        out.print(f"[yellow]{left_out} values are missing, NaN or infinite. They come back as they "
                  "are, and do not count.[/yellow]", soft_wrap=True)  # fmt: skip


def _codecs_table(answer: Answer) -> Table:
    from caesura.tuning.goals import shown

    name = answer.goal.quality.name
    table = plain_table("codec", "bound", "ratio", name, "MB/s, one core", left="codec")
    for codec, point in answer.found.items():
        if point is None:
            table.add_row(codec, "none", "", "", "")
            continue
        quality = shown(answer.goal.quality, point.quality)
        table.add_row(codec, f"{point.bound.value:.3g}", f"{point.ratio:.3g}", quality,
                      f"{point.mb_per_s:,.0f}")  # fmt: skip
    table.add_row("lossless", "", f"{answer.lossless_on_sample:.3g}",
                  shown(answer.goal.quality, answer.goal.quality.exact), "")  # fmt: skip
    return table


def _curve(answer: Answer) -> None:
    """Ratio over bound and quality, of the codec that was chosen, as bars."""
    from caesura.tuning.goals import shown

    codec = answer.chosen.codec if answer.chosen else next(iter(answer.curves))
    points = answer.curves[codec]
    highest = max(point.ratio for point in points)
    longest = max(1, min(_BAR, out.width - _BESIDE_BAR))
    out.print(f"\n{escape(codec)}, by {points[0].bound.kind} bound (* meets the goal):\n")
    for point in points:
        bar = "█" * max(1, round(longest * math.log1p(point.ratio) / math.log1p(highest)))
        met = "*" if answer.goal.met_by(point.quality) else " "
        words = shown(answer.goal.quality, point.quality)
        out.print(f"  {point.bound.value:<9.3g} {words:>12} {met} {bar} {point.ratio:.3g}")


def label_of(one: OfDump, answer: Answer) -> str:
    """By what tells it from the other dumps: its file, its iteration or path, or both."""
    several = len({dump.file for dump in answer.dumps}) > 1
    same = len({dump.label for dump in answer.dumps}) == 1
    file = Path(one.file).name
    return one.label if not several else file if same else f"{file}, {one.label}"


def _show_dumps(answer: Answer, chosen: Point) -> None:
    """The bound in units, and the quality, of each dump; of many the worst ones."""
    from caesura.tuning.goals import shown

    dumps = sorted(chosen.dumps, key=lambda one: one.quality)
    if not answer.goal.quality.more_is_better:
        dumps.reverse()
    first, name = "dump, worst first", answer.goal.quality.name
    table = plain_table(first, "bound in units", "ratio", name, left=first)
    for one in dumps[:_SHOWN_DUMPS]:
        limit = "" if chosen.bound.kind == "pointwise_relative" else f"{one.in_units:.4g}"
        table.add_row(label_of(one, answer), limit, f"{one.raw_bytes / one.stored_bytes:.3g}",
                      shown(answer.goal.quality, one.quality))  # fmt: skip
    out.print(table)
    if len(dumps) > _SHOWN_DUMPS:
        out.print(f"  and {len(dumps) - _SHOWN_DUMPS} more")
