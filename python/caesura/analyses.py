"""What analyses found in a dataset's values on their way (docs/reference/objects.md)."""

from __future__ import annotations

import json
from typing import Any


def analyses_of(dataset: dict[str, Any]) -> dict[str, Any]:
    """Results by call, of a dataset as `OpenFile.info` lists it; {} where there are none."""
    text = dataset["attributes"].get("caesura_analyses")
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def results_text(results: dict[str, Any]) -> str:
    """In one line; of lists how long they are."""
    return ", ".join(
        f"{name} {f'[{len(value)}]' if isinstance(value, list) else value}"
        for name, value in results.items()
    )
