"""The section of a report that shows what analyses found in a file's values on their way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caesura.analyses import analyses_of, results_text
from caesura.report.markup import tag, text
from caesura.report.page import table


def analyses_section(datasets: Sequence[dict[str, Any]], name: str) -> str:
    """`datasets` as `OpenFile.info` lists them."""
    rows = [
        (text(dataset["path"]), text(call), text(results_text(results)))
        for dataset in datasets
        for call, results in analyses_of(dataset).items()
    ]
    found = (
        table(("dataset", "analysis", "found"), rows)
        if rows
        else tag("p", "No analysis ran on these values on their way.")
    )
    return tag("section", tag("h2", "Found on the way"), tag("p", text(f"In {name}.")), found)
