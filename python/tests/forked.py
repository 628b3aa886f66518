"""A command of `caesura` by a process that forks for it (command_line.py).

    forked.py SOCKET WORDS...: as `python -m caesura WORDS...`

Part of the tests; no test by itself. It imports little, so that it starts quickly.
"""

import json
import os
import socket
import sys


def ask(path: str, words: list[str], folder: str, env: dict[str, str], files: list[int]) -> int:
    """Its exit code; -256 if it has to be started, for its process would not be the same.

    files: its standard input, output and errors.
    """
    wanted = json.dumps({"words": words, "folder": folder, "env": env}).encode()
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(path)
        socket.send_fds(asking, [len(wanted).to_bytes(4, "little")], files)
        asking.sendall(wanted)
        answer = asking.recv(16)
    return int(answer)


def main() -> None:
    """What the shell calls `caesura`. A service goes on, and gets signals: it is started."""
    path, *words = sys.argv[1:]
    goes_on = words[:1] == ["serve"] and words[1:2] not in (["status"], ["drain"], ["stop"])
    code = -256 if goes_on else ask(path, words, os.getcwd(), dict(os.environ), [0, 1, 2])
    if code == -256:
        os.execv(sys.executable, [sys.executable, "-m", "caesura", *words])
    sys.exit(code if code >= 0 else 128 - code)  # as a shell says that a signal ended it


if __name__ == "__main__":
    main()
