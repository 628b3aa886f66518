"""A picture into a file: SVG as it is, PNG by whichever converter is there."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

SUFFIXES = (".svg", ".png")


def check(path: Path) -> None:
    """Before long work: can the picture be written? Raises OSError."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise OSError(f"there is no directory {folder} for the picture")
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise OSError(f"{path} may not be written by this user; name another picture")
    if path.suffix == ".png" and not _has_converter():
        raise _no_converter(path)


def _has_converter() -> bool:
    found = importlib.util.find_spec("cairosvg") is not None
    return found or shutil.which("rsvg-convert") is not None


def _no_converter(path: Path) -> OSError:
    return OSError(
        "a PNG needs cairosvg (`pip install cairosvg`) or rsvg-convert; or name the picture "
        f"{path.with_suffix('.svg')}"
    )


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
        raise _no_converter(path)
    command = [converter, "--zoom", "2", "--output", str(path)]
    done = subprocess.run(command, input=svg.encode(), capture_output=True)
    if done.returncode != 0:
        raise OSError(f"{converter} could not draw {path}: {done.stderr.decode().strip()}")
