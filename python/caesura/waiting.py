"""Is a file complete? For those who wait for what a run writes.

No lock is asked for: neither the run nor a reader is kept from the file.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py

from caesura.contents import is_ours

LOOK_S = 0.2  # between two looks, at least,
RESTS = 10  # and so many times what a look takes
_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def what_is_missing(core: Any, path: Path) -> str:
    """Why a file is not complete, in words; empty: it is."""
    try:
        if path.stat().st_size == 0:
            return "it is empty"
        if not is_ours(path):
            with h5py.File(path, "r", locking=False):
                return ""
        with path.open("rb") as file:
            if file.read(len(_SIGNATURE)) != _SIGNATURE:
                return "nothing of it is committed yet"
        info = core.OpenFile(str(path), lock=False).info()
    except FileNotFoundError:
        return "it is not there"
    except (PermissionError, IsADirectoryError, NotADirectoryError):
        raise
    except (OSError, RuntimeError) as error:  # also in the moment in which a commit is written
        return str(error)
    except Exception as error:
        if type(error).__name__ != "CorruptError":
            raise
        return str(error)
    return "blocks of it are still being written" if info["needs_recover"] else ""


def wait_for(
    core: Any,
    paths: list[Path],
    timeout_s: float,
    tell: Callable[[Path, str, float], None],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[Path, str]:
    """Wait until all files are complete.

    @param tell  is called after each look: a file, what it lacks, seconds waited.
    @return      what the files lack that are not complete after timeout_s; empty: all are.
    """
    begin_s = clock()
    missing = dict.fromkeys(paths, "")
    while True:
        looked_s = clock()
        missing = {path: what_is_missing(core, path) for path in missing}
        missing = {path: why for path, why in missing.items() if why}
        waited_s = clock() - begin_s
        if not missing or waited_s >= timeout_s:
            return missing
        for path, why in missing.items():
            tell(path, why, waited_s)
        # A large file takes time to look at, which the run may want.
        rest_s = max(LOOK_S, RESTS * (clock() - looked_s))
        sleep(min(rest_s, timeout_s - waited_s))
