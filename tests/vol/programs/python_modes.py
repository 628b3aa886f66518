"""Goal: whichever way a file cannot be opened, h5py raises what it raises natively.

Programs look at the class: h5py's own mode "a" creates a file only where opening it has raised
FileNotFoundError, which h5py makes of the errno in HDF5's error stack.
"""

import fcntl
import os
import shutil

import h5py
from vol_check import DIRECTORY, comm

MODES = ("r", "r+", "w", "w-", "x", "a")
GOOD = DIRECTORY / "good_to_copy.h5"
NONE, DIR, IS = "FileNotFoundError", "IsADirectoryError", "FileExistsError"
ANY, HELD = "OSError", "BlockingIOError"
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
}


def prepare(state: str, name: str) -> str:
    """A path in this state, the same on all ranks."""
    path = DIRECTORY / "nowhere" / name if state == "no_parent" else DIRECTORY / name
    if comm.rank == 0:
        if state == "directory":
            path.mkdir()
        elif state == "text":
            path.write_text("this is no HDF5 file\n" * 200)
        elif state in ("short", "good", "locked"):
            shutil.copy(GOOD, path)
        if state == "short":
            os.truncate(path, path.stat().st_size // 2)
    comm.barrier()
    return str(path)


def outcome(path: str, mode: str, **options: object) -> str:
    """What becomes of it: "ok", or the name of the exception's class."""
    try:
        with h5py.File(path, mode, **options) as file:
            if mode != "r":
                file.create_dataset("added", data=[1.0, 2.0])
    except Exception as error:  # which one is what is tested
        return type(error).__name__
    return "ok"


def alone(path: str, mode: str, locked: bool) -> str:
    """The same by rank 0; a lock is that of another program that writes to the file."""
    found = None
    if comm.rank == 0 and locked:
        with open(path, "rb") as holder:
            fcntl.flock(holder, fcntl.LOCK_EX)
            found = outcome(path, mode)
    elif comm.rank == 0:
        found = outcome(path, mode)
    return comm.bcast(found)


if comm.rank == 0:
    with h5py.File(GOOD, "w") as file:
        file["values"] = list(range(5000))
wrong = []
for state, expected in EXPECTED.items():
    for mode, wanted in zip(MODES, expected, strict=True):
        kind = "h5" if wanted == "ok" else "none"  # every .h5 is compared with the native one
        path = prepare(state, f"{state}_{mode}_alone.{kind}")
        if (found := alone(path, mode, state == "locked")) != wanted:
            wrong.append(f"{state}, '{mode}' by one rank: {found}, not {wanted}")
        if state == "locked":
            continue
        path = prepare(state, f"{state}_{mode}_together.{kind}")
        together = "ok" if wanted == "ok" else ANY
        by_rank = comm.allgather(outcome(path, mode, driver="mpio", comm=comm))
        if set(by_rank) != {together}:
            wrong.append(f"{state}, '{mode}' by all ranks: {by_rank}, not {together}")
assert not wrong, "\n".join(wrong)
