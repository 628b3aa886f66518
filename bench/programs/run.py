#!/usr/bin/env python3
"""Run programs of others natively and under the connector, interleaved, and compare their files.

Each runs without loss and with a bound: files must be equal (h5diff -c), or within the bound at
every value. Results: out/bench/programs.json. How the programs are built is in README.md; one whose
place is not given is skipped and named.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "vol"), str(HERE.parents[1] / "python")]

from caesura_lab.demo.runner import find_build  # noqa: E402
from plain import MPI, connector_variables, h5diff_of  # noqa: E402
from results import OUT, conditions  # noqa: E402

BOUND = 1e-4  # relative to the range of each dataset
LOSSY = f'bound = {BOUND}\nbound_kind = "relative"\n'
WRITERS = ("native", "lossless", "lossy")


def programs(options: argparse.Namespace) -> dict[str, list[str]]:
    """Commands by name; DIR stands for the folder of the run."""
    python = [str(options.python)] if options.python else []
    openpmd = [str(options.openpmd)] if options.openpmd else []

    def script(name: str, *rest: str) -> list[str]:
        return [*python, str(HERE / name), "DIR", *rest] if python else []

    return {
        "append_many_small": script("appending.py", "100", "0", "0.2"),
        "append_1_mb": script("appending.py", "100", "1", "1.5"),
        "append_8_mb": script("appending.py", "20", "8", "2"),
        "append_50_mb": script("appending.py", "4", "50", "2.5"),
        "fbpic": script("fbpic_wakefield.py", "60"),
        "h5netcdf": script("h5netcdf_write.py"),
        "xarray": script("xarray_to_netcdf.py"),
        "openpmd_5_write_parallel": [f"{p}/bin/5_write_parallel" for p in openpmd],
        "openpmd_8a_write_parallel": [
            word for p in openpmd for word in (f"{p}/bin/8a_benchmark_write_parallel", "-s", "h5")
        ],
        "petsc_viewer": [str(options.petsc), "DIR"] if options.petsc else [],
        "fortran": [str(options.fortran), "DIR"] if options.fortran else [],
    }


def files_of(folder: Path) -> list[Path]:
    """What a run has written."""
    found = [path for kind in ("*.h5", "*.nc") for path in folder.rglob(kind)]
    return sorted(path.relative_to(folder) for path in found)


class Bench:
    """Runs in a folder of their own."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder, self.options, self.build = folder, options, find_build()

    def run(self, command: list[str], writer: str) -> dict:
        """One run in an empty folder, which stays until the next of the writer."""
        place = self.folder / writer
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        report, config = self.folder / f"{writer}.json", self.folder / f"{writer}.toml"
        report.unlink(missing_ok=True)
        config.write_text(f'report = "{report}"\n' + (LOSSY if writer == "lossy" else ""))
        variables = [] if writer == "native" else connector_variables(self.build, config)
        words = [word.replace("DIR", str(place)) if word == "DIR" else word for word in command]
        line = ["mpirun", "-n", str(self.options.ranks), "env", "-u", "HDF5_VOL_CONNECTOR"]
        begin_s = time.perf_counter()
        answer = subprocess.run(
            [*line, "OMP_NUM_THREADS=1", *variables, *words], cwd=place, capture_output=True,
            text=True, env={**MPI, **os.environ}, timeout=900,
        )  # fmt: skip
        wall_s = time.perf_counter() - begin_s
        if answer.returncode != 0:
            raise SystemExit(f"{writer}: {words}\n{answer.stdout}{answer.stderr}")
        said = [row.split() for row in answer.stdout.splitlines() if row.startswith("in calls")]
        sizes = sum((place / path).stat().st_size for path in files_of(place))
        out = {"wall_s": wall_s, "bytes": sizes}
        if said:
            out["in_calls_s"] = float(said[0][2])
        if report.exists():
            told = json.loads(report.read_text())
            out["captured"] = sum(f["handled_by"] == "caesura" for f in told["files"])
            out["native_because"] = sorted({f["why"] for f in told["files"] if "why" in f})
            out["datasets_of_blocks"] = sum(entry["blocks"] for entry in told["datasets"])
        return out

    def compare(self) -> dict:
        """What h5diff says of the lossless files, and how far the lossy values are."""
        native, exact = self.folder / "native", self.folder / "lossless"
        env = {**os.environ, "HDF5_PLUGIN_PATH": str(self.build / "plugins")}
        wrong = [] if files_of(native) == files_of(exact) else ["not the same files"]
        volatile = [f"--exclude-attribute={path}" for path in ("/date", "/@date")]
        for path in files_of(native):
            call = [h5diff_of(self.build), "-c", *volatile, str(native / path), str(exact / path)]
            answer = subprocess.run(call, capture_output=True, text=True, env=env)
            said = [row for row in answer.stdout.splitlines() if "empty dataset" not in row]
            if answer.returncode != 0 or any("ot comparable" in row for row in said):
                wrong.append(f"{path}: {answer.stdout[:500]}{answer.stderr[:500]}")
        call = [str(self.options.python or sys.executable), str(HERE / "farthest.py")]
        call += [str(native), str(self.folder / "lossy"), str(BOUND)]
        answer = subprocess.run(call, capture_output=True, text=True, env=env)
        if answer.returncode != 0:
            raise SystemExit(answer.stderr)
        return {"differences": wrong, "farthest": json.loads(answer.stdout)}


def summary(runs: list[dict]) -> dict:
    """Median and range."""
    out = {key: runs[-1][key] for key in runs[-1] if not key.endswith("_s")}
    for key in (key for key in runs[0] if key.endswith("_s")):
        values = [run[key] for run in runs]
        out[key] = {"median": statistics.median(values), "low": min(values), "high": max(values)}
    return out


def main() -> int:
    """Measure, say, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="programs, by the begin of their names")
    parser.add_argument("--python", type=Path, help="with parallel h5py, and fbpic, xarray ...")
    parser.add_argument("--openpmd", type=Path, help="build folder of openPMD-api")
    parser.add_argument("--petsc", type=Path, help="petsc_viewer, built")
    parser.add_argument("--fortran", type=Path, help="fortran_write, built")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    target = OUT / "programs.json"
    OUT.mkdir(parents=True, exist_ok=True)
    results = json.loads(target.read_text()) if target.exists() else {}
    bad = 0
    for name, command in programs(options).items():
        if options.names and not any(name.startswith(word) for word in options.names):
            continue
        if not command:
            print(f"{name}: skipped, its place is not given")
            continue
        with tempfile.TemporaryDirectory(prefix="programs-", dir=OUT) as folder:
            bench = Bench(Path(folder), options)
            runs: dict[str, list[dict]] = {writer: [] for writer in WRITERS}
            for repeat in range(options.repeats):
                for writer in WRITERS if repeat % 2 == 0 else WRITERS[::-1]:
                    runs[writer].append(bench.run(command, writer))
            entry = {writer: summary(of) for writer, of in runs.items()} | bench.compare()
        results[name] = {"conditions": conditions(), "ranks": options.ranks, **entry}
        target.write_text(json.dumps(results, indent=1) + "\n")
        good = not entry["differences"] and entry["farthest"]["worst_of_bound"] <= 1
        bad += not good
        print(f"{name}: {'equal, and within bounds' if good else 'DIFFERENT'}")
        for writer in WRITERS:
            of = entry[writer]
            times = {key: of[key] for key in ("wall_s", "in_calls_s") if key in of}
            text = ", ".join(
                f"{key} {t['median']:.3f} ({t['low']:.3f} to {t['high']:.3f})"
                for key, t in times.items()
            )
            print(f"  {writer:9} {of['bytes'] / 1e6:9.2f} MB  {text}", flush=True)
        print("\n".join(entry["differences"]))
    print(target)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
