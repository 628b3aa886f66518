#!/usr/bin/env python3
"""Kill a run on full cores; nothing that was closed longer ago than `max_delay` may be lost.

Each run starts the program `plotfiles`: ranks that spin on every core and make no call between
their plotfiles, as an ordinary user without the right to raise a priority (RLIMIT_NICE 0; where
this script is root, as user 65534). At a moment drawn from the run's seed all of it gets SIGKILL.
Then every file is looked at:

  1. what stock h5py opens before `caesura recover` is whole, and the same after it;
  2. after `caesura recover` each file that was closed longer than max_delay before the kill is
     there, whole, every value exact;
  3. of every other file, what `recover` has brought back is whole and exact; with --append a field
     may have no values yet if `recover` says that blocks were dropped, or if no block of the field
     had been begun: each field is a dump, and as many are committed as have values;
  4. a second recover changes nothing;
  5. of files that all ranks make at most four are on their way: those before are whole before
     `recover`.

With --whole-s the configuration names no max_delay, and a file that was closed so long before the
kill is whole before `recover`.

With --large each step closes five files of 49 to 85 MB: all are due at about the same time and take
much longer together than each would by itself. --codec and --bound say how they are compressed
(values are then within the bound, not exact), --bandwidth how fast all processes together write:
bench/pfs emulates that.

With --append one rank makes each file and opens it once more for each field.

With --term the ranks get SIGTERM instead, with `on_term = "commit"` and no deadline: they end by
themselves, and nothing that had been closed is lost. Before they end rank 0 says one line, and
writes the report: a file that is not whole before `recover` has an `error` there, and no line says
"nothing lost" of it.

With --own-handler the program has a handler of its own: it ends as it likes, long after the
connector's time is up, and every file is whole without `recover`, as line and report say.

Exit status: 0 if every run passed, else 1. A failed run's files stay in <out>.

Invariant: the formula of the values stands here and in plotfiles.c; nothing else is shared.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import h5py
import hdf5plugin
import numpy as np
from crash import PR_SET_CHILD_SUBREAPER, digest, processes_of, run_and_kill
from launching import NIGHTLY, environment, on_ranks

FIELDS = ("density", "pressure", "velocity")
NOBODY = 65534
PATIENCE_S = 180.0
TERM_S = 10.0
HANDLER_TERM_S = 0.1  # shorter than the two files that the program makes after SIGTERM
MOST_PENDING = 4  # src/vol/pending_files.cpp
NOT_RECOVERED = {"dropped": [], "committed_dumps": -1}


def expected(dump: int, which: int, edge: int) -> np.ndarray:
    """Every value of one field of one file, as plotfiles.c makes them."""
    f32 = np.float32
    row = (np.arange(edge * edge, dtype=np.uint64) * np.uint64(7919) % np.uint64(509)).astype(f32)
    column = np.arange(edge, dtype=np.uint64)
    column = (column * column % np.uint64(1021)).astype(f32)
    base = f32(dump % 1000) + f32(0.25) * f32(which)
    values = (base + f32(0.001) * row)[:, None] + f32(0.0001) * column[None, :]
    return values.astype(f32).reshape(edge, edge, edge)


@dataclass
class Plan:
    """What a run does and when it dies; follows from the seed alone."""

    max_delay_s: float
    compute_ms: int
    edge: int
    kill_after_s: float  # after the first file was closed
    burst: int = 1  # files a step

    @classmethod
    def draw(cls, seed: int, large: bool) -> Plan:
        """Kills before anything is due, and after many files."""
        draw = random.Random(seed)
        if large:
            max_delay_s = draw.choice([6.0, 8.0])
            return cls(
                max_delay_s,
                draw.choice([4000, 8000]),
                draw.choice([160, 176, 192]),
                draw.uniform(max_delay_s, 3.0 * max_delay_s),
                burst=5,
            )
        max_delay_s = draw.choice([1.0, 2.0])
        return cls(
            max_delay_s,
            draw.choice([200, 600, 1500]),
            draw.choice([64, 96]),
            draw.uniform(0.2, 3.0 * max_delay_s),
        )


@dataclass
class Run:
    """Files, processes and the outcome of one run."""

    options: argparse.Namespace
    plan: Plan
    place: Path
    faults: list[str] = field(default_factory=list)
    killed_s: float = 0.0
    due: int = 0
    closed: int = 0
    pending: int = 0  # not committed when the kill came
    brought_back: int = 0  # by recover
    whole_before: int = 0  # and so without it

    def closed_at(self) -> dict[int, float]:
        """By file, from whole lines of the side file."""
        log = self.place / "plotfiles.h5.log"
        lines = log.read_text().splitlines() if log.exists() else []
        words = (line.split() for line in lines if line.startswith("closed "))
        return {int(word[1]): float(word[2]) for word in words if len(word) == 3}

    def write_and_kill(self) -> None:
        """Start as an ordinary user, wait, kill."""
        options, plan = self.options, self.plan
        toml = self.place / "run.toml"
        text = f"max_delay = {plan.max_delay_s}\n" if options.whole_s is None else ""
        if options.term:  # nothing but the signal makes it write
            term_s = HANDLER_TERM_S if options.own_handler else TERM_S
            text = f'max_delay = inf\non_term = "commit"\nterm_s = {term_s}\n'
            text += f'report = "{self.report}"\n'
        text += f'codec = "{options.codec}"\n'
        text += f"bound = {options.bound}\n" if options.bound > 0.0 else ""
        toml.write_text(text + "threshold_bytes = 65536\n")
        variables = {
            "HDF5_PLUGIN_PATH": f"{options.connector}:{options.filters}:{hdf5plugin.PLUGINS_PATH}",
            "HDF5_VOL_CONNECTOR": f"caesura config={toml}",
            "VOL_TEST_CONNECTOR": "caesura",
            "VOL_TEST_COMPUTE_MS": str(plan.compute_ms),
            "VOL_TEST_EDGE": str(plan.edge),
            "VOL_TEST_BURST": str(plan.burst),
            "VOL_TEST_APPEND": str(int(options.append)),
            "VOL_TEST_OWN_HANDLER": str(int(options.own_handler)),
        }
        env = environment(self.place) | {"HOME": str(self.place), "TMPDIR": str(self.place)}
        env["OMPI_MCA_mpi_yield_when_idle"] = "0"
        program = [*self.slow_file_system(), options.program, self.place]
        started = on_ranks(options.ranks, *program, variables=variables)
        command = [*as_ordinary_user(self.place), options.mpirun, *started]
        self.idle_link()
        run_and_kill(command, env, self.place / "output.txt", self.wait_for_the_moment)
        self.idle_link()

    def slow_file_system(self) -> list[str]:
        """In front of the program: its writes are as slow as asked for."""
        if not self.options.bandwidth:
            return []
        return [
            "env",
            f"LD_PRELOAD={self.options.pfs / 'libpfs.so'}",
            f"PFS_ROOT={self.place}",
            f"PFS_BANDWIDTH={self.options.bandwidth:.0f}",
            f"PFS_BUCKET={self.place.name}",
        ]

    def idle_link(self) -> None:
        """The emulated link lives in shared memory: removed before and after each run."""
        if self.options.bandwidth:
            command = [str(self.options.pfs / "pfs_stat"), "--remove"]
            env = {**os.environ, "PFS_BUCKET": self.place.name}
            subprocess.run(command, env=env, capture_output=True, check=False)

    def wait_for_the_moment(self, process: subprocess.Popen) -> None:
        """Return when the run is to die."""
        end_s = time.monotonic() + PATIENCE_S
        first_s = None
        while first_s is None or time.monotonic() < first_s + self.plan.kill_after_s:
            closed = self.closed_at()
            if first_s is None and closed:
                first_s = closed[min(closed)] + self.options.slack_s
            if process.poll() is not None or time.monotonic() > end_s:
                output = (self.place / "output.txt").read_text(errors="replace")
                self.faults.append(f"ended by itself or never began: {output[-800:]}")
                return
            time.sleep(0.002)
        self.killed_s = time.monotonic()
        if self.options.term:
            self.terminate(process)

    def terminate(self, process: subprocess.Popen) -> None:
        """SIGTERM to the ranks: they end by themselves, in time."""
        program = Path(self.options.program).resolve()
        for pid in processes_of(process.pid):
            # The launcher, whose command line has the name too, would kill its ranks soon.
            if Path(f"/proc/{pid}/exe").resolve() == program:
                os.kill(pid, signal.SIGTERM)
        try:
            code = process.wait(timeout=TERM_S + 30.0)
        except subprocess.TimeoutExpired:
            self.faults.append(f"does not end {TERM_S + 30:.0f} s after SIGTERM")
            return
        if self.options.own_handler and code != 0:
            self.faults.append(f"the end is not the program's own: exit status {code}")

    @property
    def report(self) -> Path:
        """Rank 0's, of --term."""
        return self.place / "report.json"

    def examine_last_words(self, whole: dict[int, bool]) -> None:
        """Line and report of --term. @param whole: by file, before recover."""
        output = (self.place / "output.txt").read_text(errors="replace").splitlines()
        lines = [line for line in output if line.startswith("caesura: ")]
        of_rank_0 = [line for line in lines if not line.startswith("caesura: rank ")]
        if len(of_rank_0) != 1 or not self.report.exists():
            self.faults.append(f"lines {lines}, and {self.report.exists()} of the report")
            return
        errors = {}
        for entry in json.loads(self.report.read_text())["files"]:
            errors[int(Path(entry["path"]).stem[3:])] = entry.get("error", "")
        silent = [n for n, is_whole in whole.items() if not is_whole and not errors.get(n)]
        if silent:
            self.faults.append(f"files {silent} are not whole, and the report says nothing")
        good = all(whole.values()) if self.options.own_handler else not any(errors.values())
        if ("nothing lost" in of_rank_0[0]) != good:
            self.faults.append(f"{whole}, {errors}, and it says: {of_rank_0[0]}")
        if self.options.own_handler:
            if "told_to_end" not in (self.place / "plotfiles.h5.log").read_text():
                self.faults.append("the program's own handler was not called")
            if any(errors.values()) or not all(whole.values()):
                self.faults.append(f"whole without recover: {whole}; errors: {errors}")

    def examine(self) -> None:
        """Every file, before and after recover."""
        closed = self.closed_at()
        self.closed = len(closed)
        paths = sorted(self.place.glob("plt*.h5"))
        looks = {path: self.look(path, int(path.stem[3:])) for path in paths}
        found = self.recover(paths)
        for path, before in looks.items():
            self.compare(path, before, found.get(path.name, NOT_RECOVERED), closed)
        if self.options.term:
            self.examine_last_words({int(path.stem[3:]): looks[path] == "" for path in paths})
        missing = [n for n in closed if not (self.place / f"plt{n:05d}.h5").exists()]
        self.faults += [f"file {n} is not there" for n in missing]

    def compare(self, path: Path, before: str, found: dict, closed: dict[int, float]) -> None:
        """What stock h5py said of a file with what it says after recover, which said `found`."""
        dump = int(path.stem[3:])
        delay_s = 0.0 if self.options.term else self.plan.max_delay_s + self.options.slack_s
        due = dump in closed and closed[dump] + delay_s <= self.killed_s
        late_s = self.options.whole_s
        whole = late_s is not None and dump in closed and closed[dump] + late_s <= self.killed_s
        if whole and before != "":
            self.faults.append(f"{path.name}, closed {late_s} s ago, is not whole: {before}")
        self.due += due
        self.pending += dump in closed and before != ""
        self.whole_before += before == ""
        settled = not self.options.append and dump <= max(closed, default=-1) - MOST_PENDING
        if before != "" and settled:
            self.faults.append(f"{path.name}, one of {max(closed) + 1} closed: {before}")
        after = self.look(path, dump)
        if self.options.append and self.lacks_fields_only(path, dump, found):
            after = "lacks fields, as recover says"
        if after == "" and before != "":
            self.brought_back += 1
        age_s = self.killed_s - closed.get(dump, self.killed_s)
        if due and after != "":
            self.faults.append(f"{path.name}, closed for {age_s:.2f} s, is lost: {after}")
        elif before == "" and after != "":
            self.faults.append(f"{path.name} was there before recover: {after}")
        elif after.startswith("wrong"):
            self.faults.append(f"{path.name}: {after}")

    def recover(self, paths: list[Path]) -> dict[str, dict]:
        """All files through the command line, as a person would; twice. Returns what it said first,
        by name, of those that it could open."""
        found: dict[str, dict] = {}
        command = [sys.executable, "-m", "caesura", "recover", *map(str, paths), "--json"]
        for again in (False, True) if paths else ():
            before = {path: digest(path) for path in paths}
            answer = subprocess.run(command, capture_output=True, text=True)
            if answer.returncode not in (0, 1, 3):
                self.faults.append(f"recover ended with {answer.returncode}: {answer.stderr}")
            changed = [path.name for path in paths if digest(path) != before[path]]
            if again and changed:
                self.faults.append(f"a second recover changed {changed}")
            if not again and answer.stdout:
                said = json.loads(answer.stdout)
                entries = [one for one in said.get("files", [said]) if "error" not in one]
                found = {Path(one["path"]).name: one for one in entries}
        return found

    def lacks_fields_only(self, path: Path, dump: int, recovered: dict) -> bool:
        """Is each field that is there exact, or without any value, as recover says?"""
        try:
            with h5py.File(path, "r") as file:
                found = {name: file[name][...] for name in FIELDS if name in file}
        except OSError:
            return False
        exact = [expected(dump, which, self.plan.edge) for which in range(len(FIELDS))]
        wrong = [n for n, v in found.items() if not self.is_right(v, exact[FIELDS.index(n)])]
        said = recovered["dropped"] or recovered["committed_dumps"] == len(found) - len(wrong)
        return bool(wrong and said) and not any(found[name].any() for name in wrong)

    def is_right(self, got: np.ndarray, want: np.ndarray) -> bool:
        """Exact, or within the bound."""
        if got.dtype != want.dtype or got.shape != want.shape:
            return False
        if self.options.bound == 0.0:
            return np.array_equal(got, want)
        off = np.subtract(got, want, dtype=np.float64)
        return bool(np.max(np.abs(off, out=off)) <= self.options.bound)

    def look(self, path: Path, dump: int) -> str:
        """What stock h5py finds wrong; empty: the file is whole."""
        try:
            with h5py.File(path, "r") as file:
                for which, name in enumerate(FIELDS):
                    want = expected(dump, which, self.plan.edge)
                    got = file[name][...]
                    if not self.is_right(got, want):
                        return f"wrong values in {name}"
                return "" if file.attrs["dump"] == dump else "wrong attribute"
        except (OSError, KeyError, RuntimeError) as error:
            return f"stock h5py: {error}"


def as_ordinary_user(place: Path) -> list[str]:
    """In front of a command: neither root nor allowed to raise a priority."""
    limit = ["prlimit", "--nice=0", "--"]
    if os.geteuid() != 0:
        return limit
    for path in (place, *place.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    # It may read what root has built and kept for itself, and nothing else that a user may not.
    read = ["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"]
    user = ["--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    return ["setpriv", *user, *read, "--", *limit]


def run_once(options: argparse.Namespace, seed: int) -> Run:
    """One kill."""
    place = Path(tempfile.mkdtemp(prefix="caesura-closed-"))
    run = Run(options, Plan.draw(seed, options.large), place)
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
    parser.add_argument("--ranks", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--nightly-runs", type=int, help="with CAESURA_NIGHTLY, instead of --runs")
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--connector", required=True, help="directory of libcaesura_vol.so")
    parser.add_argument("--filters", required=True, help="directory of libh5caesura.so")
    parser.add_argument("--slack-s", type=float, default=0.0, help="beyond max_delay")
    parser.add_argument("--whole-s", type=float, help="from then on files are whole by themselves")
    parser.add_argument("--append", action="store_true", help="by one rank, once for each field")
    parser.add_argument("--term", action="store_true", help='SIGTERM, and on_term = "commit"')
    parser.add_argument("--large", action="store_true", help="five files of 49 to 85 MB a step")
    parser.add_argument("--codec", default="caesura")
    parser.add_argument("--bound", type=float, default=0.0, help="absolute; 0: without loss")
    parser.add_argument(
        "--bandwidth", type=float, default=0.0, help="bytes/s, emulated; 0: the disk"
    )
    parser.add_argument("--pfs", type=Path, help="directory of libpfs.so and pfs_stat")
    parser.add_argument("--own-handler", action="store_true", help="with --term: the program's")
    parser.add_argument("--json", type=Path, help="where the sums go")
    options = parser.parse_args()
    if NIGHTLY and options.nightly_runs:
        options.runs = options.nightly_runs
    if options.bandwidth and not options.pfs:
        parser.error("--bandwidth needs --pfs")
    if shutil.which("prlimit") is None or (os.geteuid() == 0 and shutil.which("setpriv") is None):
        print("prlimit and setpriv (util-linux) are needed")
        return 77
    h5py.h5pl.prepend(options.filters.encode())
    # Orphaned ranks become children of this process, so that it can see them gone.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    begin_s = time.monotonic()
    counted = ("closed", "pending", "due", "whole_before", "brought_back")
    sums = dict.fromkeys(("runs", "failed", *counted), 0)
    for seed in range(options.seed, options.seed + options.runs):
        run = run_once(options, seed)
        sums["runs"] += 1
        sums["failed"] += bool(run.faults)
        for name in counted:
            sums[name] += getattr(run, name)
        for fault in run.faults:
            print(f"seed {seed}: {fault}", flush=True)
        if sums["runs"] % 10 == 0:
            took_s = time.monotonic() - begin_s
            print(f"{sums['runs']} of {options.runs} kills, {took_s:.0f} s", flush=True)
    print(
        f"{sums['runs']} kills on {options.ranks} ranks in {time.monotonic() - begin_s:.0f} s, "
        f"{sums['failed']} failed; {sums['closed']} files had been closed, {sums['due']} of them "
        f"longer ago than max_delay; {sums['pending']} were not committed, {sums['whole_before']} "
        f"were whole, and recover finished "
        f"{sums['brought_back']}"
    )
    if options.json:
        options.json.write_text(json.dumps(sums, indent=2) + "\n")
    return 1 if sums["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
