"""What the demonstration runs: the mini-app's parameters and the emulated machine around it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

MODES = ("compute", "sync", "filter", "async", "plugin", "caesura", "unplanned", "normal")
# Written by a caesura::Writer: checksums, a trace, a report.
OURS = ("async", "plugin", "caesura", "unplanned", "normal")
LOSSY = ("filter", "plugin", "caesura", "unplanned", "normal")
# Slow, and far from ours: Scenario.peer_repeats tell them well enough.
PEERS = ("sync", "filter", "plugin")

MODE_TITLES = {
    "compute": "compute only",
    "sync": "HDF5, synchronous",
    "filter": "HDF5, synchronous, SZ3 filter",
    "async": "asynchronous, uncompressed",
    "plugin": "Caesura with the SZ3 filter",
    "caesura": "Caesura",
    "unplanned": "Caesura, no planning",
    "normal": "no planning, normal priority",
}

SHORT_TITLES = {
    "compute": "compute only",
    "sync": "HDF5 sync",
    "filter": "HDF5 sync + filter",
    "async": "async, raw",
    "plugin": "Caesura + SZ3",
    "caesura": "Caesura",
    "unplanned": "  no planning",
    "normal": "  normal priority",
}

# What planning and idle priority are worth: mode caesura with less of them.
VARIANTS = {
    "unplanned": ("--planning", "off"),  # idle priority; the operating system does the rest
    "normal": ("--planning", "off", "--priority", "normal"),
}

# The mini-app's fields and the absolute error bounds the papers use for them.
BOUNDS = {
    "baryon_density": 0.2,
    "dark_matter_density": 0.4,
    "temperature": 1e3,
    "velocity_x": 2e5,
    "velocity_y": 2e5,
    "velocity_z": 2e5,
}

# S0's artifact: overhead over compute-only in per cent, improvement over the synchronous baseline;
# and the reductions the paper's text claims over synchronous and asynchronous writing.
PAPER = {
    "nyx": {"sync": 37.2, "async": 37.1, "caesura": 8.2, "improvement": 4.53},
    "warpx": {"sync": 121.9, "async": 120.6, "caesura": 36.7, "improvement": 3.29},
    "text": {"improvement_over_sync": 3.8, "improvement_over_async": 2.6},
}


@dataclass(frozen=True)
class Scenario:
    """Defaults are derived in docs/evidence/demo.md."""

    ranks: int = 2
    repeats: int = 3
    peer_repeats: int = 2  # of PEERS, at most repeats
    grid: int = 256
    particles: int = 256
    steps: int = 6
    dump_every: int = 1
    seed: int = 1
    device_s: float = 1.6  # emulated kernel seconds a step; 0 switches the emulation off
    codec: str = "caesura"  # of mode caesura
    filter_codec: str = "sz3"  # of modes filter and plugin: one HDF5 filter, as applications use it
    bound_scale: float = 1.0
    bandwidth: float = 150e6  # bytes/s of the emulated file system, a node; 0 switches it off
    latency_s: float = 0.0
    fsync: str = "skip"  # what the emulated file system does with it: skip or pass
    planning: str = "on"  # of modes plugin and caesura, as all below
    priority: str = "idle"  # of the compress threads: idle or normal
    chunk_bytes: int = 8 << 20  # raw
    write_buffer: int = 20 << 20  # compressed bytes gathered into one write

    @property
    def dumps(self) -> int:
        """Dumps at steps k-1, 2k-1, ... but not at the last."""
        return (self.steps - 1) // self.dump_every

    @property
    def dump_bytes(self) -> int:
        return len(BOUNDS) * self.grid**3 * 4

    @property
    def raw_bytes(self) -> int:
        return self.dumps * self.dump_bytes

    def repeats_of(self, mode: str) -> int:
        return min(self.repeats, self.peer_repeats) if mode in PEERS else self.repeats

    @property
    def bounds(self) -> dict[str, float]:
        return {name: bound * self.bound_scale for name, bound in BOUNDS.items()}

    def codec_of(self, mode: str) -> str:
        return self.filter_codec if mode in ("filter", "plugin") else self.codec

    def program_mode(self, mode: str) -> str:
        """The mini-app's own word: it knows no difference between one codec and another."""
        return "caesura" if mode == "plugin" or mode in VARIANTS else mode

    def arguments(self, mode: str) -> list[str]:
        """For the mini-app; the same in every mode but for the codec and how Caesura's runs."""
        return [
            *("--grid", str(self.grid)),
            *("--particles", str(self.particles)),
            *("--steps", str(self.steps)),
            *("--dump-every", str(self.dump_every)),
            *("--seed", str(self.seed)),
            *("--device-s", str(self.device_s)),
            # Every mode and machine alike: the report calls the device emulated.
            *("--device", "emulated"),
            *("--codec", self.codec_of(mode)),
            *("--bound-scale", str(self.bound_scale)),
            *("--planning", self.planning),
            *("--priority", self.priority),
            *("--chunk-bytes", str(self.chunk_bytes)),
            *("--write-buffer", str(self.write_buffer)),
            *VARIANTS.get(mode, ()),
        ]

    def command_line(self) -> str:
        """What repeats this demonstration: only what differs from the defaults."""
        parts = ["caesura demo"]
        default = asdict(Scenario())
        for name, value in asdict(self).items():
            if value != default[name]:
                parts.append(f"--{name.replace('_', '-')} {value:g}" if isinstance(value, float)
                             else f"--{name.replace('_', '-')} {value}")  # fmt: skip
        return " ".join(parts)

    def as_json(self) -> dict[str, Any]:
        derived = {
            "dumps": self.dumps,
            "raw_bytes": self.raw_bytes,
            "bounds": self.bounds,
            "command": self.command_line(),
        }
        return asdict(self) | derived


class DemoError(Exception):
    """The demonstration cannot go on; the message says why and what to do."""


class WrongValues(DemoError):
    """A file does not hold what was handed in."""
