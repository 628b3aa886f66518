"""caesura info: what a file holds and what it cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from caesura.analyses import analyses_of, results_text
from caesura.cli.common import JSON_HELP, err, expected_errors, need_core, out, print_json
from caesura.comparing import mesh_of
from caesura.filter_words import bound_words_in
from caesura.reading import looks_like_hdf5
from caesura.report.quantities import bytes_text
from caesura.series import files_of


@dataclass
class FieldSummary:
    """One field over all its dumps."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    codec: str
    bound: str
    dumps: int = 0
    blocks: int = 0
    raw_bytes: int = 0
    stored_bytes: int = 0
    layout: str = ""  # in place of chunks, where there are none
    bounds: list[dict[str, Any]] = field(default_factory=list)  # of its blocks, by kind


def info(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help='HDF5 files; "run_%06T.h5": all of them.'),
    ],
    each_block: Annotated[
        bool, typer.Option("--blocks", help="Say the bound of each block, with its component.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """List fields, codecs, error bounds, ratios and what the file spends its bytes on.

    Bounds in units are those that the blocks themselves say, from the smallest to the largest.
    Several files are taken together; with --json each has a document in "files".

    Exit codes: 0; 2 usage; 3 a file cannot be read.
    """
    core = need_core(as_json)
    with expected_errors(as_json):
        chosen = files_of(files)
        alone = chosen == files and len(files) == 1
        read = chosen if alone else [file for file in chosen if has_commit(file)]
        listings = [listing_of(core, file, each_block) for file in read]
    whole = listings[0] if alone else taken_together(files, listings)
    if as_json and alone:
        print_json({**whole, **totals(whole)})
    elif as_json:
        each = [{**listing, **totals(listing)} for listing in listings]
        print_json({"files": each, **totals(whole)})
    else:
        show(whole)
        if each_block:
            show_blocks(whole)


def has_commit(file: Path) -> bool:
    """A file of a series that runs has none at first."""
    if looks_like_hdf5(file):
        return True
    err.print(f"caesura: {file} has no commit yet", markup=False, soft_wrap=True)
    return False


def listing_of(core: Any, file: Path, each_block: bool) -> dict[str, Any]:
    from caesura.block_bounds import add_bounds
    from caesura.contents import contents_of
    from caesura.contents import listing_of as read

    listing = read(core, file)
    listing |= contents_of(file, listing).as_json()
    for dataset in listing["datasets"]:
        add_components(file, dataset)
    add_bounds(file, listing, each_block)
    return listing


def taken_together(paths: list[Path], listings: list[dict[str, Any]]) -> dict[str, Any]:
    """As if one file had it all."""
    sums = ("file_bytes", "allocated_bytes", "metadata_bytes", "unused_bytes")
    unfinished = [listing["path"] for listing in listings if listing["needs_recover"]]
    return {
        "path": f"{' '.join(map(str, paths))} ({len(listings)} files)",
        "datasets": [dataset for listing in listings for dataset in listing["datasets"]],
        **{name: sum(listing[name] for listing in listings) for name in sums},
        "needs_recover": unfinished,
        "kind": "caesura" if all(one["kind"] == "caesura" for one in listings) else "hdf5",
        "has_dumps": any(listing["has_dumps"] for listing in listings),
        "summary": "; ".join(listing["summary"] for listing in listings),
        "all_datasets": [one for listing in listings for one in listing["all_datasets"]],
    }


def add_components(path: Path, dataset: dict[str, Any]) -> None:
    """What its blocks say of each quantity of a dataset, as dataset["components"].

    The begin of each block is read. All quantities have as many values.
    """
    from caesura.components import components_of, stored_bytes_of
    from caesura.verifying import chunk_slices

    components = [
        {**asdict(one), "stored_bytes": 0} for one in components_of(dataset["attributes"])
    ]
    if not components:
        return
    axis = dataset["attributes"].get("caesura_component_axis")
    for one in components:
        one["raw_bytes"] = dataset["raw_bytes"] // len(components)
    with path.open("rb") as file:
        for chunk in dataset["chunks"]:
            if axis is not None:
                where = chunk_slices(chunk["chunk"], dataset["shape"], dataset["chunk"])
                components[where[int(axis)].start]["stored_bytes"] += chunk["bytes"]
                continue
            file.seek(chunk["address"])
            for component, stored in stored_bytes_of(file):
                components[component]["stored_bytes"] += stored
    dataset["components"] = components


def totals(listing: dict[str, Any]) -> dict[str, Any]:
    all_of_them = [*listing["datasets"], *without_blocks(listing)]
    raw = sum(dataset["raw_bytes"] for dataset in all_of_them)
    stored = sum(dataset["stored_bytes"] for dataset in all_of_them)
    iterations = sorted({dataset["iteration"] for dataset in listing["datasets"]})
    return {
        "raw_bytes": raw,
        "stored_bytes": stored,
        "ratio": raw / stored if stored else None,
        "iterations": iterations,
    }


def without_blocks(listing: dict[str, Any]) -> list[dict[str, Any]]:
    """Datasets of others that are stored in one piece, or whose blocks are not listed."""
    if listing["has_dumps"]:  # lists of a few numbers that belong to fields
        return []
    listed = {dataset["path"] for dataset in listing["datasets"]}
    return [one for one in listing["all_datasets"] if one["path"] not in listed]


def codec_of(dataset: dict[str, Any]) -> str:
    """The writer's word for it, else the pipeline's filters."""
    named = dataset["attributes"].get("caesura_codec")
    filters = [entry["name"] or f"filter {entry['id']}" for entry in dataset["pipeline"]]
    filters = [name.split(";")[0].strip() for name in filters]
    filters = ["caesura" if name.startswith("caesura ") else name for name in filters]
    return str(named) if named else "+".join(filters) or "none"


def type_of(dataset: dict[str, Any]) -> str:
    """Of a compound type, how many members of which type."""
    members = len(dataset["members"])
    return f"{members} {dataset['dtype']}" if members else str(dataset["dtype"])


def bound_of(dataset: dict[str, Any]) -> str:
    attributes = dataset["attributes"]
    kind = attributes.get("caesura_bound_kind")
    if kind is None:
        return bound_in(dataset["pipeline"])
    if "components" in dataset:
        return "of each component"
    if "caesura_bound_map" in attributes:
        return f"up to {attributes.get('caesura_bound', 0.0):g}, by a map"
    return bound_text(
        kind, attributes.get("caesura_bound_requested", 0.0), attributes.get("caesura_bound", 0.0)
    )


def bound_in(pipeline: list[dict[str, Any]]) -> str:
    """As text; where it is not there, that."""
    found = bound_words_in(pipeline)
    return "not recorded" if found is None else bound_text(*found, found[1])


def bound_text(kind: str, requested: float, bound: float) -> str:
    if kind == "relative":
        return f"{requested:g} of the range"
    if kind == "pointwise_relative":
        return f"{bound:g} of each value"
    if kind == "psnr":
        return f"{requested:g} dB"
    return f"{bound:g}" if kind == "absolute" else "lossless"


def units_text(bounds: list[dict[str, Any]]) -> str:
    """Bounds in units for people, "1e-3 to 2e-3"; nothing where no bound is one in units."""
    by_kind = {one["kind"]: one for one in bounds}
    absolute = by_kind.get("absolute")
    if absolute is None:
        return "exact" if set(by_kind) == {"lossless"} else ""
    least = "exact" if "lossless" in by_kind else f"{absolute['min']:.4g}"
    most = f"{absolute['max']:.4g}"
    return most if least == most else f"{least} to {most}"


def together(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Both as one."""
    found: dict[str, dict[str, Any]] = {}
    for one in [*a, *b]:
        into = found.setdefault(one["kind"], {**one, "arrays": 0})
        into["min"], into["max"] = min(into["min"], one["min"]), max(into["max"], one["max"])
        into["arrays"] += one["arrays"]
    return [found[kind] for kind in sorted(found)]


def summaries(listing: dict[str, Any]) -> list[FieldSummary]:
    """Fields in order of first appearance; a field that changes shape or codec gets a row each."""
    found: dict[tuple, FieldSummary] = {}
    for dataset in listing["datasets"]:
        name = mesh_of(dataset["path"])[1]
        key = (
            name,
            type_of(dataset),
            tuple(dataset["shape"]),
            tuple(dataset["chunk"]),
            codec_of(dataset),
            bound_of(dataset),
        )
        summary = found.setdefault(key, FieldSummary(*key))
        summary.dumps += 1
        summary.blocks += len(dataset["chunks"])
        summary.raw_bytes += dataset["raw_bytes"]
        summary.stored_bytes += dataset["stored_bytes"]
        if "components" not in dataset:  # which have a table of their own
            summary.bounds = together(summary.bounds, dataset.get("bounds", []))
    rows = list(found.values())
    for one in without_blocks(listing):
        codec = "+".join(one["filters"]) or "none"
        row = FieldSummary(one["path"], one["dtype"], one["shape"], one["chunk"], codec, "")
        row.raw_bytes, row.stored_bytes = one["raw_bytes"], one["stored_bytes"]
        row.layout = one["layout"]
        rows.append(row)
    return rows


def show_blocks(listing: dict[str, Any]) -> None:
    """A row for each array of each block, in the file's order."""
    table = Table(box=None, padding=(0, 2), header_style="bold")
    for name in ("dataset", "block", "component", "bound"):
        table.add_column(name, justify="left" if name in ("dataset", "component") else "right")
    for dataset in listing["datasets"]:
        for chunk in dataset["chunks"]:
            for array in chunk["arrays"]:
                table.add_row(
                    dataset["path"],
                    str(chunk["chunk"]),
                    array["component"] or "",
                    bound_text(array["kind"], array["bound"], array["bound"]),
                )
    out.print(table)


def components_table(dataset: dict[str, Any]) -> Table:
    """A row for each quantity of a dataset."""
    table = Table(title=dataset["path"], title_justify="left", box=None, padding=(0, 2),
                  header_style="bold")  # fmt: skip
    for name in ("component", "bound", "in units", "raw", "stored", "ratio"):
        table.add_column(name, justify="left" if name in ("component", "bound") else "right")
    for one in dataset["components"]:
        raw, stored = one["raw_bytes"], one["stored_bytes"]
        table.add_row(
            one["name"],
            bound_text(one["kind"], one["requested"], one["bound"]),
            units_text(one.get("bounds", [])),
            bytes_text(raw),
            bytes_text(stored),
            f"{raw / stored:.2f}" if stored else "",
        )
    return table


def analyses_table(datasets: list[dict[str, Any]]) -> Table:
    """A row for each dataset and analysis; of lists how long they are."""
    table = Table(box=None, padding=(0, 2), header_style="bold")
    for name in ("dataset", "analysis", "found"):
        table.add_column(name, no_wrap=name != "found")
    for dataset in datasets:
        for call, results in analyses_of(dataset).items():
            table.add_row(dataset["path"], call, results_text(results))
    return table


def show(listing: dict[str, Any]) -> None:
    sums = totals(listing)
    dumps = sums["iterations"]
    span = f"iterations {dumps[0]} to {dumps[-1]}" if dumps else "no iteration"
    what = f"{len(dumps)} dumps ({span})"
    if not listing["has_dumps"] and (listing["kind"] == "hdf5" or not dumps):
        what = listing["summary"]
    out.print(f"[bold]{escape(listing['path'])}[/bold]: {escape(what)}", soft_wrap=True)
    table = Table(box=None, padding=(0, 2), header_style="bold")
    names = ("field", "type", "shape", "chunk", "codec", "bound", "in units", "dumps", "blocks",
             "raw", "stored", "ratio")  # fmt: skip
    for name in names:
        table.add_column(name, justify="left" if name in names[:7] else "right", no_wrap=True)
    for one in summaries(listing):
        ratio = f"{one.raw_bytes / one.stored_bytes:.2f}" if one.stored_bytes else ""
        table.add_row(
            one.name,
            one.dtype,
            "×".join(map(str, one.shape)),
            "×".join(map(str, one.chunk)) or one.layout,
            one.codec,
            one.bound,
            units_text(one.bounds),
            str(one.dumps or ""),
            str(one.blocks or ""),
            bytes_text(one.raw_bytes),
            bytes_text(one.stored_bytes),
            ratio,
        )
    if table.row_count or listing["has_dumps"]:
        out.print(table)
    for one in listing["all_datasets"]:
        if one["needs"]:
            out.print(
                f"{one['path']} needs {one['needs']}, which is not here", markup=False,
                soft_wrap=True,
            )  # fmt: skip
    for dataset in listing["datasets"]:
        if "components" in dataset:
            out.print(components_table(dataset))
    analysed = [dataset for dataset in listing["datasets"] if analyses_of(dataset)]
    if analysed:
        out.print(analyses_table(analysed))
    ratio = f", ratio {sums['ratio']:.2f}" if sums["ratio"] else ""
    out.print(
        f"{bytes_text(sums['raw_bytes'])} raw, {bytes_text(sums['stored_bytes'])} stored{ratio}"
    )
    out.print(
        f"file {bytes_text(listing['file_bytes'])} "
        f"({bytes_text(listing['allocated_bytes'])} on disk), "
        f"metadata {bytes_text(listing['metadata_bytes'])}, "
        f"reserved and unused {bytes_text(listing['unused_bytes'])}",
        soft_wrap=True,
    )
    unfinished = listing["needs_recover"]
    if unfinished is True:
        unfinished = [listing["path"]]
    for path in unfinished or []:
        out.print(
            f"[yellow]A run did not finish this file: `caesura recover {path}`[/yellow]",
            soft_wrap=True,
        )
