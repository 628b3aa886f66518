"""out/bench/vol.json, a section for each measurement."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "codec"))

from section_file import save_section  # noqa: E402

OUT = Path(os.environ.get("CAESURA_OUT", ROOT / "out")) / "bench"


def save(name: str, section: dict) -> Path:
    """Replace one section; the file is whole at every instant."""
    return save_section(OUT / "vol.json", name, section)
