"""The demonstration's report as one page: headline, table beside the paper's, what `caesura report`
says of the run that is kept, facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from caesura.report.advice import Advice
from caesura.report.facts import Facts
from caesura.report.markup import tag, text
from caesura.report.page import definitions, page, table
from caesura.report.quantities import bytes_text, duration_text, nice_step, ratio_text, share_text
from caesura.report.run_page import run_sections, run_sentence
from caesura.trace import Trace

from caesura_lab.demo.scenario import LOSSY, MODE_TITLES, MODES
from caesura_lab.report.demo_words import (
    conditions,
    cpu_sentence,
    factor_sentence,
    factor_text,
    floor_sentence,
    machine_noise,
    percent,
    remarks,
    signed,
    stands_out,
)
from caesura_lab.report.universe import Universe, universe_section

_CHART_WIDTH = 1000.0
_CHART_LEFT = 300.0
_BAR_STEP = 40.0


@dataclass(frozen=True)
class KeptRun:
    """Caesura's last whole run, whose file and traces are kept."""

    facts: Facts
    trace: Trace
    advice: Sequence[Advice]


def demo_page(
    report: dict[str, Any], kept: KeptRun | None, universe: Universe | None = None
) -> str:
    sections = [_heading(report), _tiles(report), _overheads(report)]
    if universe is not None:
        sections.append(universe_section(universe))
    if kept is not None:
        sections += _run(report, kept)
    sections += [_verification(report), _machine(report)]
    return page("Caesura: demonstration", *sections)


def _run(report: dict[str, Any], kept: KeptRun) -> list[str]:
    """As `caesura report` has it."""
    said = f"{run_sentence(kept.facts, kept.trace)} {conditions(report)}"
    return [
        tag("section", tag("h2", "Caesura's last whole run"), tag("p", text(said))),
        *run_sections(kept.facts, kept.trace, kept.advice),
    ]


def _heading(report: dict[str, Any]) -> str:
    scenario = report["scenario"]
    particles = " and the particles" if scenario["write_particles"] else ""
    ways = sum(mode != "compute" for mode in report["modes"])
    sentence = (
        f"A particle-mesh universe of {scenario['grid']}³ cells on {scenario['ranks']} ranks "
        f"writes {scenario['dumps']} dumps of six fields{particles}, "
        f"{bytes_text(scenario['raw_bytes'])} in all, in {ways} ways; "
        f"{report['runs']['finished']} runs, interleaved. Every value of every file was verified."
    )
    return tag("h1", "What does output cost?") + tag("p", text(sentence), class_="soft")


def _tiles(report: dict[str, Any]) -> str:
    modes = report["modes"]

    def tile(value: str, caption: str, css: str = "tile") -> str:
        return tag("div", tag("b", text(value)), tag("span", text(caption)), class_=css)

    def peer(mode: str, caption: str) -> str:
        return tile(percent(modes[mode]["overhead"]), caption) if mode in modes else ""

    ours = modes["caesura"]
    caption = f"overhead of Caesura, {signed(ours['calls_percent'])} % of it in its calls"
    if not stands_out(ours["overhead"]):
        caption += "; within the noise"
    return tag(
        "div",
        peer("sync", "overhead of synchronous HDF5 over computing alone"),
        peer("async", "overhead of asynchronous writing, uncompressed"),
        tile(percent(ours["overhead"]), caption, "tile ours"),
        _factor_tile(report, tile),
        class_="tiles",
    ) + tag("p", text(f"Measured under: {conditions(report)}"), class_="note conditions")


def _factor_tile(report: dict[str, Any], tile: Callable[..., str]) -> str:
    """The factor large, its range small."""
    found = report["caesura"]["smaller_than"]
    large, _, small = factor_text(found["sync"]).partition(" (")
    caption = f"less overhead than synchronous{f' ({small}' if small else ''}. "
    return tile(large, f"{caption}Beside asynchronous: {factor_text(found['async'])}", "tile ours")


def _overheads(report: dict[str, Any]) -> str:
    emulated = report["emulated"]
    on = [name.replace("_", " ") for name, what in emulated.items() if what["on"]]
    badge = tag("span", text(f"emulated: {', '.join(on)}"), class_="badge") if on else ""
    caption = (
        f"{conditions(report)} {machine_noise(report)} Bars: overhead, its dark part time in the "
        "calls of the output. Lines: where the truth lies in 19 of 20 cases. Dots: single "
        "differences between neighbouring steps with and without output (Caesura and the control), "
        "single dumps (where the application waits for them), single runs (the others)."
    )
    note = (
        "Overhead is what one file with all dumps adds to computing alone, closing included: time "
        "in calls, which is measured inside the run, and what the application's own steps lose, "
        "which is compared with the same steps without output. “Compute only” is the control: "
        "nothing is written, and what the comparison shows of it is noise. “Asynchronous” is "
        "Caesura's own writer with codec none and no planning. Without planning Caesura works on "
        "blocks as they come: at idle priority the operating system keeps it out of the "
        "application's way, at normal priority nothing does. The paper's columns are the figures "
        "printed in the artifact of Jin et al., EuroSys 2024, measured on its authors' machines "
        "with GPUs: they are there for scale, not for comparison."
    )
    return tag(
        "section",
        tag("h2", "Overhead over computing alone", badge),
        tag("div", _chart(report), class_="scroll"),
        tag("p", text(caption), class_="note"),
        *[tag("p", text(remark), class_="note bad") for remark in remarks(report)],
        _mode_table(report),
        tag("p", text(note), class_="note", style="margin-top:12px"),
    )


def _chart(report: dict[str, Any]) -> str:
    shown = [mode for mode in MODES if mode in report["modes"]]
    low_value, top_value = _reach(report, shown)
    step = nice_step(top_value - low_value, 6)
    right = _CHART_WIDTH - 150

    def x(value: float) -> float:
        inside = min(max(value, low_value), top_value)
        return _CHART_LEFT + (inside - low_value) / (top_value - low_value) * (right - _CHART_LEFT)

    height = len(shown) * _BAR_STEP + 34
    parts = []
    tick = -(-low_value // step) * step
    while tick <= top_value + 1e-9:
        parts.append(tag("line", class_="zero", x1=x(tick), x2=x(tick), y1=4, y2=height - 26))
        label = f"{signed(tick).removesuffix('.0')} %"
        parts.append(
            tag("text", text(label), class_="soft", x=x(tick), y=height - 8, text_anchor="middle")
        )
        tick += step
    for row, mode in enumerate(shown):
        parts.append(_bar(mode, report["modes"][mode], 8 + row * _BAR_STEP, x))
    return tag(
        "svg",
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_CHART_WIDTH:g} {height:g}",
        class_="chart",
        role="img",
        aria_label="Overhead of each mode in per cent",
        style="width:100%;max-width:1000px;min-width:640px",
    )


def _reach(report: dict[str, Any], shown: list[str]) -> tuple[float, float]:
    """From the lowest to the highest end of what is drawn; a lone dot far out is drawn at the
    edge, instead of making the picture all noise."""
    results = [report["modes"][mode] for mode in shown]
    estimates = [result["overhead"] for result in results]
    largest = max(estimate["percent"] for estimate in estimates)
    top = max(1.0, *(e["high_percent"] or e["percent"] for e in estimates))
    low = min(0.0, *(e["low_percent"] or e["percent"] for e in estimates))
    points = [point for result in results for point in result["points_percent"]]
    room = 0.25 * max(largest, 4.0)
    return max(min(low, *points), -room), min(max(top, *points), max(top, largest + room))


def _bar(mode: str, result: dict[str, Any], y: float, x: Callable[[float], float]) -> str:
    overhead = result["overhead"]
    value, calls = overhead["percent"], result["calls_percent"]
    low, high = overhead["low_percent"], overhead["high_percent"]
    begin, end = sorted((x(0.0), x(value)))
    middle = y + 12
    css = "bar ours" if mode == "caesura" else "bar"
    title = MODE_TITLES[mode] + (" (control)" if mode == "compute" else "")
    parts = [
        tag("text", text(title), x=_CHART_LEFT - 12, y=middle + 5, text_anchor="end"),
        tag("rect", class_=css, x=begin, y=y, width=max(end - begin, 1.0), height=24, rx=3),
    ]
    if calls > 0.0:
        parts.append(tag("rect", class_=f"{css} calls", x=x(0.0), y=y,
                         width=max(x(calls) - x(0.0), 1.0), height=24, rx=3))  # fmt: skip
    points = result["points_percent"]
    reach = max(end, x(calls), *(x(point) for point in points))
    parts += [tag("circle", class_="dot", cx=x(one), cy=middle, r=3) for one in points]
    if low is not None:
        reach = max(reach, x(high))
        parts.append(tag("line", class_="whisker", x1=x(low), x2=x(high), y1=middle, y2=middle))
        parts += [tag("line", class_="whisker", x1=x(end), x2=x(end), y1=middle - 5, y2=middle + 5)
                  for end in (low, high)]  # fmt: skip
    label = percent(overhead)
    parts.append(tag("text", text(label), x=reach + 10, y=middle + 5, style="font-weight:600"))
    return "".join(parts)


def _mode_table(report: dict[str, Any]) -> str:
    head = ["mode", "wall", "of it closing", "overhead", "in calls", "lost by steps",
            "in CPU time", "stored", "ratio", "paper: Nyx", "WarpX"]  # fmt: skip
    shown = [mode for mode in MODES if mode in report["modes"]]
    rows = [_mode_row(report, mode) for mode in shown]
    return table(head, rows, ours=shown.index("caesura")) + _improvements(report)


def _mode_row(report: dict[str, Any], mode: str) -> list[str]:
    result = report["modes"][mode]
    wrote = mode != "compute"
    papers = [
        f"{report['paper'][name][mode]:g} %" if mode in report["paper"][name] else "–"
        for name in ("nyx", "warpx")
    ]
    closing = sorted(result["close_s"])
    return [
        text(MODE_TITLES[mode]),
        duration_text(result["estimated_wall_s"]),
        duration_text(closing[len(closing) // 2]) if wrote and closing else "–",
        text(percent(result["overhead"])) if wrote else "–",
        text(f"{signed(result['calls_percent'])} %") if wrote else "–",
        text(percent(result["loss"])) if result["loss"] else "–",
        text(percent(result["cpu"]["overhead"])) if result["cpu"] else "–",
        bytes_text(result["bytes_stored"]) if wrote else "–",
        ratio_text(result["ratio"]),
        *papers,
    ]


def _improvements(report: dict[str, Any]) -> str:
    ours, paper = report["caesura"]["smaller_than"], report["paper"]

    def known(value: float) -> str:
        return f"{value:.2f}×"

    rows = [
        [
            "over synchronous",
            factor_text(ours["sync"]),
            known(paper["nyx"]["improvement"]),
            known(paper["warpx"]["improvement"]),
            f"{paper['text']['improvement_over_sync']:g}×",
        ],
        [
            "over asynchronous",
            factor_text(ours["async"]),
            known(paper["nyx"]["async"] / paper["nyx"]["caesura"]),
            known(paper["warpx"]["async"] / paper["warpx"]["caesura"]),
            f"{paper['text']['improvement_over_async']:g}×",
        ],
    ]
    head = ["overhead reduced", "here", "paper's artifact, Nyx", "paper's artifact, WarpX",
            "paper's text"]  # fmt: skip
    sentences = [factor_sentence(report, mode) for mode in ("sync", "async")]
    note = (
        f"Caesura's overhead is {sentences[0]}, and {sentences[1]}. {floor_sentence(report)} "
        f"{cpu_sentence(report)} "
        f"{conditions(report)}"
    )
    return table(head, rows) + tag("p", text(note), class_="note", style="margin-top:10px")


def _verification(report: dict[str, Any]) -> str:
    def row(mode: str, entry: dict[str, Any]) -> list[str]:
        against = "raw fields in memory, bit for bit; then the reference"
        if mode == "async":
            against = "the reference, bit for bit"
        elif mode in LOSSY:
            against = (
                f"the reference; largest error {share_text(entry['max_error_over_bound'])} × bound"
            )
        checksums = f"{entry['blocks_with_checksum']:,}" if entry["blocks_with_checksum"] else "–"
        return [text(MODE_TITLES[mode]), str(entry["files"]), f"{entry['values']:,}", checksums,
                text(against), tag("span", "all right", class_="good")]  # fmt: skip

    rows = [row(mode, report["verified"][mode]) for mode in MODES if mode in report["verified"]]
    fields = report["verified"]["caesura"]["fields"]
    field_rows = [
        [
            text(name),
            f"{entry['bound']:g}" if entry["bound"] else "lossless",
            f"{entry['max_error']:.9g}",
        ]
        for name, entry in fields.items()
    ]
    return tag(
        "section",
        tag("h2", "Verified"),
        table(["mode", "files", "values", "checksums", "compared with", ""], rows),
        tag("h3", "Caesura, by field"),
        table(["field", "error bound", "largest error"], field_rows),
    )


def _machine(report: dict[str, Any]) -> str:
    return tag(
        "section",
        tag("h2", "What this was measured on"),
        tag(
            "div",
            *[
                tag("div", tag("h3", text(title)), definitions(pairs))
                for title, pairs in _facts(report)
            ],
            class_="columns",
        ),
        tag("h3", "To repeat"),
        tag("pre", text(report["scenario"]["command"])),
    )


def _facts(report: dict[str, Any]) -> Sequence[tuple[str, Sequence[tuple[str, str]]]]:
    ours, machine, scenario = report["caesura"], report["machine"], report["scenario"]
    system, device = report["emulated"]["file_system"], report["emulated"]["device"]
    system_text = "none: the local disk as it is"
    if system["on"]:
        system_text = (
            f"{bytes_text(system['bandwidth_bytes_per_s'])}/s, latency "
            f"{duration_text(system['latency_s'])}, fsync: {system['fsync']}; {system['what']}"
        )
    device_text = "none"
    if device["on"]:
        device_text = f"{duration_text(device['kernel_s_per_step'])} a step; {device['what']}"
    return [
        (
            "Machine",
            [
                ("processor", f"{machine['cpu']}, {machine['cores']} cores"),
                ("memory", bytes_text(machine["memory_bytes"])),
                ("kernel", machine["kernel"]),
                ("compiler", f"{machine['compiler']} {machine['build_type']}".strip()),
                ("MPI", machine["mpi"]),
                ("commit", machine["commit"]),
                ("date", report["created"]),
            ],
        ),
        (
            "Caesura, last whole run",
            [
                ("committed dumps", f"{ours['committed_dumps']} of {scenario['dumps']}"),
                ("reserved", bytes_text(ours["reserve_bytes"])),
                ("overflow", bytes_text(ours["overflow_bytes"])),
                ("lossless fallbacks", f"{ours['fallback_blocks']} blocks"),
                ("planning", f"{ours['plan_ms']:.2f} ms a dump"),
                ("iterations against their plans", f"{100 * ours['plan_deviation']:.1f} % off"),
                ("planned again", f"{ours['replans']} times"),
                ("writing in obstacles", duration_text(ours["write_interference_s"])),
                ("compressing in obstacles", duration_text(ours["compress_interference_s"])),
                ("peak memory", bytes_text(ours["peak_memory_bytes"])),
            ],
        ),
        ("Emulated file system", [("", ""), ("what", system_text)]),
        ("Emulated accelerator", [("", ""), ("what", device_text)]),
    ]
