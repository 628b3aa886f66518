"""What stages say of themselves: the table of times, and the last line of a command."""

import sys

import pytest
import stages


@pytest.fixture(autouse=True)
def own_place(tmp_path, monkeypatch):
    """Logs of its own, and no stage so far."""
    monkeypatch.setattr(stages, "ROOT", tmp_path)
    monkeypatch.setattr(stages, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(stages, "_stages", [])


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


BUSY = """
import time
begin_s = time.process_time()
while time.process_time() - begin_s < 0.2:
    pass
"""


def test_cpu_seconds_of_programs_are_counted():
    """A stage that computes shows it; one that waits shows time by the clock alone."""
    stages.run_stage("computes", python(BUSY), log="a")
    stages.run_open("waits", python("pass"), log="b")
    computes, waits = stages._stages
    assert computes.label == "computes"
    assert computes.cpu_s >= 0.2
    assert computes.wall_s >= 0.1
    assert waits.cpu_s < computes.cpu_s
    table = stages.where_the_time_went().splitlines()
    assert [line.split()[0] for line in table] == ["where", "computes", "waits", "in"]
    assert f"{computes.cpu_s:.1f} s" in table[1]


def test_a_stage_that_fails_is_in_the_table_too():
    with pytest.raises(SystemExit):
        stages.run_stage("breaks", python("raise SystemExit(3)"), log="a")
    assert [stage.label for stage in stages._stages] == ["breaks"]


def test_what_comes_before_the_last_line_leaves_it_the_last(capfd):
    """ctest's closing line stays the last one, whatever empty lines are around it."""
    code = "print('one'); print(); print('two'); print(); print('closing line'); print()"
    status = stages.run_open("tests", python(code), log="a", before_last=stages.where_the_time_went)
    printed = capfd.readouterr().out
    assert status == 0
    lines = [line for line in printed.splitlines() if line]
    assert lines[-1] == "closing line"
    assert lines.index("two") < next(n for n, line in enumerate(lines) if line.startswith("in all"))
    assert (stages.LOGS / "a.log").read_text() == "one\n\ntwo\n\nclosing line\n\n"


def test_the_status_of_a_command_is_handed_on(capfd):
    """Of one that prints nothing, too."""
    status = stages.run_open(
        "tests", python("raise SystemExit(8)"), log="a", before_last=stages.where_the_time_went
    )
    assert status == 8
    assert "in all" in capfd.readouterr().out
