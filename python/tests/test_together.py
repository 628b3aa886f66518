"""caesura together: a profile in, a plan out; whatever is wrong with it is said in one sentence."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import pytest
from caesura.cli.together import runs
from caesura.together import Profile

CURVE = [[bytes_, (bytes_ + 60e6) / 550e9] for bytes_ in (1e6, 1e7, 1e8)]
PROFILE = {
    "checkpoint_bytes": 2_000_000,
    "intervals_s": [20e-6] * 7,
    "compressed_bytes": [200_000] * 7,
    "compress_curve": CURVE,
    "link_bytes_per_s": 25e9,
    "cache_bytes": 128_000_000,
    "header_bytes": 1000,
}


def run(document, *arguments, code=0):
    command = [sys.executable, "-m", "caesura", "together", "-", *arguments]
    text = document if isinstance(document, str) else json.dumps(document)
    answer = subprocess.run(command, capture_output=True, text=True, input=text, check=False)
    assert answer.returncode == code, answer.stdout + answer.stderr
    assert "Traceback" not in answer.stderr
    return answer


def test_the_plan_is_the_best_of_all_words_and_beats_the_simple_ones():
    result = json.loads(run(PROFILE, "--json").stdout)
    profile = Profile(**PROFILE)
    legal = []
    for letters in itertools.product("UCAX", repeat=7):
        try:
            legal.append(profile.play("".join(letters)).flush_end_s)
        except ValueError:
            continue
    assert len(legal) > 500
    assert result["flush_end_s"] == min(legal)
    assert result["exact"] is True
    assert profile.play(result["plan"]).flush_end_s == result["flush_end_s"]
    assert result["raw_flush_end_s"] == profile.send_all_raw().flush_end_s
    assert result["each_flush_end_s"] == profile.compress_each().flush_end_s
    assert result["application_end_s"] <= result["flush_end_s"]


def test_the_application_may_be_what_is_to_be_done_soonest():
    profile = {**PROFILE, "intervals_s": [1e-6] * 7}
    host = json.loads(run(profile, "--json").stdout)
    application = json.loads(run(profile, "--json", "--goal", "application").stdout)
    assert application["plan"] == "UUUUUUU"  # the cache takes them all
    assert application["application_end_s"] < host["application_end_s"]
    assert application["flush_end_s"] > host["flush_end_s"]
    with pytest.raises(ValueError, match="'end'; use host or application"):
        Profile(**profile).plan(goal="end")


def test_people_get_the_plan_in_words():
    shown = run(PROFILE).stdout
    assert "together" in shown and "no better one exists" in shown
    assert runs("UUAAXC") == "2 raw, 3 together, 1 compressed"
    assert runs("X") == "1 together"


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ("[", "is not JSON"),
        ([], "must be an object"),
        ({**PROFILE, "cache": 1}, "the key 'cache' is not known"),
        ({k: v for k, v in PROFILE.items() if k != "cache_bytes"}, "cache_bytes is missing"),
        ({**PROFILE, "intervals_s": [1.0]}, "1 intervals_s, but 7 compressed_bytes"),
        ({**PROFILE, "intervals_s": [-1.0] * 7}, "intervals_s[0] is -1"),
        ({**PROFILE, "compressed_bytes": [0.5] * 7}, "compressed_bytes[0] is 0.5"),
        ({**PROFILE, "compress_curve": [[1, 2, 3]]}, "compress_curve[0] is [1, 2, 3]"),
        ({**PROFILE, "link_bytes_per_s": "fast"}, 'link_bytes_per_s is "fast"'),
        ({**PROFILE, "cache_bytes": 10}, "a cache of 10 bytes"),
    ],
)
def test_what_is_wrong_with_a_profile_is_said_in_a_sentence(document, what):
    answer = run(document, "--json", code=3)
    assert what in json.loads(answer.stdout)["error"]


def test_a_kept_profile_is_read_back_and_one_of_another_version_is_refused():
    kept = Profile(**PROFILE).to_json()
    assert json.loads(run(kept, "--json").stdout) | {"plan_us": 0} == json.loads(
        run(PROFILE, "--json").stdout
    ) | {"plan_us": 0}
    newer = json.loads(kept) | {"version": 2}
    assert "version 2" in run(newer, code=3).stderr


def test_planning_while_checkpoints_come_needs_no_profile_and_plans_once_with_the_right_one():
    long = {"intervals_s": [20e-6] * 100, "compressed_bytes": [200_000] * 100}
    profile = Profile(**(PROFILE | long))
    known, plans = profile.play_planner(profile)
    assert plans == 1
    assert known.word == profile.plan().word
    unknown, _ = profile.play_planner(profile.machine())
    assert unknown.flush_end_s >= known.flush_end_s
    assert unknown.flush_end_s <= 1.02 * min(
        profile.send_all_raw().flush_end_s, profile.compress_each().flush_end_s
    )
