"""Goal: the page for administrators names every environment variable that the code reads."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What the code reads by name: in C++, in Python, and by lists of names in the checks of `doctor`.
READ = (
    re.compile(r'(?:getenv|environment)\("([A-Z][A-Z0-9_]+)"\)'),
    re.compile(r'environ(?:\.get\(|\[)"([A-Z][A-Z0-9_]+)"'),
    re.compile(r'"((?:OMPI|MPI|SLURM|CAESURA)_[A-Z0-9][A-Za-z0-9_]+)"'),
)
# Words in capitals that are no variables, and what benchmarks and tests read.
NO_VARIABLES = {"CAESURA_POINTWISE_RELATIVE", "CAESURA_BENCH_DIR", "CAESURA_DATA"}
# Read by a loop over names: what the service hands on to functions in Python, a launcher's rank.
IN_LOOPS = {"PATH", "LD_LIBRARY_PATH", "TMPDIR", "PMI_RANK"}


def read_by_code() -> set[str]:
    places = [*(ROOT / "src").rglob("*.cpp"), *(ROOT / "programs").rglob("*.cpp")]
    places += [*(ROOT / "python/bindings").rglob("*.cpp"), *(ROOT / "python/caesura").rglob("*.py")]
    found = set()
    for path in places:
        if not path.stem.endswith(("_test", "_bench")):
            text = path.read_text(encoding="utf-8")
            found |= {name for pattern in READ for name in pattern.findall(text)}
    return found - NO_VARIABLES


def test_the_page_has_the_variables_that_the_code_reads() -> None:
    page = (ROOT / "docs/reference/operations.md").read_text(encoding="utf-8")
    table = page.split("## Environment variables")[1].split("\n## ")[0]
    on_page = set(re.findall(r"`([A-Z][A-Z0-9_]+[a-z_]*)`", table))
    found = read_by_code()
    assert len(found) > 15
    assert found <= on_page, sorted(found - on_page)
    assert on_page - found <= IN_LOOPS, sorted(on_page - found - IN_LOOPS)
