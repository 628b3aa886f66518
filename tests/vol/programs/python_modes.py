"""Goal: whichever way a file cannot be opened, h5py raises what it raises natively.

Programs look at the class: h5py's own mode "a" creates a file only where opening it has raised
FileNotFoundError, which h5py makes of the errno in HDF5's error stack. Each state of a path is met
by each mode in four ways (WAYS).
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import h5py
from mpi4py import MPI
from vol_check import DIRECTORY, comm

MODES = ("r", "r+", "w", "w-", "x", "a")
GOOD = DIRECTORY / "good_to_copy.h5"
NONE, DIR, IS = "FileNotFoundError", "IsADirectoryError", "FileExistsError"
ANY, HELD, NOT_ALLOWED = "OSError", "BlockingIOError", "PermissionError"
# Rank 0 alone, without and with the MPI-IO driver; all ranks with it; and all of them at once
# without it, each for itself.
WAYS = {
    "alone": {},
    "alone_mpio": {"driver": "mpio", "comm": MPI.COMM_SELF},
    "together": {"driver": "mpio", "comm": comm},
    "at_once": {},
}
# By state of the path: what becomes of each mode in a process alone. With the MPI-IO driver it is
# the same where it is "ok" and OSError where it is not; that driver takes no locks.
EXPECTED = {
    "missing": (NONE, NONE, "ok", "ok", "ok", "ok"),
    "no_parent": (NONE, NONE, NONE, NONE, NONE, NONE),
    "directory": (DIR, DIR, DIR, IS, IS, DIR),
    "text": (ANY, ANY, "ok", IS, IS, ANY),
    "short": (ANY, ANY, "ok", IS, IS, ANY),
    "good": ("ok", "ok", "ok", IS, IS, "ok"),
    "locked": (HELD, HELD, HELD, IS, IS, HELD),
    "unreadable": (NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, IS, IS, NOT_ALLOWED),
    "read_only": ("ok", NOT_ALLOWED, NOT_ALLOWED, IS, IS, NOT_ALLOWED),
    "closed_directory": (NONE, NONE, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED),
}
# What the state forbids. They lie where an ordinary user may look.
PERMISSIONS = {"unreadable": 0o000, "read_only": 0o444, "closed_directory": 0o555}
NOBODY = 65534


def open_place() -> Path:
    """A directory that every user may enter, the same on all ranks."""
    place = Path(tempfile.mkdtemp()) if comm.rank == 0 else None
    if place:
        place.chmod(0o777)
    return comm.bcast(place)


@contextlib.contextmanager
def ordinary_user() -> Iterator[None]:
    """Root may do everything: for the time of a call the process is another user."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def prepare(state: str, name: str) -> str:
    """A path in this state, the same on all ranks."""
    place = PLACE if state in PERMISSIONS else DIRECTORY
    if state in ("no_parent", "closed_directory"):
        place = place / f"in_{name}"
    path = place / name
    if comm.rank == 0:
        if state == "directory":
            path.mkdir()
        elif state == "text":
            path.write_text("this is no HDF5 file\n" * 200)
        elif state == "closed_directory":
            place.mkdir()
        elif state not in ("missing", "no_parent"):
            shutil.copy(GOOD, path)
        if state == "short":
            os.truncate(path, path.stat().st_size // 2)
        if state in PERMISSIONS:
            (place if state == "closed_directory" else path).chmod(PERMISSIONS[state])
    comm.barrier()
    return str(path)


def outcome(path: str, mode: str, way: str) -> str:
    """What becomes of it: "ok", or the name of the exception's class."""
    user = ordinary_user() if path.startswith(str(PLACE)) else contextlib.nullcontext()
    added = f"added_{comm.rank}" if way == "at_once" else "added"
    try:
        with user, h5py.File(path, mode, **WAYS[way]) as file:
            if mode != "r":
                file.create_dataset(added, data=[1.0, 2.0])
    except Exception as error:  # which one is what is tested
        return type(error).__name__
    return "ok"


def outcomes(path: str, mode: str, way: str, locked: bool) -> list[str]:
    """Of the ranks that call; a lock is that of another program that writes to the file."""
    found = None
    with open(path, "rb") if comm.rank == 0 and locked else contextlib.nullcontext() as holder:
        if holder:
            fcntl.flock(holder, fcntl.LOCK_EX)
        comm.barrier()
        if comm.rank == 0 or way in ("together", "at_once"):
            found = outcome(path, mode, way)
        by_rank = comm.allgather(found)
    return [each for each in by_rank if each]


def is_native(state: str, mode: str, way: str, wanted: str, found: list[str]) -> bool:
    """Whether the outcomes are what they are natively."""
    if "driver" in WAYS[way] and wanted != "ok":
        return set(found) == {ANY}
    if way != "at_once" or mode == "r" or wanted not in ("ok", ANY):
        return set(found) == {wanted}
    # One writer at a time has the file. Nobody knows which rank comes first, or whether another one
    # finds its file when it is done, locked, or made and still empty.
    if wanted == ANY:
        return set(found) <= {ANY, HELD}
    first_is_known = (state, mode) != ("missing", "a")  # an empty file may be locked by a second
    return set(found) <= {"ok", HELD, IS, ANY} and ("ok" in found or not first_is_known)


PLACE = open_place()
if comm.rank == 0:
    with h5py.File(GOOD, "w") as file:
        # Integers in the other order of bytes become no blocks: the copies are HDF5's own files.
        file.create_dataset("values", data=range(5000), dtype=">i8")
wrong = []
for state, expected in EXPECTED.items():
    for mode, wanted in zip(MODES, expected, strict=True):
        for way in WAYS:
            if state == "locked" and "driver" in WAYS[way]:
                continue
            # Every .h5 is compared with the native one.
            kind = "h5" if wanted == "ok" and way != "at_once" else "none"
            path = prepare(state, f"{state}_{mode}_{way}.{kind}")
            found = outcomes(path, mode, way, state == "locked")
            if not is_native(state, mode, way, wanted, found):
                wrong.append(f"{state}, '{mode}', {way}: {found}, not {wanted}")
if comm.rank == 0:
    shutil.rmtree(PLACE)
assert not wrong, "\n".join(wrong)
