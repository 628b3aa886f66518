"""Where the figures of this directory go: named sections of out/bench/prediction.json."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "codec"))  # also fields, svg

from sections import OUT, Sections, save_picture

_SECTIONS = Sections("prediction")
PATH, read, merge = _SECTIONS.path, _SECTIONS.read, _SECTIONS.merge
ROOT = Path(__file__).resolve().parents[2]

__all__ = ["OUT", "PATH", "ROOT", "merge", "read", "save_picture"]
