#!/usr/bin/env python3
"""Run the cosmology mini-app and keep its fields: a time series for tables that age.

A 128^3 universe from z = 159 to 2.5 in 50 steps, so that from dump to dump the scale factor grows
by 8 %. Three stretches of 13 dumps are kept: early, middle, late (fields.STRETCHES).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import fields

STEPS = 50
WITHOUT_A_LAUNCHER = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def program() -> Path:
    """The mini-app of the build tree."""
    build = Path(os.environ.get("CAESURA_BUILD", fields.ROOT / "build"))
    return build / "miniapps" / "cosmology" / "cosmology"


def wanted() -> set[int]:
    """The dumps that some stretch needs."""
    return {n for begin in fields.STRETCHES.values() for n in range(begin, begin + fields.AGES + 1)}


def make() -> str:
    """Run it unless the dumps are there. Returns what was missing, or an empty string."""
    if wanted() <= set(fields.dump_numbers()):
        return ""
    if not program().exists():
        return f"no mini-app at {program()}: make build"
    place = fields.dump_dir().with_suffix(".partial")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    command = [str(program()), "--mode", "compute", "--grid", "128", "--steps", str(STEPS)]
    command += ["--dump-every", "1", "--z-init", "159", "--z-final", "2.5", "--device-s", "0"]
    print("running the mini-app for its dumps (about 20 s)", flush=True)
    answer = subprocess.run(
        [*command, "--raw-dir", str(place)],
        env={**WITHOUT_A_LAUNCHER, **os.environ},
        capture_output=True,
        text=True,
    )
    if answer.returncode != 0:
        return f"the mini-app failed: {answer.stderr.strip()[-300:]}"
    for path in place.glob("*.bin"):
        if int(re.search(r"_(\d+)$", path.stem).group(1)) not in wanted():
            path.unlink()
    shutil.rmtree(fields.dump_dir(), ignore_errors=True)
    place.rename(fields.dump_dir())
    return ""


if __name__ == "__main__":
    sys.exit(make() or 0)
