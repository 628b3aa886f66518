"""Does HDF5's VOL connector load, and what would it do?

All questions are asked in a process of their own, with the environment that an application would
get: HDF5 chooses its connector once, when it starts, and this process may hold another HDF5.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

NAME = "caesura"
LIBRARY = "libcaesura_vol.so"
_TIMEOUT_S = 60  # to load HDF5 and make one file

Watch = Callable[[str, int, int], None]  # told what is being done, bytes done, and all bytes


def connector_path() -> str:
    """The directory with libcaesura_vol.so, for HDF5_PLUGIN_PATH.

    The first of HDF5_PLUGIN_PATH's that has it, then those of caesura.prefix. Raises RuntimeError
    if there is none.
    """
    from caesura import prefix  # not at the top: this file is also a program

    places = [Path(p) for p in os.environ.get("HDF5_PLUGIN_PATH", "").split(":") if p]
    places += prefix.places("vol", "vol", lambda prefix: prefix.connector)
    for place in places:
        if (place / LIBRARY).exists():
            return str(place)
    raise RuntimeError(
        f"no {LIBRARY} in {', '.join(map(str, places))}; it is made for one MPI and one HDF5: "
        f"install Caesura with CMake (docs/guide/install.md) and name its prefix in {prefix.ROOT}, "
        "or the connector's directory in HDF5_PLUGIN_PATH"
    )


def hdf5_root() -> str:
    """The prefix of the parallel HDF5 that the connector was made for, which applications use too:
    its headers, libraries and compiler wrapper. Raises RuntimeError if there is no connector, or
    nobody knows its HDF5."""
    directory = connector_path()
    if root := _root_of(directory):
        return root
    raise RuntimeError(f"{directory}/{LIBRARY} does not find its HDF5: set LD_LIBRARY_PATH")


def _root_of(directory: str) -> str:
    """The connector's HDF5 in this directory; empty if it is not known."""
    from caesura import prefix

    if root := prefix.hdf5_of(Path(directory)):
        return str(root)
    # A wheel built with MPI, for one: the connector itself finds its HDF5.
    library = _ask(dict(os.environ), "hdf5", f"{directory}/{LIBRARY}").get("hdf5")
    return str(Path(library).parent.parent) if library else ""


def _loader_variables(root: str) -> dict[str, str]:
    """LD_LIBRARY_PATH, if programs do not find the libraries of this HDF5 without."""
    library = next(Path(root).glob("lib*/libhdf5.so"), None) if root else None
    if library is None or _ask(dict(os.environ), "finds", str(library)).get("found"):
        return {}
    paths = [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path]
    return {"LD_LIBRARY_PATH": ":".join([str(library.parent), *paths])}


def check(file: str = "", config: str = "", watch: Watch = lambda *_: None) -> dict[str, Any]:
    """What an application would meet; `file` is read, and nothing is written but a file in a
    temporary directory. It takes as long as reading all values takes, and `watch` is told of it.

    Returns loaded (bool), connector (the name HDF5 gives for a file it made), plugin (path),
    environment (the variables as they were set for the question; LD_LIBRARY_PATH is one of them if
    the loader needs it to find HDF5), hdf5_root (prefix of that HDF5; empty: not known), messages
    (what HDF5 printed), and from the connector hdf5, threadsafe, configuration and, with a file,
    datasets and rules_without_use. error is there if something cannot be read, transport_problem
    if the service that the configuration names is not one that could be used now.
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
    root = _root_of(directory)
    loader = _loader_variables(root)
    env.update(loader)
    names = ("HDF5_PLUGIN_PATH", "HDF5_VOL_CONNECTOR", *loader)
    answer: dict[str, Any] = {
        "plugin": plugin,
        "hdf5_root": root,
        "environment": {name: env[name] for name in names},
    }
    loaded = _ask(env, "connector", plugin)
    answer["connector"] = loaded.get("connector", "")
    answer["loaded"] = answer["connector"] == NAME
    # The connector's own line says that our file is not in an MPI job.
    said = [line for line in loaded["messages"].splitlines() if not line.startswith("caesura: ")]
    answer["messages"] = "\n".join(said)
    # Of the plugin itself, in a process whose HDF5 cannot fail for want of it.
    env.pop("HDF5_VOL_CONNECTOR")
    answer.update(_ask_to_describe(env, watch, plugin, used_config, file))
    # Not at the top: this file is also a program, which loads no other HDF5.
    from caesura.transport_check import problem_of

    configuration = answer.get("configuration", "")
    transport = tomllib.loads(configuration).get("transport", "")
    if problem := problem_of(transport):
        answer["transport_problem"] = problem
    return answer


def _command(*question: str) -> list[str]:
    """This module as a program."""
    return [sys.executable, str(Path(__file__).resolve()), *question]


def _ask(env: dict[str, str], question: str, library: str) -> dict[str, Any]:
    """A process that dies has said nothing."""
    try:
        done = subprocess.run(
            _command(question, library),
            env=env,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(
            f"HDF5 has not been loaded, or has not made a file in {tempfile.gettempdir()}, within "
            f"{_TIMEOUT_S:g} s; is the file system of that directory, or of the plugins, slow? "
            "TMPDIR names another"
        ) from None
    said = done.returncode == 0 and done.stdout
    return {**(json.loads(done.stdout) if said else {}), "messages": done.stderr.strip()}


def _ask_to_describe(env: dict[str, str], watch: Watch, *rest: str) -> dict[str, Any]:
    """What the connector says; how far it is in lines before that."""
    answer: dict[str, Any] = {}
    with (
        tempfile.TemporaryFile("w+", errors="replace") as messages,
        subprocess.Popen(
            _command("describe", *rest),
            env=env,
            stdout=subprocess.PIPE,
            stderr=messages,
            text=True,
            errors="replace",
        ) as process,
    ):
        try:
            for line in process.stdout:
                said = json.loads(line)
                if "doing" in said:
                    watch(said["doing"], said["done_bytes"], said["all_bytes"])
                else:
                    answer = said
        except BaseException:  # it may be reading for long
            process.kill()
            raise
        if process.wait() != 0 or not answer:
            messages.seek(0)
            answer = {"error": f"{rest[0]} cannot be loaded: {messages.read().strip()[-500:]}"}
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


def _mapped_hdf5() -> str | None:
    """The HDF5 in this process."""
    with open("/proc/self/maps") as maps:
        paths = [line.split(maxsplit=5)[-1].strip() for line in maps if "/libhdf5" in line]
    return next((path for path in paths if re.match(r"libhdf5(_\w+)?\.so", Path(path).name)), None)


def _is_found(library: str) -> bool:
    """Whether the loader finds it by the name that programs ask for: of the names beside the file
    itself, without the link for compilers, the shortest."""
    file = Path(library).resolve()
    names = [one.name for one in file.parent.glob("libhdf5*.so.*") if one.resolve() == file]
    try:
        ctypes.CDLL(min(names, key=len, default=file.name))
    except OSError:
        return False
    return _mapped_hdf5() == str(file)


def _say(document: dict[str, Any]) -> None:
    """One line on stdout."""
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def _say_how_far(doing: bytes, done_bytes: int, all_bytes: int) -> None:
    _say({"doing": doing.decode(), "done_bytes": done_bytes, "all_bytes": all_bytes})


def _describe(library: ctypes.CDLL, config: str, file: str) -> dict[str, Any]:
    kind = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64)
    watching = kind(_say_how_far)
    if hasattr(library, "caesura_vol_watch"):  # not in a plugin that is older than this
        library.caesura_vol_watch(watching)
    describe = library.caesura_vol_describe
    describe.restype = ctypes.c_char_p  # not freed: the process ends
    text = describe(config.encode(), file.encode())
    return json.loads(text) if text else {"error": "the connector ran out of memory"}


def _main(question: str, plugin: str, *rest: str) -> None:
    if question == "finds":
        _say({"found": _is_found(plugin)})
        return
    # The plugin brings the HDF5 that it was built for; its symbols are found through it.
    library = ctypes.CDLL(plugin, mode=ctypes.RTLD_GLOBAL)
    if question == "connector":
        answer = _connector_of_new_file(library)
    elif question == "hdf5":
        answer = {"hdf5": _mapped_hdf5()}
    else:
        answer = _describe(library, *rest)
    _say(answer)


if __name__ == "__main__":
    _main(*sys.argv[1:])
