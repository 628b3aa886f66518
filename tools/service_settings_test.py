"""Goal: the page of the service's settings has every key that the headers have, and no other."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADERS = (
    "src/transit/service/settings.hpp",
    "src/transit/service/device_settings.hpp",
    "src/transit/client/use.hpp",
)


def keys_of_header(path: str) -> list[str]:
    """First cells of the table in its opening comment."""
    comment = (ROOT / path).read_text(encoding="utf-8").split("#pragma once")[0]
    return re.findall(r"^// \|\s*([\w\[\]]+)\s*\|", comment, re.MULTILINE)[1:]  # of its head


def test_the_page_has_the_keys_of_the_headers() -> None:
    page = (ROOT / "docs/reference/service_settings.md").read_text(encoding="utf-8")
    tables = page.split("## The status file")[0]
    on_page = re.findall(r"^\| (?:· )?`([^`]+)` \|", tables, re.MULTILINE)
    in_headers = [key for path in HEADERS for key in keys_of_header(path)]
    assert len(in_headers) > 40
    assert on_page == in_headers
