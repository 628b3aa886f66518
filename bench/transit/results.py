"""out/bench/transit.json, a section for each measurement."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "codec"))

from conditions import conditions  # noqa: E402

OUT = Path(os.environ.get("CAESURA_OUT", ROOT / "out")) / "bench"
BUILD = Path(os.environ.get("CAESURA_BUILD", ROOT / "build"))


def save(name: str, section: dict) -> Path:
    """Replace one section; the file is whole at every instant."""
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / "transit.json"
    everything = json.loads(path.read_text()) if path.exists() else {}
    everything[name] = {"conditions": conditions(), **section}
    partial = path.with_suffix(".partial.json")
    partial.write_text(json.dumps(everything, indent=1) + "\n")
    partial.replace(path)
    return path
