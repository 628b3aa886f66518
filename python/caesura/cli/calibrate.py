"""caesura calibrate: measure what this machine takes to compress and to write."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from caesura.cli.common import (
    JSON_HELP,
    USAGE,
    err,
    expected_errors,
    need_core,
    out,
    print_json,
    stop,
)

_LEAST_S, _MOST_S = 0.5, 100.0  # the rest of two minutes is for making fields and fits
_COMPRESS_SHARE = 0.65
_SMALL_FIELDS_S = 5.0  # with less to spend, blocks of 1 MiB
_LEAST_SAMPLES = 3  # of a curve: fewer are no curve
_ENOUGH_SAMPLES = 40  # to stand alone
_BITS = (0.5, 2.0, 8.0)
_SIZES = (1_000_000, 10_000_000, 100_000_000)
_BLOCK_BYTES = 8 << 20


def calibrate(
    directory: Annotated[
        Path, typer.Option("--directory", "-d", help="Where dumps will be written; writes go here.")
    ] = Path(),
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The profile's file. Default: where a Writer looks."),
    ] = None,
    seconds: Annotated[
        float, typer.Option(help=f"How long to measure, {_LEAST_S:g} to {_MOST_S:g} s.")
    ] = 60.0,
    codec: Annotated[
        list[str] | None,
        typer.Option("--codec", help="Only this codec; may be repeated. Default: all installed."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Measure compression and writing on this machine, so that predicted times start right.

    Keeps a small file per class of machines (processor, cores), with curves per codec and per file
    system, and a picture of the fits beside it. A Writer finds it by itself.

    Exit codes: 0; 2 usage; 3 the directory or the profile's place cannot be written.
    """
    need_core(as_json)
    from caesura.calibration import measuring

    if not _LEAST_S <= seconds <= _MOST_S:
        stop(
            f"--seconds is {seconds:g}; it must lie in [{_LEAST_S:g}, {_MOST_S:g}]", as_json, USAGE
        )
    wanted = tuple(dict.fromkeys(codec or measuring.CODECS))
    for name in wanted:
        if name not in measuring.CODECS:
            known = ", ".join(measuring.CODECS)
            stop(f"--codec is '{name}'; known are {known}", as_json, USAGE)
    with expected_errors(as_json):
        summary = _run(directory, output, seconds, wanted, as_json)
    if as_json:
        print_json(summary)
    else:
        show(summary)


def _run(
    directory: Path, output: Path | None, seconds: float, codecs: tuple[str, ...], as_json: bool
) -> dict[str, Any]:
    """Measure, fit, keep. The summary is what --json prints."""
    from caesura import _core, calibration
    from caesura.calibration import measuring

    begin_s = time.monotonic()
    place = output or calibration.default_path()
    if place is None:
        raise ValueError(
            "there is no place for the profile (no home directory, or CAESURA_CALIBRATION=none); "
            "give --output FILE"
        )
    _check_place(directory, place)
    with _progress(as_json) as bar:
        side = measuring.SIDE if seconds >= _SMALL_FIELDS_S else measuring.SIDE // 2
        found = measuring.measure_compressions(
            codecs, _COMPRESS_SHARE * seconds, bar("compressing"), side
        )
        writes = measuring.measure_writes(
            directory, (1.0 - _COMPRESS_SHARE) * seconds, bar("writing")
        )
    file_system = _core.file_system_type(str(directory))
    points: dict[tuple, list] = _pooled(found.points)
    points |= {(file_system, synced): samples for synced, samples in writes.items()}
    profile, fits = _fit(points)
    calibration.other_writes(place, profile, points)
    calibration.save(profile, place, points)
    picture = _save_picture(place, fits, points)
    return {
        "path": str(place),
        "picture": str(picture) if picture else None,
        "host": calibration.host_class(),
        "directory": str(directory),
        "file_system": file_system,
        "seconds": time.monotonic() - begin_s,
        "missing": found.missing,
        "compress": [_compress_summary(k, f, points) for k, f in fits.items() if len(k) == 3],
        "write": [_write_summary(k, f, points) for k, f in fits.items() if len(k) == 2],
    }


def _check_place(directory: Path, place: Path) -> None:
    """Before a minute is spent: can both be written?"""
    if not directory.is_dir():
        raise ValueError(f"{directory} is no directory; give the one where dumps will be written")
    if place.is_dir():
        raise ValueError(f"{place} is a directory; name a file in it")
    place.parent.mkdir(parents=True, exist_ok=True)
    probe = place.with_name(f"{place.name}.probe")
    probe.touch()
    probe.unlink()


@contextmanager
def _progress(as_json: bool) -> Iterator[Callable[[str], Callable[[float], None]]]:
    """A bar per phase, told the share of the budget that is spent."""
    columns = (TextColumn("{task.description:12}"), BarColumn(bar_width=40),
               TextColumn("{task.percentage:3.0f} %"), TimeElapsedColumn())  # fmt: skip
    with Progress(
        *columns, console=err, transient=True, disable=as_json or not err.is_terminal
    ) as bars:

        def bar(description: str) -> Callable[[float], None]:
            task = bars.add_task(description, total=1.0)
            return lambda share: bars.update(task, completed=min(share, 1.0))

        yield bar


def _fit(points: dict[tuple, list]) -> tuple[Any, dict[tuple, Any]]:
    """The profile, and its curves by key: (codec, mode, dtype) and (file system, synced)."""
    from caesura import calibration

    host = calibration.host_class()
    profile = calibration.Profile()
    profile.host_class = host["class"]
    profile.processor = host["processor"]
    profile.cores = host["cores"]
    profile.created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    fits: dict[tuple, Any] = {}
    for key, samples in points.items():
        if len(samples) < _LEAST_SAMPLES:
            continue
        if len(key) == 3:
            fits[key] = curve = calibration.fit_compress(samples)
            profile.add_compress(*key, curve, curve.median_error(samples), len(samples))
        else:
            fits[key] = curve = calibration.fit_write(samples)
            profile.add_write(*key, curve, curve.median_error(samples), len(samples))
    return profile, fits


def _pooled(points: dict[tuple, list]) -> dict[tuple, list]:
    """What codec "caesura" chose seldom is measured too seldom: what it was told to is as good."""
    pooled = dict(points)
    for key in points:
        told = (f"{key[0]}:{key[1]}", *key[1:])
        if len(points[key]) < _ENOUGH_SAMPLES:
            pooled[key] = [*points[key], *points.get(told, [])]
    return pooled


def _save_picture(place: Path, fits: dict[tuple, Any], points: dict[tuple, list]) -> Path | None:
    from caesura.calibration import picture

    if not fits:
        return None
    compress = {key: fit for key, fit in fits.items() if len(key) == 3}
    write = {key: fit for key, fit in fits.items() if len(key) == 2}
    path = place.with_suffix(".svg")
    path.write_text(picture.draw(compress, write, points))
    return path


def _compress_summary(key: tuple, curve: Any, points: dict[tuple, list]) -> dict[str, Any]:
    return {
        "codec": key[0],
        "mode": key[1],
        "dtype": key[2],
        "form": curve.form,
        "samples": len(points[key]),
        "median_error": curve.median_error(points[key]),
        "mb_per_s": {
            f"{bits:g}": _BLOCK_BYTES / curve.predict_s(_BLOCK_BYTES, bits) / 1e6 for bits in _BITS
        },
    }


def _write_summary(key: tuple, curve: Any, points: dict[tuple, list]) -> dict[str, Any]:
    return {
        "file_system": key[0],
        "synced": key[1],
        "samples": len(points[key]),
        "median_error": curve.median_error(points[key]),
        "ordered_share": curve.ordered_share(points[key]),
        "latency_s": curve.latency_s,
        "mb_per_s": {f"{size / 1e6:g}": size / curve.predict_s(size) / 1e6 for size in _SIZES},
    }


def show(summary: dict[str, Any]) -> None:
    """Tables on stdout."""
    host = summary["host"]
    out.print(f"[bold]{host['class']}[/bold]: {host['processor']}, {host['cores']} cores")
    table = Table(box=None, padding=(0, 2), header_style="bold")
    for name in ("codec", "chosen", "type", "curve", "blocks", "error",
                 *(f"{b:g} bits" for b in _BITS)):  # fmt: skip
        right = name in ("blocks", "error") or name.endswith("bits")
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    for entry in sorted(summary["compress"], key=lambda e: (e["codec"], e["dtype"], e["mode"])):
        table.add_row(
            entry["codec"], entry["mode"], entry["dtype"], entry["form"], str(entry["samples"]),
            f"{100 * entry['median_error']:.1f} %",
            *(f"{speed:,.0f} MB/s" for speed in entry["mb_per_s"].values()),
        )  # fmt: skip
    out.print(table)
    writes = Table(box=None, padding=(0, 2), header_style="bold")
    for name in ("writes to", "", "writes", "error", "in order", "latency",
                 *(f"{size / 1e6:g} MB" for size in _SIZES)):  # fmt: skip
        left = name in ("writes to", "")
        writes.add_column(name, justify="left" if left else "right", no_wrap=True)
    for entry in summary["write"]:
        writes.add_row(
            entry["file_system"], "with fsync" if entry["synced"] else "alone",
            str(entry["samples"]), f"{100 * entry['median_error']:.1f} %",
            f"{100 * entry['ordered_share']:.1f} %", f"{1e3 * entry['latency_s']:.2f} ms",
            *(f"{speed:,.0f} MB/s" for speed in entry["mb_per_s"].values()),
        )  # fmt: skip
    out.print(writes)
    for name, why in summary["missing"].items():
        out.print(f"not measured: {name} ({why.split(';')[0].split('. ')[0]})", soft_wrap=True)
    out.print(f"{summary['seconds']:.0f} s; kept in {summary['path']}", soft_wrap=True)
    if summary["picture"]:
        out.print(f"picture: {summary['picture']}", soft_wrap=True)
