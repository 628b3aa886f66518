#!/usr/bin/env python3
"""Kill clients of a service, or the service, at random instants; and connect to it very often.

    kills.py --runs 200 --connects 10000

Each run draws from its seed how many clients there are, what each does when the service is lost,
who is killed (SIGKILL), and when. Afterwards

  1. every process that was not killed has ended within TIMEOUT_S;
  2. a client that goes on by itself (on_loss=write), or whose service lives, has all its dumps; one
     that does not has said that the service is gone;
  3. every dump that a client, killed or not, was told is committed is in its file, every value
     within the bound, after `caesura recover`;
  4. nothing is left: no shared memory of these processes, no file but the clients' own, and, where
     the service lives, no descriptor and no mapping of a client's memory in it.

What the service's own memory (RssAnon) comes to is recorded after each run and each batch of
connections, with descriptors, threads and mappings. Exit status: 0 if every run passed and nothing
grew, else 1. A failed run's files stay in <out>.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import caesura
import numpy as np
from caesura import serving
from killable_client import FIELDS, SHAPE, values
from service_process import Service

TIMEOUT_S = 30.0
LEASE_S = 2.0
DUMPS = 8
# A connection takes pages that the next one takes again; what is beyond this after the first
# batches is growth.
MOST_GROWTH_BYTES = 4 << 20


@dataclass(frozen=True)
class Plan:
    """Follows from the seed alone."""

    seed: int
    on_loss: tuple[str, ...]  # of each client
    bounds: tuple[float, ...]
    victim: int  # a client's number, or -1: the service
    lines: int  # the kill comes after so many lines of the victim (of client 0 for the service)
    delay_s: float  # and so much later

    @classmethod
    def draw(cls, seed: int, clients_only: bool = False) -> Plan:
        """Half of the kills are of the service, or none."""
        draw = random.Random(seed)
        clients = draw.choice([1, 2, 3])
        return cls(
            seed,
            tuple(draw.choice(["write", "error"]) for _ in range(clients)),
            tuple(draw.choice([0.0, 1e-3]) for _ in range(clients)),
            draw.choice([0 if clients_only else -1, draw.randrange(clients)]),
            draw.randrange(DUMPS + 2),
            draw.choice([0.0, draw.uniform(0.0, 0.05)]),
        )


@dataclass
class Client:
    """A process, its file, and what it was told."""

    process: subprocess.Popen[str]
    path: Path
    seed: int
    bound: float
    goes_on: bool
    lines: list[str] = field(default_factory=list)

    def committed(self) -> int:
        """The last dump that it was told of; -1: none."""
        told = [int(line.split()[1]) for line in self.lines if line.startswith("committed ")]
        return max(told, default=-1)


def state_of(service: Service) -> dict[str, int]:
    """What may grow in a service."""
    maps = Path(f"/proc/{service.process.pid}/maps").read_text()
    return {
        "rss_bytes": service.rss_bytes(),
        "descriptors": service.descriptors(),
        "threads": service.threads(),
        "client_mappings": maps.count("memfd:") + maps.count("/SYSV"),
    }


@dataclass(frozen=True)
class Segment:
    """Shared memory that outlives processes."""

    name: str
    maker: int = 0  # its process; 0: the file system does not say
    about: str = field(default="", compare=False)


def shared_memory() -> set[Segment]:
    """All there is. Files of other programs are passed over: Open MPI's, the benches'."""
    others = re.compile(r"/(vader_segment\.|sem\.|caesura-|tmp)")
    named = {str(path) for path in Path("/dev/shm").iterdir()}
    found = {Segment(name) for name in named if not others.search(name)}
    # Key, number, mode, bytes, maker, last, attached, ..., resident bytes (the last but one).
    for row in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
        words = row.split()
        # Most go with the last process that has them: the bit of "destroyed".
        if int(words[2], 8) & 0o1000:
            continue
        maker = int(words[4]) or -1  # -1: of another namespace of processes
        about = f"{words[3]} bytes, {words[14]} resident, {words[6]} attached"
        found.add(Segment(f"sysv {words[1]}", maker, f"{about}, by {maker}: {what_runs(maker)}"))
    return found


def what_runs(process: int) -> str:
    """Its command, if it is there."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return "gone"
    return b" ".join(words)[:200].decode(errors="replace").strip()


class Campaign:
    """Runs on a service that is started anew when it was killed."""

    def __init__(self, out: Path, clients_only: bool = False) -> None:
        self.out, self.clients_only = out, clients_only
        self.program = serving.program_path()
        self.service: Service | None = None
        self.faults: list[str] = []
        self.states: list[dict[str, Any]] = []
        self.strange: dict[str, str] = {}  # segments of other programs that were seen after runs
        self.services = 0

    def running(self) -> Service:
        """The service, which is there."""
        if self.service is None:
            keys = {"threads": 1, "lease_s": LEASE_S, "clients": 64}
            self.service = Service(self.program, self.out.resolve(), **keys)
            self.services += 1
        return self.service

    def end(self) -> None:
        """In good order."""
        if self.service is not None:
            with self.service:
                if self.service.end() != 0:
                    self.faults.append("the service did not end in good order")
            self.service = None

    def start(self, plan: Plan, folder: Path) -> list[Client]:
        """All clients of a run."""
        clients = []
        for number, (on_loss, bound) in enumerate(zip(plan.on_loss, plan.bounds, strict=True)):
            path, seed = folder / f"client_{number}.h5", plan.seed + number
            transport = f"{self.running().address},on_loss={on_loss}"
            command = [sys.executable, str(Path(__file__).with_name("killable_client.py"))]
            command += [str(path), transport, str(DUMPS), str(seed), str(bound)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            clients.append(Client(process, path, seed, bound, on_loss == "write"))
        return clients

    def run(self, seed: int) -> list[str]:
        """One kill; what was wrong."""
        plan = Plan.draw(seed, self.clients_only)
        before = shared_memory()
        folder = self.out / f"run-{seed}"
        folder.mkdir()
        clients = self.start(plan, folder)
        watched = clients[max(0, plan.victim)]
        for _ in range(plan.lines):
            line = watched.process.stdout.readline()
            if not line:
                break
            watched.lines.append(line)
        time.sleep(plan.delay_s)
        service = self.running()
        if plan.victim < 0:
            service.process.kill()
        else:
            watched.process.kill()
        faults = self.wait(plan, clients)
        for client in clients:
            faults += wrong_in(client)
        faults += self.what_is_left(plan, folder, before, clients)
        if faults:
            self.faults += [f"seed {seed} ({plan}): {fault}" for fault in faults]
        else:
            shutil.rmtree(folder)
        return faults

    def wait(self, plan: Plan, clients: list[Client]) -> list[str]:
        """Until all have ended, and whether they ended as they should."""
        faults, end_s = [], time.monotonic() + TIMEOUT_S
        for number, client in enumerate(clients):
            try:
                rest, _ = client.process.communicate(timeout=max(0.1, end_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                faults.append(f"client {number} has not ended within {TIMEOUT_S} s")
                client.process.kill()
                rest, _ = client.process.communicate()
            client.lines += rest.splitlines()
            code, last = client.process.returncode, (client.lines or [""])[-1].strip()
            if number == plan.victim:
                continue
            if client.goes_on or plan.victim >= 0:
                started = any(line.startswith("begin") for line in client.lines)
                if started and (code != 0 or last != f"committed {DUMPS - 1}"):
                    faults.append(f"client {number} ended with {code}: {last}")
            elif code != 0 and not last.startswith("lost "):
                faults.append(f"client {number} ended with {code}: {last}")
        return faults

    def what_is_left(
        self, plan: Plan, folder: Path, before: set[Segment], clients: list[Client]
    ) -> list[str]:
        """Of a service that was killed its process alone must be gone."""
        faults = []
        service = self.running()
        # Who makes memory for UCX has it unmarked for a moment: other programs do not count.
        own = {0, service.process.pid, *(client.process.pid for client in clients)}
        if plan.victim < 0:
            service.process.wait()
            if service.process.stdout:
                service.process.stdout.close()
            service.__exit__()
            self.service = None
        else:
            faults += self.settled(plan)
        expected = {f"client_{number}.h5" for number in range(len(plan.on_loss))}
        if left := {path.name for path in folder.iterdir()} - expected:
            faults.append(f"files that nobody knows: {sorted(left)}")
        for left in sorted(shared_memory() - before, key=lambda one: one.name):
            if left.maker in own:
                faults.append(f"shared memory: {left.name}: {left.about}")
            else:
                self.strange[left.name] = f"seed {plan.seed}: {left.about}"
        return faults

    def settled(self, plan: Plan) -> list[str]:
        """The service has nothing of its clients any more; what it comes to is recorded."""
        service = self.running()
        end_s = time.monotonic() + TIMEOUT_S
        try:
            service.status(lambda told: not told["clients"], TIMEOUT_S)
        except TimeoutError:
            return ["the service still has clients"]
        while (state := state_of(service))["client_mappings"] > 0:
            if time.monotonic() > end_s:
                return [f"the service still has mappings of its clients: {state}"]
            time.sleep(0.02)
        self.states.append({"service": self.services, "seed": plan.seed, **state})
        return []

    def connect(self, times: int, batch: int = 500) -> list[dict[str, int]]:
        """A Writer made and closed, over and over; every tenth writes a dump. What the service
        comes to after each batch."""
        states = []
        path = self.out / "connects.h5"
        for done in range(0, times, batch):
            many = min(batch, times - done)
            command = [sys.executable, "-c", CONNECTING, str(path), self.running().address]
            subprocess.run([*command, str(many)], check=True, timeout=600)
            self.running().status(lambda told: not told["clients"], TIMEOUT_S)
            states.append({"connects": done + many, **state_of(self.running())})
            print(json.dumps(states[-1]), flush=True)
        path.unlink(missing_ok=True)
        return states


CONNECTING = """
import sys
import caesura, numpy
path, transport, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
for n in range(times):
    with caesura.Writer(path, transport=transport, memory_bytes=8 << 20, durable=False) as writer:
        if n % 10 == 0:
            field = writer.define_field("f", numpy.float32, (32, 32, 32))
            with writer.iteration(0) as iteration:
                iteration.begin_dump(time=0).put(field, numpy.ones((32, 32, 32), numpy.float32))
"""


def wrong_in(client: Client) -> list[str]:
    """Is every dump there that it was told is committed?"""
    committed = client.committed()
    if not client.path.exists():
        return [] if committed < 0 else [f"{client.path.name} is gone"]
    # The service lets go of the file of a client that is gone when it has noticed.
    end_s = time.monotonic() + TIMEOUT_S
    while True:
        try:
            caesura.recover(client.path)
            break
        except OSError as error:
            if committed < 0 and "in use" not in str(error) and "lock" not in str(error):
                return []  # killed before there was anything in it
            if time.monotonic() > end_s:
                return [f"{client.path.name}: {error}"]
            time.sleep(0.02)
        except (caesura.CorruptError, ValueError, RuntimeError) as error:
            return [] if committed < 0 else [f"{client.path.name}: {error}"]
    if committed < 0:  # what there is may be whole or not
        return []
    faults = []
    with caesura.open(client.path) as file:
        for dump in range(committed + 1):
            for which, name in enumerate(FIELDS):
                place = f"/data/{dump}/meshes/{name}"
                if place not in file:
                    faults.append(f"{client.path.name}: {place} was committed and is not there")
                    continue
                wanted = values(dump, client.seed, which).astype(np.float64)
                error = np.max(np.abs(file[place][...].reshape(SHAPE) - wanted))
                if not error <= client.bound:
                    faults.append(f"{client.path.name}: {place} is off by {error}")
    return faults


def growth(states: list[dict[str, Any]]) -> list[str]:
    """What is more at the end than after the first quarter, where memory has found its size."""
    if len(states) < 4:
        return []
    early, late = states[len(states) // 4], states[-1]
    grown = [
        f"{name}: {early[name]} then {late[name]}"
        for name in ("descriptors", "threads", "client_mappings")
        if late[name] > early[name]
    ]
    if late["rss_bytes"] > early["rss_bytes"] + MOST_GROWTH_BYTES:
        grown.append(f"memory: {early['rss_bytes']} then {late['rss_bytes']} bytes")
    return grown


def main() -> int:
    """Parse, run, say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument(
        "--clients-only", action="store_true", help="one service through all runs: does it grow?"
    )
    parser.add_argument("--connects", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a directory; left if a run fails")
    parser.add_argument("--json", type=Path, help="figures go there")
    options = parser.parse_args()
    out = options.out or Path(tempfile.mkdtemp(prefix="caesura-kills-"))
    out.mkdir(parents=True, exist_ok=True)
    campaign = Campaign(out, options.clients_only)
    try:
        return measure(campaign, options)
    finally:
        if campaign.service is not None:
            campaign.service.__exit__()


def measure(campaign: Campaign, options: argparse.Namespace) -> int:
    """All runs, all connections, one line at the end."""
    killed = {"client": 0, "service": 0}
    for seed in range(options.seed, options.seed + options.runs):
        faults = campaign.run(seed)
        victim = Plan.draw(seed, options.clients_only).victim
        killed["service" if victim < 0 else "client"] += 1
        print(f"seed {seed}: {'; '.join(faults) or 'passed'}", flush=True)
    connects = campaign.connect(options.connects)
    faults = campaign.faults + growth(connects)
    longest = max(range(1, campaign.services + 1), default=0,
                  key=lambda n: sum(one["service"] == n for one in campaign.states))  # fmt: skip
    faults += growth([one for one in campaign.states if one["service"] == longest])
    campaign.end()
    there = {segment.name for segment in shared_memory()}
    strange = [
        f"{name}: {about}; {'still there' if name in there else 'gone since'}"
        for name, about in campaign.strange.items()
    ]
    faults += [fault for fault in campaign.faults if fault not in faults]
    figures = {
        "runs": options.runs,
        "first_seed": options.seed,
        "killed": killed,
        "timeout_s": TIMEOUT_S,
        "faults": faults,
        "strange_segments": strange,
        "states": campaign.states,
        "connects": connects,
    }
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    for one in strange:
        print(f"of another program: {one}")
    print("\n".join(faults) or f"{options.runs} kills ({killed}), {options.connects} connects: ok")
    if not faults:
        shutil.rmtree(campaign.out)
    return 1 if faults else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
