"""caesura report of what others than a Writer of this process left: an unmodified HDF5 program
under the connector, and a service that compressed and wrote."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import caesura
import h5py
import numpy as np
import pytest
from browser import Browser, browser_path
from caesura import serving, vol
from caesura.cli import app
from mpi_parts import DEFAULTS
from report_runs import SHAPE, largest_errors, raw_events, reserved_in, smooth, values_of
from typer.testing import CliRunner

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "transit"))
from service_process import Service

PACED = Path(os.environ.get("CAESURA_BUILD", "build")) / "tests" / "vol" / "vol_paced"
needs_connector = pytest.mark.skipif(
    not PACED.exists() or shutil.which("mpirun") is None, reason=f"{PACED} or mpirun is missing"
)


def report(folder: Path, *arguments: object) -> tuple[dict, str]:
    page = folder / "page.html"
    words = ["report", *map(str, arguments), "--html", str(page), "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), page.read_text()


# ----------------------------------------------------------------------------------- the connector


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """A directory with the files of an unmodified program, and the connector's report."""
    folder = tmp_path_factory.mktemp("captured")
    config, said = folder / "run.toml", folder / "caesura.json"
    config.write_text(f'threshold_bytes = 4096\nchunk_bytes = 262144\nreport = "{said}"\n')
    plugins = f"{vol.connector_path()}:{caesura.plugin_path()}"
    variables = {
        "HDF5_PLUGIN_PATH": plugins,
        "HDF5_VOL_CONNECTOR": f"caesura config={config}",
        "VOL_TEST_CONNECTOR": "caesura",
    }
    exports = [word for item in variables.items() for word in ("-x", "{}={}".format(*item))]
    env = {name: text for name, text in os.environ.items() if not name.startswith("HDF5_")}
    done = subprocess.run(
        ["mpirun", "-n", "2", *exports, str(PACED), str(folder), "3"],
        input="on\n" * 50,
        capture_output=True,
        text=True,
        env={**DEFAULTS, **env},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, said


@needs_connector
def test_the_connectors_report_leads_to_its_files(captured, tmp_path):
    folder, path = captured
    said, page = report(tmp_path, path)
    names = ["dump_0.h5", "dump_1.h5", "dump_2.h5", "all.h5"]
    assert [one["name"] for one in said["dumps"]] == names
    rho = {names[one["dump"]]: one for one in said["fields"]["/rho"]}
    assert rho.keys() == set(names[:3])
    for name, one in rho.items():
        with caesura.open(folder / name) as file:
            dataset = file["rho"]
            assert one["raw_bytes"] == dataset.size * dataset.dtype.itemsize
            assert one["stored_bytes"] == dataset.id.get_storage_size()
        assert one["bound_kind"] == "lossless"
    assert {"/step_0/rho", "/step_1/rho"} <= said["fields"].keys()  # in all.h5, each by itself
    assert "The connector writes no traces" in page
    assert "No trace was given" not in page


@needs_connector
def test_the_page_says_whose_range_few_values_stretch(captured, tmp_path):
    folder, path = captured
    said = json.loads(path.read_text())
    why = "the value 150000 stretches the range"
    said["datasets"][0]["stretched_range"] = why
    changed = folder / "stretched.json"
    changed.write_text(json.dumps(said))
    _, page = report(tmp_path, changed)
    assert "Few values stretch the range of 1 dataset" in page
    assert why in page
    _, page = report(tmp_path, path)
    assert "stretch" not in page


@needs_connector
def test_delays_and_sums_are_those_that_the_connector_counted(captured, tmp_path):
    _, path = captured
    said, page = report(tmp_path, path)
    entries = json.loads(path.read_text())["files"]
    assert [one["written_s"] for one in said["delays"]] == [
        entry["blocks"]["longest_to_written_s"] for entry in entries
    ]
    assert [one["committed_s"] for one in said["delays"]] == [
        entry["blocks"]["longest_to_committed_s"] for entry in entries
    ]
    assert [one["overflow_blocks"] for one in said["space"]] == [
        entry["blocks"]["overflow"] for entry in entries
    ]
    raw = sum(entry["blocks"]["raw_bytes"] for entry in entries)
    stored = sum(entry["blocks"]["stored_bytes"] for entry in entries)
    assert f"4 files, 4 of them captured; {raw / 1e6:.3g} MB raw" in page
    assert f"(ratio {raw / stored:.3g})" in page  # below 1000


@needs_connector
def test_files_that_have_moved_are_found_beside_the_report(captured, tmp_path):
    folder, path = captured
    moved = tmp_path / "moved"
    shutil.copytree(folder, moved)
    document = json.loads(path.read_text())
    for entry in document["files"]:
        entry["path"] = Path(entry["path"]).name
    (moved / "caesura.json").write_text(json.dumps(document))
    said, _ = report(tmp_path, moved / "caesura.json")
    assert len(said["dumps"]) == 4
    (moved / "dump_1.h5").unlink()
    said, _ = report(tmp_path, moved / "caesura.json")
    assert len(said["dumps"]) == 3


# ------------------------------------------------------------------------------------- the service


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """File, the client's trace and report, the service's trace, and its status while it ran."""
    try:
        program = serving.program_path()
    except RuntimeError as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("served")
    path, trace, decided = folder / "run.h5", folder / "trace.json", folder / "serve.trace"
    with Service(program, folder, threads=1, trace=str(decided)) as service:
        with caesura.Writer(path, absolute=1e-2, verify=True, trace=trace, chunk_bytes=1 << 17,
                            transport=service.address) as writer:  # fmt: skip
            field = writer.define_field("rho", np.float32, SHAPE)
            for n in range(4):
                with writer.iteration(n) as iteration:
                    iteration.begin_dump(time=n).put(field, smooth(100 * n + 3))
            writer.finish_by(60)
            status = service.status(
                lambda told: told["clients"] and told["clients"][0]["dumps"] == 4
            )
        counted = writer.report()
        assert service.end() == 0
    return path, trace, counted, decided, status


def test_a_run_through_a_service_has_its_numbers_from_file_and_trace(served, tmp_path):
    path, trace, counted, decided, _ = served
    said, page = report(tmp_path, path, trace, decided)
    with h5py.File(path) as file:
        for one in said["fields"]["rho"]:
            dataset = file[f"data/{one['dump']}/meshes/rho"]
            assert one["stored_bytes"] == dataset.id.get_storage_size()
    errors = largest_errors(path, "rho")  # of values_of("rho", n), which is smooth(100 n + 3)
    assert np.array_equal(values_of("rho", 2), smooth(203))
    for one in said["fields"]["rho"]:
        assert one["error_over_bound"] == pytest.approx(errors[one["dump"]] / 1e-2, rel=1e-6)
    assert sum(one["reserved_bytes"] for one in said["space"]) == reserved_in(path)
    written = max(one["written_s"] for one in said["delays"])
    assert written == pytest.approx(counted.longest_to_written_s, abs=1e-5)
    assert len(raw_events(trace, "block")) == counted.blocks
    assert said["predictions"]["dump_write_s"] == []  # the service writes: nothing to compare
    assert f"From {decided}: {counted.blocks} blocks and regions" in page
    assert "handed over" in page


def test_a_services_status_is_told_from_a_trace(served, tmp_path):
    path, *_, status = served
    (tmp_path / "status.json").write_text(json.dumps(status))
    _, page = report(tmp_path, path, tmp_path / "status.json")
    assert "The service, as it stood" in page
    assert "Clients: 1 came, 0 have gone" in page


# ------------------------------------------------------------------------------------- in a browser


@pytest.mark.skipif(browser_path() is None, reason="no Chromium, see test_report_browser.py")
@pytest.mark.parametrize("run", [pytest.param("captured", marks=needs_connector), "served"])
def test_their_pages_read_well_in_the_dark_on_a_phone_and_on_paper(run, request, tmp_path):
    made = request.getfixturevalue(run)
    report(tmp_path, *(made[1:] if run == "captured" else (made[0], made[1], made[3])))
    page = tmp_path / "page.html"
    with Browser(tmp_path / "profile") as browser:
        for scheme in ("light", "dark"):
            browser.media(scheme=scheme)
            browser.open(page)
            assert browser.weak_texts() == []
        assert browser.requested() == [page.as_uri()]
        assert browser.complaints() == []
        browser.media()
        browser.open(page, width=390, height=844)
        assert browser.evaluate("document.documentElement.scrollWidth") <= 390
        assert browser.cut_off() == []
        browser.on_paper()
        assert browser.clipped() == []
        assert browser.cut_off() == []
