"""The connector's report while the program runs: it is written anew when files are complete."""

from __future__ import annotations

import json
import statistics
from itertools import pairwise
from pathlib import Path
from typing import Any

from caesura.trace import TraceError
from caesura.watching.following import KEPT_DUMPS
from caesura.watching.lanes import Lane

_HEAD_BYTES = 64


def is_report(path: Path) -> bool:
    """By its first words. Raises OSError."""
    with path.open("rb") as file:
        return b'"configuration"' in file.read(_HEAD_BYTES)


class ReportFollower:
    """One report; looked at as a trace is."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.changed_s = 0.0  # seconds since 1970
        self.closed = False  # the program has ended
        self._files: list[dict[str, Any]] = []  # that are captured

    def look(self) -> None:
        """Raises TraceError, OSError."""
        changed_s = self.path.stat().st_mtime
        if changed_s == self.changed_s:
            return
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
            self._files = [one for one in document["files"] if "begun_s" in one]
        except (ValueError, KeyError, TypeError) as error:
            raise TraceError(f"{self.path} is no report of the connector: {error}") from error
        self.closed = document.get("ended", True)
        self.changed_s = changed_s

    def lanes(self, now_s: float) -> list[Lane]:
        """One, of all ranks together: their mean, and what calls took on the slowest. A file is a
        dump here."""
        done = [one for one in self._files if "blocks" in one][-KEPT_DUMPS:]
        if not self._files:
            return []
        begins = sorted(one["begun_s"] for one in self._files)[-KEPT_DUMPS:]
        gaps = [after - before for before, after in pairwise(begins)]
        between_s = statistics.median(gaps) if gaps else None

        def mean_s(what: str) -> float:
            times = [one["blocks"][what] / max(1, one.get("ranks", 1)) for one in done]
            return statistics.median(times) if times else 0.0

        return [
            Lane(
                rank=None,
                dumps=len(done),
                span_s=len(done) * between_s if between_s else 0.0,
                between_s=between_s,
                compress_s=mean_s("compress_s"),
                write_s=mean_s("write_s"),
                put_s=0.0,
                end_s=sum(one["blocks"]["in_calls_s"] for one in done),
                in_flight=sum("blocks" not in one and "error" not in one for one in self._files),
                next_s=begins[-1] + between_s - now_s if between_s and not self.closed else None,
            )
        ]
