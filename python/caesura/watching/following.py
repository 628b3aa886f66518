"""Traces that grow: read on from where they were left, and only the newest dumps kept."""

from __future__ import annotations

import json
from pathlib import Path

from caesura.trace import Event, TraceError, lanes_in, raw_events, to_event

KEPT_DUMPS = 12


class Follower:
    """One rank's trace."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events: list[Event] = []
        self.closed = False  # the run wrote the whole document
        self.changed_s = 0.0  # when the file was last written to, seconds since 1970
        self._lanes: dict[tuple[int, int], str] = {}
        self._read = 0  # bytes

    def look(self) -> None:
        """Take in what is new: nothing, where there is no trace yet. Raises TraceError, OSError."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return
        if self.closed and status.st_mtime == self.changed_s:
            return
        self.changed_s = status.st_mtime
        with self.path.open("rb") as file:
            begin = file.read(1)
            if begin == b"{":
                self._take_whole(begin + file.read())
                return
            if status.st_size < self._read:  # another run's
                self.events, self._read, self.closed = [], 0, False
            file.seek(self._read)
            self._take_lines(file.read())

    def _take_whole(self, text: bytes) -> None:
        """Of a run that closed its file; while it does so the document is cut off."""
        try:
            raw = raw_events(text.decode())
        except ValueError:
            return
        self._take(raw, [])
        self.closed = True

    def _take_lines(self, text: bytes) -> None:
        """An event a line, each but the last one with a comma behind it."""
        if self._read > 0 and text[:1] == b",":
            text, skipped = text[1:], 1
        else:
            skipped = 0
        lines, raw = text.splitlines(keepends=True), []
        for number, line in enumerate(lines):
            words = line.strip().strip(b"[,").strip()
            try:
                raw += [json.loads(words)] if words else []
            except ValueError as error:
                if number == len(lines) - 1:  # it is being written
                    text = text[: -len(line)]
                    break
                raise TraceError(f"{self.path} is not a Chrome trace: {error}") from error
        self._take(raw, self.events)
        self._read += skipped + len(text)

    def _take(self, raw: list[dict], before: list[Event]) -> None:
        try:
            self._lanes |= lanes_in(raw)
            new = [to_event(item, self._lanes) for item in raw if item.get("ph") == "X"]
        except (KeyError, TypeError, AttributeError) as error:
            raise TraceError(f"{self.path} is not a Chrome trace: {error!r}") from error
        self.events = _newest([*before, *new])


def _newest(events: list[Event]) -> list[Event]:
    """What belongs to the last dumps: a run of weeks must not fill the memory of who watches it."""
    dumps = sorted({event.iteration for event in events if event.kind in ("put", "compress")})
    if len(dumps) <= KEPT_DUMPS:
        return events
    begin_s = min(
        event.begin_s
        for event in events
        if event.iteration == dumps[-KEPT_DUMPS] and event.kind in ("put", "compress")
    )
    return [event for event in events if event.end_s >= begin_s]
