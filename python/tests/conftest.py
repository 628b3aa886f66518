"""What the tests share: traces, and a sentence when the compiled module is not there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
if "caesura" not in sys.modules:
    try:
        import caesura  # noqa: F401  the built package, by PYTHONPATH or installed
    except ModuleNotFoundError:
        sys.path.insert(0, str(HERE.parent))  # the pure part is enough for reports

from synthetic_trace import write_traces  # noqa: E402


@pytest.fixture
def traces(tmp_path: Path) -> list[Path]:
    return write_traces(tmp_path)
