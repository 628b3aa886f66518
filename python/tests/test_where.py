"""Goal: a service's trace is read as it is, and `caesura where` shows the library's own choice."""

from __future__ import annotations

import json
import re
from pathlib import Path

import h5py
import numpy
import pytest
from caesura import devices
from caesura.cli import app
from caesura.report.places import places_section
from caesura.trace import TraceError
from typer.testing import CliRunner


def event(device: int, chosen: str, size: int, compute_s: float, **more: object) -> dict:
    link = 0.0 if device == 0 else size / 4e9
    took = compute_s + 2 * link
    said = {
        "bytes": size,
        "result_bytes": size // 4,
        "variant": "caesura float32 absolute",
        "field": "rho ##",
        "device": chosen,
        "failed": False,
        "predicted_s": 1.1 * took,
        "is_trial": False,
        "took_s": took,
        "utilisation": 0.0,
        "to_s": link,
        "compute_s": compute_s,
        "from_s": link,
    }
    return {
        "ph": "X",
        "cat": "compress",
        "name": "rho #1",
        "pid": 0,
        "tid": device,
        "ts": 0,
        "dur": 1e6 * took,
        "args": said | more,
    }


def trace_at(path: Path, end: str = "]") -> Path:
    lines = [{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "caesura-serve"}}]
    for i, name in enumerate(("cpu", "gpu (emulated)")):
        lines.append({"ph": "M", "name": "thread_name", "pid": 0, "tid": i, "args": {"name": name}})
    for size in (1 << 18, 1 << 20, 1 << 22, 1 << 24):
        for _ in range(6):
            lines.append(event(0, "cpu", size, 1e-4 + size / 3e8))
            lines.append(event(1, "gpu (emulated)", size, 2e-3 + size / 3e9))
    lines.append(event(0, "gpu (emulated)", 1 << 20, 0.004, failed=True))
    path.write_text("[" + "\n,".join(json.dumps(line) for line in lines) + end)
    return path


def test_large_blocks_go_to_the_quick_device_and_small_ones_stay(tmp_path: Path) -> None:
    trace = devices.read(trace_at(tmp_path / "trace"))
    small, large = devices.choices(trace, [1 << 18, 1 << 24], devices.Load())
    assert (small.device, large.device) == ("cpu", "gpu (emulated)")
    busy = devices.Load(busy={"gpu (emulated)": 0.0}, waiting_s={"gpu (emulated)": 1.0})
    assert devices.choices(trace, [1 << 24], busy)[0].device == "cpu"
    away = devices.Load(away=("gpu (emulated)",))
    assert devices.choices(trace, [1 << 24], away)[0].device == "cpu"


def test_a_busy_device_is_expected_to_take_longer(tmp_path: Path) -> None:
    trace = devices.read(trace_at(tmp_path / "trace"))
    latencies = []
    for share in (0.0, 0.5, 1.0):
        [choice] = devices.choices(trace, [1 << 22], devices.Load(busy={"cpu": share}))
        latencies.append(choice.parts[0].latency_s)
    assert latencies == sorted(latencies) and latencies[2] > 1.5 * latencies[0]


def test_a_trace_of_a_service_that_still_runs_can_be_read(tmp_path: Path) -> None:
    whole = devices.read(trace_at(tmp_path / "whole"))
    open_end = devices.read(trace_at(tmp_path / "open", end="\n"))
    half = trace_at(tmp_path / "half", end="\n")
    half.write_text(half.read_text() + ',{"ph":"X","na')
    assert len(whole.blocks) == len(open_end.blocks) == len(devices.read(half).blocks) == 49
    assert whole.median_error("cpu") == pytest.approx(1 - 1 / 1.1)


def test_analyses_are_shown_by_function_and_go_only_where_there_is_a_variant(
    tmp_path: Path,
) -> None:
    path = trace_at(tmp_path / "trace", end="")
    analysed = {
        "function": "entropy",
        "variant": "entropy float32",
        "options": [
            {"device": "cpu", "latency_s": 0.001},
            {"device": "gpu (emulated)", "latency_s": None},
        ],
    }
    line = event(0, "cpu", 1 << 20, 0.02, **analysed)
    path.write_text(path.read_text() + "\n," + json.dumps(line | {"cat": "analyse"}) + "]")
    trace = devices.read(path)
    assert trace.variants()[-1] == ("entropy", "entropy float32")
    [choice] = devices.choices(trace, [1 << 24], devices.Load(), variant="entropy float32")
    assert choice.device == "cpu" and choice.parts[1].latency_s == float("inf")
    told = CliRunner().invoke(app, ["where", str(path), "--json"])
    document = json.loads(told.stdout)
    assert [one["regions"] for one in document["devices"]] == [1, 0]
    assert document["variants"][-1]["done"] == 1
    assert "entropy float32" in CliRunner().invoke(app, ["where", str(path)]).output


def test_what_is_no_trace_is_said_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "no"
    for text in ("nonsense", "3", '{"traceEvents": []}', '[{"ph": "X", "tid": 0, "args": {}}]'):
        path.write_text(text)
        with pytest.raises(TraceError):
            devices.read(path)


def test_the_command_shows_choices_and_writes_a_page(tmp_path: Path) -> None:
    path, html = trace_at(tmp_path / "trace"), tmp_path / "page.html"
    run = CliRunner().invoke
    for words in (["where"], ["plan", "where"]):
        told = run(app, [*words, str(path), "--bytes", "16M", "--json"])
        assert told.exit_code == 0, told.output
        document = json.loads(told.stdout)
        assert document["choices"][0]["device"] == "gpu (emulated)"
        assert document["devices"][1]["failed"] == 1
    shown = run(app, ["where", str(path), "--html", str(html), "--busy", "cpu=0.5"])
    assert shown.exit_code == 0 and "gpu (emulated)" in shown.output
    assert "<svg" in html.read_text()
    for wrong in (["--busy", "tpu=0.5"], ["--busy", "cpu=7"], ["--bytes", "many"]):
        assert run(app, ["where", str(path), *wrong]).exit_code == 3


def test_the_report_says_where_each_block_and_analysis_ran(
    tmp_path: Path, traces: list[Path]
) -> None:
    path, html = trace_at(tmp_path / "trace", end=""), tmp_path / "report.html"
    more = {"function": "stats", "field": "rho<2>", "predicted_s": 0.25, "took_s": 0.5}
    lines = [
        event(1, "gpu (emulated)", 1 << 20, 0.02, lay_on="gpu", **more),
        event(1, "cpu", 1 << 20, 0.02, **more),
    ]
    path.write_text(path.read_text() + "".join("\n," + json.dumps(line) for line in lines) + "]")
    told = CliRunner().invoke(
        app, ["report", *map(str, traces), "--html", str(html), "--service", str(path)]
    )
    assert told.exit_code == 0, told.output
    page = re.sub(r"\s+", " ", html.read_text())
    assert "<h3>Places</h3>" in page
    # By field: how many on each device, where the values lay, predicted and taken.
    cells = "".join(f"<td>{cell}</td>" for cell in ("stats", "rho&lt;2&gt;", "–", "2"))
    assert cells + "<td>gpu 1, host 1</td><td>250 ms</td><td>500 ms</td>" in page
    # One by one, and why it ran elsewhere than was chosen.
    assert "All 51" in page
    assert "gpu (emulated), which was free before cpu" in page
    assert "cpu, because gpu (emulated) failed" in page


def test_the_report_lists_the_last_of_very_many_and_says_so() -> None:
    times = {"to_s": 0.0, "compute_s": 1.0, "from_s": 0.0, "predicted_s": 1.0, "took_s": 1.0}
    same = {"device": "cpu", "chosen": "cpu", "variant": "v", "field": "rho", "utilisation": 0.0}
    size = {"bytes": 8, "result_bytes": 8, "is_trial": False, "failed": False}
    done = [
        devices.Decided(label=f"rho #{i}", begin_s=float(i), **same, **size, **times)
        for i in range(700)
    ]
    section = places_section(devices.Decisions(["cpu"], done))
    assert "The last 500 of 700" in section
    assert "rho #699<" in section and "rho #199<" not in section


def test_the_report_has_the_devices_and_what_analyses_found(
    tmp_path: Path, traces: list[Path]
) -> None:
    file = tmp_path / "run.h5"
    with h5py.File(file, "w") as hdf5:
        dataset = hdf5.create_dataset("rho<1>", data=numpy.zeros(4, "f4"), chunks=(2,))
        dataset.attrs["caesura_analyses"] = json.dumps({"min": {"min": 0.25}})
    html = tmp_path / "report.html"
    arguments = ["report", *map(str, traces), "--html", str(html)]
    more = ["--service", str(trace_at(tmp_path / "trace")), "--file", str(file)]
    assert CliRunner().invoke(app, arguments + more).exit_code == 0
    page = html.read_text()
    assert "gpu (emulated)" in page
    assert "Predicted and taken" in page
    assert "rho&lt;1&gt;" in page
    assert "min 0.25" in page
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert "Predicted and taken" not in html.read_text()
    assert CliRunner().invoke(app, [*arguments, "--service", str(file)]).exit_code == 3
    assert CliRunner().invoke(app, [*arguments, "--file", str(html)]).exit_code == 3
