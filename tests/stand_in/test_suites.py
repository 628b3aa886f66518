"""Goal: h5py's own test suite has the same outcome under the connector as natively, but for what
tests/stand_in/suites_known.toml lists. Both are started by mpirun."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import suites  # noqa: E402

LISTED = [
    {"test": "a: known*", "reason": "meant"},
    {"test": "a: gone", "reason": "was mended"},
]


def result_of(natively: dict[str, str], under: dict[str, str]) -> suites.Result:
    result = suites.Result("a", "1", natively, under, (0.0, 0.0))
    suites.compare(result, LISTED)
    return result


def test_h5py_has_the_outcome_that_it_has_natively() -> None:
    if "CAESURA_PARALLEL_PYTHON" not in os.environ or "CAESURA_BUILD" not in os.environ:
        pytest.skip("no Python with parallel h5py (tools/dev.py test makes it)")
    build = Path(os.environ["CAESURA_BUILD"])
    assert suites.run(["h5py"], build / "vol", build / "plugins") == 0


def test_a_difference_that_is_not_listed_is_unknown() -> None:
    natively = {"a: known 1": "passed", "a: other": "passed", "a: same": "failed"}
    under = {"a: known 1": "failed", "a: other": "skipped", "a: same": "failed"}
    result = result_of(natively, under)
    assert result.known == {"a: known 1": "meant"}
    assert result.unknown == ["a: other: natively passed, under the connector skipped"]
    assert result.not_met == ["a: gone"]


def test_what_comes_after_a_crash_is_counted_and_the_crash_is_unknown() -> None:
    natively = {"a: the process": "passed", "a: first": "passed", "a: last": "passed"}
    under = {"a: the process": "exit status 139", "a: first": "passed"}
    result = result_of(natively, under)
    assert result.not_reached == 1
    assert result.unknown == [
        "a: the process: natively passed, under the connector exit status 139"
    ]


def test_a_missing_test_without_a_crash_is_unknown() -> None:
    result = result_of({"the process": "passed", "b": "passed"}, {"the process": "passed"})
    assert result.unknown == ["b: natively passed, under the connector not run"]


def test_verdicts_of_hdf5s_api_tests_are_read_with_their_parts() -> None:
    said = "Testing x    PASSED\nTesting y  \n  Testing z   *FAILED*\n    why\n  Testing w -SKIP-\n"
    assert dict(suites.api_outcomes(said)) == {
        "x": "passed",
        "y / z": "failed",
        "y / w": "skipped",
    }
