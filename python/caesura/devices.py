"""Where a service's blocks were compressed and regions analysed, and where others would be: its
trace, and the choice that it makes (src/where) for any load.

Invariants: choices are the library's own, taught by the runs of the trace; nothing is decided here.
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from caesura.trace import TraceError

KNOWN = ("nothing", "other sizes", "like sizes")


@dataclass(frozen=True)
class Decided:
    """A block or a region, what was decided, and what came of it."""

    label: str
    device: str  # that did it
    chosen: str  # that was to do it
    variant: str
    field: str
    bytes: int
    result_bytes: int
    utilisation: float
    to_s: float
    compute_s: float
    from_s: float
    predicted_s: float  # 0: nothing was known
    took_s: float
    is_trial: bool
    failed: bool
    begin_s: float
    result_s: float = 0.0  # what its result was expected to cost where it goes
    function: str = "compress"  # or an analysis
    unable: tuple[str, ...] = ()  # devices that could not take it then
    lay_on: str = ""  # the device whose memory had the values; else the host's

    @property
    def error(self) -> float | None:
        """took over predicted, less 1; None: nothing was predicted of the device that did it."""
        # After a failure, or out of another device's queue: nobody had predicted that.
        if self.failed or self.device != self.chosen or self.predicted_s <= 0:
            return None
        return (self.took_s + self.result_s) / self.predicted_s - 1


@dataclass
class Decisions:
    devices: list[str] = field(default_factory=list)  # the host's cores first
    blocks: list[Decided] = field(default_factory=list)  # and regions

    def of(self, device: str, variant: str = "") -> list[Decided]:
        return [b for b in self.blocks if b.device == device and variant in ("", b.variant)]

    def median_error(self, device: str, variant: str = "") -> float | None:
        errors = [abs(e) for block in self.of(device, variant) if (e := block.error) is not None]
        return statistics.median(errors) if errors else None

    def variants(self) -> list[tuple[str, str]]:
        """Function and variant of all that was done, the most frequent first."""
        count = Counter((block.function, block.variant) for block in self.blocks)
        return [pair for pair, _ in count.most_common()]

    def never(self, variant: str) -> tuple[str, ...]:
        """Devices that could take nothing of this variant: it has none for them."""
        unable = [set(block.unable) for block in self.blocks if block.variant == variant]
        never = set.intersection(*unable) if unable else set()
        return tuple(device for device in self.devices if device in never)


def read(path: Path) -> Decisions:
    """A trace of `caesura-serve` (its setting `trace`), also of one that still runs."""
    text = path.read_text(encoding="utf-8", errors="replace").rstrip()
    if not text.startswith("["):
        raise TraceError(f"{path}: no trace of a service; name the file of its setting 'trace'")
    try:
        events = json.loads(text if text.endswith("]") else text + "]")
    except json.JSONDecodeError:
        # Its last line may be half written.
        whole = text[: max(1, text.rfind("\n"))]
        try:
            events = json.loads(whole + "]")
        except json.JSONDecodeError as error:
            raise TraceError(f"{path}: no trace of a service: {error}") from None
    if not all(isinstance(event, dict) for event in events):
        raise TraceError(f"{path}: no trace of a service; name the file of its setting 'trace'")
    names = {
        event["tid"]: event["args"]["name"]
        for event in events
        if event.get("ph") == "M" and event.get("name") == "thread_name"
    }
    found = Decisions(devices=[names[i] for i in sorted(names)])
    try:
        for event in events:
            if event.get("ph") == "X":
                found.blocks.append(_decided(event, found.devices))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise TraceError(f"{path}: an event without {error}; is it a service's trace?") from None
    return found


def _decided(event: dict, devices: list[str]) -> Decided:
    said = event["args"]
    return Decided(
        label=event["name"],
        device=devices[event["tid"]],
        chosen=said["device"],
        variant=said["variant"],
        field=said["field"],
        bytes=int(said["bytes"]),
        result_bytes=int(said["result_bytes"]),
        utilisation=float(said["utilisation"]),
        to_s=float(said["to_s"]),
        compute_s=float(said["compute_s"]),
        from_s=float(said["from_s"]),
        predicted_s=float(said["predicted_s"]),
        took_s=float(said["took_s"]),
        is_trial=bool(said["is_trial"]),
        failed=bool(said["failed"]),
        begin_s=event["ts"] / 1e6,
        result_s=float(said.get("result_s_per_byte", 0.0)) * int(said["result_bytes"]),
        function=said.get("function", "compress"),
        unable=tuple(o["device"] for o in said.get("options", ()) if o["latency_s"] is None),
        lay_on=said.get("lay_on", ""),
    )


@dataclass(frozen=True)
class Load:
    """How the devices are. By name; what is not named is idle."""

    busy: dict[str, float] = field(default_factory=dict)  # 0 to 1, by other things
    waiting_s: dict[str, float] = field(default_factory=dict)
    away: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """One device's part in a choice. Seconds; infinite latency: it cannot take it."""

    device: str
    latency_s: float
    queue_s: float
    to_s: float
    compute_s: float
    from_s: float
    result_bytes: float
    known: str


@dataclass(frozen=True)
class Choice:
    bytes: int
    device: str | None
    is_trial: bool
    parts: list[Part]


def choices(
    trace: Decisions,
    sizes: list[int],
    load: Load,
    *,
    variant: str = "",
    name: str = "",
    data_on: str = "",
    result_on: str = "",
    at_once: dict[str, int] | None = None,
) -> list[Choice]:
    """Where blocks of these sizes would go. ValueError: a device or a variant that is not there."""
    from caesura import _core

    number = {device: i for i, device in enumerate(trace.devices)}
    for device in (*load.busy, *load.waiting_s, *load.away, data_on, result_on, *(at_once or {})):
        if device and device not in number:
            raise ValueError(f"there is no device {device}; use {', '.join(trace.devices)}")
    variants = sorted({block.variant for block in trace.blocks})
    if not variant and variants:
        variant = statistics.mode(block.variant for block in trace.blocks)
    if variant not in variants:
        raise ValueError(f"there is no variant {variant!r}; use {', '.join(variants) or 'none'}")
    runs = [
        (
            number[b.device],
            b.variant,
            b.field,
            float(b.bytes),
            float(b.result_bytes),
            b.utilisation,
            b.to_s,
            b.compute_s,
            b.from_s,
        )
        for b in sorted(trace.blocks, key=lambda b: b.begin_s + b.took_s)
    ]
    present = [
        (
            device not in load.away and device not in trace.never(variant),
            load.busy.get(device, 0.0),
            (at_once or {}).get(device, 1) if load.waiting_s.get(device, 0.0) > 0 else 0,
            load.waiting_s.get(device, 0.0),
        )
        for device in trace.devices
    ]
    made = _core.where_choices(
        [(device, (at_once or {}).get(device, 1)) for device in trace.devices],
        runs,
        [
            (variant, name, float(size), number.get(data_on, -1), number.get(result_on, -1))
            for size in sizes
        ],
        present,
    )
    return [
        Choice(
            size,
            trace.devices[chosen] if chosen >= 0 else None,
            is_trial,
            [
                Part(device, *part[:6], known=KNOWN[part[6]])
                for device, part in zip(trace.devices, parts, strict=False)
            ],
        )
        for size, (chosen, is_trial, parts) in zip(sizes, made, strict=True)
    ]
