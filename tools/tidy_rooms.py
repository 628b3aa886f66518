"""The graph of the rooms, src/rooms.ini: who may know whom, and that nothing in it is untrue.

CMake builds and links by the same file; this module checks includes and the architecture page.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, order=True)
class Violation:
    """One broken rule."""

    path: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


@dataclass(frozen=True)
class Room:
    """One section of the file. `line` is its heading's, `headers_only` what stands in brackets."""

    name: str
    line: int
    knows: tuple[str, ...]
    headers_only: tuple[str, ...]
    headers: tuple[str, ...]
    sees: tuple[str, ...]
    does: str

    def row(self) -> str:
        """Its row in the table of the architecture page."""
        known = [*self.knows, *(f"{name} (headers only)" for name in self.headers_only)]
        seen = f" ({' and '.join(self.sees)} here)" if self.sees else ""
        return f"| `src/{self.name}` | {self.does} | {', '.join(known) or 'nobody'}{seen} |"


@dataclass(frozen=True)
class Graph:
    """All rooms, lowest first, and where the file lies."""

    path: str
    rooms: dict[str, Room]
    owners: dict[str, str] = field(default_factory=dict)

    def places_that_see(self, library: str) -> list[str]:
        """The directories of the rooms that may include a library's headers."""
        return [f"src/{room.name}/" for room in self.rooms.values() if library in room.sees]

    def room_of(self, path: str) -> str | None:
        """The room of a file in src/ or of a public header; a place in src/ that is none, too."""
        if path.startswith("include/caesura/"):
            return self.owners.get(path.rsplit("/", 1)[1], "")
        if path.startswith("src/") and path.count("/") > 1:
            return self._longest(path.removeprefix("src/")) or path.split("/")[1]
        return None

    def room_of_include(self, name: str) -> str | None:
        """Whose header "room/file.hpp" or "caesura/file.hpp" is."""
        if name.startswith("caesura/"):
            return self.owners.get(name.removeprefix("caesura/"))
        return self._longest(name)

    def _longest(self, path: str) -> str | None:
        """The room, or room inside a room, that the path begins with."""
        fitting = [name for name in self.rooms if path.startswith(name + "/")]
        return max(fitting, key=len, default=None)

    def wrong_edge(self, room: str, target: str, name: str) -> str | None:
        """Why `room` may not include the header `name` of `target`, or None."""
        if room not in self.rooms:
            return f"{room or 'this header'}: not in {self.path}"
        known = self.rooms[room].knows + self.rooms[room].headers_only
        if target == room or target in known:
            return None
        return f'"{name}": {room} may know {", ".join(known) or "nobody"}, not {target}'

    def unused(self, includes: dict[str, list[str]]) -> Iterator[Violation]:
        """What the file names and nobody needs: knowledge, headers; and rooms in a wrong order.

        `includes`: what each source of a room includes.
        """
        used = {
            (self.room_of(path), self.room_of_include(name))
            for path, names in includes.items()
            for name in names
        }
        lower: set[str] = set()
        for room in self.rooms.values():
            for known in (*room.knows, *room.headers_only):
                if known not in lower:
                    yield self._violation(room, f"{known} is no room below {room.name}")
                elif (room.name, known) not in used:
                    yield self._violation(room, f"{room.name} includes nothing of {known}")
            for header in room.headers:
                if f"include/caesura/{header}" not in includes:
                    yield self._violation(room, f"there is no include/caesura/{header}")
            lower.add(room.name)

    def differences(self, page: str, lines: list[str]) -> Iterator[Violation]:
        """Rows of the page's table that are missing, wrong, or of no room."""
        rows = {}
        for number, line in enumerate(lines, 1):
            if match := re.match(r"\| `src/([\w/]+)` \|", line):
                rows[match.group(1)] = (number, line)
        for room in self.rooms.values():
            number, line = rows.pop(room.name, (1, ""))
            if line != room.row():
                yield Violation(page, number, "rooms", f"{self.path} says: {room.row()}")
        for name, (number, _) in rows.items():
            yield Violation(page, number, "rooms", f"{name} is not in {self.path}")

    def _violation(self, room: Room, message: str) -> Violation:
        return Violation(self.path, room.line, "rooms", message)


def read(path: Path) -> Graph:
    """The graph in a file; without one there are no rooms."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = {line: number for number, line in enumerate(text.splitlines(), 1)}
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    rooms = {}
    for name in parser.sections():
        section = parser[name]
        knows = section.get("knows", "").split()
        rooms[name] = Room(
            name=name,
            line=lines[f"[{name}]"],
            knows=tuple(known for known in knows if not known.startswith("(")),
            headers_only=tuple(known.strip("()") for known in knows if known.startswith("(")),
            headers=tuple(section.get("headers", "").split()),
            sees=tuple(section.get("sees", "").split()),
            does=section.get("does", ""),
        )
    owners = {header: room.name for room in rooms.values() for header in room.headers}
    return Graph(f"{path.parent.name}/{path.name}", rooms, owners)
