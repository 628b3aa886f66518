"""What this machine takes to compress and to write, measured once and kept: `caesura calibrate`.

    from caesura import calibration
    profile = calibration.load()                 # of this class of machines; None: none yet
    model = calibration.CompressModel("sz3", "float32", profile)
    model.predict_s(raw_bytes=8 << 20, bits_per_value=2.0)

A profile is a small JSON file. A Writer finds it by itself (WriterOptions.calibration_path); its
predicted times then start from what was measured here instead of from built-in values, and are
refined by finished blocks either way. The curves and their fits are described in
docs/how/prediction.md (S1-Eq1, S1-Eq2), the calls in src/predict/times.hpp.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from caesura import _core
from caesura._core import (
    CompressCurve,
    CompressModel,
    Profile,
    WriteCurve,
    WriteModel,
    fit_compress,
    fit_write,
)

__all__ = [
    "CompressCurve",
    "CompressModel",
    "Profile",
    "WriteCurve",
    "WriteModel",
    "default_path",
    "fit_compress",
    "fit_write",
    "host_class",
    "load",
    "save",
]

_MOST_BYTES = 16 << 20


def host_class() -> dict[str, Any]:
    """This machine's class: {"class": name, "processor": ..., "cores": ...}."""
    name, processor, cores = _core.host_class()
    return {"class": name, "processor": processor, "cores": cores}


def default_path() -> Path | None:
    """Where a Writer looks: $CAESURA_CALIBRATION, or below $XDG_CONFIG_HOME or ~/.config.

    None: calibration is off (CAESURA_CALIBRATION=none), or there is no home directory.
    """
    path = _core.calibration_path(host_class()["class"])
    return Path(path) if path not in ("", "none") else None


def load(path: str | os.PathLike[str] | None = None) -> Profile | None:
    """The profile at `path`, or at default_path(). None where there is no file.

    Raises CorruptError (damaged), RuntimeError (of another version, or no profile), OSError.
    """
    place = Path(path) if path is not None else default_path()
    if place is None or not place.exists():
        return None
    return Profile.parse(_text(place))


def _text(place: Path) -> str:
    with place.open("rb") as file:
        return file.read(_MOST_BYTES).decode("utf-8", "replace")


def save(profile: Profile, path: Path, points: dict[tuple, list]) -> None:
    """Write the profile whole or not at all, with the measured points beside their curves.

    points: by (codec, mode, dtype) and by (file_system, synced), in the units of the fits.
    """
    document = json.loads(profile.to_json())
    for entry in document["compress"]:
        entry["points"] = points.get((entry["codec"], entry["mode"], entry["dtype"]), [])
    for entry in document["write"]:
        entry["points"] = points.get((entry["file_system"], entry["synced"]), [])
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        partial.write_text(json.dumps(document, indent=1) + "\n")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def other_writes(path: Path, profile: Profile, points: dict[tuple, list]) -> None:
    """Keep what an earlier profile at `path` knows of file systems that were not measured now."""
    try:
        text = _text(path)
        earlier = Profile.parse(text)
        document = json.loads(text)
    except (OSError, RuntimeError, ValueError, _core.CorruptError):
        return  # whatever it was is replaced
    if earlier.host_class != profile.host_class:
        return
    for entry in document["write"]:
        key = (entry["file_system"], entry["synced"])
        if profile.find_write(*key) is None:
            curve = earlier.find_write(*key)
            profile.add_write(*key, curve, entry["median_error"], entry["samples"])
            points[key] = entry.get("points", [])
