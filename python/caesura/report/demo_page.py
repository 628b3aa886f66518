"""The demonstration's report as one page: headline, table beside the paper's, timeline, facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caesura.demo.scenario import LOSSY, MODE_TITLES, MODES, PEERS
from caesura.report.markup import tag, text
from caesura.report.page import definitions, lane_section, page, table, timeline_section
from caesura.report.quantities import bytes_text, duration_text, nice_step, ratio_text, share_text
from caesura.trace import Trace

_CHART_WIDTH = 1000.0
_CHART_LEFT = 300.0
_BAR_STEP = 40.0


def demo_page(report: dict[str, Any], trace: Trace | None) -> str:
    sections = [_heading(report), _tiles(report), _overheads(report)]
    if trace is not None:
        sections += [timeline_section(trace), lane_section(trace)]
    sections += [_verification(report), _machine(report)]
    return page("Caesura: demonstration", *sections)


def _heading(report: dict[str, Any]) -> str:
    scenario = report["scenario"]
    sentence = (
        f"A particle-mesh universe of {scenario['grid']}³ cells on {scenario['ranks']} ranks "
        f"writes {scenario['dumps']} dumps of six fields, {bytes_text(scenario['raw_bytes'])} in "
        f"all, in {len(MODES) - 1} ways. Each way ran {_repeated(scenario)}, interleaved with the "
        "others, and every value of every file was verified."
    )
    return tag("h1", "What does output cost?") + tag("p", text(sentence), class_="soft")


def _repeated(scenario: dict[str, Any]) -> str:
    most, peers = scenario["repeats"], min(scenario["repeats"], scenario["peer_repeats"])
    if peers == most:
        return times(most)
    titles = ", ".join(f"“{MODE_TITLES[mode]}”" for mode in PEERS)
    return f"{times(most)} ({titles}: {times(peers)})"


def _tiles(report: dict[str, Any]) -> str:
    modes, ours = report["modes"], report["caesura"]

    def tile(value: str, caption: str, css: str = "tile") -> str:
        return tag("div", tag("b", text(value)), tag("span", text(caption)), class_=css)

    return tag(
        "div",
        tile(percent(modes["sync"]), "overhead of synchronous HDF5 over computing alone"),
        tile(percent(modes["async"]), "overhead of asynchronous writing, uncompressed"),
        tile(percent(modes["caesura"]), "overhead of Caesura", "tile ours"),
        tile(
            f"{ours['improvement_over_sync']:.1f}×",
            f"less overhead than synchronous; {ours['improvement_over_async']:.1f}× less than "
            "asynchronous",
            "tile ours",
        ),
        class_="tiles",
    )


def times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def percent(mode: dict[str, Any]) -> str:
    """Median, and half the range of the repeats where there are several."""
    spread = f" ± {mode['spread_percent']:.1f}" if len(mode["wall_s"]) > 1 else ""
    return f"{mode['overhead_percent']:.1f} %{spread}"


def _overheads(report: dict[str, Any]) -> str:
    emulated = report["emulated"]
    on = [name.replace("_", " ") for name, what in emulated.items() if what["on"]]
    badge = tag("span", text(f"emulated: {', '.join(on)}"), class_="badge") if on else ""
    note = (
        "Overhead is a run's wall time over the compute-only run of the same repeat; median of the "
        "repeats, ± half their range. Closing the file is charged to every mode. Dots are single "
        "repeats. “Asynchronous” is Caesura's own writer with codec none and no planning. Without "
        "planning Caesura works on blocks as they come: at idle priority the operating system "
        "keeps it out of the application's way, at normal priority nothing does. The paper's "
        "columns are the figures printed in the artifact of Jin et al., EuroSys 2024, measured on "
        "its authors' machines with GPUs: they are there for scale, not for comparison."
    )
    return tag(
        "section",
        tag("h2", "Overhead over computing alone", badge),
        tag("div", _chart(report), class_="scroll"),
        _mode_table(report),
        tag("p", note, class_="note", style="margin-top:12px"),
    )


def _chart(report: dict[str, Any]) -> str:
    shown = [mode for mode in MODES if mode != "compute"]
    values = [v for mode in shown for v in report["modes"][mode]["overheads_percent"]]
    top_value = max(*values, 1.0)
    low_value = min(*values, 0.0)
    step = nice_step(top_value - low_value, 6)
    right = _CHART_WIDTH - 120

    def x(value: float) -> float:
        return _CHART_LEFT + (value - low_value) / (top_value - low_value) * (right - _CHART_LEFT)

    height = len(shown) * _BAR_STEP + 34
    parts = []
    tick = 0.0
    while tick <= top_value + 1e-9:
        parts.append(tag("line", class_="zero", x1=x(tick), x2=x(tick), y1=4, y2=height - 26))
        label = f"{tick:g} %"
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


def _bar(mode: str, result: dict[str, Any], y: float, x: Any) -> str:
    value = result["overhead_percent"]
    overheads = result["overheads_percent"]
    begin, end = sorted((x(0.0), x(value)))
    middle = y + 12
    css = "bar ours" if mode == "caesura" else "bar"
    parts = [
        tag("text", text(MODE_TITLES[mode]), x=_CHART_LEFT - 12, y=middle + 5, text_anchor="end"),
        tag("rect", class_=css, x=begin, y=y, width=max(end - begin, 1.0), height=24, rx=3),
        tag("line", class_="whisker", x1=x(min(overheads)), x2=x(max(overheads)), y1=middle,
            y2=middle),
    ]  # fmt: skip
    parts += [tag("circle", class_="dot", cx=x(one), cy=middle, r=3) for one in overheads]
    label = f"{value:.1f} %"
    reach = max(end, x(max(overheads)))
    parts.append(tag("text", text(label), x=reach + 10, y=middle + 5, style="font-weight:600"))
    return "".join(parts)


def _mode_table(report: dict[str, Any]) -> str:
    head = ["mode", "wall (median)", "of it closing", "overhead", "stored", "ratio",
            "paper, Nyx", "paper, WarpX"]  # fmt: skip
    rows = []
    for mode in MODES:
        result = report["modes"][mode]
        wrote = mode != "compute"
        papers = [
            f"{report['paper'][name][mode]:g} %" if mode in report["paper"][name] else "–"
            for name in ("nyx", "warpx")
        ]
        rows.append(
            [
                text(MODE_TITLES[mode]),
                duration_text(result["median_wall_s"]),
                duration_text(sorted(result["close_s"])[len(result["close_s"]) // 2])
                if wrote
                else "–",
                text(percent(result)) if wrote else "–",
                bytes_text(result["bytes_stored"]) if wrote else "–",
                ratio_text(result["ratio"]),
                *papers,
            ]
        )
    return table(head, rows, ours=MODES.index("caesura")) + _improvements(report)


def _improvements(report: dict[str, Any]) -> str:
    ours, paper = report["caesura"], report["paper"]

    def factor(value: float) -> str:
        return f"{value:.2f}×"

    rows = [
        [
            "over synchronous",
            factor(ours["improvement_over_sync"]),
            factor(paper["nyx"]["improvement"]),
            factor(paper["warpx"]["improvement"]),
            f"{paper['text']['improvement_over_sync']:g}×",
        ],
        [
            "over asynchronous",
            factor(ours["improvement_over_async"]),
            factor(paper["nyx"]["async"] / paper["nyx"]["caesura"]),
            factor(paper["warpx"]["async"] / paper["warpx"]["caesura"]),
            f"{paper['text']['improvement_over_async']:g}×",
        ],
    ]
    head = ["overhead reduced", "here", "paper's artifact, Nyx", "paper's artifact, WarpX",
            "paper's text"]  # fmt: skip
    return table(head, rows)


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
        [text(name), f"{entry['bound']:g}", f"{entry['max_error']:.9g}"]
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
            "Caesura, last repeat",
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
