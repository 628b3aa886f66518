"""caesura report: every number comes from the file or the traces, what they do not say is said to
be missing, and a page of any run can be opened."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import caesura
import h5py
import numpy as np
import pytest
from caesura import _core
from caesura.cli import app
from caesura.codec import compress
from caesura.report.advice import advice_of
from caesura.report.facts import Facts, Held, facts_of
from caesura.report.fields_section import bound_words, error_words
from caesura.report.what_if import twice_the_bound
from caesura.trace import Event, Trace, coverage
from report_runs import (
    BOUND,
    DUMPS,
    KILLED,
    SHAPE,
    largest_errors,
    long_trace,
    odd_run,
    raw_events,
    reserved_in,
    sizes_in,
    smooth,
)
from typer.testing import CliRunner


def command(*arguments: object) -> object:
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def report(folder: Path, *arguments: object) -> tuple[dict, str]:
    """What --json says, and the page."""
    page = folder / "page.html"
    done = command(*arguments, "--html", page, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), page.read_text()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    path, trace, counted = odd_run(folder)
    said, page = report(folder, path, trace)
    return path, trace, counted, said, page


# --------------------------------------------------------------------------------- a run's numbers


def test_sizes_are_those_of_the_file(run):
    path, _, _, said, _ = run
    found = {
        (name, one["dump"]): (one["raw_bytes"], one["stored_bytes"])
        for name, dumps in said["fields"].items()
        for one in dumps
    }
    assert found == sizes_in(path)


def test_measured_errors_are_those_of_the_values_and_others_are_not_invented(run):
    path, _, _, said, page = run
    for name in ("checked", "holes"):
        wanted = largest_errors(path, name)
        shares = {one["dump"]: one["error_over_bound"] for one in said["fields"][name]}
        assert shares == {
            n: pytest.approx(error / BOUND, rel=1e-6) for n, error in wanted.items()
        }, name
    for name in ("promised", "exact"):
        assert all(one["error_over_bound"] is None for one in said["fields"][name])
    (row,) = re.findall(r"<tr><td>promised</td>.*?</tr>", page)
    assert "not measured" in row
    (row,) = re.findall(r"<tr><td>exact</td>.*?</tr>", page)
    assert "none: lossless" in row


def test_space_is_what_the_regions_in_the_file_reserve_and_hold(run):
    path, _, counted, said, _ = run
    assert sum(one["reserved_bytes"] for one in said["space"]) == reserved_in(path)
    stored = sum(stored for _, stored in sizes_in(path).values())
    assert sum(one["used_bytes"] for one in said["space"]) == stored
    assert sum(one["overflow_blocks"] for one in said["space"]) == counted.overflow_blocks
    assert all(one["committed"] for one in said["space"])


def test_predictions_and_delays_are_those_that_the_writer_counted(run):
    _, trace, counted, said, _ = run
    taken = [one["measured"] for one in said["predictions"]["compress_s"]]
    expected = [one["predicted"] for one in said["predictions"]["compress_s"]]
    # The Writer counts a block that two threads compressed twice.
    assert 0 < sum(taken) <= counted.compress_s * (1 + 1e-6)
    said_s = [event["args"]["compress_s"] for event in raw_events(trace, "block")]
    assert sum(taken) == pytest.approx(sum(said_s), rel=1e-9)
    assert sum(expected) == pytest.approx(counted.predicted_compress_s, rel=1e-6)
    sizes = [one["measured"] for one in said["predictions"]["block_bytes"]]
    assert sum(sizes) == counted.stored_bytes
    assert len(sizes) == len(raw_events(trace, "block")) == counted.blocks
    written = [one["written_s"] for one in said["delays"]]
    committed = [one["committed_s"] for one in said["delays"]]
    assert max(written) == pytest.approx(counted.longest_to_written_s, abs=1e-5)
    assert max(committed) == pytest.approx(counted.longest_to_committed_s, abs=1e-2)
    assert {one["dump"] for one in said["delays"]} == set(DUMPS)


def test_the_page_has_words_for_bias_and_spread(run):
    _, trace, _, _, page = run
    first = {}
    for event in raw_events(trace, "block"):
        name = event["name"].rpartition(" #")[0]
        first[name] = min(first.get(name, 99), event["args"]["iteration"])
    later = [
        event["args"]
        for event in raw_events(trace, "block")
        if event["args"]["iteration"] > first[event["name"].rpartition(" #")[0]]
    ]
    bias = 100 * (sum(a["bytes"] for a in later) / sum(a["predicted_bytes"] for a in later) - 1)
    more = "more" if bias >= 0 else "less"
    shown = f"{abs(bias):.1f}" if abs(bias) < 100 else f"{abs(bias):.0f}"
    assert f"{len(later)} blocks, together {shown} % {more} than predicted" in page
    errors = sorted(abs(a["bytes"] / a["predicted_bytes"] - 1) for a in later)
    assert f"half within ± {100 * errors[len(errors) // 2]:.1f} %" in page


def test_every_picture_has_words(run):
    page = run[4]
    pictures = re.findall(r"<svg[^>]*>", page)
    for picture in pictures:
        if 'aria-hidden="true"' not in picture:
            assert 'role="img"' in picture
    plots = re.findall(
        r'<svg[^>]*class="plot[^>]*role="img"[^>]*>(<title>[^<]{20,}</title>)?', page
    )
    assert len(plots) >= 8
    assert all(plots)


def test_a_field_that_some_dumps_have_says_so(run):
    said, page = run[3], run[4]
    assert [one["dump"] for one in said["fields"]["sometimes"]] == [2, 6]
    assert "in 2 of 5 dumps" in page


# -------------------------------------------------------------------------------------- odd runs


def test_a_file_without_a_trace_says_what_is_missing(run, tmp_path):
    path = run[0]
    said, page = report(tmp_path, path)
    assert "No trace was given" in page
    assert "traces say it" in page  # of overflow
    assert said["ranks"] == said["delays"] == []
    assert said["fields"].keys() == run[3]["fields"].keys()
    assert all(o["error_over_bound"] is None for of in said["fields"].values() for o in of)


def test_traces_without_their_file_say_sizes_of_blocks(run, tmp_path):
    path, trace, *_ = run
    said, page = report(tmp_path, trace)
    sizes = sizes_in(path)
    for name, dumps in said["fields"].items():
        for one in dumps:
            assert (one["raw_bytes"], one["stored_bytes"]) == sizes[name, one["dump"]]
            assert one["bound_kind"] is None
    assert "not recorded" in page


def test_one_dump_is_a_page_too(tmp_path):
    with caesura.Writer(tmp_path / "one.h5", absolute=BOUND, trace=tmp_path / "t.json") as writer:
        rho = writer.define_field("rho", np.float32, SHAPE)
        with writer.iteration(7) as iteration:
            iteration.begin_dump(time=0).put(rho, smooth(1))
    said, page = report(tmp_path, tmp_path / "one.h5", tmp_path / "t.json")
    assert [one["dump"] for one in said["dumps"]] == [7]
    assert "First dumps only" in page


def test_blocks_that_did_not_fit_are_counted_and_more_room_is_advised(tmp_path):
    file, trace = tmp_path / "run.h5", tmp_path / "t.json"
    with caesura.Writer(file, absolute=BOUND, trace=trace, reserve_factor=0.5,
                        on_message=lambda _: None) as writer:  # fmt: skip
        rho = writer.define_field("rho", np.float32, SHAPE)
        for n in range(4):
            with writer.iteration(n) as iteration:
                iteration.begin_dump(time=n).put(rho, smooth(n))
    counted = writer.report()
    assert counted.overflow_blocks > 0
    said, page = report(tmp_path, file, trace)
    assert sum(one["overflow_blocks"] for one in said["space"]) == counted.overflow_blocks
    assert sum(one["overflow_bytes"] for one in said["space"]) == counted.overflow_bytes
    assert sum(one["reserved_bytes"] for one in said["space"]) == reserved_in(file)
    assert any("reserve_sigmas" in one["said"] for one in said["advice"])
    assert "went to the end of the file" in page


def test_a_field_without_blocks_has_no_ratio(tmp_path):
    path = tmp_path / "empty.h5"
    with caesura.Writer(path, absolute=BOUND) as writer:
        species = writer.define_species("ions")
        mass = species.define_record("mass", np.float32)
        rho = writer.define_field("rho", np.float32, SHAPE)
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(time=0)
            dump.put(rho, smooth(1))
            dump.put_particles(mass, np.empty(0, np.float32))
    said, page = report(tmp_path, path)
    assert "rho" in said["fields"]
    for dumps in said["fields"].values():
        for one in dumps:
            assert one["stored_bytes"] or not one["raw_bytes"] or not one["blocks"]
    assert not re.search(r">[^<]*\b(nan|inf)\b", page)


def test_a_killed_run_shows_what_is_committed_and_how_to_finish(tmp_path):
    file, trace = tmp_path / "run.h5", tmp_path / "trace.json"
    text = KILLED.format(tests=str(Path(__file__).parent), file=str(file), trace=str(trace))
    done = subprocess.run([sys.executable, "-c", text], check=False, env=os.environ)
    assert done.returncode == 9
    said, page = report(tmp_path, file, trace)
    assert {one["dump"]: one["committed"] for one in said["space"]} == {0: True, 1: True, 2: False}
    assert f"caesura recover {file}" in said["advice"][0]["said"]
    assert "1 dump is not committed" in page
    assert caesura.recover(file)["finished_iterations"] == [2]
    said, _ = report(tmp_path, file, trace)
    assert all(one["committed"] for one in said["space"])
    assert not any("recover" in one["said"] for one in said["advice"])


def test_a_file_before_its_first_commit_is_no_error(tmp_path):
    writer = caesura.Writer(tmp_path / "run.h5", absolute=BOUND)
    rho = writer.define_field("rho", np.float32, SHAPE)
    with writer.iteration(0) as iteration:
        iteration.begin_dump(time=0).put(rho, smooth(1))
    _, page = report(tmp_path, tmp_path / "run.h5")
    assert "No dump is in the file yet" in page
    writer.close()


def test_a_file_of_another_program_has_its_ratio_and_no_bound(tmp_path):
    path = tmp_path / "stock.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("rho", data=np.zeros((64, 64), np.float32), chunks=(16, 16),
                            compression="gzip")  # fmt: skip
        stored = file["rho"].id.get_storage_size()
    said, page = report(tmp_path, path)
    (one,) = said["fields"]["/rho"]
    assert (one["raw_bytes"], one["stored_bytes"]) == (64 * 64 * 4, stored)
    assert one["bound_kind"] is one["error_over_bound"] is None
    assert said["space"] == []
    assert "Space in the file" not in page


def test_what_is_none_of_these_is_named(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    done = command(tmp_path / "notes.txt")
    assert done.exit_code == 3
    assert "notes.txt is neither an HDF5 file, nor a trace" in " ".join(done.stderr.split())
    done = command(tmp_path / "absent.h5")
    assert done.exit_code == 3
    assert "absent.h5 does not exist" in " ".join(done.stderr.split())


def test_an_iteration_that_is_not_there_is_an_error(run, tmp_path):
    done = command(run[1], "--html", tmp_path / "x.html", "--iteration", 99)
    assert done.exit_code == 3
    assert "no iteration 99" in done.stderr
    assert not (tmp_path / "x.html").exists()
    done = command(run[1], "--html", tmp_path / "x.html", "--iteration", 4)
    assert done.exit_code == 0
    assert "Timeline of iteration 4," in (tmp_path / "x.html").read_text()


def test_a_thousand_dumps_of_twenty_fields_make_a_page_of_a_few_megabytes(tmp_path):
    trace = long_trace(tmp_path, dumps=1000, fields=20)
    begin_s = time.process_time()
    said, page = report(tmp_path, trace)
    print(f"{len(page) / 1e6:.2f} MB in {time.process_time() - begin_s:.1f} s of CPU time")
    assert len(page) < 5_000_000
    assert len(said["fields"]) == 20
    assert len(said["fields"]["field_00"]) == 1000
    assert "Numbers of 1000 dumps, 10 in a row" in page
    assert "of 1000 iterations" in page


def test_a_thousand_dumps_in_a_file_are_read(tmp_path):
    shape, path = (8, 8), tmp_path / "long.h5"
    with caesura.Writer(path, absolute=BOUND) as writer:
        fields = [writer.define_field(f"f{i}", np.float32, shape) for i in range(3)]
        for n in range(1000):
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=0)
                for i, field in enumerate(fields):
                    dump.put(field, np.full(shape, n + i, np.float32))
    said, page = report(tmp_path, path)
    assert len(said["dumps"]) == 1000
    assert len(page) < 5_000_000


# ------------------------------------------------------------------------------------------- words


def test_bounds_are_said_as_they_were_asked_for():
    assert bound_words([Held(kind="absolute", requested=0.2, bound=0.2)]) == "0.2"
    relative = [Held(kind="relative", requested=1e-3, bound=b) for b in (0.5, 0.7)]
    assert bound_words(relative) == "0.001 of the range: 0.5 to 0.7"
    assert bound_words([Held()]) == "not recorded"
    assert bound_words([Held(kind="lossless"), Held(kind="absolute", requested=1)]) == "1, lossless"


def test_errors_are_said_with_how_many_blocks_were_checked():
    assert error_words([Held(kind="lossless")]) == "none: lossless"
    assert error_words([Held(kind="absolute", blocks=4)]) == "not measured"
    checked = Held(kind="absolute", blocks=4, error=0.9999, measured_blocks=4)
    assert error_words([checked]) == "0.999 of the bound"  # never rounded up to it
    partly = Held(kind="absolute", blocks=4)
    assert error_words([checked, partly]) == "0.999 of the bound, in 4 of 8 blocks"


def test_coverage_adds_up_what_lies_between():
    rng = np.random.default_rng(5)
    begins = rng.uniform(0, 100, 200)
    spans = [(b, b + d) for b, d in zip(begins, rng.uniform(0, 3, 200), strict=True)]
    covered_s = coverage(spans)
    for begin, end in rng.uniform(-5, 110, (50, 2)):
        low, high = min(begin, end), max(begin, end)
        wanted = sum(max(0.0, min(e, high) - max(b, low)) for b, e in spans)
        assert covered_s(low, high) == pytest.approx(wanted, abs=1e-9)


# ------------------------------------------------------------------------------------------ advice


def events(compress_s: float, write_s: float, put_s: float = 0.001, dumps: int = 6) -> Trace:
    """One rank that dumps every 2 s."""
    found = []
    for n in range(dumps):
        at = 2.0 * n
        rows = (
            ("put", 0.0, put_s, 0),
            ("compress", 0.01, compress_s, 0),
            ("write", 0.02, write_s, 1_000_000),
            ("sync", 0.02 + write_s, 0.001, 0),
            ("committed", 0.0, 2.5, 0),
        )
        found += [
            Event(kind, "rho #0", 0, "compress lane 0" if kind == "compress" else "", at + begin,
                  at + begin + length, n, size)
            for kind, begin, length, size in rows
        ]  # fmt: skip
    return Trace(found)


def test_a_write_lane_that_limits_says_what_twice_the_bound_would_do(run):
    facts = facts_of(_core, [run[0]], None)
    (advice,) = [a for a in advice_of(facts, events(0.1, 1.9)) if "limits" in a.said]
    assert "the write lane limits: 1.9 s of 2 s between dumps" in advice.said
    doubled = twice_the_bound(facts.files, facts.datasets)
    shorter = 1.9 * (1 - doubled.smaller)
    assert f"its writing about {shorter:.3g} s" in advice.said
    assert f"{doubled.blocks} blocks of the last dump" in advice.how


def test_twice_the_bound_is_near_what_the_original_values_come_to(tmp_path):
    path = tmp_path / "run.h5"
    with caesura.Writer(path, absolute=BOUND) as writer:
        rho = writer.define_field("rho", np.float32, (64, 64, 64))
        rng = np.random.default_rng(1)
        values = rng.normal(size=(64, 64, 64)).astype(np.float32).cumsum(0)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0).put(rho, values)
    facts = facts_of(_core, [path], None)
    doubled = twice_the_bound(facts.files, facts.datasets)
    now, then = len(compress(values, BOUND)), len(compress(values, 2 * BOUND))
    assert doubled.smaller == pytest.approx(1 - then / now, abs=0.03)
    assert 0.05 < doubled.smaller < 0.5


def test_no_number_is_said_without_a_bound_in_units(tmp_path):
    path = tmp_path / "run.h5"
    with caesura.Writer(path) as writer:
        rho = writer.define_field("rho", np.float32, SHAPE)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0).put(rho, smooth(1))
    facts = facts_of(_core, [path], None)
    assert twice_the_bound(facts.files, facts.datasets) is None
    (advice,) = [a for a in advice_of(facts, events(0.1, 1.9)) if "limits" in a.said]
    assert "wice" not in advice.said + advice.how


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (events(1.9, 0.1), "the compress lane limits: 1.9 s of 2 s between dumps. 1 thread "
         "compressed; one more with a core of its own would bring a dump to 950 ms at best"),
        (events(0.1, 0.1, put_s=0.5), "Caesura's, most in put"),
        (events(0.2, 0.1), "nothing limits; the busier lane (compress): 200 ms of 2 s"),
    ],
)  # fmt: skip
def test_what_limits_is_said_with_its_numbers(trace, said):
    (advice,) = advice_of(Facts(), trace)
    assert said in advice.said


def test_a_field_that_hardly_shrinks_is_named(tmp_path):
    facts = Facts(fields={"rho": {0: Held(1000, 990, 1)}, "T": {0: Held(1000, 100, 1)}})
    (advice,) = [a for a in advice_of(facts, events(0.1, 0.1)) if "shrinks" in a.said]
    assert advice.said.startswith("rho shrinks by 1.0 % only")


def test_traces_of_before_still_make_a_page(traces, tmp_path):
    said, page = report(tmp_path, *traces)
    assert len(said["ranks"]) == 2
    assert "Predicted and measured" not in page  # they do not say what was predicted
    assert said["delays"] == []
