#!/usr/bin/env python3
"""Open a file at random instants of its run, and after kills inside its commits, by stock HDF5.

tests/commit_loop.cpp makes small dumps as fast as they are committed. Two campaigns:

  openings: while it runs, h5py opens the file again and again and reads the last dump it finds,
            and h5dump shows one opening in twenty. Both must see every dump that was reported.
  kills:    it gets SIGKILL while a commit changes what readers look at, and h5py, without
            `caesura recover`, must read every value of every dump that was reported.

Each refusal is counted by its cause. Looks before the first commit are not counted: HDF5 cannot
open the file then.

Run it by `tools/dev.py openings`. Exit status: 0 if nothing was refused and no value was wrong.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import h5py
from launching import NIGHTLY

H5DUMP_EVERY = 20
MOST_DUMPS = 400  # of a file
# Commits during one opening, from which on it may be refused (docs/reference/limits.md).
OVERTAKEN_BY = 4
# So long after a commit has begun to change what readers look at the kill comes at the latest.
KILL_WITHIN_NS = {False: 25_000, True: 150_000}  # durable: with syncs


class Loop:
    """The program, and what it says of itself."""

    def __init__(self, options: argparse.Namespace, durable: bool, dumps: int, *kill: int) -> None:
        """`kill`: after so many commits, and so many nanoseconds into the next."""
        self.file = options.place / "loop.h5"
        self.shared_file = options.place / "shared"
        for old in (self.file, self.shared_file):
            old.unlink(missing_ok=True)
        self.shared_file.write_bytes(bytes(16))
        with self.shared_file.open("r+b") as file:
            self.shared = mmap.mmap(file.fileno(), 16)
        command = [options.program, self.file, self.shared_file, dumps, int(durable), *kill]
        self.process = subprocess.Popen([str(word) for word in command])

    def in_place(self) -> bool:
        return self.shared[0] != 0

    def committed(self) -> int:
        return struct.unpack_from("<Q", self.shared, 8)[0]

    def runs(self) -> bool:
        return self.process.poll() is None

    def end(self) -> None:
        self.process.kill()
        code = self.process.wait()
        self.shared.close()
        if code not in (0, -signal.SIGKILL):
            sys.exit(f"commit_loop ended with {code}")


class Findings:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []

    def fault(self, what: str) -> None:
        self.faults.append(what.split("\n")[0])

    def forgive(self, before: int) -> None:
        """A busy machine stopped the reader for so long that it may find what was used again."""
        self.counts["openings that several commits have overtaken"] += 1
        if len(self.faults) > before:
            self.counts["of these refused"] += 1
            del self.faults[before:]

    def look(self, path: Path, committed: int, look: int) -> bool:
        """Open it once, if a commit was made. `committed`: so many dumps were reported before."""
        try:
            with path.open("rb") as file:
                is_hdf5 = file.read(8) == b"\x89HDF\r\n\x1a\n"
        except FileNotFoundError:
            is_hdf5 = False
        if not is_hdf5:
            if committed > 0:
                self.fault(f"no superblock, and {committed} dumps were reported")
            return False
        if look % H5DUMP_EVERY == 0:
            self.counts["openings by h5dump"] += 1
            self.see_by_h5dump(path, committed)
        else:
            self.counts["openings by h5py"] += 1
            self.see_by_h5py(path, committed, every=False)
        return True

    def see_by_h5py(self, path: Path, committed: int, every: bool) -> None:
        try:
            with h5py.File(path, "r") as file:
                found = sorted(int(name) for name in file["data"])
                if len(found) < committed:
                    self.fault(f"{committed} dumps were reported, found {found}")
                for n in found if every else found[-1:]:
                    values = file[f"data/{n}/meshes/n"][...]
                    if not (values == n).all():
                        self.fault("a dump has other values")
        except (OSError, KeyError, RuntimeError, ValueError) as error:
            self.fault(f"h5py: {error}")

    def see_by_h5dump(self, path: Path, committed: int) -> None:
        answer = subprocess.run(["h5dump", "-H", str(path)], capture_output=True, text=True)
        if answer.returncode != 0 or answer.stderr:
            self.fault(f"h5dump: {answer.stderr.strip() or answer.returncode}")
        elif answer.stdout.count('DATASET "n"') < committed:
            self.fault(f"h5dump shows less than {committed} dumps")


def openings(options: argparse.Namespace, draw: random.Random, findings: Findings) -> None:
    """While it runs."""
    looks = 0
    while looks < options.openings:
        loop = Loop(options, draw.choice([False, True]), draw.randint(5, MOST_DUMPS))
        while loop.runs() and looks < options.openings:
            committed = loop.committed()
            during = loop.in_place()
            before = len(findings.faults)
            if findings.look(loop.file, committed, looks):
                findings.counts["of them begun inside a commit"] += during
                looks += 1
            if loop.committed() - committed >= OVERTAKEN_BY:
                findings.forgive(before)
        loop.end()
        say(f"{looks} openings")


def kills(options: argparse.Namespace, draw: random.Random, findings: Findings) -> None:
    """Until so many have come inside a commit."""
    inside = runs = 0
    while inside < options.kills:
        durable = draw.choice([False, True])
        later_ns = draw.randint(0, KILL_WITHIN_NS[durable])
        loop = Loop(options, durable, MOST_DUMPS, draw.randint(1, 20), later_ns)
        loop.process.wait()
        was_inside, committed = loop.in_place(), loop.committed()
        loop.end()
        findings.counts["kills inside a commit" if was_inside else "kills between commits"] += 1
        findings.see_by_h5py(loop.file, committed, every=True)
        inside += was_inside
        runs += 1
        if runs % 100 == 0:
            say(f"{inside} kills inside a commit")


def say(progress: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{progress}   ", end="", file=sys.stderr, flush=True)


def main() -> int:
    top = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    build = Path(os.environ.get("CAESURA_BUILD", "build"))
    top.add_argument("--openings", type=int, default=20000)
    top.add_argument("--kills", type=int, default=5000)
    top.add_argument("--nightly-times", type=int, default=1, help="of both, with CAESURA_NIGHTLY")
    top.add_argument("--seed", type=int, default=random.SystemRandom().randint(0, 2**31))
    top.add_argument("--program", type=Path, default=build / "tests" / "commit_loop")
    options = top.parse_args()
    if NIGHTLY:
        options.openings *= options.nightly_times
        options.kills *= options.nightly_times
    print(f"seed {options.seed}", flush=True)
    draw, findings = random.Random(options.seed), Findings()
    options.place = Path(tempfile.mkdtemp(prefix="caesura-openings-"))
    try:
        openings(options, draw, findings)
        kills(options, draw, findings)
    finally:
        shutil.rmtree(options.place, ignore_errors=True)
    for what, count in sorted(findings.counts.items()):
        print(f"{count:7}  {what}")
    for what, count in Counter(findings.faults).most_common():
        print(f"{count:7}  refused, or wrong: {what}")
    print(f"{len(findings.faults)} refused or wrong")
    return 1 if findings.faults else 0


if __name__ == "__main__":
    sys.exit(main())
