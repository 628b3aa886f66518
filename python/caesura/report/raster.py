"""A picture into a file: SVG as it is, PNG by whichever converter is there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SUFFIXES = (".svg", ".png")


def save(svg: str, path: Path) -> None:
    """Write FILE.svg or FILE.png. Raises OSError saying what is missing for a PNG."""
    if path.suffix == ".svg":
        path.write_text(svg, encoding="utf-8")
        return
    try:
        import cairosvg
    except ImportError:
        pass
    else:
        cairosvg.svg2png(bytestring=svg.encode(), write_to=str(path), scale=2)
        return
    converter = shutil.which("rsvg-convert")
    if converter is None:
        raise OSError(
            "a PNG needs cairosvg (`pip install cairosvg`) or rsvg-convert; or name the picture "
            f"{path.with_suffix('.svg')}"
        )
    command = [converter, "--zoom", "2", "--output", str(path)]
    done = subprocess.run(command, input=svg.encode(), capture_output=True)
    if done.returncode != 0:
        raise OSError(f"{converter} could not draw {path}: {done.stderr.decode().strip()}")
