"""The service in transit from outside: where its program is, and what its status file says.

The service writes the file once a second (`status` in its configuration) and takes it away when it
ends, so what is left of a killed one names a process that is gone.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

from caesura import prefix

PROGRAM = "caesura-serve"


def program_path() -> str:
    """The service's program: where caesura.prefix leads to, or the PATH's.

    Raises RuntimeError, saying what to build, if there is none.
    """
    places = prefix.places("bin", "bin", lambda prefix: prefix.programs)
    for place in places:
        if os.access(place / PROGRAM, os.X_OK):
            return str(place / PROGRAM)
    if found := shutil.which(PROGRAM):
        return found
    raise RuntimeError(
        f"no {PROGRAM} in {', '.join(map(str, places))} or on the PATH; install UCX and libsodium "
        "(libucx-dev, libsodium-dev), then Caesura with CMake (docs/guide/install.md), and name "
        f"its prefix in {prefix.ROOT}"
    )


def default_status_path() -> Path:
    """Where a service writes its status whose configuration has neither `listen` nor `status`."""
    if runtime := os.environ.get("XDG_RUNTIME_DIR", ""):
        return Path(runtime) / "caesura.json"
    return Path(tempfile.gettempdir()) / f"caesura-{os.getuid()}.json"


def status_path(given: str | os.PathLike[str] | None) -> Path:
    """A configuration's status file (its name ends in .toml), or the file itself.

    Raises OSError, ValueError (a configuration that names none).
    """
    if given is None:
        return default_status_path()
    path = Path(given)
    if path.suffix != ".toml":
        return path
    config = tomllib.loads(path.read_text())
    if "status" in config:
        return Path(config["status"])
    if "listen" not in config:
        return default_status_path()
    raise ValueError(f'{path} names no status file; add status = "/a/path.json" and restart')


def read_status(given: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """What the service says of itself, with `alive`: is its process there, and `said_s`: how long
    ago it said so.

    Raises OSError, ValueError.
    """
    path = status_path(given)
    try:
        status = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist: no service writes it") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not a service's status: {error}") from None
    status["alive"] = is_service(status.get("process", 0))
    status["said_s"] = max(0.0, time.time() - status.get("time_s", 0.0))
    return status


def is_service(process: int) -> bool:
    """Is there such a process, and is it a service? A number may come again."""
    try:
        return Path(f"/proc/{int(process)}/comm").read_text().strip() == PROGRAM
    except OSError:
        return False


def end(status: dict[str, Any], at_once: bool = False) -> None:
    """Ask it to end when its last client has gone; or at once.

    Raises ValueError (no such process), OSError (another user's).
    """
    if not status["alive"]:
        raise ValueError(f"process {status.get('process')} is no service any more")
    os.kill(status["process"], signal.SIGQUIT if at_once else signal.SIGTERM)
