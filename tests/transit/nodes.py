"""Two nodes on one machine: network namespaces with a shaped cable between them, each with a host
name and an IPC namespace of its own. Root only. Standard library only.

with Cable(rate="1gbit") as cable:
    subprocess.Popen(cable.command(0, ["a-program"]))
    cable.cut()

Files and processes are those of the machine: the nodes share a file system, as a cluster's do.
"""

from __future__ import annotations

import os
import subprocess
import time

ADDRESSES = ("10.78.0.1", "10.78.0.2")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


class NotHere(RuntimeError):
    """This machine lets nobody make nodes."""


class Cable:
    """Both nodes and the cable; they are gone when the block ends."""

    def __init__(self, rate: str = "", burst: str = "256kb") -> None:
        """rate: of each direction, in tc's words ("1gbit"); empty: as fast as it goes."""
        name = os.getpid()
        self.nodes = (f"caesura-a{name}", f"caesura-b{name}")
        self.ends = (f"ca{name}", f"cb{name}")
        try:
            for node in self.nodes:
                _ip("netns", "add", node)
            _ip("link", "add", self.ends[0], "netns", self.nodes[0], "type", "veth",
                "peer", "name", self.ends[1], "netns", self.nodes[1])  # fmt: skip
            for node, end, address in zip(self.nodes, self.ends, ADDRESSES, strict=True):
                _ip("-n", node, "addr", "add", f"{address}/24", "dev", end)
                _ip("-n", node, "link", "set", end, "up")
                _ip("-n", node, "link", "set", "lo", "up")
                if rate:
                    self._run(node, "tc", "qdisc", "add", "dev", end, "root", "tbf",
                              "rate", rate, "burst", burst, "latency", "50ms")  # fmt: skip
            # A cable that has just been plugged in carries nothing at first.
            while not all(" state UP " in self._link(number) for number in (0, 1)):
                time.sleep(0.01)
        except (OSError, subprocess.CalledProcessError) as error:
            self.remove()
            raise NotHere(f"no nodes here: {error}") from error

    def __enter__(self) -> Cable:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """What is there of it."""
        for node in self.nodes:
            subprocess.run(["ip", "netns", "del", node], capture_output=True)

    @staticmethod
    def _run(node: str, *words: str) -> str:
        command = ["ip", "netns", "exec", node, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def _link(self, number: int) -> str:
        command = ["ip", "-n", self.nodes[number], "link", "show", "dev", self.ends[number]]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def command(self, number: int, words: list[str]) -> list[str]:
        """`words`, to be run on node 0 or 1; the process keeps its pid."""
        host = f'hostname {self.nodes[number]}; exec "$@"'
        return ["ip", "netns", "exec", self.nodes[number],
                "unshare", "--uts", "--ipc", "sh", "-c", host, "sh", *words]  # fmt: skip

    def received_bytes(self, number: int) -> int:
        """What the cable has carried to a node."""
        path = f"/sys/class/net/{self.ends[number]}/statistics/rx_bytes"
        return int(self._run(self.nodes[number], "cat", path))

    def cut(self) -> None:
        """Nothing goes through, and no program is told."""
        _ip("-n", self.nodes[0], "link", "set", self.ends[0], "down")

    def mend(self) -> None:
        """Plugged in again."""
        _ip("-n", self.nodes[0], "link", "set", self.ends[0], "up")
