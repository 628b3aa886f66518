#!/usr/bin/env python3
"""The test suites of others, natively and under the VOL connector, compared test by test.

    tools/dev.py stand-in --suites [NAME...]     builds what is needed first
    python3 tools/suites.py --build build h5py   with a connector that is built

A difference that tests/stand_in/suites_known.toml does not list makes the command fail. So does a
suite that ran no test. A suite whose sources cannot be had is skipped, with the reason; with
CI=true that is an error for suites that are named.

Invariants: every run has a time limit, and a hang is an outcome; the connector's variables go to
the programs alone, never to the launcher.

Standard library only.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import suite_packages
import suite_sources
from stages import OUT, ROOT
from suite_sources import HERE, Unavailable

sys.path.insert(0, str(ROOT / "tests"))

from launching import environment, on_ranks

KNOWN = ROOT / "tests" / "stand_in" / "suites_known.toml"
CONFIG = "threshold_bytes = 1\nclosing_line = false\n"
PASSED, FAILED, SKIPPED, HANG = "passed", "failed", "skipped", "does not end"
ENDED = "the process"  # a test of every program: that it ends, and how
Outcomes = dict[str, str]


@dataclass(frozen=True)
class Way:
    """Natively or under the connector: where a suite runs, and with which variables."""

    place: Path
    variables: dict[str, str]

    def run(self, ranks: int, limit_s: float, *command: object, **more: str) -> tuple[str, str]:
        """A program in the place: how it ended, and what it printed on stdout."""
        self.place.mkdir(parents=True, exist_ok=True)
        given = self.variables | more
        with (self.place / "stderr").open("a") as errors:
            process = subprocess.Popen(
                ["mpirun", *on_ranks(ranks, *command, variables=given)],
                cwd=self.place,
                env=environment(self.place),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            try:
                said, _ = process.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGTERM)  # the launcher ends its ranks
                try:
                    said, _ = process.communicate(timeout=10)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    said, _ = process.communicate()
                return HANG, said
        code = process.returncode
        return (PASSED if code == 0 else f"exit status {code}"), said


@dataclass(frozen=True)
class Suite:
    """One suite. `version` and `run` raise Unavailable where it cannot be had."""

    name: str
    version: Callable[[], str]
    run: Callable[[Way], Outcomes]


# ---------------------------------------------------------------------------------- what runs them


def pytest_outcomes(
    way: Way, ranks: int, limit_s: float, *options: str, **variables: str
) -> Outcomes:
    """A suite of pytest's."""
    report = way.place / "outcomes.xml"
    report.unlink(missing_ok=True)
    program = [suite_sources.python(), HERE / "pytest_in_job.py", "-q", "-p", "no:cacheprovider"]
    program += ["--tb=short", "--color=no", "-W", "ignore", f"--junitxml={report}", *options]
    end, said = way.run(ranks, limit_s, *program, **variables)
    (way.place / "stdout").write_text(said)
    # 1: tests have failed, which is told of each.
    outcomes = {ENDED: PASSED if end == "exit status 1" else end}
    if not report.exists():
        return outcomes
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        kinds = {child.tag for child in case}
        bad = kinds & {"failure", "error"}
        outcomes[name] = FAILED if bad else SKIPPED if "skipped" in kinds else PASSED
    return outcomes


def api_outcomes(text: str) -> Iterator[tuple[str, str]]:
    """What HDF5's API tests print: a line for each test, indented ones for its parts."""
    verdicts = {"PASSED": PASSED, "*FAILED*": FAILED, "-SKIP-": SKIPPED}
    parent = ""
    for line in text.splitlines():
        found = re.match(r"(\s*)Testing (.*?)\s*(PASSED|\*FAILED\*|-SKIP-)?\s*$", line)
        if not found:
            continue
        indented, name, verdict = found.groups()
        if not indented:
            parent = name
        if verdict:
            yield (f"{parent} / {name}" if indented else name), verdicts[verdict]


def h5py(way: Way) -> Outcomes:
    """All of it on one rank, then what is about MPI on two."""
    outcomes = pytest_outcomes(way, 1, 150, "--pyargs", "h5py")
    two = Way(way.place / "mpi", way.variables)
    more = pytest_outcomes(two, 2, 90, "--pyargs", "h5py", "--only-mpi", "-k", "TestMPI")
    return outcomes | {f"2 ranks: {name}": outcome for name, outcome in more.items()}


def h5py_version() -> str:
    """As the interpreter says."""
    ask = [suite_sources.python(), "-c", "import h5py; print(h5py.__version__)"]
    return subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()


def with_ranks(ranks: int, way: Way, program: Path, *arguments: str) -> Outcomes:
    """A program whose outcome is its end."""
    end, _ = way.run(ranks, 300, program, *arguments)
    return {f"{' '.join([program.name, *arguments])}, {ranks} ranks": end}


def hdf5_api(way: Way) -> Outcomes:
    """h5_api_test by group, and at once without those that end HDF5 itself;
    h5_api_test_parallel at once on one rank and by group on two. Groups in which a test ends the
    process run test by test, and its tests that do part by part."""
    programs = suite_sources.hdf5_tests()
    preload = {"LD_PRELOAD": str(programs / "with_mpi.so")}
    outcomes: Outcomes = {}

    def run_one(
        ranks: int, program: str, arguments: list[str], test: str = "", **more: str
    ) -> None:
        said_as = [program, *arguments, *([test] if test else [])]
        run = Way(way.place / "-".join([*said_as, str(ranks)]).replace(" ", "-"), way.variables)
        end, said = run.run(ranks, 90, programs / program, *arguments, **more)
        (run.place / "stdout").write_text(said)
        label = f"{' '.join(said_as)}, {ranks} ranks"
        outcomes[f"{label}: {ENDED}"] = end
        outcomes.update({f"{label}: {name}": outcome for name, outcome in api_outcomes(said)})

    run_one(1, "h5_api_test_rest", [], **preload)
    run_one(1, "h5_api_test_parallel", [])
    for program, ranks, more in (("h5_api_test", 1, preload), ("h5_api_test_parallel", 2, {})):
        singly = suite_sources.SINGLY[program][0]
        for group in suite_sources.GROUPS:
            if group != singly:
                run_one(ranks, program, [group], **more)
        for line in (programs / f"{program}.tests").read_text().splitlines():
            number, _, test = line.partition(" ")
            part = {suite_sources.PART: test.split()[1]} if " " in test else {}
            run_one(ranks, program, [singly], test, **more, **part, **{suite_sources.ONE: number})
    return outcomes


def testphdf5(way: Way) -> Outcomes:
    """Each test in a job of its own, so that one that stops the job hides no other."""
    programs = suite_sources.hdf5_tests()
    _, said = way.run(2, 60, programs / "testphdf5", "-o", "no such test")
    names = re.findall(r"^Skipping\s+-- .*\(([^ ()]+)\)\s*$", said, re.MULTILINE)
    if not names:
        raise Unavailable("testphdf5 lists no tests")
    outcomes: Outcomes = {}
    for ranks in (1, 2):
        for name in names:
            outcomes |= with_ranks(ranks, way, programs / "testphdf5", "-o", name)
    for name in suite_sources.SINGLE:
        outcomes |= with_ranks(2, way, programs / name)
    return outcomes


def hdf5_version() -> str:
    """That of the sources."""
    return (suite_sources.hdf5_tests() / "version").read_text()


def netcdf_c(way: Way) -> Outcomes:
    """Every program of nc_test4 and h5_test; those that MPI ranks share on four."""
    place = suite_sources.netcdf()
    outcomes: Outcomes = {}
    for directory in ("nc_test4", "h5_test"):
        run = Way(way.place / directory, way.variables)
        run.place.mkdir(parents=True, exist_ok=True)
        for path in (place / "build" / directory).glob("*"):
            if path.suffix in (".nc", ".h5", ".cdl"):
                shutil.copy(path, run.place)
        for program in sorted((place / "build" / directory).glob("tst_*")):
            if not os.access(program, os.X_OK) or program.is_dir() or program.suffix:
                continue
            parallel = re.search("par|mpi", program.name) is not None
            preload = {} if parallel else {"LD_PRELOAD": str(place / "with_mpi.so")}
            end, _ = run.run(4 if parallel else 1, 240, program, **preload)
            outcomes[f"{directory}/{program.name}"] = end
    return outcomes


def netcdf_version() -> str:
    """That of the sources."""
    return (suite_sources.netcdf() / "version").read_text()


def netcdf4_python(way: Way) -> Outcomes:
    """All of it, beside the files that it reads."""
    place, variables = suite_packages.netcdf4(), suite_packages.netcdf4_variables()
    shutil.copytree(place / "test", way.place / "test")
    return pytest_outcomes(
        Way(way.place / "test", way.variables), 1, 900, "--rootdir=.", ".", **variables
    )


def h5netcdf(way: Way) -> Outcomes:
    """All of it, with netCDF4-python as the other side."""
    suite_packages.netcdf4()
    variables = suite_packages.netcdf4_variables()
    return pytest_outcomes(way, 1, 300, "--pyargs", "h5netcdf", **variables)


def pytables_module(way: Way, module: str) -> Outcomes:
    """A module of PyTables' tests, in a process of its own."""
    way.place.mkdir(parents=True, exist_ok=True)
    told = way.place / f"{module}.outcomes"
    # PyTables is to know nothing of the processor: its chunks for Blosc2 are as long as the largest
    # cache otherwise, perhaps hundreds of megabytes.
    (way.place / ".pytables-cpuinfo.json").write_text('{"count": 1}')
    here = str(way.place)
    variables = suite_packages.tables_variables() | {"TMPDIR": here, "HOME": here}
    program = (suite_sources.python(), HERE / "pytables_in_job.py", module, told)
    end, said = way.run(1, 1200, *program, **variables)
    (way.place / f"{module}.stdout").write_text(said)
    outcomes = {f"{module}: {ENDED}": PASSED if end == "exit status 1" else end}
    for line in told.read_text().splitlines() if told.exists() else []:
        outcome, _, test = line.partition(" ")
        name = f"{module}: {test.removeprefix(f'{module}.')}"
        outcomes[name] = outcome if outcomes.get(name, outcome) == outcome else FAILED
    return outcomes


def pytables(way: Way) -> Outcomes:
    """What `python -m tables.tests.test_all` runs, by module, so that one that ends the process
    hides no other."""
    suite = suite_packages.tables() / "site" / "tables" / "tests" / "test_suite.py"
    outcomes: Outcomes = {}
    for module in re.findall(r'"(tables\.[\w.]+)"', suite.read_text()):
        outcomes |= pytables_module(way, module)
    return outcomes


def openpmd_api(way: Way) -> Outcomes:
    """Each test in a process of its own, so that one that ends it hides no other; those of MPI on
    two ranks."""
    place = suite_packages.openpmd()
    outcomes: Outcomes = {}
    for program, ranks in (("CoreTests", 1), ("SerialIOTests", 1), ("ParallelIOTests", 2)):
        path = place / "build" / "bin" / program
        run = Way(way.place / program / "bin", way.variables)  # they write to ../samples
        (run.place.parent / "samples").mkdir(parents=True)
        preload = {"LD_PRELOAD": str(place / "with_mpi.so")} if ranks == 1 else {}
        asked = Way(run.place, {}).run(1, 60, path, "--list-tests", "--verbosity", "quiet")
        for name in asked[1].split("\n"):
            if name.strip() and name not in suite_packages.LONG_TESTS:
                end, _ = run.run(ranks, 120, path, name.strip(), **preload)
                outcomes[f"{program} {name.strip()}"] = end
    return outcomes


def fixed(requirement: str) -> Callable[[], str]:
    """The version that is asked for."""
    return lambda: suite_packages.version_of(requirement)


SUITES = (
    Suite("h5py", h5py_version, h5py),
    Suite("hdf5-api", hdf5_version, hdf5_api),
    Suite("testphdf5", hdf5_version, testphdf5),
    Suite("netcdf-c", netcdf_version, netcdf_c),
    Suite("netcdf4-python", fixed(suite_packages.NETCDF4), netcdf4_python),
    Suite("h5netcdf", fixed(suite_packages.H5NETCDF), h5netcdf),
    Suite("pytables", fixed(suite_packages.TABLES), pytables),
    Suite("openpmd-api", fixed(suite_packages.OPENPMD), openpmd_api),
)
NAMES = [suite.name for suite in SUITES]


# -------------------------------------------------------------------------------------- comparison


@dataclass
class Result:
    """What came of one suite."""

    name: str
    version: str
    natively: Outcomes
    under: Outcomes
    took_s: tuple[float, float]
    known: dict[str, str] = field(default_factory=dict)  # test: reason
    unknown: list[str] = field(default_factory=list)
    not_met: list[str] = field(default_factory=list)  # patterns of the list
    not_reached: int = 0


def label_of(test: str) -> str:
    """The program of a test, where a suite has several: what stands before the colon."""
    return test.partition(": ")[0] if ": " in test else ""


def ended_early(test: str, under: Outcomes) -> bool:
    """Whether the program stopped before it came to this test."""
    if test in under:
        return False
    label = label_of(test)
    return under.get(f"{label}: {ENDED}" if label else ENDED, PASSED) != PASSED


def compare(result: Result, listed: list[dict[str, str]]) -> None:
    """Fills in what is known, unknown and no longer met."""
    met: set[str] = set()
    for test in [*result.natively, *(name for name in result.under if name not in result.natively)]:
        natively, under = (o.get(test, "not run") for o in (result.natively, result.under))
        if natively == under:
            continue
        if ended_early(test, result.under):
            result.not_reached += 1  # the program's own end is the difference
            continue
        for entry in listed:
            if fnmatch.fnmatchcase(test, entry["test"]):
                met.add(entry["test"])
                result.known[test] = entry["reason"]
                break
        else:
            result.unknown.append(f"{test}: natively {natively}, under the connector {under}")
    result.not_met = [entry["test"] for entry in listed if entry["test"] not in met]


def read_known(name: str) -> list[dict[str, str]]:
    """The list's entries for a suite, a pattern of fnmatch each with [ and ] taken literally."""
    entries = tomllib.loads(KNOWN.read_text()).get("difference", [])
    return [
        entry | {"test": entry["test"].replace("[", "[[]")}
        for entry in entries
        if entry["suite"] == name
    ]


def judge(suite: Suite, connector: Path, filters: Path, config: str) -> Result:
    """Both runs of a suite, compared. Raises Unavailable."""
    version = suite.version()
    place = OUT / "suites" / suite.name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    toml = place / "run.toml"
    toml.write_text(config)
    variables = {
        "HDF5_PLUGIN_PATH": f"{connector}:{filters}",
        "HDF5_VOL_CONNECTOR": f"caesura config={toml}",
    }
    begin_s = time.monotonic()
    natively = suite.run(Way(place / "natively", {}))
    between_s = time.monotonic()
    under = suite.run(Way(place / "connector", variables))
    took_s = (between_s - begin_s, time.monotonic() - between_s)
    result = Result(suite.name, version, natively, under, took_s)
    compare(result, read_known(suite.name))
    return result


def counts(outcomes: Outcomes) -> str:
    """Passed, failed, skipped."""
    tests = list(outcomes.values())
    passed, skipped = tests.count(PASSED), tests.count(SKIPPED)
    return f"{passed} / {len(tests) - passed - skipped} / {skipped}"


def tell(result: Result) -> bool:
    """Says what came of a suite; whether it is as it should be."""
    for test, reason in result.known.items():
        print(f"  known: {test}: {reason}")
    for pattern in result.not_met:
        print(f"  listed, but not met: {pattern}")
    for line in result.unknown:
        print(f"  UNKNOWN: {line}")
    if not result.natively:
        print("  UNKNOWN: no test ran")
    row = [
        f"{result.name} {result.version}",
        counts(result.natively),
        counts(result.under),
        str(len(result.known)),
        str(result.not_reached),
        str(len(result.unknown)),
        "{:.0f} / {:.0f}".format(*result.took_s),
    ]
    print(f"| {' | '.join(row)} |", flush=True)
    return bool(result.natively) and not result.unknown


def run(names: list[str], connector: Path, filters: Path, config: str = CONFIG) -> int:
    """These suites, or all; exit status."""
    wrong, skipped = [], []
    print("| suite | natively: passed / failed / skipped | under the connector | known | ", end="")
    print("not reached | unknown | seconds, native / connector |")
    for suite in SUITES:
        if names and suite.name not in names:
            continue
        try:
            if not tell(judge(suite, connector, filters, config)):
                wrong.append(suite.name)
        except Unavailable as reason:
            print(f"| {suite.name}: skipped: {reason} |")
            skipped.append(suite.name)
    if skipped and names and os.environ.get("CI"):
        wrong += skipped
    print(f"suites: {'unknown differences: ' + ', '.join(wrong) if wrong else 'as natively'}")
    return 1 if wrong else 0


def main() -> int:
    """With a connector that is built."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=", ".join(NAMES))
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--config", default=CONFIG, help="the text of run.toml")
    options = parser.parse_args()
    if wrong := set(options.names) - set(NAMES):
        parser.error(f"there is no suite {', '.join(sorted(wrong))}")
    tree = options.build.resolve()
    return run(options.names, tree / "vol", tree / "plugins", options.config)


if __name__ == "__main__":
    sys.exit(main())
