"""Does HDF5's VOL connector load, and what would it do?

All questions are asked in a process of their own, with the environment that an application would
get: HDF5 chooses its connector once, when it starts, and this process may hold another HDF5.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

NAME = "caesura"
LIBRARY = "libcaesura_vol.so"
_TIMEOUT_S = 60


def connector_path() -> str:
    """The directory with libcaesura_vol.so, for HDF5_PLUGIN_PATH.

    The first of HDF5_PLUGIN_PATH's that has it, then the package's own.
    Raises RuntimeError if there is none.
    """
    places = [Path(p) for p in os.environ.get("HDF5_PLUGIN_PATH", "").split(":") if p]
    places.append(Path(__file__).parent / "vol")
    if "CAESURA_BUILD" in os.environ:
        places.append(Path(os.environ["CAESURA_BUILD"]) / "vol")
    for place in places:
        if (place / LIBRARY).exists():
            return str(place)
    raise RuntimeError(
        f"no {LIBRARY} in {', '.join(map(str, places))}; build the target caesura_vol, or name its "
        "directory in HDF5_PLUGIN_PATH"
    )


def check(file: str = "", config: str = "") -> dict[str, Any]:
    """What an application would meet; `file` is read, and nothing is written but a file in a
    temporary directory.

    Returns loaded (bool), connector (the name HDF5 gives for a file it made), plugin (path),
    environment (the two variables as they were set for the question), messages (what HDF5 printed),
    and from the connector hdf5, threadsafe, configuration and, with a file, datasets and
    rules_without_use. error is there if something cannot be read.
    """
    directory = connector_path()
    env = dict(os.environ)
    paths = [p for p in env.get("HDF5_PLUGIN_PATH", "").split(":") if p]
    env["HDF5_PLUGIN_PATH"] = ":".join(paths if directory in paths else [directory, *paths])
    if config or not env.get("HDF5_VOL_CONNECTOR"):
        env["HDF5_VOL_CONNECTOR"] = f"{NAME} config={config}" if config else NAME
    words = env["HDF5_VOL_CONNECTOR"].split(" config=", 1)
    used_config = words[1].strip() if len(words) == 2 else ""
    plugin = str(Path(directory) / LIBRARY)
    answer: dict[str, Any] = {
        "plugin": plugin,
        "environment": {name: env[name] for name in ("HDF5_PLUGIN_PATH", "HDF5_VOL_CONNECTOR")},
    }
    loaded = _ask(env, "connector", plugin)
    answer["connector"] = loaded.get("connector", "")
    answer["loaded"] = answer["connector"] == NAME
    answer["messages"] = loaded["messages"]
    # Of the plugin itself, in a process whose HDF5 cannot fail for want of it.
    env.pop("HDF5_VOL_CONNECTOR")
    answer.update(_ask(env, "describe", plugin, used_config, file))
    answer.pop("messages_of_describe", None)
    return answer


def _ask(env: dict[str, str], *question: str) -> dict[str, Any]:
    """Run this module as a program; a process that dies has said nothing."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), *question],
        env=env,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_TIMEOUT_S,
        check=False,
    )
    answer: dict[str, Any] = {}
    if done.returncode == 0 and done.stdout:
        answer = json.loads(done.stdout)
    elif question[0] == "describe":
        answer["error"] = f"{question[1]} cannot be loaded: {done.stderr.strip()[-500:]}"
    key = "messages" if question[0] == "connector" else "messages_of_describe"
    answer[key] = done.stderr.strip()
    return answer


# ------------------------------------------------------------- inside the process of its own


def _connector_of_new_file(library: ctypes.CDLL) -> dict[str, Any]:
    """The name of the connector of a file that HDF5 makes by default."""
    for name in ("H5Fcreate", "H5Fclose", "H5open", "H5VLget_connector_name"):
        getattr(library, name).restype = ctypes.c_int64
    if library.H5open() < 0:
        return {"connector": ""}
    truncate, default = ctypes.c_uint(2), ctypes.c_int64(0)
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory) / "probe.h5").encode()
        file = ctypes.c_int64(library.H5Fcreate(path, truncate, default, default))
        name = ctypes.create_string_buffer(256)
        if file.value < 0 or library.H5VLget_connector_name(file, name, ctypes.c_size_t(256)) < 0:
            return {"connector": ""}
        library.H5Fclose(file)
    return {"connector": name.value.decode(errors="replace")}


def _describe(library: ctypes.CDLL, config: str, file: str) -> dict[str, Any]:
    describe = library.caesura_vol_describe
    describe.restype = ctypes.c_char_p  # not freed: the process ends
    text = describe(config.encode(), file.encode())
    return json.loads(text) if text else {"error": "the connector ran out of memory"}


def _main(question: str, plugin: str, *rest: str) -> None:
    # The plugin brings the HDF5 that it was built for; its symbols are found through it.
    library = ctypes.CDLL(plugin, mode=ctypes.RTLD_GLOBAL)
    if question == "connector":
        answer = _connector_of_new_file(library)
    else:
        answer = _describe(library, *rest)
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    _main(*sys.argv[1:])
