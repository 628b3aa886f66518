"""Memory, shared memory and GPUs."""

from __future__ import annotations

import os
import re

from caesura.doctor.cores import cgroup_files
from caesura.doctor.finding import (
    ABSENT,
    MUST_SET,
    NOTE,
    OK,
    Ask,
    Finding,
    ask_program,
    check,
    size,
)

_NO_LIMIT = 1 << 60  # version 1 says "none" as the largest number of pages
_LEAST_BUDGET = 8 * (8 << 20)  # eight blocks: fewer, and the application waits at every put
_MPI_SEGMENT = 4 << 20  # Open MPI 4: btl_vader_segment_size, a rank


def memory_limit(ask: Ask) -> int | None:
    """Bytes that cgroups allow."""
    limits = []
    for name in ("memory.max", "memory.limit_in_bytes"):
        for file in cgroup_files(ask.root, "memory", name):
            text = file.read_text().strip()
            if text != "max" and int(text) < _NO_LIMIT:
                limits.append(int(text))
    return min(limits, default=None)


@check("memory", "a Writer holds snapshots: half of what is available, shared by the node's ranks")
def memory(ask: Ask) -> Finding:
    text = (ask.root / "proc/meminfo").read_text()
    kib = dict(re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE))
    total, available = (int(kib.get(name, 0)) * 1024 for name in ("MemTotal", "MemAvailable"))
    if not available:
        return Finding(NOTE, "/proc/meminfo does not say what is available")
    limit = memory_limit(ask)
    found = f"{size(total)}, {size(available)} available"
    found += "; no cgroup limit" if limit is None else f"; cgroup limit {size(limit)}"
    budget = min(available, limit or available) // 2 // (ask.ranks or 1)
    found += f"; a Writer's share is about {size(budget)}" + (" a rank" if ask.ranks else "")
    if budget < _LEAST_BUDGET:
        return Finding(MUST_SET, found, "Ask for more memory, or start fewer ranks here.")
    return Finding(OK, found)


@check("/dev/shm", "MPI passes messages inside a node through it; Caesura itself does not need it")
def shared_memory(ask: Ask) -> Finding:
    place = ask.root / "dev/shm"
    if not place.is_dir():
        return Finding(ABSENT, "there is no /dev/shm; MPI uses files in TMPDIR instead")
    numbers = os.statvfs(place)
    free = numbers.f_bavail * numbers.f_frsize
    found = f"{size(numbers.f_blocks * numbers.f_frsize)}, {size(free)} free"
    needed = _MPI_SEGMENT * (ask.ranks or 1)
    if free < needed:
        do = f"Make room for {size(needed)} (a container: --shm-size=1g)."
        return Finding(MUST_SET, found, do)
    return Finding(OK, found)


@check("GPU", "checkpoints and fields may lie on one, and a service may compress there")
def gpu(ask: Ask) -> Finding:
    query = "--query-gpu=name,memory.total,driver_version,compute_mode"
    try:
        said = ask_program("nvidia-smi", query, "--format=csv,noheader")
    except RuntimeError as error:
        return Finding(NOTE, str(error), "The driver does not answer: ask your administrator.")
    if said is None:
        return Finding(ABSENT, "no nvidia-smi on the PATH; other makers' GPUs are not looked for")
    cards = [[word.strip() for word in line.split(",")] for line in said.splitlines() if line]
    found = "; ".join(", ".join(card) for card in cards) or "nvidia-smi lists none"
    if any("Exclusive" in card[-1] for card in cards):
        do = "Several processes cannot share it: `nvidia-smi -c DEFAULT`, or start MPS."
        return Finding(NOTE, found, do)
    return Finding(OK if cards else ABSENT, found)
