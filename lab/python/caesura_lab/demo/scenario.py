"""What the demonstration runs: the mini-app's parameters and the emulated machine around it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

MODES = ("compute", "sync", "filter", "async", "plugin", "caesura", "unplanned", "normal")
# Written by a caesura::Writer: checksums, a trace, a report.
OURS = ("async", "plugin", "caesura", "unplanned", "normal")
LOSSY = ("filter", "plugin", "caesura", "unplanned", "normal")
# Runs in which steps with and without output take turns; statistics.py says what for. Of mode
# compute they are the control: nothing is written, so that what they show is noise.
PAIRED = ("compute", "caesura")

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

# The mini-app's particles, where they are written: without loss in every mode. Bytes of a value.
PARTICLES = {
    **{f"dark_matter/{record}/{axis}": 4 for record in ("position", "momentum") for axis in "xyz"},
    "dark_matter/id": 8,
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
    """Six steps of 256^3 cells; docs/evidence/demo.md derives the rest; FULL is what is shown."""

    ranks: int = 2
    repeats: int = 1
    pairs: int = 2  # of runs of mode caesura, a repeat; the control has half as many
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
    hand_over: str = "all"  # which dumps the output gets: all, half or other-half
    write_particles: bool = False  # beside the fields

    @property
    def dumps(self) -> int:
        """Dumps at steps k-1, 2k-1, ... but not at the last."""
        return (self.steps - 1) // self.dump_every

    @property
    def dump_bytes(self) -> int:
        particles = sum(PARTICLES.values()) * self.particles**3 if self.write_particles else 0
        return len(BOUNDS) * self.grid**3 * 4 + particles

    @property
    def raw_bytes(self) -> int:
        return self.dumps * self.dump_bytes

    def pairs_of(self, mode: str) -> int:
        """A repeat."""
        return {"caesura": self.pairs, "compute": (self.pairs + 1) // 2}.get(mode, 0)

    def handed_over(self, hand_over: str) -> list[int]:
        """Numbers of the dumps that the output gets; the mini-app's Options::hands_over."""
        odd = {"all": (False, True), "half": (True,), "other-half": (False,)}[hand_over]
        return [n for n in range(self.dumps) if (n.bit_count() % 2 == 1) in odd]

    @property
    def bounds(self) -> dict[str, float]:
        return {name: bound * self.bound_scale for name, bound in BOUNDS.items()}

    def datasets(self) -> dict[str, float]:
        """Of each dump: below the iteration's group, the bound where a mode is lossy."""
        fields = {f"meshes/{name}": bound for name, bound in self.bounds.items()}
        particles = dict.fromkeys(PARTICLES if self.write_particles else (), 0.0)
        return fields | {f"particles/{name}": bound for name, bound in particles.items()}

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
            *("--hand-over", self.hand_over),
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
            *(("--write-particles",) if self.write_particles else ()),
            *VARIANTS.get(mode, ()),
        ]

    def command_line(self) -> str:
        """What repeats this demonstration: only what differs from the defaults."""
        candidates = [self._against(FULL, []), self._against(QUICK, ["--quick"])]
        return min((" ".join(["caesura demo", *words]) for words in candidates), key=len)

    def _against(self, base: Scenario, words: list[str]) -> list[str]:
        given = sized(base, self.grid)
        for name, value in asdict(self).items():
            if name == "grid" and value != base.grid:
                words = [*words, f"--grid {value}"]
            elif name == "write_particles":
                words = [*words, "--write-particles"] if value else words
            elif value != getattr(given, name):
                text = f"{value:g}" if isinstance(value, float) else str(value)
                words = [*words, f"--{name.replace('_', '-')} {text}"]
        return words

    def as_json(self) -> dict[str, Any]:
        derived = {
            "dumps": self.dumps,
            "raw_bytes": self.raw_bytes,
            "bounds": self.bounds,
            "command": self.command_line(),
        }
        return asdict(self) | derived


def sized(scenario: Scenario, grid: int) -> Scenario:
    """Another mesh: what a step computes and idles shrinks with the volume, as does what it
    dumps, so that the emulated file system is as narrow as before."""
    return replace(
        scenario, grid=grid, particles=grid, device_s=Scenario.device_s * (grid / 256) ** 3
    )


# Nine steps: eight dumps, half of which are four at any place of four (Options::hands_over). Many
# short cycles tell more than few long ones: what disturbs a machine lasts longer than they do.
FULL = sized(Scenario(steps=9, pairs=4), 160)
QUICK = sized(Scenario(steps=9), 128)


class DemoError(Exception):
    """The demonstration cannot go on; the message says why and what to do."""


class WrongValues(DemoError):
    """A file does not hold what was handed in."""
