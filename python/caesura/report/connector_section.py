"""What the HDF5 connector's own report says: its files, their cost, and what was left to HDF5."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from caesura.report.facts import Delay, Facts, Space
from caesura.report.markup import tag, text
from caesura.report.page import table
from caesura.report.quantities import about, bytes_text, duration_text

_MOST_ROWS = 200


def files_in(reports: Sequence[tuple[Path, Mapping[str, Any]]]) -> list[Path]:
    """Those that the connector wrote and that are there: as it names them, or beside the report."""
    found: dict[Path, None] = {}
    for place, report in reports:
        for entry in report["files"]:
            if entry["handled_by"] != "caesura":
                continue
            named = Path(entry["path"])
            path = named if named.exists() else place.parent / named
            if path.is_file():
                found[path] = None
    return list(found)


def add_connector(facts: Facts, reports: Sequence[tuple[Path, Mapping[str, Any]]]) -> None:
    """Delays and overflow of each file, where a file is a dump."""
    if not facts.by_file:
        return
    places = {path.name: place for place, path in enumerate(facts.files)}
    for _, report in reports:
        for entry in report["files"]:
            place, sums = places.get(Path(entry["path"]).name), entry.get("blocks")
            if place is None or sums is None:
                continue
            facts.delays.append(
                Delay(place, None, sums["longest_to_written_s"], sums["longest_to_committed_s"])
            )
            space = facts.space.setdefault(place, Space())
            space.overflow_blocks = (space.overflow_blocks or 0) + sums["overflow"]


def connector_section(reports: Sequence[tuple[Path, Mapping[str, Any]]]) -> str:
    if not reports:
        return ""
    return tag(
        "section",
        tag("h2", "Under the HDF5 connector"),
        *[_of(path, report) for path, report in reports],
        tag(
            "p",
            "The connector writes no traces, so there is no timeline of it. Calls and delays "
            "are of the slowest rank.",
            class_="note",
            style="margin-top:10px",
        ),
    )


def _of(path: Path, report: Mapping[str, Any]) -> str:
    files = report["files"]
    blocks = [entry["blocks"] for entry in files if "blocks" in entry]
    raw = sum(sums["raw_bytes"] for sums in blocks)
    stored = sum(sums["stored_bytes"] for sums in blocks)
    calls_s = sum(sums["in_calls_s"] for sums in blocks)
    ours = sum(entry["handled_by"] == "caesura" for entry in files)
    said = f"{path}: {len(files)} files, {ours} of them captured; {bytes_text(raw)} raw in "
    said += f"{bytes_text(stored)}"
    said += f" (ratio {about(raw / stored)})" if stored else ""
    said += f"; {duration_text(calls_s)} in the connector's calls."
    lost = [entry for entry in files if "error" in entry]
    if lost:
        said += f" {len(lost)} given up, the first: {lost[0]['error']}"
    left_out = report.get("entries_left_out", 0)
    if left_out:
        said += f" {left_out} more files or datasets are not listed."
    unused = report.get("rules_without_use", [])
    if unused:
        said += f" Rules that matched nothing: {', '.join(map(str, unused))}."
    return "".join(
        (
            tag("p", text(said), class_="bad" if lost else None),
            _files(files),
            _datasets(report["datasets"]),
            _stretched(report["datasets"]),
        )
    )


def _files(files: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for entry in files[:_MOST_ROWS]:
        sums = entry.get("blocks")
        cells = ("–",) * 7
        if sums is not None:
            cells = (
                str(sums["count"]),
                bytes_text(sums["raw_bytes"]),
                bytes_text(sums["stored_bytes"]),
                about(sums["ratio"]),
                duration_text(sums["in_calls_s"]),
                duration_text(sums["longest_to_written_s"]),
                duration_text(sums["longest_to_committed_s"]),
            )
        fate = entry.get("error") or entry.get("why") or entry.get("completed", "")
        rows.append((text(entry["path"]), text(entry["handled_by"]), *cells, text(fate)))
    head = (
        "file",
        "handled by",
        "blocks",
        "raw",
        "stored",
        "ratio",
        "in calls",
        "written after",
        "committed after",
        "completed, or why not",
    )
    title = f"{len(files)} file{'s' if len(files) != 1 else ''}"
    if len(rows) < len(files):
        title += f", the first {len(rows)}"
    return tag("details", tag("summary", title), table(head, rows))


def _datasets(datasets: Sequence[Mapping[str, Any]]) -> str:
    """What became of them, and how many of each."""
    if not datasets:
        return ""
    counts = Counter((bool(one["blocks"]), one["what"]) for one in datasets)
    first = {}
    for one in datasets:
        first.setdefault((bool(one["blocks"]), one["what"]), one["path"])
    rows = [
        (
            text(what or "–"),
            "blocks" if blocks else "as they are",
            str(count),
            text(first[blocks, what]),
        )
        for (blocks, what), count in counts.most_common(_MOST_ROWS)
    ]
    head = ("what became of it", "stored", "datasets", "for example")
    return table(head, rows)


def _stretched(datasets: Sequence[Mapping[str, Any]]) -> str:
    """Those of whose range few values are the most, and what their bound leaves the others."""
    rows = {one["path"]: one["stretched_range"] for one in datasets if "stretched_range" in one}
    shown = [(text(path), text(said)) for path, said in rows.items()][:_MOST_ROWS]
    if not shown:
        return ""
    count = f"{len(rows)} dataset{'s' if len(rows) > 1 else ''}"
    title = f"Few values stretch the range of {count}: most values keep fewer than 8 bits"
    return tag("p", title, class_="bad") + table(("dataset", "what its bound leaves"), shown)
