"""Traces that grow: read on from where they were left, and only the newest dumps kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import BinaryIO

from caesura.trace import Event, TraceError, lanes_in, raw_events, to_event
from caesura.watching.lanes import Lane, lanes_of

KEPT_DUMPS = 12
_PIECE_BYTES = 16 << 20  # taken in at once
_TAIL_BYTES = 256  # by which what was read is known again: the last event, with its time


class Follower:
    """One rank's trace."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.changed_s = 0.0  # when the file was last written to, seconds since 1970; 0: never
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.events: list[Event] = []
        self.closed = False  # the run wrote the whole document
        self._lanes: dict[tuple[int, int], str] = {}
        self._read = 0  # bytes
        self._tail = b""  # the last of them

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
            file.seek(self._read - len(self._tail))
            if self.closed or file.read(len(self._tail)) != self._tail:  # another run's
                self._begin_anew()
            while self._take_lines(file):
                pass

    def lanes(self, now_s: float) -> list[Lane]:
        """Of each rank in it."""
        return lanes_of(self.events, None if self.closed else now_s - self.changed_s)

    def _take_whole(self, text: bytes) -> None:
        """Of a run that closed its file; while it does so the document is cut off."""
        try:
            raw = raw_events(text.decode())
        except ValueError:
            return
        except (KeyError, TypeError) as error:
            raise self._no_trace(error) from error
        self._take(raw, [])
        self.closed = True

    def _take_lines(self, file: BinaryIO) -> bool:
        """A piece: an event a line, each but the last one with a comma behind it. False: nothing
        new is whole."""
        file.seek(self._read)
        # Where a file system tells the length before the bytes, zeros stand in for them.
        text = file.read(_PIECE_BYTES).partition(b"\0")[0]
        lines, raw = text.splitlines(keepends=True), []
        for number, line in enumerate(lines):
            words = line.strip().strip(b"[,").strip()
            try:
                raw += [json.loads(words)] if words else []
            except ValueError as error:
                if number == len(lines) - 1:  # it is being written, or goes on in the next piece
                    text = text[: -len(line)]
                    break
                raise self._no_trace(error) from error
        if not text:
            return False
        self._take(raw, self.events)
        self._read += len(text)
        self._tail = (self._tail + text)[-_TAIL_BYTES:]
        return True

    def _no_trace(self, error: Exception) -> TraceError:
        return TraceError(
            f"{self.path} is not a Chrome trace ({type(error).__name__}: {error}); "
            "give the files written through WriterOptions.trace_path"
        )

    def _take(self, raw: list[dict], before: list[Event]) -> None:
        try:
            self._lanes |= lanes_in(raw)
            new = [to_event(item, self._lanes) for item in raw if item.get("ph") == "X"]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._no_trace(error) from error
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
