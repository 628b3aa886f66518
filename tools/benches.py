"""`dev.py bench`: micro-benchmarks, and groups of measurements with scripts of their own.

Standard library only, because this runs before any environment exists.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

import machine
import parallel_python
from stages import OUT, ROOT, fail, run_open
from tree import build, build_dir, environment


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


def bench_where(arguments: list[str]) -> int:
    """The service's choice of a device: bench/transit, its where.py."""
    build("", "caesura_python", "caesura_serve", "transit_where")
    script = str(Path("bench", "transit", "where.py"))
    command = [str(machine.VENV_PYTHON), script, *arguments]
    return run_open("where", command, log="where", env=environment())


def bench_reading(arguments: list[str]) -> int:
    """The Reader beside its codec, h5py, SZ3: bench/reading. `arguments` go to reading.py."""
    build("", "caesura_python")
    command = [str(machine.VENV_PYTHON), str(Path("bench", "reading", "reading.py")), *arguments]
    return run_open("reading", command, log="reading", env=environment())


def bench_series(arguments: list[str]) -> int:
    """A file for each dump beside one file: bench/series. `arguments` go to series.py."""
    build("", "caesura_python")
    command = [str(machine.VENV_PYTHON), str(Path("bench", "series", "series.py")), *arguments]
    return run_open("series", command, log="series", env=environment())


def bench_calls(arguments: list[str]) -> int:
    """What a dump costs in our calls, beside a copy: bench/calls. `arguments` go to calls.py."""
    build("", "calls")
    command = [str(machine.VENV_PYTHON), str(Path("bench", "calls", "calls.py")), *arguments]
    return run_open("calls", command, log="calls", env=environment())


def bench_particles(arguments: list[str]) -> int:
    """Particles in any order: bench/particles. `arguments` go to particles.py."""
    build("", "caesura_python", "cosmology")
    program = Path("build", "miniapps", "cosmology", "cosmology")
    script = str(Path("bench", "particles", "particles.py"))
    command = [str(machine.VENV_PYTHON), script, "--cosmology", str(program), *arguments]
    return run_open("particles", command, log="particles", env=environment())


def bench_builds(arguments: list[str]) -> int:
    """This build beside an earlier one: bench/builds. `arguments` go to its compare.py."""
    build("", "caesura_python", "cosmology")
    command = [str(machine.VENV_PYTHON), str(Path("bench", "builds", "compare.py")), *arguments]
    return run_open("builds", command, log="builds", env=environment())


TRANSIT_TARGETS = (
    "caesura_python", "caesura_serve", "cosmology", "cosmology_hdf5", "caesura_vol", "h5caesura",
    "pfs", "pfs_stat", "transit_where", "transit_steps", "codec_tuning", "bench_clock",
)  # fmt: skip


def bench_transit(arguments: list[str]) -> int:
    """S4 whole: two applications on one service, its choice of a device, S4's figures.

    bench/transit: two.py, two_nodes.py (as root), where.py, figures.py (tuning by region is its
    figure 8). Each can be run by itself; here `--quick` goes to all, and `--only two,figures`
    chooses.
    """
    options = argparse.ArgumentParser(prog="dev.py bench transit")
    options.add_argument("--quick", action="store_true")
    options.add_argument("--only", default="two,nodes,where,figures")
    given = options.parse_args(arguments)
    only = given.only.split(",")
    if unknown := set(only) - {"two", "nodes", "where", "figures"}:
        fail(f"{sorted(unknown)[0]} is no part of the bench; it has two, nodes, where and figures.")
    build("", *TRANSIT_TARGETS)
    parallel_python.ensure()
    quick = ["--quick"] if given.quick else []
    ours, drawing = str(machine.VENV_PYTHON), str(machine.ensure_bench())
    parts = {
        "two": [(ours, "two.py", quick), (drawing, "two_picture.py", [])],
        "nodes": [(ours, "two_nodes.py", quick)],
        "where": [(drawing, "where.py", quick)],
        "figures": [(drawing, "figures.py", quick)],
    }
    code = 0
    for name in [name for name in parts if name in only]:
        for python, script, more in parts[name]:
            command = [python, str(Path("bench", "transit", script)), *more]
            stem = script.removesuffix(".py")
            failed = run_open(f"transit: {stem}", command, log=f"transit-{stem}", env=environment())
            code |= failed
            if failed:
                break
    return code


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
    "reading": bench_reading,
    "series": bench_series,
    "calls": bench_calls,
    "particles": bench_particles,
    "where": bench_where,
    "builds": bench_builds,
}
TAKE_ARGUMENTS = (
    "codec", "peers", "reading", "particles", "running", "series", "calls", "transit", "where",
    "builds",
)  # fmt: skip
# builds wants to be told of another build; where is a part of transit.
ONLY_BY_NAME = ("builds", "where")
