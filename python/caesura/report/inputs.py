"""What a run left, told apart by content: HDF5 files, traces, the connector's reports, the
service's trace and status."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from caesura.reading import looks_like_hdf5
from caesura.series import files_of
from caesura.trace import TraceError

_HEAD_BYTES = 4096


@dataclass
class Inputs:
    files: list[Path] = field(default_factory=list)
    traces: list[Path] = field(default_factory=list)
    connector: list[tuple[Path, dict[str, Any]]] = field(default_factory=list)
    services: list[Path] = field(default_factory=list)  # traces of caesura-serve
    status: list[dict[str, Any]] = field(default_factory=list)  # of caesura-serve


def told_apart(paths: Sequence[Path]) -> Inputs:
    """Raises TraceError (it is none of these, naming it), OSError."""
    found = Inputs()
    for path in files_of(paths):
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        begin = head.lstrip()[:1]
        if looks_like_hdf5(path) or not any(head[:8]):  # zeros, before the first commit
            found.files.append(path)
        elif begin == b"[":
            is_service = b'"caesura-serve"' in head.splitlines()[0]
            (found.services if is_service else found.traces).append(path)
        elif begin == b"{":
            _take_object(found, path, head)
        else:
            raise TraceError(f"{path} {_WANTED}")
    return found


_WANTED = (
    "is neither an HDF5 file, nor a trace, nor a report of the connector, nor a trace or status of "
    "caesura-serve; name what the run wrote"
)


def _take_object(found: Inputs, path: Path, head: bytes) -> None:
    if b'"traceEvents"' in head:
        found.traces.append(path)
        return
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TraceError(f"{path} {_WANTED} ({error})") from error
    if "traceEvents" in document:
        found.traces.append(path)
    elif {"configuration", "files", "datasets"} <= document.keys():
        found.connector.append((path, document))
    elif {"clients", "waiting_blocks"} <= document.keys():
        found.status.append(document)
    else:
        raise TraceError(f"{path} {_WANTED}")
