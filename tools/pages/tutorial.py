"""Run docs/guide/tutorial.md as it stands, and make its pictures: tutorial.py [PICTURES].

The page's Python blocks are saved under the names in their first lines, its `sh` blocks run one
after the other. Needs the environment of `make test`; PICTURES is docs/pictures by default.
"""

from __future__ import annotations

import base64
import shutil
import struct
import sys
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).resolve().parent))

import page_code  # noqa: E402

PAGE = ROOT / "docs" / "guide" / "tutorial.md"
SIDE = 288  # of a slice in the picture


def run(folder: Path, package: Path, instead: Mapping[str, str] | None = None) -> str:
    """Do in `folder` what the page says; what the commands printed.

    instead: words of the page, and what is done in their place."""
    name = str(PAGE.relative_to(ROOT))
    text = PAGE.read_text(encoding="utf-8")
    for words, others in (instead or {}).items():
        if words not in text:
            raise ValueError(f"{name} does not say '{words}'")
        text = text.replace(words, others)
    blocks = page_code.blocks_of(name, text)
    return page_code.run_as_typed(name, blocks, folder, PYTHONPATH=str(package))


def _png(pixels) -> str:
    """An array of rows of RGB bytes as PNG, in base64."""
    rows, columns, _ = pixels.shape

    def chunk(name: bytes, data: bytes) -> bytes:
        body = name + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row.tobytes() for row in pixels), 9)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    return base64.b64encode(png).decode()


def _coloured(values, low: float, high: float, colours):
    """Values from low to high as colours of a scale."""
    import numpy as np

    share = np.clip((values - low) / (high - low), 0, 1)
    places = np.linspace(0, 1, len(colours))
    scale = np.array(colours, float)
    channels = [np.interp(share, places, scale[:, channel]) for channel in range(3)]
    return np.stack(channels, axis=-1).astype(np.uint8)


HEAT = [(20, 20, 60), (120, 30, 110), (220, 80, 60), (255, 220, 120)]
SIGNED = [(40, 90, 170), (245, 245, 245), (190, 60, 50)]


def error_picture(folder: Path) -> str:
    """A slice without loss, the same with the bound, and their difference."""
    import caesura

    with caesura.open(folder / "exact.h5") as exact, caesura.open(folder / "run.h5") as run:
        field = run["data/16/meshes/heat"]
        bound = float(field.attrs["caesura_bound"])
        before, after = exact["data/16/meshes/heat"][48], field[48]
    low, high = float(before.min()), float(before.max())
    slices = (
        ("without loss", _coloured(before, low, high, HEAT)),
        (f"error at most {bound:.2g}", _coloured(after, low, high, HEAT)),
        (f"error, -{bound:.2g} to {bound:.2g}", _coloured(after - before, -bound, bound, SIGNED)),
    )
    step = SIDE + 16
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {3 * step - 16} {SIDE + 30}" '
        'font-family="sans-serif" font-size="15">\n'
        "<style>.ground { fill: #fff } text { fill: #333 } "
        "@media (prefers-color-scheme: dark) { .ground { fill: #10151d } text { fill: #ccc } }"
        '</style>\n<rect class="ground" width="100%" height="100%"/>\n'
    )
    for number, (label, pixels) in enumerate(slices):
        x, middle = number * step, number * step + SIDE // 2
        svg += (
            f'<image x="{x}" y="0" width="{SIDE}" height="{SIDE}" '
            f'href="data:image/png;base64,{_png(pixels)}"/>\n'
            f'<text x="{middle}" y="{SIDE + 21}" text-anchor="middle">{label}</text>\n'
        )
    return svg + "</svg>\n"


def main() -> int:
    """Run the page and keep its pictures."""
    import caesura

    where = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        print(run(folder, Path(caesura.__file__).absolute().parent.parent))
        for name in ("bound", "timeline"):
            shutil.copyfile(folder / f"{name}.svg", where / f"tutorial_{name}.svg")
        (where / "tutorial_error.svg").write_text(error_picture(folder), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
