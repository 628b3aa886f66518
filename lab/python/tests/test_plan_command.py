"""caesura plan: instances in, plans out; whatever is wrong with a file is said in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree

import caesura
import numpy as np
import pytest
from caesura.trace import Event, Trace
from caesura_lab.planning import instances, planners

FIGURE_1 = {
    "name": "S0 Figure 1",
    "jobs": [
        {"compress_s": c, "write_s": w} for c, w in [(1, 2), (2, 1), (2, 2), (3, 2)]
    ],
    "obstacles": {"compress": [[3, 4], [6, 7]], "write": [[4, 5]]},
    "iteration_s": 12.5,
}  # fmt: skip
KEYS = ["name", "algorithm", "makespan_s", "iteration_s", "lower_bound_s", "plan_us", "compress",
        "write"]  # fmt: skip


def run(*arguments, code=0, stdin=""):
    command = [sys.executable, "-m", "caesura", "plan", *map(str, arguments)]
    answer = subprocess.run(command, capture_output=True, text=True, input=stdin, check=False)
    assert answer.returncode == code, answer.stdout + answer.stderr
    assert "Traceback" not in answer.stderr
    return answer


@pytest.fixture
def figure_1(tmp_path):
    path = tmp_path / "figure_1.json"
    path.write_text(json.dumps(FIGURE_1))
    return path


def test_an_instance_gives_one_result_for_each_algorithm(figure_1):
    results = json.loads(run(figure_1, "--algorithm", "all", "--json").stdout)
    assert [list(result) for result in results] == [KEYS] * len(results)
    by_name = {result["algorithm"]: result for result in results}
    assert list(by_name)[-1] == "default"
    assert set(by_name) == {*planners.ALGORITHMS, "default"} - {planners.DEFAULT_ALGORITHM}
    assert by_name["ext_johnson"]["makespan_s"] == 13
    assert by_name["ext_johnson"]["iteration_s"] == 13
    assert by_name["default"]["makespan_s"] == 12
    assert by_name["default"]["iteration_s"] == 12.5
    for result in results:
        ends = [
            b + job["write_s"] for b, job in zip(result["write"], FIGURE_1["jobs"], strict=True)
        ]
        assert result["makespan_s"] == max(ends)
        assert result["lower_bound_s"] <= 12
        assert result["plan_us"] > 0


def test_a_list_from_standard_input_keeps_its_order():
    other = {"jobs": [{"compress_s": 5, "write_s": 1}], "resumable": True,
             "obstacles": {"compress": [[1, 2]]}}  # fmt: skip
    text = json.dumps([FIGURE_1, other])
    results = json.loads(run("-", "--json", stdin=text).stdout)
    assert [r["name"] for r in results] == ["S0 Figure 1", "instance 1"]
    assert [r["algorithm"] for r in results] == ["default", "default"]
    assert (results[1]["compress"], results[1]["write"]) == ([0], [6])  # suspended for a second


def test_people_get_a_table_and_a_picture(figure_1, tmp_path):
    picture = tmp_path / "plans.svg"
    shown = run(figure_1, "--algorithm", "ext_johnson", "--algorithm", "default", "--picture",
                picture)  # fmt: skip
    assert "12.000000 s" in shown.stdout
    root = xml.etree.ElementTree.parse(picture).getroot()
    words = ["".join(element.itertext()) for element in root.iter() if element.tag.endswith("text")]
    assert {"ext_johnson", "default", "S0 Figure 1"} <= set(words)
    titles = [element.text for element in root.iter() if element.tag.endswith("title")]
    assert "block 3: write 10.0000 to 12.0000 s" in titles
    several = tmp_path / "two.json"
    several.write_text(json.dumps([FIGURE_1, FIGURE_1]))
    run(several, "--picture", tmp_path / "two.svg")
    assert (tmp_path / "two-1.svg").exists() and (tmp_path / "two-2.svg").exists()


def changed(**changes):
    return {**FIGURE_1, **changes}


@pytest.mark.parametrize(
    ("document", "named"),
    [
        ("{", ["not JSON"]),
        ("3", ["3", "list of instances"]),
        ('{"jobs": [], "jobs": []}', ['"jobs"', "twice"]),
        (changed(job=[]), ["job", "unknown", "S0 Figure 1"]),
        ({"name": "x"}, ["jobs is missing"]),
        (changed(name=7), ["name is 7"]),
        (changed(jobs={"compress_s": 1}), ["jobs is"]),
        (changed(jobs=[{"compress_s": 1}]), ["jobs[0].write_s is missing"]),
        (changed(jobs=[{"compress_s": -1, "write_s": 1}]), ["jobs[0].compress_s is -1"]),
        (changed(jobs=[{"compress_s": "1", "write_s": 1}]), ['jobs[0].compress_s is "1"']),
        (changed(jobs=[{"compress_s": True, "write_s": 1}]), ["jobs[0].compress_s is true"]),
        (changed(jobs=[{"compress_s": 1, "write_s": float("nan")}]), ["jobs[0].write_s is NaN"]),
        (changed(jobs=[{"compress_s": 10**400, "write_s": 1}]), ["jobs[0].compress_s is 1000"]),
        (changed(jobs=[{"compress_s": 1, "write_s": 1, "size": 3}]), ["jobs[0]", '"size"', "3"]),
        (changed(obstacles={"read": []}), ["obstacles", '"read"']),
        (changed(obstacles={"write": [[1, 2, 3]]}), ["obstacles.write[0] is [1, 2, 3]"]),
        (changed(obstacles={"write": [[1, None]]}), ["obstacles.write[0][1] is null"]),
        (changed(obstacles={"write": [[2, 1]]}), ["write", "[2, 1)"]),
        (changed(obstacles={"write": [[2, 4], [1, 2]]}), ["obstacle 1", "write", "sort"]),
        (changed(obstacles={"compress": [[2, 4], [3, 5]]}), ["obstacle 1", "compress", "overlaps"]),
        (changed(iteration_s=-2), ["iteration_s is -2"]),
        (changed(resumable=1), ["resumable is 1"]),
        (changed(obstacles={"spread_s": -1}), ["obstacles.spread_s is -1"]),
        (changed(jobs=[{"compress_s": 1, "write_s": 1, "write_spread_s": None}]),
         ["jobs[0].write_spread_s is null"]),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_is_named(tmp_path, document, named):
    path = tmp_path / "wrong.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    with pytest.raises(instances.InstanceError) as caught:
        instances.parse(path.read_text(), str(path))
    for part in ["wrong.json", *named]:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)
    in_list = "[" + json.dumps(FIGURE_1) + "," + path.read_text() + "]"
    with pytest.raises(instances.InstanceError, match=r"instance 1|not JSON|twice"):
        instances.parse(in_list, "list.json")


# Goal: two writes that fill a gap exactly are the best plan and the worst bet: every second time
# the first takes too long for the other one. A robust plan writes the long one there.
def test_a_robust_plan_leaves_room_where_durations_are_uncertain(tmp_path):
    jobs = [{"compress_s": 0, "write_s": w, "write_spread_s": 0.2 * w} for w in (1.0, 1.0, 1.6)]
    brim = {"jobs": jobs, "obstacles": {"write": [[2, 6]], "spread_s": 0.01}}
    path = tmp_path / "brim.json"
    path.write_text(json.dumps(brim))
    means, robust = (
        json.loads(run(path, "--json", *more).stdout)[0] for more in ([], ["--robust"])
    )
    assert means["write"][2] == 6 and means["makespan_s"] == pytest.approx(7.6)
    assert robust["write"][2] == 0 and robust["makespan_s"] == pytest.approx(8.0)
    answer = run("-", "--robust", stdin=json.dumps(FIGURE_1), code=3)
    assert "no instance has spreads" in answer.stderr


def test_mistakes_end_with_one_sentence_and_a_code(tmp_path, figure_1):
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(changed(iteration_s="long")))
    answer = run(wrong, code=3)
    assert answer.stdout == ""
    assert 'instance "S0 Figure 1": iteration_s is "long"' in answer.stderr
    assert "error" in json.loads(run(wrong, "--json", code=3).stdout)
    assert "does not exist" in run(tmp_path / "none.json", code=3).stderr
    assert "use one of all, default" in run(figure_1, "--algorithm", "best", code=2).stderr
    assert "name it .svg" in run(figure_1, "--picture", "plan.pdf", code=2).stderr
    assert "give a file" in run(code=2).stderr


def test_what_is_written_reads_back_exactly():
    random = np.random.default_rng(1)
    made = [
        instances.Instance(
            name=f"{n}",
            jobs=tuple(map(tuple, random.random((n, 2)).tolist())),
            compress=((0.1, 0.2), (0.3, 0.30000000000000004)),
            iteration_s=1 / 3,
            resumable=bool(n % 2),
            spreads=tuple(map(tuple, random.random((n, 2)).tolist())) if n > 1 else (),
            obstacle_spread_s=0.1 * (n > 2),
        )
        for n in range(4)
    ]
    assert instances.parse(instances.dumps(made), "") == made


def test_a_trace_gives_what_had_to_be_planned():
    def event(kind, name, begin_s, end_s, iteration, size=0, lane=""):
        return Event(kind, name, 0, lane, begin_s, end_s, iteration, size)

    trace = Trace([
        event("iteration", "iteration 0", 0, 10, 0), event("put", "b", 8, 8.5, 0),
        event("put", "a", 8.5, 9, 0), event("iteration", "iteration 1", 10, 20, 1),
        event("obstacle", "compress", 9, 11, 1), event("obstacle", "compress", 13, 14, 1),
        event("obstacle", "compress", 14, 15, 1), event("obstacle", "write", 12, 13, 1),
        event("compress", "a #0", 11, 13, 0, 30), event("compress", "b #0", 15, 16, 0, 10),
        event("compress", "b #1", 12.5, 16, 0, 20), event("write", "a #0 +2", 16, 22, 0, 60),
    ])  # fmt: skip
    (found,) = instances.from_trace(trace)
    assert found.name == "rank 0, dump of iteration 0"
    assert found.iteration_s == 10
    assert found.compress == ((0, 1), (3, 5))
    assert found.write == ((2, 3),)
    # b was put first; its second block was suspended for 2 s; writing took 6 s for 60 bytes.
    assert found.jobs == ((1, 1), (1.5, 2), (2, 3))


def test_a_real_run_gives_instances_that_can_be_planned(tmp_path):
    random = np.random.default_rng(2)
    data = np.cumsum(random.normal(size=(64, 64, 64)), axis=2).astype(np.float32)
    trace = tmp_path / "trace-%r.json"
    with caesura.Writer(
        tmp_path / "run.h5", absolute=1e-2, chunk_bytes=1 << 17, trace=trace
    ) as writer:
        field = writer.define_field("rho", np.float32, data.shape)
        for n in range(3):
            with writer.iteration(n) as iteration:
                with iteration.busy("compress"):
                    np.sort(data, axis=0)
                iteration.begin_dump(time=n).put(field, data)
    (written,) = tmp_path.glob("trace-*.json")
    text = run("--from-trace", written).stdout
    found = instances.parse(text, "trace")
    assert [item.name for item in found] == [f"rank 0, dump of iteration {n}" for n in range(2)]
    assert {len(item.jobs) for item in found} == {8}
    assert all(item.iteration_s > 0 for item in found)
    results = json.loads(run("-", "--json", stdin=text).stdout)
    assert len(results) == 2
