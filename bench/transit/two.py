"""Two applications on one service and node: what output costs each of them, and what the node gets
done.

**Overheads.** The cosmology mini-app twice, and once together with the same simulation as a program
of plain HDF5 under the connector. Three modes, in turns: both compute without output (`compute`),
both write, each by itself (`own`), both write through one service (`served`). A run is compared
with the same application of its own round's `compute`.

**Throughput.** Two applications that do nothing but hand over the mini-app's fields: compressed, on
a slow and on a fast file system, and uncompressed. Total raw bytes over the time from the first
hand-over until both files are whole, beside the slower of the codec (two processes that compress
the same blocks and write nothing) and the disk (its bandwidth times the ratio).

The file system and the device's time are emulated. Files of the first round are verified. Results:
section two_applications of out/bench/transit.json; two_picture.py draws them. About 10 minutes on 2
cores; --quick tries it out. A loaded machine is said in the results and on the picture.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from applications import MPI, PROGRAMS, Pair, Setting, nodes, wait_for_quiet
from caesura_lab.demo.scenario import BOUNDS
from results import OUT, save

MODES = ("compute", "own", "served")
PAIRS = {"twice": ("mini-app", "mini-app"), "mixed": ("mini-app", "hdf5")}
GOAL = {"overhead_at_most": 0.03, "throughput_at_least": 0.9}
CASES = (("caesura", 20e6), ("caesura", 1e9), ("none", 150e6))  # codec, bytes/s of the disk
QUIET = 0.1  # of the cores, kept busy by others


def overheads(setting: Setting, rounds: int) -> list[dict]:
    """A row for each pair, application and mode with output."""
    walls: dict[tuple, list[float]] = {}
    reports: dict[tuple, dict] = {}
    for number in range(rounds):
        for name, kinds in PAIRS.items():
            turn = number % len(MODES)
            for mode in MODES[turn:] + MODES[:turn]:
                with Pair(setting, mode) as pair:
                    timings = pair.run(kinds)
                    if number == 0 and mode != "compute":
                        pair.verify()
                for which, timing in enumerate(timings):
                    walls.setdefault((name, which, mode), []).append(timing["wall_s"])
                    reports[name, which, mode] = timing
                took = ", ".join(f"{timing['wall_s']:.2f}" for timing in timings)
                print(f"  {number} {name:6} {mode:8} {took} s", flush=True)
    rows = []
    for (name, which, mode), own in walls.items():
        if mode == "compute":
            continue
        alone = walls[name, which, "compute"]
        shares = [wall_s / alone_s - 1.0 for wall_s, alone_s in zip(own, alone, strict=True)]
        last = reports[name, which, mode]
        rows.append(
            {
                "pair": name,
                "application": which,
                "kind": PAIRS[name][which],
                "mode": mode,
                "overhead": statistics.median(shares),
                "overhead_low": min(shares),
                "overhead_high": max(shares),
                "wall_s": own,
                "compute_s": alone,
                "output_s": last["output_s"],
                "close_s": last["close_s"],
                "raw_bytes": last["raw_bytes"],
                "file_bytes": last["file_bytes"],
            }
        )
    return rows


def of_both(clients: list[dict]) -> dict:
    """Raw bytes a second of two applications together."""
    wall_s = max(c["to_s"] for c in clients) - min(c["from_s"] for c in clients)
    raw, stored = (sum(c[key] for c in clients) for key in ("raw_bytes", "stored_bytes"))
    return {"wall_s": wall_s, "bytes_per_s": raw / wall_s, "ratio": raw / stored}


def throughput(setting: Setting, data: Path, rounds: int, dumps: int, scale: float) -> list[dict]:
    """A row for each codec, bandwidth and mode."""
    found: dict[tuple, list[dict]] = {}
    limits: dict[tuple, list[float]] = {}
    for number in range(rounds):
        for codec, bandwidth in CASES:
            alone = float("inf")
            if codec != "none":
                with Pair(setting, "codec") as pair:
                    alone = of_both(pair.hand_over(data, dumps, codec, scale))["bytes_per_s"]
            for mode in ("own", "served") if number % 2 == 0 else ("served", "own"):
                with Pair(setting, mode, bandwidth) as pair:
                    one = of_both(pair.hand_over(data, dumps, codec, scale))
                    if number == 0:
                        pair.verify()
                link = setting.link_bytes_per_s if mode == "served" else float("inf")
                disk = bandwidth * one["ratio"]
                slower, one["slower"] = min((alone, "codec"), (disk, "disk"), (link, "link"))
                one["of_the_slower"] = one["bytes_per_s"] / slower
                found.setdefault((codec, bandwidth, mode), []).append(one)
                limits.setdefault((codec, bandwidth, mode), []).append(slower)
                print(
                    f"  {number} {codec:8} {bandwidth / 1e6:5.0f} MB/s {mode:7} "
                    f"{one['bytes_per_s'] / 1e6:6.0f} MB/s, {one['of_the_slower']:.2f} of the "
                    f"{one['slower']}",
                    flush=True,
                )
    rows = []
    for (codec, bandwidth, mode), runs in found.items():
        shares = [one["of_the_slower"] for one in runs]
        rows.append(
            {
                "codec": codec,
                "bandwidth": bandwidth,
                "mode": mode,
                "bytes_per_s": statistics.median(one["bytes_per_s"] for one in runs),
                "slower_bytes_per_s": statistics.median(limits[codec, bandwidth, mode]),
                "slower": runs[0]["slower"],
                "of_the_slower": statistics.median(shares),
                "of_the_slower_low": min(shares),
                "of_the_slower_high": max(shares),
                "ratio": runs[0]["ratio"],
            }
        )
    return rows


def make_data(setting: Setting, options: argparse.Namespace, folder: Path) -> None:
    """Fields of the mini-app near its end, where they have structure; once."""
    command = ["mpirun", "--bind-to", "none", "-n", "1", str(PROGRAMS["mini-app"])]
    command += ["--grid", str(options.data_grid), "--particles", str(options.data_grid)]
    command += ["--steps", "11", "--dump-every", "10", "--mode", "compute", "--quiet"]
    command += ["--raw-dir", str(folder)]
    subprocess.run(command, check=True, env={**MPI, **os.environ})


def show(section: dict) -> None:
    """For the terminal; what docs/evidence/transit.md has."""
    print("| pair | application | mode | overhead | range |\n| --- | --- | --- | --- | --- |")
    for row in section["overheads"]:
        print(
            f"| {row['pair']} | {row['kind']} {row['application']} | {row['mode']} "
            f"| {row['overhead']:+.1%} "
            f"| {row['overhead_low']:+.1%} to {row['overhead_high']:+.1%} |"
        )
    print("\n| codec | disk, MB/s | mode | raw MB/s | of the slower | range |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in section["throughput"]:
        print(
            f"| {row['codec']} | {row['bandwidth'] / 1e6:.0f} | {row['mode']} "
            f"| {row['bytes_per_s'] / 1e6:.0f} | {row['of_the_slower']:.2f} ({row['slower']}) "
            f"| {row['of_the_slower_low']:.2f} to {row['of_the_slower_high']:.2f} |"
        )
    state = "quiet" if section["others_share"] <= QUIET else "LOADED BY OTHERS"
    print(f"\nmachine: {state}, {section['others_share']:.0%} of the cores before it began")


def parser_of(description: str | None, rounds: int) -> argparse.ArgumentParser:
    """What can be said of the runs, here and in two_nodes.py."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--grid", type=int, default=192)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--data-grid", type=int, default=128)
    parser.add_argument("--dumps", type=int, default=8, help="handed over by each")
    parser.add_argument("--bound-scale", type=float, default=0.1, help="times the papers' bounds")
    parser.add_argument("--bandwidth", type=float, default=150e6, help="bytes/s, of overheads")
    parser.add_argument("--quick", action="store_true", help="one round of a small grid")
    return parser


def measured(
    options: argparse.Namespace, cable: nodes.Cable | None = None, link: float = math.inf
) -> dict:
    """The section, of one node or of two with a cable between them."""
    cores = len(os.sched_getaffinity(0))
    if options.quick:
        options.rounds, options.grid, options.data_grid, options.dumps = 1, 64, 64, 4
    others = wait_for_quiet(QUIET, 0.0 if options.quick else 120.0)
    OUT.mkdir(parents=True, exist_ok=True)
    memory = Path("/dev/shm")
    base = memory if os.access(memory, os.W_OK) else None
    place = Path(tempfile.mkdtemp(prefix="caesura-transit-", dir=base))
    try:
        folder, data = place / "disk", place / "data"
        folder.mkdir()
        data.mkdir()
        arguments = ("--grid", str(options.grid), "--particles", str(options.grid))
        arguments += ("--steps", str(options.steps), "--device", "emulated")
        # Half of the cores' time, as two applications share them.
        arguments += ("--device-s", f"{3.2 * (options.grid / 256) ** 3:.3f}")
        arguments += ("--bound-scale", str(options.bound_scale))
        setting = Setting(
            folder,
            options.bandwidth,
            max(1, cores // 2),
            cores,
            arguments,
            {name: options.bound_scale * bound for name, bound in BOUNDS.items()},
            cable,
            link,
        )
        make_data(setting, options, data)
        return {
            "emulated": ["file system", "device time"],
            "others_share": others,
            "options": vars(options),
            "ranks_of_each": setting.ranks,
            "service_threads": setting.threads,
            "arguments": list(arguments),
            "goal": GOAL,
            "overheads": overheads(setting, options.rounds),
            "throughput": throughput(
                setting,
                data,
                options.rounds,
                options.dumps,
                options.bound_scale,
            ),
        }
    finally:
        shutil.rmtree(place, ignore_errors=True)


def main() -> int:
    """Measure, say, save."""
    section = measured(parser_of(__doc__, 5).parse_args())
    show(section)
    print(save("two_applications", section))
    return 0


if __name__ == "__main__":
    sys.exit(main())
