#!/usr/bin/env python3
"""A file that the application has closed is whole for everybody while the application computes.

Each step of the program closes a file in some way and then computes, without a call, until this
script says go on: it does when stock h5py has found every value, and h5dump every header. How long
that took is said, not judged: a step that nobody completes ends the test after a minute.

What the program and its end do afterwards changes no byte of the files.

Without the library that completes files, the program's next call does that: the same files.

With --nodes its two ranks are on two nodes (tests/transit/nodes.py), which only root can make.

Exit status: 0, 1, or 77 if there are no nodes here.
"""

from __future__ import annotations

import argparse
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "transit"))

import h5py
import numpy as np
from crash import digest
from launching import environment, on_ranks, rank_counts
from nodes import ADDRESSES, Cable, NotHere
from values import field

PATIENCE_S = 60.0
BOUND = 1e-3
ROWS, WIDTH = 8192, 64
# What each step's file holds: what is to be added to the values of a field.
STEPS: list[tuple[str, dict[str, float]]] = [
    ("together", {"field": 1.0}),
    ("renamed", {"field": 2.0}),
    ("together", {"field": 3.0}),
    ("linked", {"field": 4.0}),
    ("reopened", {"field": 5.0, "more": 6.0}),
    ("alone", {"field": 7.0, "more": 8.0}),
    ("", {}),
]


def look(options: argparse.Namespace, path: Path, holds: dict[str, float]) -> str:
    """What stock readers find wrong; empty: the file is whole."""
    try:
        with h5py.File(path, "r") as file:
            for name, base in holds.items():
                if np.abs(file[name][...] - base - field(ROWS, WIDTH)).max() > BOUND:
                    return f"wrong values in {name}"
    except (OSError, KeyError, RuntimeError) as error:
        return f"stock h5py: {error}"
    env = {name: text for name, text in os.environ.items() if not name.startswith("HDF5_")}
    done = subprocess.run([options.h5dump, "-H", path], env=env, capture_output=True, text=True)
    return "" if done.returncode == 0 else f"h5dump: {done.stderr}"


def watch(options: argparse.Namespace, place: Path, process: subprocess.Popen) -> list[str]:
    """Every step, while the program runs; what is wrong."""
    digests: dict[Path, str] = {}
    for step, (name, holds) in enumerate(STEPS):
        begin_s = time.monotonic()
        while len(list(place.glob(f"computes.{step}.*"))) < options.ranks_now:
            if process.poll() is not None or time.monotonic() > begin_s + PATIENCE_S:
                return [f"step {step} is not reached"]
            time.sleep(0.005)
        begin_s = time.monotonic()
        path = place / f"{name}.h5"
        while name and (said := look(options, path, holds)) != "":
            if said.startswith("wrong") or time.monotonic() > begin_s + PATIENCE_S:
                return [f"{name}, step {step}: {said}"]
            time.sleep(0.005)
        if name:
            print(f"  {name}: whole {time.monotonic() - begin_s:.2f} s after its close")
            digests[path] = digest(path)
        (place / f"go.{step}").touch()
    code = process.wait(timeout=PATIENCE_S)
    faults = [] if code == 0 else [f"the program ends with {code}"]
    return faults + [
        f"{path.name} was changed" for path in digests if digest(path) != digests[path]
    ]


def command_on_nodes(cable: Cable, place: Path, words: list[str]) -> list[str]:
    """Open MPI starts its daemon on the other node by a command of ours instead of ssh."""
    agent = place / "agent"
    there = " ".join(f"'{word}'" for word in cable.command(1, ["sh", "-c"]))
    agent.write_text(f'#!/bin/sh\nshift\nexec {there} "$*"\n')
    agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
    network = f"{ADDRESSES[0].rsplit('.', 1)[0]}.0/24"
    options = ["--host", f"{ADDRESSES[0]}:1,{ADDRESSES[1]}:1", "--map-by", "node"]
    for key, value in {
        "plm_rsh_agent": agent,
        "oob_tcp_if_include": network,
        "btl_tcp_if_include": network,
        "btl": "tcp,self",
        "pml": "ob1",
    }.items():
        options += ["--mca", key, str(value)]
    return cable.command(0, [words[0], *options, *words[1:]])


def begin(options: argparse.Namespace, place: Path, connector: Path) -> dict[str, str]:
    """The variables of a program that is to write into an empty directory."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    toml = place / "run.toml"
    toml.write_text(f"bound = {BOUND}\n")
    return {
        "HDF5_PLUGIN_PATH": f"{connector}:{options.filters}",
        "HDF5_VOL_CONNECTOR": f"caesura config={toml}",
        "VOL_TEST_CONNECTOR": "caesura",
        "VOL_TEST_BOUND": str(BOUND),
    }


def run_without(options: argparse.Namespace, ranks: int) -> list[str]:
    """Nobody completes files; the program is told at once to go on."""
    place = options.out / f"{ranks}_without"
    variables = begin(options, place, place)
    shutil.copy(Path(options.connector) / "libcaesura_vol.so", place)
    for step in range(len(STEPS)):
        (place / f"go.{step}").touch()
    variables["VOL_TEST_NOBODY_COMPLETES"] = "1"
    started = on_ranks(ranks, options.program, place, variables=variables)
    command = [options.mpirun, *started]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
    faults = [] if done.returncode == 0 else [done.stdout + done.stderr]
    for name, holds in dict(STEPS).items():
        said = look(options, place / f"{name}.h5", holds) if name else ""
        faults += [f"without the library, {name}: {said}"] if said else []
    return faults


def run(options: argparse.Namespace, ranks: int, cable: Cable | None) -> list[str]:
    """The program in an empty directory, and what is wrong."""
    place = options.out / f"{ranks}"
    variables = begin(options, place, options.connector)
    started = on_ranks(ranks, options.program, place, variables=variables)
    words = [options.mpirun, *started]
    command = words if cable is None else command_on_nodes(cable, place, words)
    options.ranks_now = ranks
    with (place / "output.txt").open("w") as output:
        process = subprocess.Popen(command, env=environment(), stdout=output, stderr=output)
        try:
            faults = watch(options, place, process)
        finally:
            for step in range(len(STEPS)):
                (place / f"go.{step}").touch()
            try:
                process.wait(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
    said = (place / "output.txt").read_text(errors="replace")
    return [*faults, said] if faults else []


def main() -> int:
    """Parse, run, say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--h5dump", required=True)
    parser.add_argument("--connector", required=True, help="directory of libcaesura_vol.so")
    parser.add_argument("--filters", required=True, help="directory of libh5caesura.so")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--nodes", action="store_true", help="two ranks, each on a node of its own")
    options = parser.parse_args()
    h5py.h5pl.prepend(options.filters.encode())
    failed = 0
    for ranks in [2] if options.nodes else rank_counts(options.ranks):
        try:
            if options.nodes:
                with Cable() as cable:
                    faults = run(options, ranks, cable)
            else:
                faults = [*run(options, ranks, None), *run_without(options, ranks)]
        except NotHere as why:
            print(why)
            return 77
        print(f"{ranks} ranks: {'FAILED' if faults else 'passed'}", *faults, sep="\n  ")
        failed += bool(faults)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
