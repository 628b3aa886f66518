#!/usr/bin/env python3
"""Holds the VOL connector to native HDF5: random sequences of calls, each natively and connected.

The program `stand_in` draws the sequences, makes each call on both sides and compares. This script
starts it, goes on behind a crash or a hang, tells known differences (known_differences.toml) from
new ones, takes away the steps that a difference does not need, and prints what is left as C.

Standard library only. Exit status: 0 if there is no unknown difference.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from launch import Launcher  # noqa: E402

KNOWN = HERE / "known_differences.toml"
MOST_SHRUNK = 5  # failures of one kind are alike


def kind_of(operation: str, what: str) -> str:
    """Failures of one cause mostly have one."""
    plain = re.sub(r"(bytes differ).*", r"\1", what)
    plain = re.sub(r"\b[0-9.e+-]*[0-9][0-9a-f]*\b", "N", plain)
    return f"{operation}: {plain[:120]}"


@dataclass
class Failure:
    """A sequence that did not come out alike."""

    seed: int
    ranks: int
    operation: str
    what: str
    facts: str = ""
    setting: str = ""
    step: int = 0
    steps: list[int] = field(default_factory=list)
    calls: str = ""  # the innermost, where the process ended

    def kind(self) -> str:
        """Without numbers: what fails in the same way has the same."""
        return kind_of(self.operation, self.what)

    def line(self) -> str:
        """All that is needed to see it again."""
        return (
            f"seed {self.seed}, {self.ranks} ranks, {self.setting}, step {self.step}, "
            f"{self.operation} [{self.facts}]: {self.what[:300]}"
        )


@dataclass
class Known:
    """A difference that is meant, or that others are mending."""

    name: str
    reason: str
    operation: re.Pattern[str]
    what: re.Pattern[str]
    facts: re.Pattern[str]
    doc: str
    met: int = 0

    def covers(self, failure: Failure) -> bool:
        """Whether the failure is of this kind."""
        place = f"{failure.facts},{failure.setting},ranks={failure.ranks}"
        return bool(
            self.operation.fullmatch(failure.operation)
            and self.what.search(failure.what)
            and self.facts.search(place)
        )


def known_differences(path: Path = KNOWN) -> tuple[list[Known], list[str]]:
    """The list, and the operations that are left out for now."""
    told = tomllib.loads(path.read_text())
    known = [
        Known(
            entry["name"],
            entry["reason"],
            re.compile(entry["operation"]),
            re.compile(entry.get("what", "")),
            re.compile(entry.get("facts", "")),
            entry["doc"],
        )
        for entry in told.get("difference", [])
    ]
    return known, [entry["operation"] for entry in told.get("left_out", [])]


LINE = re.compile(
    r"DIFFERENCE seed=(\d+) attempt=(\d+) rank=(\d+) step=(\d+) steps=([\d,]*) setting=(\S*) "
    r"op=(.*?) facts=(.*?) what=(.*)"
)
ENDED = re.compile(r"(CRASH \S+|HANG|DIED) side=(\w+) seed=(\d+) step=(\d+) op=(.*)")
DONE = re.compile(r"DONE sequences=(\d+) calls=(\d+)")


@dataclass
class Batch:
    """What a call of the program said."""

    failures: list[Failure]
    calls: int
    ended_early: Failure | None
    attempts: dict[int, bool]  # of a shrinking: whether each one still differs
    text: str


def read_output(text: str, ranks: int, code: int) -> Batch:
    """Lines of all ranks, the first failure of each sequence."""
    failures: dict[int, Failure] = {}
    attempts: dict[int, bool] = {}
    ended, calls = None, 0
    for line in text.splitlines():
        if match := LINE.search(line):
            seed, attempt, _, step, steps, setting, operation, facts, what = match.groups()
            of_line = [int(one) for one in steps.split(",") if one]
            failure = Failure(int(seed), ranks, operation, what, facts, setting, int(step), of_line)
            attempts[int(attempt)] = True
            if int(seed) not in failures or failures[int(seed)].what.startswith("another rank"):
                failures[int(seed)] = failure
        elif match := ENDED.search(line):
            how, side, seed, step, operation = match.groups()
            ended = Failure(int(seed), ranks, operation, how, f"side={side}", step=int(step))
        elif match := DONE.search(line):
            calls = int(match.group(2))
    if code != 0 and ended is None:
        ended = Failure(-1, ranks, "process", f"exit status {code}")
    return Batch(list(failures.values()), calls, ended, attempts, text)


def calls_of(text: str) -> str:
    """The functions that a crashed process was in."""
    names = re.findall(r"lib(?:hdf5|caesura_vol)\S*\(([^+)]*\+0x[0-9a-f]+)\)", text)
    return " < ".join(name for name in names[:14])


# Operations that compare with what the other side has just said.
OF_BOTH_SIDES = ("H5Fget_file_image",)
APART = "threshold_bytes = 1\nchunk_bytes = 4096\nclosing_line = false\n"


def first_difference(natively: list[str], ours: list[str]) -> str:
    """Of two logs; empty: they are alike."""
    for one, other in zip(natively, ours, strict=False):
        if one != other:
            return f"natively {one[4:200]}, ours {other[4:200]}"
    if len(natively) != len(ours):
        return f"natively {len(natively)} calls, ours {len(ours)}"
    return ""


class Tester:
    """Runs sequences and collects what fails."""

    def __init__(self, launcher: Launcher, options: argparse.Namespace) -> None:
        self.launcher, self.options = launcher, options
        self.known, self.left_out = known_differences()
        self.failures: list[Failure] = []
        self.sequences = self.calls = self.native_ends = 0
        self.planted = options.planted_fault

    def program_options(self, seed: int, **more: object) -> list[str]:
        """Of the program `stand_in`."""
        words = ["--seed", str(seed), "--calls", str(self.options.calls)]
        left_out = [*self.left_out, *(self.options.without or [])]
        if left_out:
            words += ["--without", ",".join(left_out)]
        if self.planted:
            words += ["--planted", self.planted]
        words += ["--limit", str(self.options.limit)]
        return words + [word for name, value in more.items() for word in (f"--{name}", str(value))]

    def run(
        self, seed: int, ranks: int, keep: list[list[int]] | None = None, **more: object
    ) -> Batch:
        """One process group; with `keep`, once with each of these lists of steps."""
        if keep is not None:
            attempts = self.launcher.place / "attempts"
            attempts.write_text("".join(",".join(map(str, one)) + "\n" for one in keep))
            more["keep"] = attempts
        words = self.program_options(seed, **more)
        sequences = int(more.get("sequences", 1))
        text, code = self.launcher.run(ranks, words, self.options.limit + 10 + sequences)
        return read_output(text, ranks, code)

    def sweep(self, seed: int, sequences: int, ranks: int) -> None:
        """Sequences from `seed` on; a crash or a hang ends one and the rest goes on behind it."""
        end = seed + sequences
        while seed < end:
            count = min(end - seed, 250)
            batch = self.run(seed, ranks, sequences=count)
            self.failures += batch.failures
            self.calls += batch.calls
            if batch.ended_early is None:
                self.sequences += count
                seed += count
                continue
            failure = batch.ended_early
            failure.calls = calls_of(batch.text)
            if self.ends_natively(seed, count, failure):
                self.native_ends += 1
            else:
                self.failures.append(failure)
            if failure.seed < seed or failure.step >= 1000:  # at the end of all
                self.sequences += count
                seed += count
                continue
            self.sequences += failure.seed - seed + 1
            seed = failure.seed + 1

    def ends_natively(self, seed: int, count: int, failure: Failure) -> bool:
        """Whether native HDF5 alone ends in the same place, with the same sequences before it."""
        if failure.seed < 0:  # the process itself, by an exit status
            return False
        if failure.seed >= seed:
            # Memory may have been damaged by a sequence before; a hang needs none of them.
            seed = failure.seed if failure.what == "HANG" else seed
            count = failure.seed - seed + 1
        alone = self.run(seed, failure.ranks, sequences=count, side="native").ended_early
        return alone is not None and alone.seed == failure.seed

    # ------------------------------------------------------------------- in processes of their own

    def alone(self, side: str, seed: int, leave_open: bool) -> tuple[list[str], int]:
        """What the calls of a sequence said on one side, and how the process ended."""
        words = self.program_options(seed, side=side, **{"leave-open": int(leave_open)})
        words += ["--without", ",".join([*self.left_out, *OF_BOTH_SIDES])]
        connector = f"caesura config={self.launcher.place}/apart.toml"
        variables = {"HDF5_VOL_CONNECTOR": connector} if side == "ours" else {}
        place = self.launcher.place / side
        text, code = self.launcher.run(1, words, self.options.limit + 10, place, variables)
        said = [line for line in text.splitlines() if line.startswith("LOG ")]
        return said, code

    def sweep_apart(self, seed: int, sequences: int) -> None:
        """Each side of a sequence in a process of its own, every second one with all left open."""
        (self.launcher.place / "apart.toml").write_text(APART)
        for one in range(seed, seed + sequences):
            leave_open = one % 2 == 0
            natively, native_code = self.alone("native", one, leave_open)
            if native_code != 0:
                self.native_ends += 1
                continue
            ours, code = self.alone("ours", one, leave_open)
            self.sequences += 1
            self.calls += len(natively)
            what = first_difference(natively, ours)
            if not what and code != 0:
                what = f"natively the process ends well, ours with status {code}"
            if not what:
                what = self.launcher.compare_files("native", "ours")
            if what:
                self.failures.append(Failure(one, 1, "apart", what, f"left open={leave_open}"))

    def classify(self) -> list[Failure]:
        """Those that are not known; the others are counted."""
        unknown = []
        for failure in self.failures:
            known = next((one for one in self.known if one.covers(failure)), None)
            if known is None:
                unknown.append(failure)
            else:
                known.met += 1
        return unknown

    # ------------------------------------------------------------------------------- shrinking

    def still_differs(self, failure: Failure, candidates: list[list[int]]) -> list[bool]:
        """Which of these lists of steps show a difference in the same operation."""
        results: list[bool] = []
        while len(results) < len(candidates):
            rest = candidates[len(results) :]
            batch = self.run(failure.seed, failure.ranks, rest)
            for attempt in range(len(rest)):
                said = [m for m in LINE.finditer(batch.text) if int(m.group(2)) == attempt]
                alike = f"ALIKE seed={failure.seed} attempt={attempt}\n" in batch.text
                if said:
                    kinds = [kind_of(m.group(7), m.group(9)) for m in said]
                    results.append(failure.kind() in kinds)
                elif alike:
                    results.append(False)
                else:  # it ended here
                    results.append(
                        batch.ended_early is not None
                        and batch.ended_early.operation == failure.operation
                    )
                    break
        return results

    def shrink(self, failure: Failure) -> list[int]:
        """Fewer steps with the same difference (delta debugging, a round in one process)."""
        steps = [one for one in failure.steps if one < 900] or list(range(failure.step + 1))
        parts = 2
        deadline = time.monotonic() + self.options.shrink_s
        while len(steps) > 1 and time.monotonic() < deadline:
            size = max(1, -(-len(steps) // parts))
            cuts = [steps[:i] + steps[i + size :] for i in range(0, len(steps), size)]
            cuts = [one for one in cuts if one]
            good = self.still_differs(failure, cuts)
            if True in good:
                steps = cuts[good.index(True)]
                parts = max(2, parts - 1)
            elif size == 1:
                break
            else:
                parts = min(len(steps), parts * 2)
        return steps

    def show(self, failure: Failure) -> str:
        """The difference as few lines of C."""
        steps = self.shrink(failure)
        batch = self.run(failure.seed, failure.ranks, [steps], show=1)
        program = re.search(r"PROGRAM\n(.*?)END\n", batch.text, re.S)
        said = LINE.search(batch.text)
        if program is None:  # it ends the process: what comes before the last call
            before = self.run(failure.seed, failure.ranks, [steps[:-1]], show=1)
            program = re.search(r"PROGRAM\n(.*?)END\n", before.text, re.S)
        if failure.calls:
            print(f"  in {failure.calls}")
        return (
            f"{failure.line()}\n  steps {','.join(map(str, steps))}\n"
            f"  {said.group(9)[:300] if said else failure.what}\n"
            + "".join(
                f"    {line}\n" for line in (program.group(1) if program else "").splitlines()
            )
        )


def by_kind(failures: Iterable[Failure]) -> dict[str, list[Failure]]:
    """The most frequent first."""
    kinds: dict[str, list[Failure]] = {}
    for failure in failures:
        kinds.setdefault(failure.kind(), []).append(failure)
    return dict(sorted(kinds.items(), key=lambda item: -len(item[1])))


def report(tester: Tester, took_s: float) -> int:
    """Sums up; shrinks one failure of each kind."""
    unknown = tester.classify()
    kinds = by_kind(unknown)
    for kind, failures in kinds.items():
        seeds = ", ".join(str(one.seed) for one in failures[:8])
        print(f"{len(failures)} x {kind} (seeds {seeds})", flush=True)
    for _, failures in list(kinds.items())[: tester.options.shrink]:
        print(tester.show(min(failures, key=lambda one: len(one.steps))), flush=True)
    met = Counter({one.name: one.met for one in tester.known if one.met})
    for name, count in met.most_common():
        print(f"known: {name}, met {count} times")
    for operation in tester.left_out:
        print(f"left out for now: {operation}")
    print(
        f"stand-in: native HDF5 by itself crashed or hung in {tester.native_ends} sequences\n"
        f"stand-in: {tester.sequences} sequences, {tester.calls} calls in {took_s:.0f} s, "
        f"{len(unknown)} unknown differences of {len(kinds)} kinds, seed {tester.options.seed}"
    )
    return 1 if unknown else 0


def look_for_faults(tester: Tester) -> int:
    """Each fault that can be planted: whether sequences that are alike without it differ."""
    named = subprocess.run([tester.options.program, "--faults"], capture_output=True, text=True)
    seed, batch = tester.options.seed * 1_000_000, 40
    tester.sweep(seed, tester.options.seqs, 1)
    without = {(one.seed, one.kind()) for one in tester.failures}
    missed = 0
    print("| kind of fault | planted | found after | first difference |\n|---|---|---|---|")
    for line in named.stdout.splitlines():
        tester.planted, kind = line.split("\t")
        found = None
        for first in range(seed, seed + tester.options.seqs, batch):
            tester.failures = []
            tester.sweep(first, batch, 1)
            found = next((f for f in tester.failures if (f.seed, f.kind()) not in without), None)
            if found is not None:
                break
        missed += found is None
        told = f"{found.operation}: {found.what[:80]}" if found else "NOT FOUND"
        after = f"{found.seed - seed + 1} sequences" if found else "-"
        print(f"| {kind} | {tester.planted} | {after} | {told} |", flush=True)
    print(f"{missed} planted faults were not found")
    return 1 if missed else 0


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True, help="the program stand_in")
    parser.add_argument("--connector", type=Path, required=True, help="its directory")
    parser.add_argument("--filters", type=Path, required=True, help="directory of libh5caesura.so")
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--seqs", type=int, default=400, help="sequences of each number of ranks")
    parser.add_argument("--calls", type=int, default=30, help="of a sequence")
    parser.add_argument("--seed", type=int, default=1, help="0: another one each day")
    parser.add_argument("--replay", type=int, help="the one sequence of this seed")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument(
        "--apart", type=int, default=0, help="sequences whose sides have processes of their own"
    )
    parser.add_argument("--limit", type=int, default=60, help="seconds until a sequence hangs")
    parser.add_argument("--shrink", type=int, default=MOST_SHRUNK, help="kinds to shrink")
    parser.add_argument("--shrink-s", type=float, default=30, help="seconds for each")
    parser.add_argument("--without", nargs="*", help="operations to leave out")
    parser.add_argument("--planted-fault", default="", help="a fault to put into the connector")
    parser.add_argument("--planted", action="store_true", help="look for each planted fault")
    options = parser.parse_args()
    if options.seed == 0:
        options.seed = int(time.time() // 86400)
    return options


def main() -> int:
    """Parse and run."""
    options = parse()
    begin_s = time.monotonic()
    with tempfile.TemporaryDirectory(dir=Launcher.fast_place(), prefix="stand_in-") as place:
        tester = Tester(Launcher(options, Path(place)), options)
        if options.planted:
            return look_for_faults(tester)
        if options.replay is not None:
            tester.sweep(options.replay, 1, options.ranks[0])
            return report(tester, time.monotonic() - begin_s)
        if options.apart:
            tester.sweep_apart(options.seed * 1_000_000 + 900_000, options.apart)
            return report(tester, time.monotonic() - begin_s)
        for ranks in options.ranks:
            # One rank is cheap, and most faults need no more.
            share = options.seqs if ranks == 1 else options.seqs // (2 * ranks)
            tester.sweep(options.seed * 1_000_000 + ranks * 100_000, share, ranks)
        return report(tester, time.monotonic() - begin_s)


if __name__ == "__main__":
    sys.exit(main())
