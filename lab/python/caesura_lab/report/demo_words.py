"""The demonstration's figures as people read them, the same in the terminal and on the page.

Invariants: a factor is only made of figures that stand out of the noise; a headline never stands
without the conditions that it was measured under.
"""

from __future__ import annotations

from typing import Any

from caesura.report.quantities import bytes_text, duration_text

from caesura_lab.demo.scenario import MODE_TITLES

SENTENCE_TITLES = {"sync": "synchronous", "async": "asynchronous", "filter": "filtered"}


def percent(entry: dict[str, Any]) -> str:
    """Value and half the interval; a question mark where that is not known."""
    margin = margin_of(entry)
    return f"{signed(entry['percent'])} % ± {f'{margin:.1f}' if margin is not None else '?'}"


def signed(value: float) -> str:
    """One decimal, a minus sign that is as wide as a digit, and no negative zero."""
    text = f"{value:.1f}"
    return "0.0" if text == "-0.0" else text.replace("-", "−")


def margin_of(entry: dict[str, Any]) -> float | None:
    if entry["low_percent"] is None:
        return None
    return (entry["high_percent"] - entry["low_percent"]) / 2.0


def stands_out(entry: dict[str, Any]) -> bool:
    """Whether it is known to be above zero."""
    return entry["low_percent"] is not None and entry["low_percent"] > 0.0


def times_text(value: float) -> str:
    return f"{value:.0f}" if value >= 10.0 else f"{value:.1f}"


def factor_text(found: dict[str, Any]) -> str:
    """For a cell of a table."""
    if found["times"] is not None:
        low, high = times_text(found["at_least"]), times_text(found["at_most"])
        return f"{times_text(found['times'])}× ({low} to {high})"
    if found["at_least"] is not None:
        return f"at least {times_text(found['at_least'])}×"
    return "not told apart"


def factor_sentence(report: dict[str, Any], mode: str) -> str:
    """How many times smaller Caesura's overhead is, or why that cannot be said."""
    found = report["caesura"]["smaller_than"][mode]
    title = SENTENCE_TITLES[mode]
    if found["times"] is not None:
        low, high = times_text(found["at_least"]), times_text(found["at_most"])
        return f"{times_text(found['times'])} times smaller than {title} ({low} to {high})"
    margin = report["noise"]["margin_percent"]
    noise = f"within the noise of ± {margin:.1f} %" if margin is not None else "not known"
    if found["at_least"] is not None:
        return f"{noise}; at least {times_text(found['at_least'])} times smaller than {title}"
    if mode not in report["modes"]:
        return f"not compared with {title}, which was left out"
    # The noise may be the other mode's: it says nothing of Caesura's own overhead.
    return f"cannot be told apart from {title}"


def conditions(report: dict[str, Any]) -> str:
    """What a headline rests on, in one sentence or two."""
    scenario, emulated = report["scenario"], report["emulated"]
    system, device = emulated["file_system"], emulated["device"]
    step_s = report["modes"]["compute"]["estimated_wall_s"] / scenario["steps"]
    parts = [f"{scenario['grid']}³ cells, {scenario['ranks']} ranks, a dump every "
             + (f"{scenario['dump_every']} steps of " if scenario["dump_every"] > 1 else "step of ")
             + duration_text(step_s)]  # fmt: skip
    if system["on"]:
        latency = duration_text(system["latency_s"]) if system["latency_s"] else "no"
        fsync = "fsync free" if system["fsync"] == "skip" else "fsync as on the disk"
        speed = bytes_text(system["bandwidth_bytes_per_s"])
        parts.append(f"emulated file system of {speed}/s with {latency} latency, {fsync}")
    else:
        parts.append("the local disk")
    if device["on"]:
        share = 100.0 * device["kernel_s_per_step"] / step_s
        parts.append(f"emulated kernels leave the cores idle for {share:.0f} % of the time")
    else:
        parts.append("no emulated kernels")
    ratio = report["modes"]["caesura"]["ratio"]
    if ratio is not None:
        parts.append(f"the fields compress {ratio:.0f} times")
    return "; ".join(parts) + "."


def cpu_sentence(report: dict[str, Any]) -> str:
    """Caesura's cost in CPU time, which other programs hardly touch."""
    cpu = report["modes"]["caesura"]["cpu"]
    return (
        f"In CPU time, which noise hardly touches, Caesura takes {percent(cpu['overhead'])} of the "
        f"application's own thread ({signed(cpu['calls_percent'])} % in calls, "
        f"{percent(cpu['loss'])} in its steps); its compress threads use "
        f"{signed(cpu['workers_percent'])} % while the application computes."
    )


def floor_sentence(report: dict[str, Any]) -> str:
    """Caesura's time in calls beside the least that handing over costs."""
    floor = report["copy_floor_percent"]
    calls = report["modes"]["caesura"]["calls_percent"]
    return (
        f"To copy all dumps into touched memory takes {signed(floor)} % of computing alone: no "
        f"output in the background takes less. Caesura's calls take {signed(calls)} %, "
        f"{calls / floor:.1f} times that."
    )


def machine_noise(report: dict[str, Any]) -> str:
    """How noisy the machine was, in one sentence."""
    noise = report["noise"]
    words = []
    if noise["runs_apart_percent"] is not None:
        words.append(
            f"runs without output lie {noise['runs_apart_percent']:.1f} % apart "
            f"(standard deviation of {noise['runs']})"
        )
    words.append(f"other programs kept {noise['others_cores']:.1f} of "
                 f"{report['machine']['cores']} cores busy")  # fmt: skip
    return "The machine: " + ", ".join(words) + "."


def remarks(report: dict[str, Any]) -> list[str]:
    """A sentence for each run that is missing or ended oddly."""
    which = {"all": "", "half": ", half", "other-half": ", other half"}

    def name(entry: dict[str, Any]) -> str:
        title = f"{MODE_TITLES[entry['mode']]}{which[entry['hand_over']]}"
        return f"“{title}”, number {entry['number'] + 1}"

    found = [f"{name(one)} was left out after two attempts: it {one['why']}"
             for one in report["runs"]["left_out"]]  # fmt: skip
    return found + [f"{name(one)} counts: {one['why']}" for one in report["runs"]["odd"]]
