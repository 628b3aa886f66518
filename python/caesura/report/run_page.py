"""The page of `caesura report`: all that a run left, from what to do down to single numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from caesura.report.advice import Advice, advice_section
from caesura.report.connector_section import connector_section
from caesura.report.delay_section import delay_section
from caesura.report.facts import Facts
from caesura.report.fields_section import fields_section
from caesura.report.markup import tag, text
from caesura.report.page import lane_section, page, table, timeline_section
from caesura.report.prediction_section import prediction_section
from caesura.report.quantities import about, bytes_text, duration_text
from caesura.report.space_section import space_section
from caesura.trace import Trace

Connector = Sequence[tuple[Path, Mapping[str, Any]]]


def run_page(
    facts: Facts,
    trace: Trace | None,
    advice: Sequence[Advice],
    connector: Connector = (),
    more: Sequence[str] = (),
    iteration: int | None = None,
) -> str:
    """`more`: sections at the end. KeyError: the trace has no such iteration."""
    title = "Caesura: what a run wrote"
    return page(
        title,
        tag("h1", title),
        tag("p", text(run_sentence(facts, trace)), class_="soft"),
        *run_sections(facts, trace, advice, connector, iteration),
        *more,
    )


def run_sections(
    facts: Facts,
    trace: Trace | None,
    advice: Sequence[Advice],
    connector: Connector = (),
    iteration: int | None = None,
) -> list[str]:
    """What there is to say of one run, for a page that may say more. KeyError as run_page."""
    return [
        advice_section(advice),
        fields_section(facts) if facts.fields or facts.files or trace is None else "",
        timeline_section(trace, iteration) if trace is not None else _no_timeline(connector),
        lane_section(trace) if trace is not None else "",
        prediction_section(facts),
        delay_section(facts),
        space_section(facts),
        connector_section(connector),
    ]


def run_sentence(facts: Facts, trace: Trace | None) -> str:
    said = []
    if facts.files:
        names = ", ".join(str(path) for path in facts.files[:3])
        left = len(facts.files) - 3
        more = f" and {left} more file{'s' if left != 1 else ''}" if left > 0 else ""
        said.append(f"{names}{more} ({bytes_text(facts.file_bytes)})")
    if trace is not None:
        ranks, count = len(trace.ranks), len(trace.iterations())
        said.append(
            f"{ranks} rank{'s' if ranks != 1 else ''}, {count} iterations, "
            f"{duration_text(trace.end_s - trace.begin_s)}"
        )
    if facts.fields:
        raw, stored = facts.raw_bytes, facts.stored_bytes
        ratio = f", ratio {about(raw / stored)}" if stored else ""
        dumps, fields = len(facts.labels), len(facts.fields)
        said.append(
            f"{dumps} dump{'s' if dumps != 1 else ''} of {fields} field"
            f"{'s' if fields != 1 else ''}: {bytes_text(raw)} in {bytes_text(stored)}{ratio}"
        )
    return "; ".join(said) + "."


def _no_timeline(connector: Connector) -> str:
    if connector:
        return ""
    said = (
        "No trace was given, so nothing is said of time: no timeline, no lanes, no predictions and "
        'no delays. Writer(trace="trace-%r.json") keeps one (C++: WriterOptions::trace_path).'
    )
    return tag("section", tag("h2", "Timeline"), tag("p", text(said)))


def service_section(statuses: Sequence[Mapping[str, Any]]) -> list[str]:
    """How a service stood when it wrote its status."""
    sections = []
    for status in statuses:
        rows = [
            (
                text(client.get("application") or client.get("client", "")),
                str(client.get("dumps", 0)),
                str(client.get("blocks", 0)),
                bytes_text(client.get("raw_bytes", 0)),
                bytes_text(client.get("stored_bytes", 0)),
                str(client.get("waiting_blocks", 0)),
            )
            for client in status["clients"]
        ]
        head = ("client", "dumps", "blocks", "raw", "stored", "waiting blocks")
        said = (
            f"Clients: {status.get('connected', 0)} came, {status.get('lost', 0)} have gone; "
            f"{status['waiting_blocks']} blocks wait."
        )
        body = table(head, rows) if rows else tag("p", "No client is connected.")
        sections.append(tag("section", tag("h2", "The service, as it stood"),
                            tag("p", text(said)), body))  # fmt: skip
    return sections


def facts_json(facts: Facts, advice: Sequence[Advice]) -> dict[str, Any]:
    """The numbers behind the pictures."""
    return {
        "dumps": [{"dump": dump, "name": name} for dump, name in facts.labels.items()],
        "fields": {
            name: [
                {
                    "dump": dump,
                    "raw_bytes": one.raw_bytes,
                    "stored_bytes": one.stored_bytes,
                    "blocks": one.blocks,
                    "bound_kind": one.kind,
                    "bound": one.bound,
                    "error_over_bound": one.error,
                    "measured_blocks": one.measured_blocks,
                }
                for dump, one in of.items()
            ]
            for name, of in facts.fields.items()
        },
        "space": [{"dump": dump, **vars(one)} for dump, one in facts.space.items()],
        "delays": [vars(one) for one in facts.delays],
        "predictions": {
            kind: [vars(one) for one in guesses]
            for kind, guesses in (
                ("block_bytes", facts.sizes),
                ("compress_s", facts.compressions),
                ("dump_write_s", facts.writes),
            )
        },
        "advice": [{"said": one.said, "how": one.how} for one in advice],
    }
