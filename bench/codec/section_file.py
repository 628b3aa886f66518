"""Files of results that several measurements share."""

from __future__ import annotations

import json
from pathlib import Path

from conditions import conditions


def save_section(path: Path, name: str, section: dict) -> Path:
    """Replace one section of a file of results; it is whole at every instant."""
    path.parent.mkdir(parents=True, exist_ok=True)
    everything = json.loads(path.read_text()) if path.exists() else {}
    everything[name] = {"conditions": conditions(), **section}
    partial = path.with_suffix(".partial.json")
    partial.write_text(json.dumps(everything, indent=1) + "\n")
    partial.replace(path)
    return path
