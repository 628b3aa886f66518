#!/usr/bin/env python3
"""Instances from a real run: the cosmology mini-app, two ranks, traced; instances/miniapp.json.

Its blocks are small, its file system is emulated and slow, and SZ3 compresses: there the gaps are
about as long as the work (with Caesura's own codec they are ten times as long, and every plan is
good). Its workers run at normal priority, so that what a compression took is its own time and not
what it waited for a core. Times are as they came, made multiples of 2^-20 s.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from best import PLACE
from caesura.trace import read_traces
from caesura_lab.demo.runner import Runner, find_build, find_programs
from caesura_lab.demo.scenario import Scenario
from caesura_lab.planning.instances import Instance, dumps, from_trace
from generate import TICK_S, whole

SCENARIO = Scenario(
    grid=128,
    particles=128,
    steps=8,
    device_s=0.6,
    codec="sz3",
    chunk_bytes=1 << 19,
    bandwidth=1e6,
    priority="normal",
)


def on_grid(instance: Instance) -> Instance:
    """The same, in whole ticks; obstacles stay disjoint."""
    lanes = [
        tuple((round(b / TICK_S) * TICK_S, round(e / TICK_S) * TICK_S) for b, e in lane)
        for lane in (instance.compress, instance.write)
    ]
    return Instance(
        name=f"mini-app, {instance.name}",
        jobs=tuple((whole(c), whole(w)) for c, w in instance.jobs),
        compress=lanes[0],
        write=lanes[1],
        iteration_s=whole(instance.iteration_s),
    )


def main() -> int:
    """Run it once and keep what it had to plan."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=None, help="the build tree with the mini-app")
    options = parser.parse_args()
    programs = find_programs(options.build or find_build(), emulated_file_system=True)
    with tempfile.TemporaryDirectory() as folder:
        run = Runner(programs, SCENARIO, Path(folder)).run("caesura", 0, None, lambda _: None)
        instances = [on_grid(instance) for instance in from_trace(read_traces(run.traces))]
    (PLACE / "miniapp.json").write_text(dumps(instances))
    print(f"miniapp.json: {len(instances)} instances, {run.elapsed_s:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
