#!/usr/bin/env python3
"""Kill a writer at random instants; no dump that it reported committed may be lost.

Each run starts `mpirun -n 2 crash_writer`, waits for a moment drawn from the run's seed, sends
SIGKILL to the launcher and every rank at once, and then looks at the file:

  1. as stock h5py sees it: it opens and holds every dump the writer had reported as committed,
     also if the kill fell into a commit. It may not open before the first commit, which is counted;
  2. after `caesura recover`: every reported dump is there, and every dump that is there is exact in
     every value; up to the last reported one there is no hole;
  3. after a second recover: not a byte has changed.

Some runs write a file for each dump, or each three: then all this holds of each of them.
With --append the killed run is gone on with instead, on other numbers of ranks, by two runs that
are killed and one that closes; each may first drop dumps behind a random one.

Run it by `tools/dev.py crash --runs N`, which sets CAESURA_BUILD, PYTHONPATH and HDF5_PLUGIN_PATH.
Exit status: 0 if every run passed, else 1. A failed run's file stays in <out>/crash/.

Invariant: the values' formula stands here and in crash_writer.cpp; nothing else is shared with it.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import caesura
import h5py
import hdf5plugin  # also registers the filters with h5py
import numpy as np
from launching import NIGHTLY, environment, on_ranks

FIELDS = {"density": np.float32, "velocity/x": np.float64, "temperature": np.float32}
COLUMNS, PLANES = 64, 96
# A run that has not come so far after this long has a fault of its own.
PATIENCE_S = 120.0
PR_SET_CHILD_SUBREAPER = 36


# ------------------------------------------------------------------------------ what is written


def expected(seed: int, index: int, iteration: int, rows: int) -> np.ndarray:
    """Every value of one field in one dump, as crash_writer.cpp makes them."""
    n = rows * COLUMNS * PLANES
    mix = (iteration * 2246822519 + index * 3266489917 + seed * 668265263) & 0xFFFFFFFF
    groups = np.arange((n + 7) // 8, dtype=np.uint32)
    hashes = groups * np.uint32(2654435761) + np.uint32(mix)
    values = ((hashes >> np.uint32(12)).astype(np.int32) - (1 << 19)) * 0.125
    dtype = list(FIELDS.values())[index]
    return np.repeat(values.astype(dtype), 8)[:n].reshape(rows, COLUMNS, PLANES)


# ------------------------------------------------------------------------------------ one run


@dataclass
class Plan:
    """What a run does and when it dies; follows from the seed alone."""

    seed: int
    phase: str = ""  # start, between, closing
    codec: str = ""
    rows: int = 0
    chunk_kib: int = 0
    every: int = 1
    pause_us: int = 0
    reserve_factor: float = 1.0
    dumps: int = 1000
    dumps_per_file: int = 0  # 0: one file
    commits: int = 0  # kill after so many lines "committed"
    delay_share: float = 0.0  # and then so much of the time the last commits took

    @classmethod
    def draw(cls, seed: int) -> Plan:
        """Kills before the first commit, among many commits, and while the writer closes."""
        draw = random.Random(seed)
        plan = cls(seed)
        plan.phase = draw.choices(["start", "between", "closing"], [3, 13, 4])[0]
        plan.codec = draw.choice(["none", "zstd", "caesura"])
        plan.rows = draw.choice([16, 31, 45])
        plan.chunk_kib = draw.choice([64, 256, 512])
        plan.every = draw.choice([1, 1, 2, 5])
        plan.pause_us = draw.choice([0, 1000, 10000])
        # Below 1 some blocks overflow and are committed a dump later.
        plan.reserve_factor = draw.choice([1.0, 1.0, 1.0, 0.6])
        plan.delay_share = draw.random()
        if plan.phase == "between":
            plan.commits = draw.randint(1, 5)
        if plan.phase == "closing":
            plan.dumps = draw.randint(1, 5)
        plan.dumps_per_file = draw.choice([0, 0, 0, 1, 1, 3])
        return plan


@dataclass
class Outcome:
    """What one run left behind."""

    plan: Plan
    committed: int | None = None  # last iteration reported by the writer
    dumps: int = 0  # after recovery
    before_first_commit: bool = False
    in_window: bool = False  # the journal was whole: in-place overwrites were under way
    closed: bool = False
    finished: int = 0
    dropped: int = 0
    journal_torn: bool = False
    beyond_report: int = 0  # dumps found that the writer had not yet reported
    gone_on: int = 0  # later runs that opened the file
    let_go: int = 0  # dumps that these have dropped
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    def add(self, other: Outcome, name: str) -> None:
        """What is said of one file of several."""
        for count in ("dumps", "finished", "dropped", "beyond_report"):
            setattr(self, count, getattr(self, count) + getattr(other, count))
        for flag in ("in_window", "journal_torn"):
            setattr(self, flag, getattr(self, flag) or getattr(other, flag))
        self.faults += [f"{name}: {fault}" for fault in other.faults]


class Run:
    """Files and processes of one run."""

    def __init__(self, options: argparse.Namespace, plan: Plan, place: Path) -> None:
        self.options = options
        self.plan = plan
        self.place = place
        self.path = place / ("run_%06T.h5" if plan.dumps_per_file else "run.h5")
        self.part: range | None = None  # of the iterations, what a file of several has
        self.log = place / "committed.txt"
        self.outcome = Outcome(plan)
        self.due_before: set[int] = set()  # of runs before the one that is looked at
        self.is_first = True  # run of the file

    def fault(self, text: str) -> None:
        self.outcome.faults.append(text)

    # ---- dying

    def write_and_kill(self, go_on: str = "") -> None:
        plan = self.plan
        program = [str(self.options.writer), "--file", str(self.path), "--log", str(self.log)]
        for name in ("codec", "seed", "dumps", "rows", "chunk_kib", "every", "pause_us"):
            program += ["--" + name.replace("_", "-"), str(getattr(plan, name))]
        program += ["--reserve-factor", str(plan.reserve_factor)]
        if go_on:
            program += ["--go-on", go_on]
        if plan.dumps_per_file:
            program += ["--dumps-per-file", str(plan.dumps_per_file)]
        plugins = os.environ.get("HDF5_PLUGIN_PATH", hdf5plugin.PLUGINS_PATH)
        variables = {"HDF5_PLUGIN_PATH": plugins}
        command = [
            self.options.mpirun,
            *on_ranks(self.options.ranks, *program, variables=variables),
        ]
        output, env = self.place / "output.txt", environment(self.place)
        run_and_kill(command, env, output, self.wait_for_the_moment)

    def go_on(self) -> None:
        """Three more runs on the same file, on other ranks; the last one closes it."""
        draw = random.Random(f"append {self.plan.seed}")
        self.is_first = False
        for number in range(3):
            self.note_reported()
            due = self.due_before = self.due_before | self.due()
            after = draw.choice([None, *sorted(due)]) if due else None
            self.plan.phase = "end" if number == 2 else draw.choice(["start", "between", "between"])
            self.plan.commits = draw.randint(1, 4)
            self.plan.delay_share = draw.random()
            self.plan.dumps = draw.randint(1, 4) if number == 2 else 1000
            self.log = self.place / f"committed-{number}.txt"
            self.options.ranks = draw.randint(1, 3)
            self.write_and_kill("last" if after is None else str(after))
            if self.outcome.faults:
                return
            lines = self.reported()
            if after is not None:
                # It may have died before it dropped anything: what is above may be there or not.
                self.due_before = {n for n in due if n <= after}
            if "created" in lines:
                self.outcome.gone_on += 1
                self.outcome.let_go += len(due - self.due_before)
            self.note_reported()
            self.due_before |= self.due()
        self.check_gone_on()

    def check_gone_on(self) -> None:
        dry = self.recover(dry_run=True)
        if dry is None:
            return
        if not dry["was_clean"]:
            self.fault(f"a file that was closed is not clean: {dry}")
        self.outcome.dumps = dry["committed_dumps"]
        present = set(range(0, self.outcome.dumps * self.plan.every, self.plan.every))
        if not self.due_before <= present:
            self.fault(f"lost: {sorted(self.due_before - present)}")
        try:
            self.outcome.faults += [f"at the end: {f}" for f in self.compare(present, exactly=True)]
        except (OSError, KeyError, RuntimeError) as error:
            self.fault(f"at the end: stock h5py: {error}")

    def wait_for_the_moment(self, process: subprocess.Popen) -> None:
        """Return when the run is to die (or has ended by itself, which closing ones may)."""
        plan = self.plan
        starts: list[float] = []  # when each line of the side file was first seen
        end_s = time.monotonic() + PATIENCE_S
        while True:
            lines = self.reported()
            starts += [time.monotonic()] * (len(lines) - len(starts))
            # Early kills fall into Writer::create, or between it and the first commit.
            begun = "created" in lines or "opening" in lines
            if plan.phase == "start" and (begun or (self.is_first and self.half_made())):
                break
            if plan.phase == "between" and len(lines) > plan.commits:
                break
            if plan.phase == "closing" and "closing" in lines:
                break
            ended = process.poll() is not None
            if ended and plan.phase == "end" and "closed" in self.reported():
                return
            if ended:
                output = (self.place / "output.txt").read_text(errors="replace")
                self.fault(f"the writer ended by itself ({process.returncode}): {output[-500:]}")
                return
            if time.monotonic() > end_s:
                self.fault(f"after {PATIENCE_S:.0f} s the side file only says {lines}")
                return
            time.sleep(0.0005)
        # The last interval between reports is the yardstick: it spans one dump's whole life.
        interval_s = starts[-1] - starts[-2] if len(starts) > 1 else 0.05
        longest_s = {"start": 0.06, "between": min(1.5 * interval_s, 0.5), "closing": 0.03}
        time.sleep(plan.delay_share * longest_s[plan.phase])

    def half_made(self) -> bool:
        """Half of the early kills come when the file has only just appeared."""
        return self.plan.seed % 2 == 0 and any(self.place.glob("run*.h5"))

    def reported(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    # ---- looking

    def examine_all(self) -> None:
        """The file; of several each by itself, and what came of them together."""
        plan = self.plan
        if not plan.dumps_per_file:
            self.examine()
            return
        span = plan.dumps_per_file * plan.every
        self.note_reported()
        firsts = {n // span * span for n in self.due()}
        firsts |= {int(path.stem.removeprefix("run_")) for path in self.place.glob("run_*.h5")}
        for first in sorted(firsts):
            one = Run(self.options, plan, self.place)
            one.path = self.place / f"run_{first:06}.h5"
            one.part = range(first, first + span)
            one.examine()
            self.outcome.add(one.outcome, one.path.name)
        self.outcome.before_first_commit = self.outcome.dumps == 0

    def note_reported(self) -> None:
        lines = self.reported()
        numbers = [int(line.split()[1]) for line in lines if line.startswith("committed")]
        self.outcome.committed = numbers[-1] if numbers else None
        self.outcome.closed = "closed" in lines

    def must_be_there(self) -> bool:
        """One file is made before the writer returns, one of several with its first dump."""
        return bool(self.reported()) if self.part is None else bool(self.due())

    def examine(self) -> None:
        outcome = self.outcome
        self.note_reported()
        if not self.path.exists():
            outcome.before_first_commit = True
            if self.must_be_there():
                self.fault("there is no file, although the writer was created")
            return
        dry = self.recover(dry_run=True)
        if dry is None:
            return
        outcome.in_window = dry["journal_replayed"]
        self.check_as_stock()
        report = self.recover_by_command()
        if report is None:
            return
        outcome.finished = len(report["finished_iterations"])
        outcome.dropped = len(report["dropped"])
        outcome.journal_torn = report["journal_dropped"]
        self.check_recovered(report)
        before = digest(self.path)
        again = self.recover()
        if again is not None and not again["was_clean"]:
            self.fault(f"a second recover was not clean: {again}")
        if digest(self.path) != before:
            self.fault("a second recover changed the file")

    def recover(self, dry_run: bool = False) -> dict | None:
        """What recover reports; None (with a fault) if it failed, or where no header is whole."""
        try:
            return caesura.recover(self.path, dry_run=dry_run)
        except (OSError, caesura.CorruptError) as error:
            if self.must_be_there():
                self.fault(f"recover: {error}")
            self.outcome.before_first_commit = True
            return None

    def recover_by_command(self) -> dict | None:
        """The same through the command line, as a person would."""
        command = [sys.executable, "-m", "caesura", "recover", str(self.path), "--json"]
        answer = subprocess.run(command, capture_output=True, text=True)
        if answer.returncode in (0, 1):
            return json.loads(answer.stdout)
        self.fault(f"recover ended with {answer.returncode}: {answer.stdout}{answer.stderr}")
        return None

    def due(self) -> set[int]:
        """Iterations that the writer reported as committed: with one all before it."""
        last = self.outcome.committed
        due = set() if last is None else set(range(0, last + 1, self.plan.every))
        return due if self.part is None else due & set(self.part)

    def check_as_stock(self) -> None:
        """The file as the kill left it, in stock h5py."""
        outcome = self.outcome
        with self.path.open("rb") as file:
            outcome.before_first_commit = file.read(8) != b"\x89HDF\r\n\x1a\n"
        if outcome.before_first_commit:
            if self.due():
                self.fault("no superblock, although a dump was reported as committed")
            return
        try:
            faults = self.compare(self.due())
        except (OSError, KeyError, RuntimeError) as error:
            faults = [f"stock h5py: {error}"]
        outcome.faults += [f"before recover: {fault}" for fault in faults]

    def check_recovered(self, report: dict) -> None:
        outcome = self.outcome
        outcome.dumps = report["committed_dumps"]
        if outcome.dumps == 0:
            if self.due():
                self.fault("after recover no dump is left")
            return
        present = self.present()
        outcome.beyond_report = len(present - self.due())
        if not self.due() <= present:
            self.fault(f"lost: {sorted(self.due() - present)}")
        try:
            outcome.faults += [f"after recover: {f}" for f in self.compare(present, exactly=True)]
        except (OSError, KeyError, RuntimeError) as error:
            self.fault(f"after recover: stock h5py: {error}")

    def present(self) -> set[int]:
        """The first dumps; behind the reported ones with holes, where a block had no room yet."""
        first, every = 0 if self.part is None else self.part.start, self.plan.every
        whole = set(range(first, first + self.outcome.dumps * every, every))
        with h5py.File(self.path, "r") as file:
            there = {int(name) for name in file.get("data", {})}
        is_known = all(n >= first and (n - first) % every == 0 for n in there)
        return there if self.due() <= there and is_known else whole

    def compare(self, iterations: set[int], exactly: bool = False) -> list[str]:
        """What is wrong with these iterations, value by value.

        exactly: there may be no others either.
        """
        faults = []
        with h5py.File(self.path, "r") as file:
            there = {int(name) for name in file.get("data", {})}
            if iterations - there or (exactly and there - iterations):
                faults.append(f"expected {sorted(iterations)}, found {sorted(there)}")
            for n in sorted(iterations & there):
                for index, name in enumerate(FIELDS):
                    want = expected(self.plan.seed, index, n, self.plan.rows)
                    got = file[f"data/{n}/meshes/{name}"][...]
                    if got.dtype != want.dtype or got.shape != want.shape:
                        faults.append(f"{name} of iteration {n} is {got.dtype} {got.shape}")
                    elif not np.array_equal(got, want):
                        wrong = np.argwhere(got != want)
                        faults.append(
                            f"{name} of iteration {n}: {len(wrong)} wrong values from "
                            f"{wrong[0].tolist()} on"
                        )
        return faults


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


# ------------------------------------------------------------------------------------ processes


def processes_of(session: int) -> list[int]:
    """Living processes of a session: ranks have process groups of their own, but not sessions."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just gone
        if int(after_name[3]) == session and after_name[0] not in "ZX":
            found.append(int(stat.parent.name))
    return found


def run_and_kill(
    command: list, env: dict, output: Path, wait_for_the_moment: Callable[[subprocess.Popen], None]
) -> None:
    """Start it in a session of its own; when the moment has come, kill all of it at once."""
    with output.open("wb") as sink:
        process = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_for_the_moment(process)
    finally:
        kill_session(process.pid)
        process.wait()
        bury_orphans()


def kill_session(session: int) -> None:
    """SIGKILL every process of the session, until none is left."""
    while living := processes_of(session):
        for pid in living:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def bury_orphans() -> None:
    """Wait for the killed ranks, which have become our children, to be gone with all threads.

    A process whose first thread is dead already looks like a zombie while another thread is still
    inside a write; only waitpid tells the end of the last one.
    """
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


# ---------------------------------------------------------------------------------- all of them


def run_once(options: argparse.Namespace, seed: int) -> Outcome:
    begin_s = time.monotonic()
    place = Path(tempfile.mkdtemp(prefix="caesura-crash-", dir=options.directory))
    plan = Plan.draw(seed)
    if options.append:
        plan.dumps_per_file = 0
    run = Run(argparse.Namespace(**vars(options)), plan, place)
    run.write_and_kill()
    if not run.outcome.faults and options.append and run.path.exists() and run.reported():
        run.go_on()
    elif not run.outcome.faults:
        run.examine_all()
    run.outcome.seconds = time.monotonic() - begin_s
    if run.outcome.faults:
        kept = options.out / f"seed-{seed}"
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        for path in (*place.glob("run*.h5"), run.log, place / "output.txt"):
            if path.exists():
                shutil.copy(path, kept)
    shutil.rmtree(place, ignore_errors=True)
    return run.outcome


def describe(outcome: Outcome) -> str:
    """One line on one run."""
    plan = outcome.plan
    files = f"{plan.dumps_per_file} a file" if plan.dumps_per_file else "one file"
    words = [f"{plan.phase:<8}", f"{plan.codec:<7}", f"{files:<8}"]
    known = "none" if outcome.committed is None else str(outcome.committed)
    words.append(f"reported {known:>4}, recovered {outcome.dumps:>3} dumps")
    if outcome.before_first_commit:
        words.append("before the first commit")
    if outcome.in_window:
        words.append("in the window")
    if outcome.finished:
        words.append(f"{outcome.finished} finished")
    if outcome.dropped:
        words.append(f"{outcome.dropped} dropped")
    return "  ".join(words)


def summary(outcomes: list[Outcome]) -> dict[str, int | float]:
    phases = Counter(o.plan.phase for o in outcomes)
    return {
        "runs": len(outcomes),
        "killed at the start": phases["start"],
        "killed among commits": phases["between"],
        "killed while closing": phases["closing"],
        "killed after close": sum(o.closed for o in outcomes),
        "with a file for each dump, or three": sum(o.plan.dumps_per_file > 0 for o in outcomes),
        "before the first commit": sum(o.before_first_commit for o in outcomes),
        "in the window of in-place overwrites": sum(o.in_window for o in outcomes),
        "torn journals dropped": sum(o.journal_torn for o in outcomes),
        "dumps reported committed": sum(
            (o.committed or 0) // o.plan.every + 1 for o in outcomes if o.committed is not None
        ),
        "dumps found beyond those": sum(o.beyond_report for o in outcomes),
        "dumps finished by recover": sum(o.finished for o in outcomes),
        "dumps dropped by recover": sum(o.dropped for o in outcomes),
        "dumps verified": sum(o.dumps for o in outcomes),
        "runs that went on with the file": sum(o.gone_on for o in outcomes),
        "dumps that these dropped": sum(o.let_go for o in outcomes),
        "seconds a run": round(sum(o.seconds for o in outcomes) / max(1, len(outcomes)), 2),
        "passed": sum(not o.faults for o in outcomes),
        "failed": sum(bool(o.faults) for o in outcomes),
    }


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    build = Path(os.environ.get("CAESURA_BUILD", "build"))
    out = Path(os.environ.get("CAESURA_OUT", "out"))
    top.add_argument("--runs", type=int, default=20)
    top.add_argument("--nightly-runs", type=int, help="with CAESURA_NIGHTLY, instead of --runs")
    top.add_argument("--seed", type=int, help="of the first run; run i has seed + i")
    top.add_argument("--ranks", type=int, default=2)
    top.add_argument("--append", action="store_true", help="later runs go on with the file")
    top.add_argument("--json", action="store_true", help="print everything as JSON instead")
    top.add_argument("--writer", type=Path, default=build / "tests" / "crash_writer")
    top.add_argument("--mpirun", default="mpirun")
    top.add_argument("--directory", help="where the files are written (default: temporary files)")
    top.add_argument("--out", type=Path, default=out / "crash", help="keeps files of failed runs")
    return top


def main() -> int:
    options = parser().parse_args()
    if NIGHTLY and options.nightly_runs:
        options.runs = options.nightly_runs
    if not options.writer.exists():
        sys.exit(f"{options.writer} is missing: build with -DCAESURA_MPI=ON, or give --writer.")
    # Orphaned ranks become children of this process, so that it can see them gone.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    first = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    show = (lambda *_: None) if options.json else (lambda text: print(text, flush=True))
    show(f"seeds {first} to {first + options.runs - 1} (repeat one: --seed N --runs 1)")
    outcomes = []
    for seed in range(first, first + options.runs):
        outcome = run_once(options, seed)
        outcomes.append(outcome)
        verdict = "FAILED" if outcome.faults else "ok"
        show(f"{seed:>7}  {verdict:<6}  {describe(outcome)}")
        for fault in outcome.faults:
            show(f"         {fault}")
        if outcome.faults:
            show(f"         its file: {options.out / f'seed-{seed}'}")
    totals = summary(outcomes)
    if options.json:
        runs = [{**vars(o), "plan": vars(o.plan)} for o in outcomes]
        print(json.dumps({"first_seed": first, "summary": totals, "runs": runs}, indent=1))
    else:
        for name, value in totals.items():
            if name not in ("passed", "failed"):
                show(f"{name:<40} {value:>8}")
        show(f"{totals['passed']} passed, {totals['failed']} failed")
    return 1 if totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
