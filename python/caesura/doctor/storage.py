"""The file system under a directory, its stripes and its locks.

The parts for Lustre and GPFS have not been run on one.
"""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import tempfile
from pathlib import Path

from caesura.doctor.finding import (
    ABSENT,
    MUST_SET,
    NOTE,
    OK,
    Ask,
    Finding,
    ask_program,
    check,
    size,
)

_MOUNTS = "proc/self/mounts"
_STRIPES = 8  # one file's bandwidth is that of so many targets

_UNKNOWN = f"the file system is not known: /{_MOUNTS} does not name it"
_NODES = 'Set durability = "complete" where ranks of several nodes open connector files alone.'
_MEMORY = "This is memory, and it is gone with the machine: use another directory for results."
_REMARKS = {
    "nfs": _NODES,
    "nfs4": _NODES,
    "tmpfs": _MEMORY,
    "ramfs": _MEMORY,
    "overlay": "This is a container's own layer, slow and gone with it: mount a directory there.",
}


def mount_of(ask: Ask) -> tuple[str, str, set[str]]:
    """Place, type and options of the mount that holds the directory; empty where a container does
    not show it."""
    directory = ask.directory.resolve()
    best = ("", "", set[str]())
    try:
        lines = (ask.root / _MOUNTS).read_text(errors="replace").splitlines()
    except OSError:
        return best
    for line in lines:
        _, place, kind, options, *_ = line.split()
        place = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), place)
        # What was mounted later covers what was mounted before.
        if directory.is_relative_to(place) and len(place) >= len(best[0]):
            best = (place, kind, set(options.split(",")))
    return best


@check("file system", "how fast and how safe files are is decided here")
def file_system(ask: Ask) -> Finding:
    place, kind, _ = mount_of(ask)
    numbers = os.statvfs(ask.directory)
    free = numbers.f_bavail * numbers.f_frsize
    known = f"{kind}, mounted at {place}" if kind else _UNKNOWN
    found = f"{known}; {size(free)} free"
    try:
        tempfile.TemporaryFile(dir=ask.directory).close()
    except OSError as error:
        do = "Name a directory that dumps can be written to: `caesura doctor DIRECTORY`."
        return Finding(MUST_SET, f"{found}; no file can be made here: {error.strerror}", do)
    if kind in _REMARKS:
        return Finding(NOTE, found, _REMARKS[kind])
    return Finding(OK, found)


@check("stripes", "one file on one target has the bandwidth of one; ranks that share a stripe wait")
def stripes(ask: Ask) -> Finding:
    kind = mount_of(ask)[1]
    if kind == "lustre":
        return _lustre(ask.directory)
    if kind == "gpfs":
        block = os.statvfs(ask.directory).f_bsize
        return Finding(NOTE, f"GPFS, blocks of {block} bytes", _advice(block))
    if not kind:
        return Finding(ABSENT, _UNKNOWN)
    return Finding(ABSENT, f"{kind} has no stripes that can be asked about")


def _advice(bytes_: int) -> str:
    """Nothing where a Writer would refuse it."""
    possible = 4096 <= bytes_ <= 1 << 30 and bytes_ & (bytes_ - 1) == 0
    return f"Give Writers stripe_bytes = {bytes_}." if possible else ""


def _lustre(directory: Path) -> Finding:
    said = ask_program("lfs", "getstripe", "-d", str(directory))
    if said is None:
        return Finding(NOTE, "Lustre, but no lfs on the PATH",
                       "Ask on a node that has it: `lfs getstripe -d DIRECTORY`.")  # fmt: skip
    # Of a layout in parts the last: the end of a large file is there.
    counts = re.findall(r"stripe_count:\s*(-?\d+)", said)
    sizes = re.findall(r"stripe_size:\s*(\d+)", said)
    if not counts:
        return Finding(NOTE, f"Lustre; lfs does not say stripes: {said[:100]}")
    count, bytes_ = int(counts[-1]), int(sizes[-1]) if sizes else 0
    shown = "all targets" if count == -1 else f"{count} target{'s' if count != 1 else ''}"
    found = f"Lustre, a file on {shown}, stripes of {bytes_ or 'the default'} bytes"
    if count in (0, 1):  # 0: the file system's default, which is 1 unless changed
        command = f"lfs setstripe -c {_STRIPES} {shlex.quote(str(directory))}"
        do = f"Before the first file: {command} (or what your site advises). {_advice(bytes_)}"
        return Finding(MUST_SET, found, do.rstrip(), commands=(command,))
    return Finding(NOTE, found, _advice(bytes_))


@check("locks", "one writer has a file at a time; a lock says who")
def locks(ask: Ask) -> Finding:
    _, kind, options = mount_of(ask)
    try:
        file = tempfile.TemporaryFile(dir=ask.directory)  # noqa: SIM115  closed below
    except OSError:
        return Finding(NOTE, "not tried: no file can be made here")
    try:
        with file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        do = "Ask for a mount with flock, or choose another directory."
        return Finding(MUST_SET, f"flock fails here: {error.strerror}", do)
    if kind == "lustre" and "localflock" in options:
        return Finding(NOTE, "locks hold on this node alone (localflock)", _NODES)
    return Finding(OK, "flock works here")
