"""Caesura beside other writers, in the same run, interleaved: overhead over computing alone.

One process computes 40 ms and waits 160 ms for a device in each of 24 iterations, and hands six
fields of 8 MB over in every fourth. The disk is emulated (bench/pfs) at 100 and at 40 MB/s; what is
measured is therefore the writers, not this machine's disk. Every file is read back and compared.
Results: out/bench/peers.json and peers.svg.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "bench" / "codec")]

from application import BUSY_S, ITERATIONS, WAIT_S  # noqa: E402
from conditions import conditions  # noqa: E402
from picture import picture  # noqa: E402
from writers import DUMP_EVERY, OUTPUTS  # noqa: E402

OUT = Path(os.environ.get("CAESURA_OUT", ROOT / "out")) / "bench"
BUILD = Path(os.environ.get("CAESURA_BUILD", ROOT / "build"))
DATA = "nyx_128_z050.h5"
BANDWIDTHS_MB_S = (100, 40)
PACKAGES = ("h5py", "hdf5plugin", "adios2", "zarr", "numpy")


class Bench:
    """Runs application.py, each time in a fresh process on an idle emulated disk."""

    def __init__(self, data: Path, folder: Path, options: argparse.Namespace) -> None:
        self._data, self._folder, self._options = data, folder, options
        self._bucket = f"caesura-peers-{os.getpid()}"
        self._pieces = 1
        self.limits = self._call("calibrate")
        self._pieces = int(self.limits["pieces"])

    def run(self, mode: str, bandwidth_mb_s: int) -> dict:
        """One run, timed; its file verified afterwards, without the emulated disk."""
        shim = {
            "LD_PRELOAD": str(BUILD / "bench" / "pfs" / "libpfs.so"),
            "PFS_ROOT": str(self._folder),
            "PFS_BANDWIDTH": f"{bandwidth_mb_s}M",
            "PFS_BUCKET": self._bucket,
        }
        result = self._call("run", mode, shim)
        self._forget_bucket()
        if mode != "compute":
            result |= self._call("verify", mode)
            if not result["verified"]:
                raise SystemExit(f"{mode}: what was read back is not what was written: {result}")
        for left in self._folder.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        return result

    def _call(self, what: str, mode: str = "compute", shim: dict | None = None) -> dict:
        command = [sys.executable, str(HERE / "application.py"), what, "--mode", mode]
        command += ["--data", str(self._data), "--path", str(self._folder / "dumps")]
        command += ["--pieces", str(self._pieces)]
        command += ["--bound-scale", str(self._options.bound_scale)]
        if what == "run":
            command = [*shlex.split(self._options.prefix), *command]
        # hdf5plugin brings its filters itself, and refuses where a path says so, too.
        environment = {k: v for k, v in os.environ.items() if k != "HDF5_PLUGIN_PATH"}
        done = subprocess.run(
            command, env={**environment, **(shim or {})}, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise SystemExit(f"{what} {mode} failed:\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout.splitlines()[-1])

    def _forget_bucket(self) -> None:
        stat = BUILD / "bench" / "pfs" / "pfs_stat"
        environment = {**os.environ, "PFS_BUCKET": self._bucket}
        subprocess.run([str(stat), "--remove"], env=environment, capture_output=True)


def summary(runs: list[dict], bandwidths: list[int]) -> list[dict]:
    """Per mode and bandwidth: overhead over computing alone, of medians, and its range.

    Each run is compared with the computing of its own repeat and bandwidth: what made the machine
    slow then made both slow. What the application spent inside the library is told apart: the rest
    is how much it was disturbed while it computed, and noise.
    """
    alone = {
        (r["repeat"], r["bandwidth_mb_s"]): r["wall_s"] for r in runs if r["mode"] == "compute"
    }
    rows = []
    for bandwidth in bandwidths:
        for mode in OUTPUTS:
            own = [r for r in runs if r["mode"] == mode and r["bandwidth_mb_s"] == bandwidth]
            if mode == "compute" or not own:
                continue
            base = [alone[r["repeat"], bandwidth] for r in own]
            overheads = [r["wall_s"] / a - 1.0 for r, a in zip(own, base, strict=True)]
            inside = [
                (r["open_s"] + r["dump_s"] + r["close_s"]) / a
                for r, a in zip(own, base, strict=True)
            ]
            median = {
                key: statistics.median(r[key] for r in own)
                for key in own[0]
                if isinstance(own[0][key], float)
            }
            rows.append(
                {
                    "mode": mode,
                    "title": OUTPUTS[mode].__doc__.split("\n")[0],
                    "bandwidth_mb_s": bandwidth,
                    "overhead": statistics.median(overheads),
                    "overhead_low": min(overheads),
                    "overhead_high": max(overheads),
                    "inside": statistics.median(inside),
                    "file_bytes": own[0]["file_bytes"],
                    "worst_error_over_bound": max(
                        (r["worst_error_over_bound"] or 0.0 for r in own), default=0.0
                    ),
                    "median": median,
                    "repeats": len(own),
                }
            )
    return rows


def table(rows: list[dict]) -> str:
    """For the terminal."""
    lines = [f"{'mode':20} {'MB/s':>5} {'overhead':>9} {'range':>17} {'in calls':>9} {'file':>9}"]
    for row in rows:
        span = f"{row['overhead_low']:+.1%} .. {row['overhead_high']:+.1%}"
        lines.append(
            f"{row['mode']:20} {row['bandwidth_mb_s']:5} {row['overhead']:+9.1%} {span:>17} "
            f"{row['inside']:9.1%} {row['file_bytes'] / 1e6:6.1f} MB"
        )
    return "\n".join(lines)


def times_in_calls(rows: list[dict]) -> str:
    """Where a library that says so spent the application's time; ms, medians."""
    keys = {"open_s": "create", "put_s": "put", "end_s": "end", "close_s": "close"}
    lines = [f"{'in calls, ms':20} {'MB/s':>5}" + "".join(f"{k:>9}" for k in keys.values())]
    for row in rows:
        if "put_s" in row["median"]:
            times = "".join(f"{1e3 * row['median'][key]:9.1f}" for key in keys)
            lines.append(f"{row['mode']:20} {row['bandwidth_mb_s']:5}{times}")
    return "\n".join(lines)


def measure(bench: Bench, options: argparse.Namespace) -> list[dict]:
    """All modes in turn, over and over; computing alone stands in the middle of each turn."""
    runs = []
    modes = [m for m in OUTPUTS if m != "compute" and (not options.modes or m in options.modes)]
    for repeat in range(options.repeats):
        order = []
        for bandwidth in options.bandwidths:
            turned = [
                (m, bandwidth) for m in modes[repeat % len(modes) :] + modes[: repeat % len(modes)]
            ]
            order += [*turned[: len(turned) // 2], ("compute", bandwidth)]
            order += turned[len(turned) // 2 :]
        for mode, bandwidth in order:
            result = bench.run(mode, bandwidth)
            runs.append({**result, "repeat": repeat, "bandwidth_mb_s": bandwidth})
            print(f"  {repeat}: {mode:18} {bandwidth:4} MB/s  {result['wall_s']:.3f} s", flush=True)
    return runs


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--modes", nargs="*", choices=list(OUTPUTS), help="default: all")
    parser.add_argument("--bandwidths", type=int, nargs="*", default=list(BANDWIDTHS_MB_S))
    parser.add_argument("--bound-scale", type=float, default=1.0, help="times the papers' bounds")
    parser.add_argument("--prefix", default="", help="before each timed command: 'taskset -c 0'")
    parser.add_argument("--name", default="peers", help="of the results in out/bench")
    return parser.parse_args()


def main() -> None:
    """Measure, write the results and the picture."""
    options = parse()
    data = Path(os.environ.get("CAESURA_DATA", "")) / DATA
    if not os.environ.get("CAESURA_DATA") or not data.exists():
        print(f"bench peers: skipped, there is no {DATA}; CAESURA_DATA names its folder")
        return
    memory = Path("/dev/shm")
    base = memory if os.access(memory, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="caesura-peers-", dir=base))
    try:
        bench = Bench(data, folder, options)
        runs = measure(bench, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rows = summary(runs, options.bandwidths)
    results = {
        "conditions": conditions(),
        "versions": {name: metadata.version(name) for name in PACKAGES},
        "scenario": {
            "ranks": 1,
            "iterations": ITERATIONS,
            "dump_every": DUMP_EVERY,
            "busy_s": BUSY_S,
            "wait_s": WAIT_S,
            "fields": 6,
            "field_bytes": 8 << 20,
            "data": DATA,
            "bound_scale": options.bound_scale,
            "disk": "emulated (bench/pfs)",
            "prefix": options.prefix,
        },
        "limits": bench.limits,
        "summary": rows,
        "runs": runs,
    }
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{options.name}.json").write_text(json.dumps(results, indent=1) + "\n")
    (OUT / f"{options.name}.svg").write_text(picture(results))
    print(table(rows))
    print(times_in_calls(rows))
    print(
        f"a dump's 48 MB are copied in {1e3 * bench.limits['copy_s']:.1f} ms at best, "
        f"{1e3 * bench.limits['fresh_copy_s']:.1f} into fresh pages"
    )
    print(f"results: {OUT / options.name}.json, .svg")


if __name__ == "__main__":
    main()
