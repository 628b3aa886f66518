"""Two applications at a time on one node, with a service, each by itself, or without output; under
an emulated file system that both, or the service, share.

Invariants: both get the same arguments and an equal share of the cores in every mode; every pair
has a cold file system, and no file of an earlier pair is in the way.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results import BUILD, ROOT

sys.path[:0] = [str(ROOT / "bench" / "vol"), str(ROOT / "tests" / "transit")]

import nodes  # noqa: E402
from plain import MPI, configuration, connector_variables  # noqa: E402
from service_process import Service  # noqa: E402

HERE = Path(__file__).resolve().parent
SERVE = BUILD / "bin" / "caesura-serve"
PROGRAMS = {
    "mini-app": BUILD / "miniapps" / "cosmology" / "cosmology",
    "hdf5": BUILD / "miniapps" / "cosmology" / "cosmology_hdf5",
}
TIMEOUT_S = 600.0


@dataclass(frozen=True)
class Setting:
    """What is the same in all pairs."""

    folder: Path  # on the emulated file system
    bandwidth: float  # bytes/s of the node
    ranks: int  # of each application
    threads: int  # of the service
    arguments: tuple[str, ...]  # of the mini-app
    bounds: dict[str, float]
    cable: nodes.Cable | None = (
        None  # the service is on its node 0, the applications on 1; else one node
    )
    link_bytes_per_s: float = math.inf  # of the cable

    def on_node(self, number: int, words: list[str]) -> list[str]:
        """`words`, to be run there."""
        return words if self.cable is None else self.cable.command(number, words)

    def shim(self, bandwidth: float | None = None) -> dict[str, str]:
        """The emulated file system's variables."""
        return {
            "LD_PRELOAD": str(BUILD / "bench" / "pfs" / "libpfs.so"),
            "PFS_ROOT": str(self.folder),
            "PFS_BANDWIDTH": f"{bandwidth or self.bandwidth:.0f}",
            "PFS_BUCKET": f"caesura-transit-{os.getpid()}",
        }


class Pair:
    """Everything of one mode: `compute`, `own` (each by itself) or `served`."""

    def __init__(self, setting: Setting, mode: str, bandwidth: float | None = None) -> None:
        self.setting, self.mode = setting, mode
        self.shim = setting.shim(bandwidth)
        self.clean()
        self.service: Service | None = None
        if mode == "served":
            words = ["env", *(f"{name}={value}" for name, value in self.shim.items())]
            keys: dict[str, Any] = {"threads": setting.threads, "lease_s": 10}
            if setting.cable is not None:
                keys |= {"listen": [f"tcp:{nodes.ADDRESSES[0]}:0"], "secret": str(self.secret())}
            self.service = Service(setting.on_node(0, [*words, str(SERVE)]), setting.folder, **keys)

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *failed: object) -> None:
        if self.service is not None:
            with self.service as service:
                if failed[0] is None and service.end() != 0:
                    raise SystemExit("the service did not end in good order")
        self.clean()

    def clean(self) -> None:
        """No files, an idle link."""
        for left in self.setting.folder.iterdir():
            left.unlink()
        stat = BUILD / "bench" / "pfs" / "pfs_stat"
        bucket = {"PFS_BUCKET": self.shim["PFS_BUCKET"]}
        subprocess.run([str(stat), "--remove"], env={**os.environ, **bucket}, capture_output=True)

    def secret(self) -> Path:
        """The file that service and applications know each other by; beside the disk."""
        path = self.setting.folder.parent / "secret"
        path.write_text("a secret that both sides know, of some length")
        path.chmod(0o600)
        return path

    @property
    def transport(self) -> str:
        """Of WriterOptions; empty: none."""
        if self.service is None:
            return ""
        known = f",secret={self.secret()}" if self.setting.cable is not None else ""
        return self.service.address + known

    def command(self, kind: str, number: int) -> list[str]:
        """The mini-app, calling Caesura or as a program of plain HDF5."""
        setting = self.setting
        stem = setting.folder / f"{kind}_{number}"
        own = [] if self.service is not None else [f"{k}={v}" for k, v in self.shim.items()]
        command = ["mpirun", "--bind-to", "none", "-n", str(setting.ranks)]
        command += ["env", "-u", "HDF5_VOL_CONNECTOR", *own]
        if kind == "hdf5" and self.mode != "compute":
            keys = {"chunk_bytes": 8 << 20, "closing_line": "false"}
            if self.transport:
                keys["transport"] = json.dumps(self.transport)
            config = stem.with_suffix(".toml")
            config.write_text(configuration(setting.bounds, **keys))
            command += connector_variables(BUILD, config)
        command += [str(PROGRAMS[kind]), *setting.arguments, "--quiet"]
        command += ["--timing-json", str(stem.with_suffix(".json"))]
        if self.mode == "compute":
            return [*command, "--mode", "compute"]
        command += ["--output", str(stem.with_suffix(".h5"))]
        if kind == "hdf5":
            return [*command, "--mode", "sync", "--file-per-dump"]
        transport = ["--transport", self.transport] if self.transport else []
        return [*command, "--mode", "caesura", *transport]

    def run(self, kinds: tuple[str, str]) -> list[dict[str, Any]]:
        """Both at once; what each says of its times."""
        environment = {**MPI, **os.environ, "OMPI_MCA_mpi_yield_when_idle": "1"}
        setting = self.setting
        running = []
        for number, kind in enumerate(kinds):
            log = (self.setting.folder / f"{kind}_{number}.log").open("wb")
            running.append(
                subprocess.Popen(
                    setting.on_node(1, self.command(kind, number)),
                    env=environment,
                    stdout=log,
                    stderr=log,
                )
            )
        timings = []
        for number, (kind, process) in enumerate(zip(kinds, running, strict=True)):
            code = process.wait(TIMEOUT_S)
            timing = self.setting.folder / f"{kind}_{number}.json"
            if code != 0 or not timing.exists():
                said = timing.with_suffix(".log").read_text(errors="replace")
                raise SystemExit(f"{self.mode}: {kind} ended with {code}:\n{said[-3000:]}")
            timings.append({"kind": kind, **json.loads(timing.read_text())})
        return timings

    def verify(self) -> int:
        """Every block of every file, decoded; how many files there are."""
        files = sorted(self.setting.folder.glob("*.h5"))
        command = [sys.executable, "-m", "caesura", "verify", *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0 or not files:
            raise SystemExit(f"{self.mode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return len(files)

    def hand_over(
        self, data: Path, dumps: int, codec: str, scale: float, clients: int = 2
    ) -> list[dict[str, Any]]:
        """Applications that hand over as fast as they can; both begin at once."""
        own = {} if self.service is not None or self.mode == "codec" else self.shim
        paths = [
            "codec" if self.mode == "codec" else str(self.setting.folder / f"{number}.h5")
            for number in range(clients)
        ]
        return start_together(
            [(path, self.transport, str(data), dumps, codec, scale) for path in paths],
            own,
            lambda words: self.setting.on_node(1, words),
        )


def start_together(
    clients: list[tuple],
    variables: dict[str, str] | None = None,
    there: Callable[[list[str]], list[str]] = list,
) -> list[dict[str, Any]]:
    """hand_over.py, once for each tuple of its arguments; they begin when all are ready. `there`
    makes of a command one that runs on their node."""
    running = [
        subprocess.Popen(
            there([sys.executable, str(HERE / "hand_over.py"), *map(str, arguments)]),
            env={**os.environ, **(variables or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for arguments in clients
    ]
    for process in running:
        if process.stdout.readline().strip() != "ready":
            raise SystemExit("a client did not start")
    for process in running:
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=TIMEOUT_S)[0] for process in running]
    if any(process.returncode != 0 for process in running):
        raise SystemExit(f"a client failed: {said}")
    return [json.loads(text.splitlines()[-1]) for text in said]


def wait_for_quiet(limit: float, patience_s: float) -> float:
    """Until the load of the last seconds is low; the share of cores that others keep busy."""

    def busy() -> tuple[float, float]:
        words = [int(w) for w in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return sum(words) - words[3] - words[4], float(sum(words))

    end_s = time.monotonic() + patience_s
    while True:
        before = busy()
        time.sleep(1.0)
        after = busy()
        share = (after[0] - before[0]) / max(1.0, after[1] - before[1])
        if share <= limit or time.monotonic() > end_s:
            return share
