"""Where the figures of this directory go: named sections of out/bench/prediction.json.

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
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "codec"))  # conditions, fields, svg

from conditions import conditions  # noqa: E402

OUT = Path(os.environ.get("CAESURA_OUT", ROOT / "out")) / "bench"
PATH = OUT / "prediction.json"


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    OUT.mkdir(parents=True, exist_ok=True)
    with (OUT / "prediction.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def read() -> dict:
    """All sections that were measured so far."""
    try:
        return json.loads(PATH.read_text())
    except FileNotFoundError:
        return {}


def merge(section: str, figures: dict) -> Path:
    """Replace one section by {"conditions": ..., **figures}. Returns the file's path."""
    with _locked():
        everything = read()
        everything[section] = {"conditions": conditions(), **figures}
        partial = PATH.with_suffix(f".{os.getpid()}.json")
        partial.write_text(json.dumps(everything, indent=1) + "\n")
        partial.replace(PATH)
    return PATH


def save_picture(name: str, svg: str) -> Path:
    """Put a picture beside the figures: out/bench/NAME.svg."""
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / f"{name}.svg"
    path.write_text(svg)
    return path
