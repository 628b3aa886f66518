"""caesura watch: what it shows of a run is what the run did, while it runs, when it was killed, and
when it has ended."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import caesura
import numpy as np
import pytest
from caesura import _core
from caesura.cli import app, common, watch
from caesura.trace import Event, TraceError, read_traces
from caesura.watching import following, lanes, state
from caesura.watching.lanes import Lane
from typer.testing import CliRunner

SHAPE = (24, 32, 32)


def command(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["watch", *map(str, arguments)])


def values(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=SHAPE).astype(np.float32).cumsum(0)


def write(writer: caesura.Writer, field: Any, dumps: range) -> None:
    """Dumps that are committed when this returns."""
    for n in dumps:
        with writer.iteration(n) as iteration:
            iteration.begin_dump(time=n).put(field, values(n))
    writer.finish_by(60)


# ---------------------------------------------------------------------------------- a run that runs


def test_a_running_job_is_seen_from_its_file_and_its_trace_alone(tmp_path):
    file, trace = tmp_path / "run.h5", tmp_path / "trace.json"
    writer = caesura.Writer(file, relative=1e-3, trace=trace)
    watcher = state.Watcher(_core, file, [trace])
    rho = writer.define_field("rho", np.float32, SHAPE)
    for begin in (0, 3):
        write(writer, rho, range(begin, begin + 3))
        seen = watcher.look()
        assert not seen.ended
        assert seen.committed.dumps == begin + 3
        assert seen.committed.last == writer.committed == begin + 2
        (lane,) = seen.lanes
        assert lane.dumps == begin + 3
        assert lane.in_flight == 0
        assert lane.compress_s > 0
        assert lane.between_s > 0
        assert seen.next_s is not None
    stored = seen.committed.fields["rho"].last_stored_bytes
    (listed,) = [d for d in _core.OpenFile(str(file)).info()["datasets"] if d["iteration"] == 5]
    assert stored == listed["stored_bytes"]
    told = command(file, trace, "--once")
    assert told.exit_code == 0, told.stderr
    assert "6 dumps committed, the last of iteration 5" in told.stdout
    assert "dumps every" in told.stdout
    writer.close()
    assert watcher.look().ended
    document = json.loads(command(file, trace, "--json").stdout)
    assert document["ended"]
    assert document["next_dump_s"] is None
    assert (document["dumps"], document["last_iteration"]) == (6, 5)
    assert document["ranks"][0]["in_flight"] == 0
    following_it = command(file, trace)  # into a pipe: a line, and it ends because the run has
    assert following_it.exit_code == 0
    assert following_it.stdout.count("\n") == 1
    assert "iteration 5: 6 dumps, the last" in following_it.stdout


KILLED = """
import os, sys
sys.path.insert(0, {tests!r})
from test_watch import SHAPE, caesura, np, values, write
writer = caesura.Writer({file!r}, relative=1e-3, trace={trace!r})
rho = writer.define_field("rho", np.float32, SHAPE)
write(writer, rho, range(2))
iteration = writer.iteration(2).__enter__()
iteration.begin_dump(time=2).put(rho, values(2))
os._exit(9)
"""


def test_what_a_killed_run_left_is_shown_and_its_trace_is_read(tmp_path):
    file, trace = tmp_path / "run.h5", tmp_path / "trace.json"
    text = KILLED.format(tests=str(Path(__file__).parent), file=str(file), trace=str(trace))
    done = subprocess.run([sys.executable, "-c", text], check=False, env=os.environ)
    assert done.returncode == 9
    document = json.loads(command(file, trace, "--json").stdout)
    assert (document["dumps"], document["last_iteration"]) == (2, 1)
    assert not document["ended"]
    assert not document["unfinished"]
    assert document["ranks"][0]["in_flight"] == 0  # nobody had heard of the third one
    events = read_traces([trace]).events
    assert {event.iteration for event in events if event.kind == "sync"} == {0, 1}


def test_a_narrow_terminal_cuts_nothing_off(tmp_path, monkeypatch):
    file, trace = tmp_path / "run.h5", tmp_path / "trace.json"
    with caesura.Writer(file, relative=1e-3, trace=trace) as writer:
        write(writer, writer.define_field("dark_matter_density", np.float32, SHAPE), range(3))
    monkeypatch.setattr(common.out, "width", 40)
    told = command(file, trace, "--once").stdout
    assert max(len(line) for line in told.splitlines()) <= 40
    assert "…" not in told
    assert told.count(" %") >= 2


def test_a_dumb_terminal_gets_a_line_for_each_dump(tmp_path):
    """It cannot draw anew what it has shown."""
    file, trace = tmp_path / "run.h5", tmp_path / "trace.json"
    with caesura.Writer(file, relative=1e-3, trace=trace) as writer:
        write(writer, writer.define_field("rho", np.float32, SHAPE), range(2))
    screen, terminal = pty.openpty()
    watching = [sys.executable, "-m", "caesura", "watch", file, trace]
    done = subprocess.run(watching, stdout=terminal, check=False, env=os.environ | {"TERM": "dumb"})
    os.close(terminal)
    text = os.read(screen, 1 << 12).decode()
    os.close(screen)
    assert done.returncode == 0
    assert "iteration 1: 2 dumps, the last" in text


def test_a_series_is_one_run(tmp_path):
    with caesura.Writer(tmp_path / "run_%06T.h5", relative=1e-3) as writer:
        rho = writer.define_field("rho", np.float32, SHAPE)
        write(writer, rho, range(3))
    document = json.loads(command(tmp_path / "run_%06T.h5", "--json").stdout)
    assert (document["files"], document["dumps"], document["last_iteration"]) == (3, 3, 2)
    assert document["raw_bytes"] == 3 * 4 * np.prod(SHAPE)
    assert document["limit"] is None  # nothing says what the lanes did


@pytest.mark.parametrize("layout", [None, "/step_%06T/{field}", "/{field}/%T"])
def test_a_field_is_one_however_its_dumps_are_called(layout, tmp_path):
    file = tmp_path / "run.h5"
    with caesura.Writer(file, relative=1e-3, **({"layout": layout} if layout else {})) as writer:
        rho = writer.define_field("rho", np.float32, SHAPE)
        rare = writer.define_field("rare", np.float64, SHAPE)
        x = (
            None
            if layout
            else writer.define_species("ions").define_record("position/x", np.float32)
        )
        for n in (0, 10, 20):
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=n)
                dump.put(rho, values(n))
                if n == 0:
                    dump.put(rare, values(n).astype(np.float64))
                if x is not None:
                    dump.put_particles(x, values(n).ravel())
    committed = state.Watcher(_core, file, []).look().committed
    names = {name.strip("/*").removeprefix("step_*/") for name in committed.fields}
    assert names == {"rho", "rare"} | (set() if layout else {"particles/ions/position/x"})
    assert (committed.dumps, committed.last) == (3, 20)
    bytes_of_rho = 4 * int(np.prod(SHAPE))
    raw, stored = committed.last_dump()  # which does not hold the rare field
    assert raw == bytes_of_rho * (1 if layout else 2)
    assert 0 < stored < raw
    (field,) = [one for one in committed.fields.values() if "rho" in one.name]
    assert (field.raw_bytes, field.last_raw_bytes) == (3 * bytes_of_rho, bytes_of_rho)


def test_iterations_are_told_from_paths_and_files_where_nothing_else_says_them():
    """As in files that the connector captured, of which every dump is listed as of iteration 0."""
    assert state.iteration_of("/data/30/meshes/rho", 0) == 30
    assert state.iteration_of("/step_30/rho", 30) == 30
    assert state.iteration_of("/rho", 0) == 0


def test_files_without_iterations_are_a_dump_each(tmp_path):
    for n in (4, 8, 12):
        with caesura.Writer(tmp_path / f"plt{n:05d}.h5", relative=1e-3) as writer:
            write(writer, writer.define_field("rho", np.float32, SHAPE), range(1))
    told = command(tmp_path / "plt*.h5", "--once")
    assert told.exit_code == 0, told.stderr
    assert "3 dumps committed;" in told.stdout


def test_a_watcher_asks_for_no_lock(tmp_path):
    """Or a program that begins to write the file, or opens it again, would be refused."""
    file = tmp_path / "run.h5"
    with caesura.Writer(file, relative=1e-3) as writer:
        write(writer, writer.define_field("rho", np.float32, SHAPE), range(2))
    with file.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(OSError, match="in use by another process"):
            _core.OpenFile(str(file))
        assert state.Watcher(_core, file, []).look().committed.dumps == 2


def test_a_look_into_a_commit_shows_what_was_committed_before(tmp_path):
    """Between its parts a file may look damaged. One that has never been whole is."""
    file = tmp_path / "run.h5"
    with caesura.Writer(file, relative=1e-3) as writer:
        write(writer, writer.define_field("rho", np.float32, SHAPE), range(2))
    whole = file.read_bytes()
    watcher = state.Watcher(_core, file, [])
    assert watcher.look().committed.dumps == 2
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(caesura.CorruptError):
        _core.OpenFile(str(file))
    assert watcher.look().committed.dumps == 2
    told = command(file, "--json")
    assert told.exit_code == 3
    assert str(file) in json.loads(told.stdout)["error"]


# ----------------------------------------------------------------------------------- growing traces


def test_a_trace_is_the_same_wherever_looks_fall_into_it(tmp_path):
    def event(n: int) -> str:
        one = {"ph": "X", "cat": "write", "name": f"rho, [{n}]", "pid": 3, "tid": 0, "ts": n * 1e6}
        return json.dumps(one | {"dur": 5e5, "args": {"iteration": n, "bytes": n}})

    name = {"ph": "M", "name": "thread_name", "pid": 3, "tid": 0, "args": {"name": "write lane"}}
    text = ",\n".join(["[\n" + json.dumps(name), *map(event, range(6))])
    path = tmp_path / "trace.json"
    path.write_text(text)
    expected = read_traces([path]).events
    assert [one.iteration for one in expected] == list(range(6))
    assert {one.lane for one in expected} == {"write lane"}
    for cut in range(len(text)):
        follower = following.Follower(path)
        for end in (cut, len(text)):
            path.write_text(text[:end])
            follower.look()
        assert follower.events == expected
    path.write_text(text[:-3])
    assert read_traces([path]).events == expected[:-1]


def test_a_watcher_of_weeks_keeps_the_last_dumps_only(tmp_path):
    path = tmp_path / "trace.json"
    follower = following.Follower(path)
    lines = []
    for n in range(40):
        one = {"ph": "X", "cat": "put", "name": "rho", "pid": 0, "tid": 0, "ts": n * 1e6}
        lines.append(json.dumps(one | {"dur": 1e3, "args": {"iteration": 10 * n}}))
        path.write_text("[\n" + ",\n".join(lines))
        follower.look()
    kept = [event.iteration for event in follower.events]
    assert kept == [10 * n for n in range(40 - following.KEPT_DUMPS, 40)]


def test_a_trace_in_pieces_is_the_same(tmp_path, monkeypatch):
    path = tmp_path / "trace.json"
    one = {"ph": "X", "cat": "put", "name": "rho", "pid": 0, "tid": 0, "ts": 0, "dur": 1}
    lines = [json.dumps(one | {"args": {"iteration": n}}) for n in range(9)]
    path.write_text("[\n" + ",\n".join(lines))
    monkeypatch.setattr(following, "_PIECE_BYTES", 250)  # two lines and a half
    follower = following.Follower(path)
    follower.look()
    assert [event.iteration for event in follower.events] == list(range(9))


def test_bytes_that_have_not_arrived_are_waited_for(tmp_path):
    """A file system of several nodes may show the length of a file, and its last page, first."""
    path = tmp_path / "trace.json"
    one = {"ph": "X", "cat": "put", "name": "rho", "pid": 0, "tid": 0, "ts": 0, "dur": 1}
    lines = [json.dumps(one | {"args": {"iteration": n}}) for n in range(4)]
    text = ("[\n" + ",\n".join(lines)).encode()
    follower = following.Follower(path)
    for begin, end in ((70, 200), (150, 200), (200, 200)):
        path.write_bytes(text[:begin] + bytes(end - begin) + text[end:])
        follower.look()
    assert [event.iteration for event in follower.events] == list(range(4))


def test_a_run_that_takes_over_a_killed_ones_trace_begins_anew(tmp_path):
    """Its trace may have grown beyond the old one before it is looked at."""
    path = tmp_path / "trace.json"
    one = {"ph": "X", "cat": "put", "name": "rho", "pid": 0, "tid": 0, "dur": 1e3}

    def lines(ticks: range, iteration: int) -> str:
        return "[\n" + ",\n".join(
            json.dumps(one | {"args": {"iteration": iteration}, "ts": 1e6 * n}) for n in ticks
        )

    follower = following.Follower(path)
    path.write_text(lines(range(3), 1))
    follower.look()
    path.write_text(lines(range(100, 108), 2))
    follower.look()
    assert [event.iteration for event in follower.events] == 8 * [2]
    path.write_text(json.dumps({"traceEvents": [one | {"ts": 0}]}))
    follower.look()
    assert follower.closed
    path.write_text(lines(range(200, 220), 3))
    follower.look()
    assert not follower.closed
    assert [event.iteration for event in follower.events] == 20 * [3]


def test_another_run_of_the_same_name_begins_anew(tmp_path):
    """Its traces were not there when the watching began."""
    file, trace = tmp_path / "run.h5", tmp_path / "trace-0.json"
    watcher = state.Watcher(_core, file, [tmp_path / "trace-*.json"])
    for dumps in (4, 1):
        writer = caesura.Writer(file, relative=1e-3, trace=trace)
        assert not watcher.look().ended  # as the run before it has
        write(writer, writer.define_field("rho", np.float32, SHAPE), range(dumps))
        seen = watcher.look()
        assert not seen.ended
        assert seen.lanes[0].dumps == seen.committed.dumps == dumps
        writer.close()
        assert watcher.look().ended


# ------------------------------------------------------------------------------------- what is said


def run_of(compress_s: float, write_s: float, put_s: float = 0.01) -> state.Lane:
    """Dumps every 2 s, of iterations 0, 10, ..."""
    events = []
    for n in range(5):
        begin = 2.0 * n

        def add(kind: str, at_s: float, lasts_s: float, n: int = n) -> None:
            events.append(Event(kind, "rho #0", 0, "", at_s, at_s + lasts_s, 10 * n, 1000))

        add("put", begin, put_s)
        if n < 4:
            add("compress", begin + put_s, compress_s)
            add("write", begin + put_s + compress_s, write_s)
            add("sync", begin + put_s + compress_s + write_s, 0.001)
    (lane,) = lanes.lanes_of(events, 0.5)
    return lane


def test_threads_that_compress_at_once_are_one_lane():
    """Four threads, 0.9 s of 2 s each: there is room."""
    events = [Event("put", "rho", 0, "", 2.0 * n, 2.0 * n + 0.01, n, 0) for n in range(5)]
    for n in range(4):
        for thread in range(4):
            begin_s = 2.0 * n + 0.02 * thread
            events.append(Event("compress", "rho", 0, "", begin_s, begin_s + 0.9, n, 0))
        events.append(Event("sync", "rho", 0, "", 2.0 * n + 1, 2.0 * n + 1, n, 0))
    (lane,) = lanes.lanes_of(events, 0.5)
    assert lane.compress_s == pytest.approx(0.96)
    assert lane.limit().startswith("nothing limits; the busier lane (compress): 960 ms of 2 s")


@pytest.mark.parametrize(
    ("lane", "words"),
    [
        (run_of(0.1, 1.9), "the write lane limits: 1.9 s of 2 s between dumps"),
        (run_of(1.85, 0.2), "the compress lane limits: 1.85 s of 2 s between dumps"),
        (run_of(0.3, 0.2), "nothing limits; the busier lane (compress): 300 ms of 2 s"),
        (run_of(0.3, 0.2, 0.8), "of the application's time is Caesura's, most in put"),
    ],
)
def test_what_limits_is_said_in_words_with_numbers(lane, words):
    assert words in lane.limit()
    assert lane.between_s == pytest.approx(2.0)
    assert (lane.dumps, lane.in_flight) == (4, 1)


def test_the_rank_that_holds_the_job_up_is_told_from_its_shares_of_time():
    """Not from seconds: a lane that compresses for 3 s of 100 s holds nobody up."""
    rare = Lane(0, 5, 400.0, 100.0, 3.0, 0.1, 0.1, 0.1, 0, None)
    felt = Lane(1, 5, 8.0, 2.0, 0.1, 0.1, 6.0, 0.1, 0, None)
    full = Lane(2, 5, 8.0, 2.0, 1.9, 0.1, 0.1, 0.1, 0, None)
    for ranks, worst in (([rare, felt], felt), ([full, rare, felt], full), ([rare], rare)):
        seen = state.State("run.h5", 0.0, state.Committed(), ranks, False)
        assert watch.busiest(seen) is worst


def test_the_next_dump_is_told_from_the_time_between_dumps():
    lane = run_of(0.1, 0.1)
    # The last put is at 8 s, the last event ends at 8.01 s and was written 0.5 s ago.
    assert lane.next_s == pytest.approx(8.0 + 2.0 - 8.51)
    committed = state.Committed(files=1, dumps=4, last=30, changed_s=100.0)
    late = state.State("run.h5", 107.0, committed, [lane], False)
    assert late.words().endswith("dumps came every 2 s: is it running?")
    committed.unfinished = True
    assert late.words().endswith("If it was killed, `caesura recover` finishes the file")
    assert state.State("run.h5", 101.0, committed, [lane], False).words() == (
        "last written to 1 s ago"
    )


def test_what_cannot_be_watched_is_an_error_in_a_sentence(tmp_path):
    told = command(tmp_path / "none.h5", "--json")
    assert told.exit_code == 3
    assert "does not exist" in json.loads(told.stdout)["error"]
    empty = tmp_path / "empty.h5"
    empty.touch()
    told = command(empty, tmp_path / "no_trace_yet.json", "--json")
    assert told.exit_code == 0
    assert json.loads(told.stdout)["state"] == "no commit yet"
    other = tmp_path / "text.h5"
    other.write_text("no file of HDF5")
    told = command(other, "--json")
    assert told.exit_code == 3
    assert "is no HDF5 file" in json.loads(told.stdout)["error"]
    noise = tmp_path / "trace.json"
    for text in ("[\nnot an event,\n{}\n", "{}", '{"other": []}', '{"traceEvents": 3}', "[\n3,\n4"):
        noise.write_text(text)
        told = command(empty, noise, "--json")
        assert told.exit_code == 3
        assert "is not a Chrome trace" in json.loads(told.stdout)["error"]
        with pytest.raises(TraceError):
            read_traces([noise])


def test_traces_that_are_not_there_are_named(tmp_path):
    """A path that is mistyped must not look like a run that does nothing."""
    file, trace = tmp_path / "run.h5", tmp_path / "rank0" / "trace.json"
    trace.parent.mkdir()
    with caesura.Writer(file, relative=1e-3, trace=trace) as writer:
        write(writer, writer.define_field("rho", np.float32, SHAPE), range(1))
    patterns = tmp_path / "tracks-*.json", tmp_path / "rank*" / "trace.json"
    told = command(file, trace, *patterns, "--once")
    assert told.exit_code == 0, told.stderr
    assert f"no trace yet: {patterns[0]}\n" in told.stdout
    document = json.loads(command(file, patterns[1], tmp_path / "trace.json", "--json").stdout)
    assert document["no_trace_yet"] == [str(tmp_path / "trace.json")]
    assert [one["rank"] for one in document["ranks"]] == [0]
