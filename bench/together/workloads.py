"""The runs of S2, as far as its text describes them: reverse time migration, and synthetic ones.

S2's figures are pictures; what its text says in numbers is kept, and what is ours is said here.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from caesura.together import Profile

A100 = json.loads((Path(__file__).parent / "a100.json").read_text(encoding="utf-8"))
FREQUENCIES_HZ = (2, 3, 4, 5, 6, 7, 8)
SHOTS, RTM_CHECKPOINTS, SYNTHETIC_CHECKPOINTS = 20, 66, 100
SYNTHETIC_BYTES = 2_000_000
CACHE_BYTES = 128_000_000
HEADER_BYTES = 4096  # ours: small beside any buffer


def compress_s(bytes_: float) -> float:
    """So many bytes at once."""
    return A100["launch_s"] + bytes_ / A100["bytes_per_s"]


def curve() -> list[tuple[float, float]]:
    """Two points: it is a straight line."""
    return [(x, compress_s(x)) for x in (1e5, 2e9)]


def profile(
    checkpoint_bytes: int,
    own_s: list[float],
    sizes: list[int],
    cache_bytes: int = CACHE_BYTES,
    link_share: float = 1.0,
) -> Profile:
    """On S2's A100. The copy into the cache stops the application: it is in the interval."""
    copy_s = checkpoint_bytes / A100["copy_bytes_per_s"]
    return Profile(checkpoint_bytes, [s + copy_s for s in own_s], sizes, curve(),
                   A100["link_bytes_per_s"] * link_share, cache_bytes, HEADER_BYTES,
                   A100["copy_bytes_per_s"])  # fmt: skip


def rtm_bytes(hz: int) -> int:
    """600 MB a shot of 66 checkpoints at 2 Hz, 1.6 GB at 8 Hz (S2 IV-C3); linear between, ours."""
    return round((600e6 + (hz - 2) / 6 * 1e9) / RTM_CHECKPOINTS)


def rtm_rate(hz: int, checkpoint: int) -> float:
    """Made per second, bytes. 17 GB/s at 2 Hz (IV-D1), up to 150 GB/s (Figure 1), 40 and from
    checkpoint 32 on 57 GB/s at 4 Hz (IV-C1c): a power through the ends is 50 there, their mean."""
    mean = 17e9 * (hz / 2) ** 1.57
    return mean * (0.8 if checkpoint < 32 else 1.14)


def rtm_share(checkpoint: int) -> float:
    """Compressed bytes of a raw byte: above 28 at first, falling (IV-C1c, IV-D4); 1/60 to 1/15 is
    ours."""
    return 1 / 60 + (1 / 15 - 1 / 60) * checkpoint / (RTM_CHECKPOINTS - 1)


def rtm(hz: int, shot: int, cache_bytes: int = CACHE_BYTES) -> tuple[Profile, list[float]]:
    """A shot, and its own seconds. Sizes vary by up to 10 % between shots, times less (IV-C1c)."""
    varies = random.Random(1000 * hz + shot)
    u = rtm_bytes(hz)
    own = [u / rtm_rate(hz, i) * varies.uniform(0.98, 1.02) for i in range(RTM_CHECKPOINTS)]
    sizes = [int(u * rtm_share(i) * varies.uniform(0.95, 1.05)) for i in range(RTM_CHECKPOINTS)]
    return profile(u, own, sizes, cache_bytes), own


def synthetic(
    rate: float, ratio: float, cache_bytes: int = CACHE_BYTES, link_share: float = 1.0
) -> tuple[Profile, list[float]]:
    """100 checkpoints of 2 MB at even intervals and one ratio (IV-C2)."""  # fmt: skip
    own = [SYNTHETIC_BYTES / rate] * SYNTHETIC_CHECKPOINTS
    sizes = [round(SYNTHETIC_BYTES / ratio)] * SYNTHETIC_CHECKPOINTS
    return profile(SYNTHETIC_BYTES, own, sizes, cache_bytes, link_share), own
