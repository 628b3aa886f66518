"""A caesura-serve process for tests and measurements. Standard library only.

with Service(program, directory) as service:
    subprocess.run([...], env={**os.environ, "TRANSPORT": service.address})
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any


class Service:
    """Started when it is made; killed when the block ends, if it has not ended before."""

    def __init__(
        self, program: str | list[str], writes: Path, tables: str = "", **keys: Any
    ) -> None:
        """program: the command before the configuration. writes: clients may write below it.
        tables: more of the configuration, in TOML.
        keys: of its configuration, as in src/transit/service/settings.hpp."""
        # A socket's path is short, and a test's directory may not be.
        self.place = Path(tempfile.mkdtemp(prefix="caesura-serve-"))
        self.socket = self.place / "socket"
        self.status_path = self.place / "status.json"
        lines = [f'status = "{self.status_path}"']
        keys.setdefault("listen", [f"unix:{self.socket}"])
        lines += [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        self.config = self.place / "serve.toml"
        self.config.write_text(
            "\n".join([*lines, "[[write]]", f'directory = "{writes}"', tables]) + "\n"
        )
        self.command = [*([program] if isinstance(program, str) else program), str(self.config)]
        self.start()

    def start(self) -> None:
        """Also another one, at the same place, after it has ended."""
        self.process = subprocess.Popen(
            self.command,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        if not self.address.startswith("service:"):
            self.process.wait()
            raise RuntimeError(f"the service did not start: {self.address}")

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.end(signal.SIGKILL)
        for left in self.place.iterdir():
            left.unlink()
        self.place.rmdir()

    def end(self, with_signal: int = signal.SIGTERM, timeout_s: float = 60) -> int:
        """Its exit code."""
        self.process.send_signal(with_signal)
        code = self.process.wait(timeout_s)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code

    def status(self, until: Any = None, timeout_s: float = 60) -> dict[str, Any]:
        """What it says, once `until` is true of it; it says something new every second."""
        end = time.monotonic() + timeout_s
        while True:
            try:
                told = json.loads(self.status_path.read_text())
                if until is None or until(told):
                    return told
            except FileNotFoundError:
                pass
            if time.monotonic() > end:
                raise TimeoutError("the service's status has not become what is wanted")
            time.sleep(0.05)

    def rss_bytes(self) -> int:
        """Resident memory of its own; shared memory of clients is not counted."""
        fields = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return sum(int(f.split()[1]) for f in fields if f.startswith("RssAnon")) * 1024

    def descriptors(self) -> int:
        """Open ones."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def threads(self) -> int:
        """Running ones."""
        return len(os.listdir(f"/proc/{self.process.pid}/task"))
