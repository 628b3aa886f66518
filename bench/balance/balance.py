"""Ranks of a node that write for each other: what it is worth, against the spread of their ratios.

Two ranks dump six blocks of 8 MiB each in every iteration; the first holds noise, the other smooth
data. Off and on are interleaved, medians compared. The file system is emulated (bench/pfs). Its
link is wide and each client gets a part of it, as on a parallel file system; a second table has one
narrow link for both, where nothing can be won. Every file is read back.
Results: out/bench/balance.json. S0's Figure 3 is the same by simulation.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "bench" / "codec"))

from conditions import conditions  # noqa: E402

OUT = Path(os.environ.get("CAESURA_OUT", ROOT / "out")) / "bench"
BUILD = Path(os.environ.get("CAESURA_BUILD", ROOT / "build"))
# Words in front of every measured command, such as what keeps the machine quiet meanwhile.
PREFIX = shlex.split(os.environ.get("CAESURA_BENCH_PREFIX", ""))
BOUND = 1e-3
# Noise of the first and of the other rank, in error bounds.
SPREADS = {"even": (2000.0, 2000.0), "about 5": (2000.0, 2.5), "about 20": (2000.0, 0.2)}
LINKS = {
    "each client 50 MB/s": {"PFS_BANDWIDTH": "1000M", "PFS_CLIENT_BANDWIDTH": "50M"},
    "one link of 50 MB/s": {"PFS_BANDWIDTH": "50M"},
}


def run(
    folder: Path, link: dict, noise: tuple[float, float], balance: str, more: list[str]
) -> dict:
    """One run, timed by itself; its file read back."""
    path = folder / "spread.h5"
    bucket = f"caesura-balance-{os.getpid()}"
    shim = link | {
        "LD_PRELOAD": str(BUILD / "bench" / "pfs" / "libpfs.so"),
        "PFS_ROOT": str(folder),
        "PFS_BUCKET": bucket,
    }
    command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2"]
    command += ["--mca", "mpi_yield_when_idle", "1"]
    for name in shim:
        command += ["-x", f"{name}={shim[name]}"]
    command += [str(BUILD / "bench" / "balance" / "spread"), "--out", str(path)]
    command += ["--balance", balance, "--noise", str(noise[0]), "--least", str(noise[1]), *more]
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(
        [*PREFIX, *command], env=os.environ | allowed, capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or len(lines) != 1:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    result = json.loads(lines[0])
    result["overhead_percent"] = 100.0 * (result["seconds"] / result["compute_only_s"] - 1.0)
    subprocess.run(
        [str(BUILD / "bench" / "pfs" / "pfs_stat"), "--remove"],
        env=os.environ | {"PFS_BUCKET": bucket},
        capture_output=True,
        check=False,
    )
    verify(path, noise)
    path.unlink()
    return result


def verify(path: Path, noise: tuple[float, float]) -> None:
    """All of the last dump through h5py, each rank's part within its noise and the bound."""
    import caesura
    import numpy as np

    with caesura.open(str(path)) as file:
        last = max(file["data"], key=int)
        for name, field in file[f"data/{last}/meshes"].items():
            halves = np.split(field[...].astype(np.float64), 2)
            wave = np.sin(1e-4 * np.arange(halves[0].size)).reshape(halves[0].shape)
            for half, amplitude in zip(halves, noise, strict=True):
                off = float(np.abs(half - wave).max())
                if not off <= (amplitude + 1.0) * BOUND * (1 + 1e-6) + 1e-6:
                    raise SystemExit(f"{path}: {name} is off by {off}")


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=12)
    parser.add_argument("--only", default="", help="a part of a link's or a spread's name")
    options = parser.parse_args()
    more = ["--iterations", str(options.iterations)]
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for link, settings in LINKS.items():
            for spread, noise in SPREADS.items():
                if options.only not in f"{link}, {spread}":
                    continue
                runs: dict[str, list[dict]] = {"off": [], "on": []}
                for repeat in range(options.repeats):
                    for mode in ("off", "on") if repeat % 2 else ("on", "off"):
                        runs[mode].append(run(Path(name), settings, noise, mode, more))
                row = {"link": link, "spread": spread, "runs": runs}
                for mode, all_runs in runs.items():
                    row[f"overhead_{mode}_percent"] = statistics.median(
                        r["overhead_percent"] for r in all_runs
                    )
                row["ratios"] = [runs["on"][0]["ratio_low"], runs["on"][0]["ratio_high"]]
                row["time_on_over_off"] = statistics.median(
                    on["seconds"] / off["seconds"]
                    for on, off in zip(runs["on"], runs["off"], strict=True)
                )
                row["helped_blocks"] = statistics.median(r["helped_blocks"] for r in runs["on"])
                rows.append(row)
                low, high = row["ratios"]
                print(
                    f"{link}; ratios {low:.1f} and {high:.1f} ({high / low:.1f} apart): overhead "
                    f"{row['overhead_off_percent']:.1f} % off, {row['overhead_on_percent']:.1f} % "
                    f"on; time on/off {row['time_on_over_off']:.3f}; "
                    f"{row['helped_blocks']:.0f} blocks helped",
                    flush=True,
                )
    OUT.mkdir(parents=True, exist_ok=True)
    result = {"conditions": conditions(), "emulated": "file system (bench/pfs)", "rows": rows}
    (OUT / "balance.json").write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
