#!/usr/bin/env python3
"""Kill an HDF5 application under the connector at random instants; nothing it was told is done may
be lost.

Each run starts the program `killable` on some ranks, waits for a moment drawn from the run's seed,
sends SIGKILL to the launcher and every rank at once, and then looks at the file:

  1. as stock tools see it: h5py opens it and finds every dump whose H5Fflush or H5Fclose had
     returned, every value within the bound. Two exceptions, both counted: nothing had been flushed
     yet, or the kill fell into the few milliseconds of in-place overwrites, in which case the
     journal says what to repair;
  2. after `caesura recover` the same holds without exception, and every dump in the file is whole;
  3. after a second recover not a byte has changed.

Exit status: 0 if every run passed, else 1. A failed run's files stay in <out>.

Invariant: the formula of the values stands here and in killable.c; nothing else is shared with it.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import caesura
import h5py
import hdf5plugin
import numpy as np
from crash import PR_SET_CHILD_SUBREAPER, digest, run_and_kill
from launching import environment, on_ranks

ROWS, COLUMNS = 96, 64
DATASETS = {"wide": np.float64, "parts": np.float32, "counts": np.int32}
PATIENCE_S = 120.0


def expected(dump: int, which: int) -> np.ndarray:
    """Every value of one dataset of one dump, as killable.c makes them."""
    index = np.arange(ROWS * COLUMNS, dtype=np.uint64)
    values = dump % 1000 + 0.25 * which + 0.125 * (index * np.uint64(7919) % np.uint64(509))
    dtype = list(DATASETS.values())[which]
    return values.astype(dtype).reshape(ROWS, COLUMNS)


@dataclass
class Plan:
    """What a run does and when it dies; follows from the seed alone."""

    seed: int
    bound: float
    codec: str
    durability: str
    close_every: int
    lines: int  # kill after so many lines of the side file
    share: float  # and then so much of the time the last of them took

    @classmethod
    def draw(cls, seed: int) -> Plan:
        """Kills before the first flush, among many, and around closes."""
        draw = random.Random(seed)
        bound = draw.choice([0.0, 1e-3])
        return cls(
            seed,
            bound,
            draw.choice(["caesura", "caesura", "zstd"]),
            draw.choice(["complete", "durable"]),
            draw.choice([1, 2, 3, 1000]),
            draw.choice([0, 1, 1, 2, 3, 4, 6, 9]),
            draw.random(),
        )

    def configuration(self) -> str:
        """The connector's."""
        bound = f"bound = {self.bound}" if self.bound else 'bound_kind = "lossless"'
        return (
            f'{bound}\ncodec = "{self.codec}"\ndurability = "{self.durability}"\n'
            "threshold_bytes = 2048\nchunk_bytes = 8192\n"
        )


@dataclass
class Run:
    """Files, processes and the outcome of one run."""

    options: argparse.Namespace
    plan: Plan
    place: Path
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    due: int = 0  # dumps that must be there
    found: int = 0

    @property
    def path(self) -> Path:
        """The application's file."""
        return self.place / "killable.h5"

    def reported(self) -> list[str]:
        """Whole lines of the side file."""
        log = self.place / "killable.h5.log"
        return log.read_text().splitlines() if log.exists() else []

    def write_and_kill(self) -> None:
        """Start, wait, kill."""
        options = self.options
        toml = self.place / "run.toml"
        toml.write_text(self.plan.configuration())
        plugins = f"{options.connector}:{options.filters}:{hdf5plugin.PLUGINS_PATH}"
        variables = {
            "HDF5_PLUGIN_PATH": plugins,
            "HDF5_VOL_CONNECTOR": f"caesura config={toml}",
            "VOL_TEST_CONNECTOR": "caesura",
            "VOL_TEST_BOUND": repr(self.plan.bound),
            "VOL_TEST_CLOSE_EVERY": str(self.plan.close_every),
        }
        started = on_ranks(options.ranks, options.program, self.place, variables=variables)
        run_and_kill(
            [options.mpirun, *started],
            environment(self.place),
            self.place / "output.txt",
            self.wait_for_the_moment,
        )

    def wait_for_the_moment(self, process: subprocess.Popen) -> None:
        """Return when the run is to die."""
        starts: list[float] = []
        end_s = time.monotonic() + PATIENCE_S
        while len(starts) <= self.plan.lines:
            lines = self.reported()
            starts += [time.monotonic()] * (len(lines) - len(starts))
            if self.plan.lines == 0 and self.path.exists():
                break
            if process.poll() is not None:
                output = (self.place / "output.txt").read_text(errors="replace")
                self.faults.append(f"ended by itself ({process.returncode}): {output[-800:]}")
                return
            if time.monotonic() > end_s:
                self.faults.append(f"after {PATIENCE_S:.0f} s the side file only says {lines}")
                return
            time.sleep(0.0005)
        interval_s = starts[-1] - starts[-2] if len(starts) > 1 else 0.05
        time.sleep(self.plan.share * min(1.5 * interval_s, 0.5))

    def examine(self) -> None:
        """The file as it was left, and after recover."""
        lines = self.reported()
        done = [int(line.split()[1]) for line in lines if line.startswith(("flushed", "closed"))]
        self.due = max(done) + 1 if done else 0
        try:
            in_window = caesura.recover(self.path, dry_run=True)["journal_replayed"]
        except (OSError, caesura.CorruptError) as error:
            if self.due:
                self.faults.append(f"recover: {error}")
            self.notes.append("before the first commit")
            return
        faults = self.look()
        if in_window:
            self.notes.append("in the window" + (", needs recover" if faults else ""))
        elif faults and self.due == 0:
            self.notes.append("before the first commit")
        else:
            self.faults += [f"before recover: {fault}" for fault in faults]
        self.recover_and_look()

    def recover_and_look(self) -> None:
        """Through the command line, as a person would; twice."""
        command = [sys.executable, "-m", "caesura", "recover", str(self.path), "--json"]
        for again in (False, True):
            before = digest(self.path)
            answer = subprocess.run(command, capture_output=True, text=True)
            if answer.returncode not in (0, 1):
                self.faults.append(f"recover ended with {answer.returncode}: {answer.stderr}")
                return
            if again and digest(self.path) != before:
                self.faults.append("a second recover changed the file")
        if self.due or "before the first commit" not in self.notes:
            self.faults += [f"after recover: {fault}" for fault in self.look(whole=True)]

    def look(self, whole: bool = False) -> list[str]:
        """What stock h5py finds wrong; with `whole` also with what was not due yet."""
        faults = []
        try:
            with h5py.File(self.path, "r") as file:
                there = sorted(name for name in file if name.startswith("dump_"))
                self.found = len(there)
                wanted = [f"dump_{n:06d}" for n in range(self.due)]
                faults += [f"{name} is lost" for name in wanted if name not in there]
                for name in there:
                    if name in wanted or (whole and "dump" in file[name].attrs):
                        faults += self.compare(file[name], int(name[5:]))
        except (OSError, KeyError, RuntimeError) as error:
            faults.append(f"stock h5py: {error}")
        return faults

    def compare(self, group: h5py.Group, dump: int) -> list[str]:
        """Value by value."""
        faults = []
        if group.attrs.get("dump") != dump:
            faults.append(f"{group.name} has no attribute")
        for which, name in enumerate(DATASETS):
            got, want = group[name][...], expected(dump, which)
            bound = 0.0 if name == "counts" else self.plan.bound
            wrong = np.abs(got.astype(np.float64) - want.astype(np.float64)) > bound
            if got.dtype != want.dtype or wrong.any():
                at = np.argwhere(wrong)[:1].tolist()
                faults.append(f"{group.name}/{name}: {wrong.sum()} wrong values from {at} on")
        return faults


def run_once(options: argparse.Namespace, seed: int) -> Run:
    """One kill."""
    place = Path(tempfile.mkdtemp(prefix="caesura-killed-"))
    run = Run(options, Plan.draw(seed), place)
    run.write_and_kill()
    if not run.faults:
        run.examine()
    if run.faults:
        kept = options.out / f"seed-{seed}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(place, kept, ignore=lambda _, names: [n for n in names if "ompi" in n])
    shutil.rmtree(place, ignore_errors=True)
    return run


def main() -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--connector", required=True, help="directory of libcaesura_vol.so")
    parser.add_argument("--filters", required=True, help="directory of libh5caesura.so")
    options = parser.parse_args()
    h5py.h5pl.prepend(options.filters.encode())
    # Orphaned ranks become children of this process, so that it can see them gone.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    begin_s = time.monotonic()
    failed, noted, due, found = 0, Counter(), 0, 0
    for done, seed in enumerate(range(options.seed, options.seed + options.runs), 1):
        run = run_once(options, seed)
        failed += bool(run.faults)
        noted.update(run.notes)
        due += run.due
        found += run.found
        for fault in run.faults:
            print(f"seed {seed}: {fault}", flush=True)
        if done % 10 == 0:
            print(f"{done} of {options.runs} kills, {time.monotonic() - begin_s:.0f} s", flush=True)
    took_s = time.monotonic() - begin_s
    notes = "".join(f"; {n} {what}" for what, n in sorted(noted.items()))
    print(
        f"{options.runs} kills on {options.ranks} ranks in {took_s:.0f} s, {failed} failed; "
        f"{due} dumps were due, {found} found{notes}"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
