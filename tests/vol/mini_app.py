#!/usr/bin/env python3
"""The plain HDF5 version of the mini-app knows nothing of Caesura, and under the connector its
files hold the same within the bounds, particles bit for bit.

Standard library only. Exit status 0 or 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench" / "vol")]

from launching import environment, on_ranks  # noqa: E402
from plain import configuration, connector_variables, differences  # noqa: E402

RANKS, STEPS = 2, (0, 1, 2)
DENSITIES = {"baryon_density": 0.2, "dark_matter_density": 0.4}
BOUNDS = {**DENSITIES, "temperature": 1e3, **{f"velocity_{axis}": 2e5 for axis in "xyz"}}
PARTICLES = 3 + 3 + 1  # datasets: position, momentum, id, all without loss
ARGUMENTS = ["--mode", "sync", "--file-per-dump", "--write-particles", "--grid", "32",
             "--steps", "4", "--quiet"]  # fmt: skip


def output_of(*command: str) -> str:
    """Standard output; a failure ends the test."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def names_caesura(program: Path) -> list[str]:
    """Symbols and libraries of ours in a program; nothing if it stands alone."""
    symbols = output_of("nm", "-C", str(program)).splitlines()
    libraries = [line.split()[0] for line in output_of("ldd", str(program)).splitlines()]
    return [name.strip() for name in symbols + libraries if "caesura" in name.lower()]


def run(options: argparse.Namespace, folder: Path, variables: list[str]) -> None:
    """One run; its files lie in the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    program = [options.program, *ARGUMENTS, "--output", folder / "run.h5"]
    command = [options.mpirun, *on_ranks(RANKS, "env", *variables, *program)]
    answer = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=150)
    if answer.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{answer.stdout}{answer.stderr}")


def main() -> int:
    """Both runs, and what they left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--mpirun", default="mpirun")
    options = parser.parse_args()
    found = names_caesura(options.program)
    print("\n".join(found))
    good = not found
    native, ours = options.out / "native", options.out / "connector"
    run(options, native, [])
    config, report = options.out / "run.toml", options.out / "report.json"
    text = configuration(BOUNDS, threshold_bytes=4096, chunk_bytes=32768, report=f'"{report}"')
    config.write_text(text)
    run(options, ours, connector_variables(options.build, config))
    datasets = json.loads(report.read_text())["datasets"]
    blocks = [one for one in datasets if one["what"].startswith("blocks of")]
    if len(blocks) != (len(BOUNDS) + PARTICLES) * len(STEPS):
        print(f"{len(blocks)} datasets became blocks: {datasets}")
        good = False
    sizes = {}
    for step in STEPS:
        pair = [folder / f"run-{step}.h5" for folder in (native, ours)]
        bounds = {f"/data/{step}/meshes/{name}": bound for name, bound in BOUNDS.items()}
        for line in differences(options.build, *pair, bounds):
            print(line)
            good = False
        sizes[step] = [os.path.getsize(path) for path in pair]
    print(f"bytes natively and under the connector, by step: {sizes}")
    return 0 if good and all(ours < native for native, ours in sizes.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
