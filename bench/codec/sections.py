"""Where the figures of a group of benchmarks go: named sections of out/bench/GROUP.json.

Invariants:
 - Each section carries the conditions it was measured under: sections are measured apart.
 - Merging keeps the other sections, and the file is whole at every instant (written beside, then
   renamed), under a lock, so that two scripts may end at the same time.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path

from conditions import ROOT, conditions

OUT = Path(os.environ.get("CAESURA_OUT", ROOT / "out")) / "bench"


class Sections:
    """One group's file."""

    def __init__(self, group: str) -> None:
        self.path = OUT / f"{group}.json"

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        OUT.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def read(self) -> dict:
        """All sections that were measured so far."""
        try:
            return json.loads(self.path.read_text())
        except FileNotFoundError:
            return {}

    def merge(self, section: str, figures: dict) -> Path:
        """Replace one section by {"conditions": ..., **figures}. Returns the file's path."""
        with self._locked():
            everything = self.read()
            everything[section] = {"conditions": conditions(), **figures}
            partial = self.path.with_suffix(f".{os.getpid()}.json")
            partial.write_text(json.dumps(everything, indent=1) + "\n")
            partial.replace(self.path)
        return self.path


def save_picture(name: str, svg: str) -> Path:
    """Put a picture beside the figures: out/bench/NAME.svg."""
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / f"{name}.svg"
    path.write_text(svg)
    return path
