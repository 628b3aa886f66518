"""Space kept before compressing: S1's Figures 9 and 14, for slots as in S1 and for regions.

    python bench/prediction/space.py [--quick] [--directory DIR]

The mini-app writes 20 dumps of six fields on two ranks, again and again:

 check   256^3 in 8 MB blocks, at the papers' bounds and at a tenth (a ratio like S1's 17.9):
         what the file takes beyond the compressed bytes, with regions and with slots of 1.25
 sweep   128^3 in 512 KiB blocks: slots with R_space from 1.05 to 1.5 and by weight, regions with
         margins from 0 to 6 standard deviations and in stripes, on an *emulated* file system
         (bench/pfs: a bandwidth and a latency per write), beside a run in which nothing overflows

Invariants: both lengths are reported, that of the file and that of the disk blocks it holds (space
kept and never written is a hole); "ideal" is the sum of the exact sizes of all blocks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "bench" / "codec")]

import results  # noqa: E402
import space_pictures  # noqa: E402

BUILD = Path(os.environ.get("CAESURA_BUILD", ROOT / "build"))
PROGRAM = BUILD / "miniapps" / "cosmology" / "cosmology"
PRELOAD = BUILD / "bench" / "pfs" / "libpfs.so"
DUMPS, RANKS = 20, 2
BANDWIDTH, LATENCY_S = 20e6, 0.002  # of the emulated file system
SLOT_SPACES = (1.05, 1.1, 1.175, 1.25, 1.34, 1.43, 1.5)
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
SIGMAS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
STRIPES = (1 << 16, 1 << 18, 1 << 20)
GOAL_SPACE, GOAL_OVERFLOW = 0.02, 0.01
PAPER = {
    "stored over ideal at 1.25": "26 % (ratio 14.13 instead of 17.94; 1.5 % of the raw size)",
    "R_space 1.1": "32.4 % of the partitions overflow, 65.6 % more time",
    "useful R_space": "1.1 to 1.43, by default 1.25",
    "figure 9": "the pairs of the two costs over the weight; a picture without numbers",
}


def launch(place: Path, size: list[str], options: list[str], emulated: bool) -> dict:
    """One run of the mini-app; what its file takes, and what that took."""
    file, timing = place / "run.h5", place / "run.json"
    command = ["mpirun", "-n", str(RANKS)]
    if emulated:
        settings = {
            "LD_PRELOAD": PRELOAD,
            "PFS_ROOT": place,
            "PFS_BANDWIDTH": f"{BANDWIDTH:.0f}",
            "PFS_LATENCY": f"{LATENCY_S:g}",
            "PFS_BUCKET": f"caesura-space-{os.getpid()}",
        }
        for name, value in settings.items():
            command += ["-x", f"{name}={value}"]
    command += [str(PROGRAM), "--mode", "caesura", "--device", "emulated", "--quiet", *size]
    command += ["--steps", str(DUMPS + 1), "--output", str(file), "--timing-json", str(timing)]
    subprocess.run(command + options, check=True, stdout=subprocess.DEVNULL)
    report = json.loads(timing.read_text())["report"]
    status = file.stat()
    file.unlink()
    ideal = report["stored_bytes"]
    return {
        "options": options,
        "ideal_bytes": ideal,
        "ratio": report["raw_bytes"] / ideal,
        "file_bytes": status.st_size,
        "disk_bytes": status.st_blocks * 512,
        "file_over_ideal": status.st_size / ideal - 1,
        "disk_over_ideal": status.st_blocks * 512 / ideal - 1,
        "spare_bytes": report["spare_bytes"],
        "blocks": report["blocks"],
        "overflow_blocks": report["overflow_blocks"],
        "overflow_share": report["overflow_blocks"] / report["blocks"],
        "overflow_bytes": report["overflow_bytes"],
        "writes": report["writes"],
        "write_s": report["write_s"],
    }


def show(name: str, run: dict) -> dict:
    """A line of the table."""
    print(
        f"{name:34} ratio {run['ratio']:6.1f}  file {run['file_over_ideal']:+7.2%}"
        f"  disk {run['disk_over_ideal']:+7.2%}  overflow {run['overflow_share']:6.2%}"
        f"  writing {run['write_s']:6.2f} s",
        flush=True,
    )
    return {"name": name, **run}


def check(place: Path, quick: bool) -> list[dict]:
    """Stored over ideal bytes: regions and slots, at two sets of bounds."""
    size = ["--grid", "128", "--chunk-bytes", "1048576"] if quick else ["--grid", "256"]
    rows = []
    for scale in ("1", "0.1"):
        for policy in ("regions", "slots"):
            options = ["--bound-scale", scale, "--reserve", policy]
            rows.append(show(f"bounds x {scale}, {policy}", launch(place, size, options, False)))
    return rows


def sweep(place: Path) -> dict[str, list[dict]]:
    """Space against time over R_space, weights, sigmas and stripes, on an emulated file system."""
    size = ["--grid", "128", "--chunk-bytes", str(1 << 19), "--bound-scale", "0.1", "--no-fsync"]

    def series(option: str, values: tuple, policy: str) -> list[dict]:
        runs = []
        for value in values:
            options = ["--reserve", policy, option, str(value)]
            run = launch(place, size, options, True)
            runs.append({"value": value, **show(f"{policy} {option} {value}", run)})
        return runs

    return {
        "slots": series("--slot-space", SLOT_SPACES, "slots"),
        "weights": series("--slot-weight", WEIGHTS, "slots"),
        "regions": series("--reserve-sigmas", SIGMAS, "regions"),
        "stripes": series("--stripe-bytes", STRIPES, "regions"),
        "nothing overflows": series("--reserve-factor", (4.0,), "regions"),
    }


def goals(rows: list[dict]) -> list[dict]:
    """What was to be reached, and was it?"""
    found = []
    for row in rows:
        if not row["name"].endswith("regions"):
            continue
        for what, value, goal in (
            ("file over ideal", row["file_over_ideal"], GOAL_SPACE),
            ("disk blocks over ideal", row["disk_over_ideal"], GOAL_SPACE),
            ("blocks overflowing", row["overflow_share"], GOAL_OVERFLOW),
        ):
            found.append(
                {"goal": f"{row['name']}: {what}", "at_most": goal, "measured": value,
                 "met": value <= goal}
            )  # fmt: skip
    for goal in found:
        mark = "met   " if goal["met"] else "MISSED"
        print(f"{mark} {goal['goal']}: {goal['measured']:.2%}, goal {goal['at_most']:.0%}")
    return found


def main() -> int:
    """Run, write down, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="128^3 in the check as well")
    parser.add_argument("--directory", type=Path, help="where files are written for a while")
    options = parser.parse_args()
    missing = [path for path in (PROGRAM, PRELOAD) if not path.exists()]
    if missing:
        print(f"space: not there: {', '.join(map(str, missing))}; make build", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(dir=options.directory) as place:
        rows = check(Path(place), options.quick)
        swept = sweep(Path(place))
    figures = {
        "paper": PAPER,
        "dumps": DUMPS,
        "ranks": RANKS,
        "emulated": {"bandwidth_bytes_per_s": BANDWIDTH, "latency_s": LATENCY_S,
                     "what": "the file system of the sweep (bench/pfs); the check uses the disk"},
        "check": rows,
        "sweep": swept,
        "goals": goals(rows),
    }  # fmt: skip
    print(f"figures: {results.merge('space', figures)}")
    print(f"picture: {results.save_picture('prediction_space', space_pictures.draw(figures))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
