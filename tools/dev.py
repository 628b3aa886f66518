#!/usr/bin/env python3
"""The door: set up, build, test, lint, format, bench, docs, demo, crash, torture, stand-in, clean.

Each command first does what it rests on, quickly when there is nothing to do. Logs go to
out/logs. Standard library only, because this runs before any environment exists.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import bench_gpu
import benches
import debian
import hdf5
import hdf5_archive
import machine
import parallel_python
import sanitizers
import site_docs
import suites
from stages import (
    LOGS,
    OUT,
    ROOT,
    cores,
    fail,
    measured,
    note,
    run_open,
    run_stage,
    where_the_time_went,
)
from tree import build, build_dir, environment, setup, source_files

# ----------------------------------------------------------------------------------- the commands


def build_under_connector(sanitize: str) -> None:
    """What runs under the connector, and the filter with which stock tools read its files."""
    build("", "h5caesura")
    build(sanitize, sanitizers.VOL_TARGET)


def tests_ask_for(variable: str) -> bool:
    """Whether a test names the variable that leads to an environment of its own."""
    return any(
        path.parts[0] in ("tests", "python")
        and variable in (ROOT / path).read_text(errors="replace")
        for path in source_files((".py", ".txt", ".cpp", ".sh"))
    )


def without_findings(run: Callable[[], int]) -> int:
    """Its exit status; 1 if a sanitizer has found something, which is printed."""
    for old in sanitizers.findings():
        old.unlink()
    code = run()
    found = sanitizers.findings()
    for path in found:
        print(path.read_text(errors="replace"), end="", file=sys.stderr)
    if found:
        print(f"\nsanitizers: findings in {len(found)} processes (above)", file=sys.stderr)
    return code or int(bool(found))


def test(options: argparse.Namespace) -> int:
    """Build and run ctest; its own closing line is the last thing printed."""
    without = []
    if os.environ.get("CI") and not options.sanitize:
        without = machine.ensure_test_packages()
    if options.sanitize in sanitizers.VOL:
        build_under_connector(options.sanitize)
        options.filter = options.filter or sanitizers.VOL_TESTS
    else:
        build(options.sanitize)
    if not options.sanitize and not options.filter and tests_ask_for("CAESURA_READERS_PYTHON"):
        machine.ensure_readers()
    if not options.sanitize and not options.filter and tests_ask_for("CAESURA_DOCS_PYTHON"):
        machine.ensure_docs_for_tests()
    if not options.sanitize and not options.filter:
        hdf5_archive.ensure()  # tests/install/test_wheel.py builds a wheel
    if not options.sanitize and tests_ask_for("CAESURA_PARALLEL_PYTHON"):
        parallel_python.ensure()
    tree = build_dir(options.sanitize)
    # Two at a time at most: MPI tests and timing bounds need cores that are really there.
    jobs = os.environ.get("JOBS", str(min(2, cores())))
    command = [
        "ctest",
        "--test-dir",
        str(tree),
        "--output-on-failure",
        "--no-tests=error",
        "--timeout",
        "600",
        "-j",
        jobs,
    ]
    if options.filter:
        command += ["-R", options.filter]
    command = [*sanitizers.launcher(options.sanitize), *command]
    code = without_findings(
        lambda: run_open(
            "tests",
            command,
            log=f"test-{tree.name}",
            env=environment(options.sanitize),
            before_last=where_the_time_went,
        )
    )
    if without:
        print(f"CI skips nothing, but lacks packages of {', '.join(without)}.", file=sys.stderr)
    return code or int(bool(without))


def cpp_files() -> list[str]:
    """What clang-format looks after."""
    return sorted(map(str, source_files((".cpp", ".hpp", ".c", ".h", ".cu", ".cuh"))))


def lint(_: argparse.Namespace) -> int:
    """Style rules, clang-format, ruff; every one runs, so that one call shows everything."""
    setup()
    bin_dir = machine.VENV / "bin"
    checks = [
        ("style rules", [str(machine.VENV_PYTHON), "tools/tidy.py"]),
        ("clang-format", [str(bin_dir / "clang-format"), "--dry-run", "-Werror", *cpp_files()]),
        ("ruff check", [str(bin_dir / "ruff"), "check", "--no-cache", "."]),
        ("ruff format", [str(bin_dir / "ruff"), "format", "--no-cache", "--check", "."]),
    ]
    LOGS.mkdir(parents=True, exist_ok=True)
    failed = []
    for label, command in checks:
        answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        note(label, "ok" if answer.returncode == 0 else "failed")
        if answer.returncode != 0:
            failed.append(label)
            print(answer.stdout + answer.stderr, end="", flush=True)
    if failed:
        print(
            f"lint: {len(failed)} of {len(checks)} checks failed: {', '.join(failed)} "
            "(make format repairs the layout)"
        )
        return 1
    print(f"lint: {len(checks)} checks passed")
    return 0


def format_sources(_: argparse.Namespace) -> int:
    """Rewrite sources in the house style."""
    setup()
    bin_dir = machine.VENV / "bin"
    run_stage("clang-format", [str(bin_dir / "clang-format"), "-i", *cpp_files()], log="format-cpp")
    run_stage("ruff format", [str(bin_dir / "ruff"), "format", "--no-cache", "."], log="format-py")
    return 0


# The module with the filter plugin, the simulation, and the emulated file system with its tool.
DEMO_TARGETS = ("caesura_python", "cosmology", "pfs", "pfs_stat")


def demo(options: argparse.Namespace) -> int:
    """Build what it runs, and nothing else; then hand over to `python -m caesura demo`."""
    build("", *DEMO_TARGETS)
    sys.stdout.flush()
    with measured("demo"):
        code = subprocess.run(
            [str(machine.VENV_PYTHON), "-m", "caesura", "demo", *options.arguments],
            cwd=ROOT,
            env=environment(),
        ).returncode
    print(f"\n{where_the_time_went()}")
    return code


def crash(options: argparse.Namespace) -> int:
    """Kill a writer at random instants and recover its file: tests/crash.py."""
    script = ROOT / "tests" / "crash.py"
    if not script.exists():
        fail("tests/crash.py is missing from this checkout.")
    build()
    command = [str(machine.VENV_PYTHON), str(script), "--runs", str(options.runs)]
    return run_open("crash", [*command, *options.arguments], log="crash", env=environment())


def openings(options: argparse.Namespace) -> int:
    """Open a file at every instant of its run, and after kills in commits: tests/openings.py."""
    build()
    command = [str(machine.VENV_PYTHON), str(ROOT / "tests" / "openings.py"), *options.arguments]
    return run_open("openings", command, log="openings", env=environment())


def torture(options: argparse.Namespace) -> int:
    """HDF5 applications under the connector, delayed and killed: tests/vol."""
    root = hdf5.ensure()
    if root is None:
        fail("There is no parallel HDF5 for the VOL connector.")
    sanitize = f"{options.sanitize}-vol" if options.sanitize else ""
    if sanitize:
        build_under_connector(sanitize)
    else:
        build()
    tree, place = build_dir(sanitize), Path("tests", "vol")
    common = ["--runs", str(options.runs), "--connector", str(tree / "vol")]
    # Stock tools load it too, and they are not instrumented.
    common += ["--filters", str(build_dir() / "plugins"), *options.arguments]

    def run(script: str, program: str, *more: str) -> int:
        command = [str(machine.VENV_PYTHON), str(place / f"{script}.py"), *common, *more]
        command += ["--program", str(tree / place / f"vol_{program}"), "--out", str(OUT / script)]
        command = [*sanitizers.launcher(sanitize), *command]
        return without_findings(
            lambda: run_open(script, command, log=script, env=environment(sanitize))
        )

    delays, h5diff = tree / place / "libvol_delays.so", root / "bin" / "h5diff"
    compare = [
        "--h5diff",
        str(h5diff),
        "--without-bounds",
        str(tree / place / "vol_without_bounds"),
    ]
    code = run("torture", "torture", "--delays", str(delays), *compare)
    if sanitize:
        return code
    return code | run("killed", "killable") | run("closed_killed", "plotfiles")


def stand_in(options: argparse.Namespace) -> int:
    """Random HDF5 calls natively and under the connector (tests/stand_in), or the suites of others
    (tools/suites.py)."""
    if hdf5.ensure() is None:
        fail("There is no parallel HDF5 for the VOL connector.")
    if options.suites is not None:
        build("", "caesura_vol", "h5caesura")
        return suites.run(options.suites, build_dir() / "vol", build_dir() / "plugins")
    sanitize = f"{options.sanitize}-vol" if options.sanitize else ""
    if sanitize:
        build_under_connector(sanitize)
        build(sanitize, "stand_in")
    else:
        build("", "stand_in")
    tree = build_dir(sanitize)
    command = [str(machine.VENV_PYTHON), str(Path("tests", "stand_in", "run.py"))]
    command += ["--program", str(tree / "tests" / "stand_in" / "stand_in")]
    command += ["--connector", str(tree / "vol"), "--filters", str(build_dir() / "plugins")]
    command = [*sanitizers.launcher(sanitize), *command, *options.arguments]
    return without_findings(
        lambda: run_open("stand-in", command, log="stand_in", env=environment(sanitize))
    )


def clean(options: argparse.Namespace) -> int:
    """Remove build trees and out/; with --all the Python environments too."""
    places = [build_dir(), *(build_dir(s) for s in sanitizers.EVERY), bench_gpu.TREE, OUT]
    if options.all:
        places += [machine.VENV, machine.READERS, machine.BENCH, machine.DOCS]
    for place in places:
        if place.exists():
            shutil.rmtree(place)
            print(f"removed {place.relative_to(ROOT)}/")
    return 0


# ------------------------------------------------------------------------------------ command line


def add_stand_in(add: Callable[..., argparse.ArgumentParser]) -> None:
    """How the connector is held to native HDF5."""
    command = add(
        "stand-in",
        stand_in,
        "hold the connector to native HDF5 by random sequences of calls; further arguments "
        "(--seqs, --calls, --seed, --ranks, --replay, --planted) go to tests/stand_in/run.py",
    )
    command.add_argument("--sanitize", choices=sanitizers.ROOMS, default="")
    command.add_argument(
        "--suites",
        nargs="*",
        metavar="NAME",
        choices=suites.NAMES,
        help="instead the test suites of others: all of them, or of " + ", ".join(suites.NAMES),
    )


def parser() -> argparse.ArgumentParser:
    """Every command with its options."""
    top = argparse.ArgumentParser(prog="tools/dev.py", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True, metavar="command")

    def add(name: str, call, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(call=call)
        return command

    def only(step):
        return lambda _: step() or 0

    add("setup", only(setup), "install system packages and the Python environment")
    which = add("build", lambda o: build(o.sanitize) or 0, "set up and compile")
    which.add_argument("--sanitize", choices=sanitizers.EVERY, default="")
    which = add("test", test, "build and run every test")
    which.add_argument("--sanitize", choices=sanitizers.EVERY, default="")
    which.add_argument("--filter", metavar="REGEX", help="only tests whose name matches")
    add("lint", lint, "style rules, clang-format, ruff")
    add("format", format_sources, "rewrite the sources in the house style")
    which = add(
        "bench",
        benches.bench,
        "run micro-benchmarks, the codec beside its peers, predictions beside what came, plans "
        "beside the best known, writers beside ours, S0's figures; results in out/bench; further "
        "arguments (--full, ...) go to bench/codec/measure.py, beside the name peers or running to "
        "bench/peers/peers.py or bench/running/figures.py",
    )
    which.add_argument("names", nargs="*", help="only those whose name contains one of these")
    which = add(
        "bench-gpu",
        lambda given: bench_gpu.bench_gpu(given.coder),
        "checkpoints on this machine's GPU: needs CMake and nvcc only; out/bench/together.json",
    )
    which.add_argument("--coder", choices=bench_gpu.CODERS, default="packed", help="who compresses")
    add("docs", site_docs.docs, "build the documentation site into out/site")
    which = add("deb", debian.packages, "Debian's packages of this checkout, into out/debian")
    which.add_argument("--test", action="store_true", help="install and use them in a fresh system")
    add("demo", demo, "build and run the demonstration; further arguments go to `caesura demo`")
    which = add(
        "crash",
        crash,
        "kill a writer at random instants and recover its file; further "
        "arguments go to tests/crash.py",
    )
    which.add_argument("--runs", type=int, default=20)
    add(
        "openings",
        openings,
        "open a file by stock HDF5 during its run and after kills inside its commits; further "
        "arguments go to tests/openings.py",
    )
    which = add(
        "torture",
        torture,
        "run HDF5 applications under the connector, delayed and killed at random; further "
        "arguments go to tests/vol/torture.py and killed.py",
    )
    which.add_argument("--runs", type=int, default=100)
    which.add_argument("--sanitize", choices=sanitizers.ROOMS, default="")
    add_stand_in(add)
    which = add("clean", clean, "remove build trees and out/")
    which.add_argument("--all", action="store_true", help="the Python environments too")
    return top


def main() -> int:
    """Parse and run."""
    options, options.arguments = parser().parse_known_args()
    if options.arguments and options.call not in (
        benches.bench,
        demo,
        crash,
        openings,
        stand_in,
        torture,
    ):
        parser().error(f"{options.command} does not know {' '.join(options.arguments)}")
    try:
        return options.call(options)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
