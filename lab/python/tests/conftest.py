"""What the lab's tests share with those of the package caesura: traces."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python" / "tests"))

from synthetic_trace import write_traces


@pytest.fixture
def traces(tmp_path: Path) -> list[Path]:
    return write_traces(tmp_path)
