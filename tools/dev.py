#!/usr/bin/env python3
"""The door: set up, build, test, lint, format, bench, demo, crash, torture, clean.

Each command first does what it rests on, quickly when there is nothing to do. Logs go to
out/logs. Standard library only, because this runs before any environment exists.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import bench_gpu
import hdf5
import machine
import parallel_python
import sanitizers
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


def build_dir(sanitize: str = "") -> Path:
    """build/, or build-address/ and build-thread/."""
    return ROOT / (f"build-{sanitize}" if sanitize else "build")


def data_dir() -> Path | None:
    """Real simulation data for tests that can use them: $CAESURA_DATA or a shared/data nearby."""
    if "CAESURA_DATA" in os.environ:
        return Path(os.environ["CAESURA_DATA"])
    for place in (ROOT / "shared" / "data", ROOT.parent / "shared" / "data"):
        if place.is_dir():
            return place
    return None


def environment(sanitize: str = "") -> dict[str, str]:
    """The environment in which everything that was built runs."""
    build = build_dir(sanitize)
    env = dict(os.environ)
    env.update(CAESURA_BUILD=str(build), CAESURA_OUT=str(OUT), PYTHONDONTWRITEBYTECODE="1")
    # mpirun refuses root and more ranks than cores unless told; spinning ranks starve each other.
    # Cross-memory attach is forbidden in most containers; Open MPI then warns on every message.
    for name, value in {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    }.items():
        env.setdefault(name, value)
    if data := data_dir():
        env["CAESURA_DATA"] = str(data)
    for name, value in sanitizers.environment(sanitize).items():
        env.setdefault(name, value)
    if not sanitize:
        plugins = machine.ask_python("import hdf5plugin; print(hdf5plugin.PLUGINS_PATH)")
        earlier = [env["HDF5_PLUGIN_PATH"]] if env.get("HDF5_PLUGIN_PATH") else []
        env["HDF5_PLUGIN_PATH"] = ":".join([*earlier, plugins])
        earlier = [env["PYTHONPATH"]] if env.get("PYTHONPATH") else []
        env["PYTHONPATH"] = ":".join([str(build / "python"), *earlier])
    if not sanitize and (python := parallel_python.there()):
        env["CAESURA_PARALLEL_PYTHON"] = str(python)
    if machine.READERS_PYTHON.exists():
        env["CAESURA_READERS_PYTHON"] = str(machine.READERS_PYTHON)
    return env


# ------------------------------------------------------------------------------ set-up and build


def setup() -> None:
    """System packages and the Python environment."""
    machine.ensure_packages()
    machine.ensure_python()
    machine.ensure_command(build_dir() / "python")


def cmake_arguments(sanitize: str, connector: bool) -> list[str]:
    """What distinguishes this build tree from a bare `cmake -S . -B build`.

    connector: it is going to be built, so that its HDF5 is built too, if need be. An HDF5 that is
    there is named in any case: a tree is not configured one way and another in turn.
    """
    arguments = ["-G", "Ninja", f"-DPython_EXECUTABLE={machine.VENV_PYTHON}"]
    if sanitize in sanitizers.ROOMS:
        return arguments + sanitizers.of_rooms(sanitize)
    if sanitize:
        return arguments + sanitizers.of_vol(sanitize, hdf5.ensure(), build_dir() / "plugins")
    nanobind = machine.ask_python("import nanobind; print(nanobind.cmake_dir())")
    arguments += ["-DCAESURA_PYTHON=ON", "-DCAESURA_MPI=ON", f"-Dnanobind_DIR={nanobind}"]
    root = hdf5.ensure() if connector else hdf5.known()
    return [*arguments, f"-DHDF5_VOL_ROOT={root or ''}"]


def configure(sanitize: str, connector: bool) -> None:
    """Run CMake when its arguments or the set of its input files have changed.

    Ninja notices a changed file by itself; a new room (`if(EXISTS ...)`) it cannot see.
    """
    build = build_dir(sanitize)
    arguments = cmake_arguments(sanitize, connector)
    digest = hashlib.sha256("\n".join(arguments).encode())
    for path in sorted(source_files((".txt", ".cmake"))):
        digest.update(str(path).encode())
    stamp = build / "caesura-stamp"
    label = f"configure {build.name}/"
    if (
        (build / "build.ninja").exists()
        and stamp.exists()
        and stamp.read_text() == digest.hexdigest()
    ):
        note(label, "there")
        return
    run_stage(
        label,
        ["cmake", "-S", str(ROOT), "-B", str(build), *arguments],
        log=f"configure-{build.name}",
    )
    stamp.write_text(digest.hexdigest())


def build(sanitize: str = "", *targets: str) -> None:
    """Set up, configure and compile: these targets, or all there are, the connector among them."""
    setup()
    configure(sanitize, connector=not targets)
    tree = build_dir(sanitize)
    jobs = os.environ.get("JOBS", str(cores()))
    run_stage(
        f"compile in {tree.name}/ ({jobs} jobs)",
        ["ninja", "-C", str(tree), "-j", jobs, *(targets or ["all"])],
        log=f"compile-{tree.name}",
    )


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


def test(options: argparse.Namespace) -> int:
    """Build and run ctest; its own closing line is the last thing printed."""
    if os.environ.get("CI") and not options.sanitize:
        machine.ensure_cross_packages()
    if options.sanitize in sanitizers.VOL:
        build_under_connector(options.sanitize)
        options.filter = options.filter or sanitizers.VOL_TESTS
    else:
        build(options.sanitize)
    if not options.sanitize and not options.filter and tests_ask_for("CAESURA_READERS_PYTHON"):
        machine.ensure_readers()
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
    return run_open(
        "tests",
        command,
        log=f"test-{tree.name}",
        env=environment(options.sanitize),
        before_last=where_the_time_went,
    )


def source_files(suffixes: tuple[str, ...]) -> list[Path]:
    """Paths relative to the root of our files with these suffixes, new ones included."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode == 0:
        names = listed.stdout.splitlines()
    else:  # an unpacked archive
        skipped = {"build", "out", ".venv", ".venv-readers"}
        names = [
            str(p.relative_to(ROOT))
            for p in ROOT.rglob("*")
            if p.is_file() and p.relative_to(ROOT).parts[0] not in skipped
        ]
    return [Path(name) for name in names if name.endswith(suffixes) and (ROOT / name).exists()]


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


def bench(options: argparse.Namespace) -> int:
    """Every *_bench program whose name contains one of the given words, and the groups named so.

    A group is a directory of bench/ with scripts of its own. Results and pictures in out/bench.
    """
    chosen = {name: call for name, call in GROUPS.items() if is_chosen(name, options.names)}
    takers = [name for name in chosen if name in TAKE_ARGUMENTS]
    if options.arguments and len(takers) != 1 and "codec" not in takers:
        fail(f"Name one of {', '.join(TAKE_ARGUMENTS)} for {' '.join(options.arguments)}.")
    taker = "codec" if "codec" in takers else "".join(takers[:1])
    build("", "benches")
    programs = sorted(
        p
        for p in build_dir().rglob("*_bench")
        if p.is_file()
        and os.access(p, os.X_OK)
        and (not options.names or any(n in p.name for n in options.names))
    )
    if not programs and not chosen:
        fail(f"No benchmark in build/ matches {options.names or '*_bench'}.")
    results = OUT / "bench"
    results.mkdir(parents=True, exist_ok=True)
    code = 0
    for program in programs:
        command = [
            str(program),
            f"--benchmark_out={results / program.name}.json",
            "--benchmark_out_format=json",
        ]
        code |= run_open(program.name, command, log=program.name, env=environment())
    for name, call in chosen.items():
        code |= call(options.arguments) if name == taker else call([])
    return code


def is_chosen(group: str, names: list[str]) -> bool:
    """By its name; the codec beside its peers also as codec_peers, as it was first called."""
    alias = {"codec": "codec_peers"}.get(group, group)
    if not names:
        return group not in ONLY_BY_NAME
    return any(name in (group, alias) for name in names)


def bench_codec(arguments: list[str]) -> int:
    """Our codec beside its peers: bench/codec. `arguments` go to its measure.py."""
    place = Path("bench", "codec")
    python = str(machine.ensure_bench())
    build("", "caesura_python", "cosmology", "codec_aging", "huffman_aging", "bench_clock")
    code = 0
    for script in ("dumps", "measure", "picture", "goals", "figure6", "scaling"):
        command = [python, str(place / f"{script}.py")]
        command += arguments if script == "measure" else []
        code |= run_open(f"codec: {script}", command, log=f"codec-{script}", env=environment())
    return code


def bench_peers(arguments: list[str]) -> int:
    """Writers beside ours under an emulated disk: bench/peers. `arguments` go to its peers.py."""
    python = str(machine.ensure_bench())
    build("", "caesura_python", "pfs", "pfs_stat")
    script = str(Path("bench", "peers", "peers.py"))
    return run_open("peers", [python, script, *arguments], log="peers", env=environment())


def bench_running(arguments: list[str]) -> int:
    """S0's figures 4, 5, 9 and 10 by running the mini-app: bench/running, its figures.py."""
    python = str(machine.ensure_bench())
    build("", "caesura_python", "cosmology", "pfs", "pfs_stat")
    script = str(Path("bench", "running", "figures.py"))
    return run_open("running", [python, script, *arguments], log="running", env=environment())


def bench_prediction(_: list[str]) -> int:
    """Predicted against real sizes, times and regions: bench/prediction."""
    place = Path("bench", "prediction")
    python = str(machine.ensure_bench())
    build("", "caesura_lab_python", "cosmology", "pfs")
    code = run_open(
        "prediction: dumps",
        [python, str(Path("bench", "codec", "dumps.py"))],
        log="prediction-dumps",
        env=environment(),
    )
    for script in ("sizes", "times", "space", "order"):
        path = place / f"{script}.py"
        if (ROOT / path).exists():
            name = f"prediction-{script}"
            command = [python, str(path)]
            code |= run_open(f"prediction: {script}", command, log=name, env=environment())
    return code


def bench_plan(_: list[str]) -> int:
    """Plans beside the best known ones: bench/plan."""
    build("", "caesura_lab_python")
    code = 0
    for script in ("table", "worth", "robust"):
        command = [str(machine.VENV_PYTHON), str(Path("bench", "plan", f"{script}.py"))]
        code |= run_open(f"plan: {script}", command, log=f"plan-{script}", env=environment())
    return code


def bench_simulate(_: list[str]) -> int:
    """S0's figures by simulation, and a run beside its simulation: bench/simulate."""
    build("", "caesura_lab_python", "cosmology", "pfs")
    code = 0
    for script in ("figures", "from_run"):
        command = [str(machine.VENV_PYTHON), str(Path("bench", "simulate", f"{script}.py"))]
        code |= run_open(
            f"simulate: {script}", command, log=f"simulate-{script}", env=environment()
        )
    return code


def bench_balance(_: list[str]) -> int:
    """Ranks that write for each other, beside ranks that do not: bench/balance."""
    build("", "caesura_python", "spread", "pfs", "pfs_stat")
    command = [str(machine.VENV_PYTHON), str(Path("bench", "balance", "balance.py"))]
    return run_open("balance", command, log="balance", env=environment())


def bench_vol(_: list[str]) -> int:
    """Applications of plain HDF5, alone and under the VOL connector: bench/vol."""
    build()
    code = 0
    for script in ("overhead", "metadata"):
        command = [str(machine.VENV_PYTHON), str(Path("bench", "vol", f"{script}.py"))]
        code |= run_open(f"vol: {script}", command, log=f"vol-{script}", env=environment())
    return code


def bench_together(_: list[str]) -> int:
    """S2's figures by the model of many small checkpoints on a GPU: bench/together."""
    build("", "caesura_python", "together_synthetic")
    command = [str(machine.VENV_PYTHON), str(Path("bench", "together", "figures.py"))]
    return run_open("together", command, log="together", env=environment())


def bench_spill(_: list[str]) -> int:
    """What keeping checkpoints in a file costs, beside the disk itself: bench/spill."""
    build("", "spilling")
    command = [str(machine.VENV_PYTHON), str(Path("bench", "spill", "spill.py"))]
    return run_open("spill", command, log="spill", env=environment())


def bench_builds(arguments: list[str]) -> int:
    """This build beside an earlier one: bench/builds. `arguments` go to its compare.py."""
    build("", "caesura_python", "cosmology")
    command = [str(machine.VENV_PYTHON), str(Path("bench", "builds", "compare.py")), *arguments]
    return run_open("builds", command, log="builds", env=environment())


def bench_transit(arguments: list[str]) -> int:
    """Two applications on one service: bench/transit. `arguments` go to its two.py."""
    build("", "caesura_python", "caesura_serve", "cosmology", "cosmology_hdf5", "caesura_vol",
          "h5caesura", "pfs", "pfs_stat")  # fmt: skip
    place = Path("bench", "transit")
    command = [str(machine.VENV_PYTHON), str(place / "two.py"), *arguments]
    code = run_open("transit: two", command, log="transit-two", env=environment())
    picture = [str(machine.ensure_bench()), str(place / "two_picture.py")]
    return code or run_open("transit: picture", picture, log="transit-picture", env=environment())


GROUPS: dict[str, Callable[[list[str]], int]] = {
    "codec": bench_codec,
    "prediction": bench_prediction,
    "plan": bench_plan,
    "simulate": bench_simulate,
    "balance": bench_balance,
    "peers": bench_peers,
    "running": bench_running,
    "vol": bench_vol,
    "together": bench_together,
    "spill": bench_spill,
    "transit": bench_transit,
    "builds": bench_builds,
}
TAKE_ARGUMENTS = ("codec", "peers", "running", "transit", "builds")
ONLY_BY_NAME = ("builds",)  # it wants to be told of another build


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
        return run_open(script, command, log=script, env=environment(sanitize))

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


def clean(options: argparse.Namespace) -> int:
    """Remove build trees and out/; with --all the Python environments too."""
    places = [build_dir(), *(build_dir(s) for s in sanitizers.EVERY), bench_gpu.TREE, OUT]
    if options.all:
        places += [machine.VENV, machine.READERS, machine.BENCH]
    for place in places:
        if place.exists():
            shutil.rmtree(place)
            print(f"removed {place.relative_to(ROOT)}/")
    return 0


# ------------------------------------------------------------------------------------ command line


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
        bench,
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
    add("demo", demo, "build and run the demonstration; further arguments go to `caesura demo`")
    which = add(
        "crash",
        crash,
        "kill a writer at random instants and recover its file; further "
        "arguments go to tests/crash.py",
    )
    which.add_argument("--runs", type=int, default=20)
    which = add(
        "torture",
        torture,
        "run HDF5 applications under the connector, delayed and killed at random; further "
        "arguments go to tests/vol/torture.py and killed.py",
    )
    which.add_argument("--runs", type=int, default=100)
    which.add_argument("--sanitize", choices=sanitizers.ROOMS, default="")
    which = add("clean", clean, "remove build trees and out/")
    which.add_argument("--all", action="store_true", help="the Python environments too")
    return top


def main() -> int:
    """Parse and run."""
    options, options.arguments = parser().parse_known_args()
    if options.arguments and options.call not in (bench, demo, crash, torture):
        parser().error(f"{options.command} does not know {' '.join(options.arguments)}")
    try:
        return options.call(options)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
