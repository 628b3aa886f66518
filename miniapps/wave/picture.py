#!/usr/bin/env python3
"""An image of the wave mini-app beside the earth that it shows, cut through the middle, as SVG.

  miniapps/wave/picture.py IMAGE.npy VELOCITY.npy PICTURE.svg [--spacing 10] [--sponge 16]

Each depth is scaled by its own root mean square, smoothed over depth, as what lies deep is dim; the
sponge, and a wavelength below sources and receivers, are left out. Needs NumPy.
"""

from __future__ import annotations

import argparse
import base64
import struct
import sys
import zlib
from pathlib import Path

import numpy as np

SCALE, LEFT, TOP, GAP = 3, 60, 64, 46
BELOW = 12  # cells under the receivers in which everything is bright


def png(grey: np.ndarray) -> bytes:
    """A picture of bytes, [rows, columns]."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    rows, columns = grey.shape
    head = struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)
    lines = b"".join(b"\0" + row.tobytes() for row in grey)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines, 9))
            + chunk(b"IEND", b""))  # fmt: skip


def reflectors(image: np.ndarray, sponge: int) -> np.ndarray:
    """The middle slice as bytes; 128 is nothing."""
    cut = image[:, image.shape[1] // 2, :].astype(float)
    shown = np.zeros_like(cut)
    inner = (slice(sponge + 2 + BELOW, -sponge), slice(sponge, -sponge))
    deep = cut[inner]
    power = np.sqrt(np.convolve(np.pad((deep**2).mean(axis=1), 8, mode="edge"),
                                np.full(17, 1 / 17), mode="valid"))  # fmt: skip
    shown[inner] = deep / power[:, None]
    return np.clip(128 + 50 * shown, 0, 255).astype(np.uint8)


def speeds(velocity: np.ndarray) -> np.ndarray:
    """The middle slice as bytes, fast is light."""
    cut = velocity[:, velocity.shape[1] // 2, :].astype(float)
    return (40 + 200 * (cut - cut.min()) / (cut.max() - cut.min())).astype(np.uint8)


def panel(grey: np.ndarray, left: float, title: str, spacing_m: float, depths: bool) -> str:
    rows, columns = grey.shape
    data = base64.b64encode(png(grey)).decode()
    parts = [
        f'<text x="{left}" y="{TOP - 10}" class="panel">{title}</text>',
        f'<image x="{left}" y="{TOP}" width="{SCALE * columns}" height="{SCALE * rows}" '
        f'preserveAspectRatio="none" href="data:image/png;base64,{data}"/>',
    ]
    if depths:
        for cell in range(0, rows, 20):
            parts.append(f'<text x="{left - 8}" y="{TOP + SCALE * cell + 4}" class="tick" '
                         f'text-anchor="end">{spacing_m * cell:g} m</text>')  # fmt: skip
    return "".join(parts)


def picture(image: np.ndarray, velocity: np.ndarray, spacing_m: float, sponge: int) -> str:
    rows, _, columns = image.shape
    second = LEFT + SCALE * columns + GAP
    width, height = second + SCALE * columns + 20, TOP + SCALE * rows + 20
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img"><style>'
        "svg { font: 12px system-ui, Arial, 'DejaVu Sans', sans-serif; } text { fill: #1c2430; } "
        ".heading { font-size: 17px; font-weight: 600; } .panel { font-weight: 600; } "
        ".tick { font-size: 11px; fill: #5b6675; }</style>"
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
        f'<text x="{LEFT}" y="28" class="heading">Reverse time migration, a cut through the '
        "middle</text>"
        + panel(reflectors(image, sponge), LEFT, "image: where waves were reflected", spacing_m,
                depths=True)
        + panel(speeds(velocity), second, f"the earth: {velocity.min():.0f} (dark) to "
                f"{velocity.max():.0f} m/s", spacing_m, depths=False)
        + "</svg>\n"
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("image", type=Path)
    parser.add_argument("velocity", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--spacing", type=float, default=10.0, help="metres between cells")
    parser.add_argument("--sponge", type=int, default=16, help="cells")
    arguments = parser.parse_args()
    image, velocity = np.load(arguments.image), np.load(arguments.velocity)
    if image.shape != velocity.shape:
        parser.error(f"the image is {image.shape}, the velocities are {velocity.shape}")
    svg = picture(image, velocity, arguments.spacing, arguments.sponge)
    arguments.picture.write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
