"""A field written as it is, and compressed on the host's cores, a GPU or another service: S4's
Figure 6.

One client hands a field over to a service, on an emulated file system. The GPU is emulated: it
compresses on a core of the host and takes the time stated, or what the core takes if that is
longer; both are in the results. The other service stands for a DPU: it runs here, and its only
device is emulated likewise. Transfers and compression are from the service's trace.
"""

from __future__ import annotations

import statistics
import sys

import numpy as np
import stand_ins
from caesura import devices
from figure import Plan, Service, clean, hand_in, pfs_stat, serve

S4 = {
    "data": "Hurricane ISABEL QVAPOR, SZ3, cuSZ on an A30, SZ with DEFLATE on a BlueField-2",
    "finding": "CPU and GPU beat writing directly, the DPU is slower; cuSZ 2.5 GB/s, 2 to 3 times "
    "the threaded CPU",
    "gpu_bytes_per_s": 2.5e9,
}
BANDWIDTH = 150e6
# An A30 by S4's own figure, behind PCIe 3.0. A DPU's speed is in no text: a guess.
GPU = {"link_bytes_per_s": 12e9, "compress_bytes_per_s": 2.5e9, "per_block_s": 1e-4}
DPU = {"link_bytes_per_s": 3e9, "compress_bytes_per_s": 1e8, "per_block_s": 5e-4}
BLOCK_LAYERS = 64
WAYS = ("direct", "CPU", "GPU", "other service")


def device(kind: str, name: str, keys: dict[str, float]) -> str:
    """A [[device]] table."""
    lines = [f'kind = "{kind}"', f'name = "{name}"', *(f"{k} = {v!r}" for k, v in keys.items())]
    return "\n".join(["[[device]]", *lines])


class Devices:
    """The service of one way, and the one behind it."""

    def __init__(self, plan: Plan, way: str) -> None:
        self.trace = plan.place / "trace.json"
        self.trace.unlink(missing_ok=True)
        self.other: Service | None = None
        tables, keys = "", {"threads": plan.cores, "trace": str(self.trace)}
        if way == "GPU":
            tables = device("emulated", "gpu", {**GPU, "memory_bytes": 1 << 30})
        if way == "other service":
            emulated = {**DPU, "memory_bytes": 1 << 30}
            self.other = serve_with(
                plan, device("emulated", "dpu", emulated) + '\ncoder = "codec"', host_last=True
            )
            address = self.other.address.removeprefix("service:")
            tables = device("remote", "other", {}) + f'\naddress = "{address}"'
        self.service = serve_with(plan, tables, BANDWIDTH, host_last=bool(tables), **keys)

    def __enter__(self) -> Devices:
        return self

    def __exit__(self, *failed: object) -> None:
        for service in (self.service, self.other):
            if service is not None:
                service.end()
                service.__exit__()


def serve_with(plan: Plan, tables: str, bandwidth: float | None = None, **keys: object) -> Service:
    """A service with [[device]] tables."""
    return serve(plan.place / "files", bandwidth, tables=tables, **keys)


def once(plan: Plan, way: str, said: dict) -> dict:
    """One field, written or compressed."""
    clean(plan.place / "files")
    said = {**said, "codec": "none" if way == "direct" else "caesura"}
    if way == "direct":
        report = hand_in({**said, "transport": ""}, bandwidth=BANDWIDTH, python=sys.executable)
        blocks = []
    else:
        with Devices(plan, way) as running:
            report = hand_in({**said, "transport": running.service.address}, python=sys.executable)
        blocks = devices.read(running.trace).blocks
        if any(block.failed for block in blocks) or len({b.device for b in blocks}) != 1:
            raise SystemExit(f"{way}: {[(b.device, b.failed) for b in blocks]}")
    at_once = plan.cores if way == "CPU" else 1
    return {
        "to_s": sum(block.to_s for block in blocks) / at_once,
        "compute_s": sum(block.compute_s for block in blocks) / at_once,
        "from_s": sum(block.from_s for block in blocks) / at_once,
        "write_s": pfs_stat()["file_bytes"] / BANDWIDTH,
        "elapsed_s": report["elapsed_s"],
        "ratio": report["raw_bytes"] / report["stored_bytes"],
        "blocks": len(blocks),
    }


def stated_s(way: str, raw_bytes: int, blocks: int) -> float | None:
    """What an emulated device is said to take."""
    speeds = {"GPU": GPU, "other service": DPU}.get(way)
    if speeds is None:
        return None
    return raw_bytes / speeds["compress_bytes_per_s"] + blocks * speeds["per_block_s"]


def measure(plan: Plan) -> dict:
    """A row for each way."""
    (plan.place / "files").mkdir()
    side = 96 if plan.quick else 256
    field = stand_ins.vapour(side)
    path = plan.place / "field.npy"
    np.save(path, field.values)
    said = {
        "mode": "writer",
        "path": str(plan.place / "files" / "run.h5"),
        "field": str(path),
        "bound": field.bound(),
        "dumps": 1,
        "chunk": [BLOCK_LAYERS // (4 if plan.quick else 1), side, side],
    }
    found: dict[str, list[dict]] = {}
    for number in range(plan.rounds):
        for way in WAYS if number % 2 == 0 else WAYS[::-1]:
            found.setdefault(way, []).append(once(plan, way, said))
    rows = []
    for way in WAYS:
        row = {key: statistics.median(one[key] for one in found[way]) for key in found[way][0]}
        row |= {"way": way, "stated_s": stated_s(way, field.values.nbytes, int(row["blocks"]))}
        rows.append(row)
        print(f"  {way:14} {row['elapsed_s']:.3f} s", flush=True)
    return {
        "emulated": ["file system", "GPU", "the other service's device"],
        "data": field.described(),
        "raw_bytes": field.values.nbytes,
        "bandwidth": BANDWIDTH,
        "stated": {"GPU": GPU, "other service": DPU},
        "rows": rows,
    }
