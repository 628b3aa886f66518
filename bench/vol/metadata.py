"""1,000 small datasets with 20 attributes each on 4 ranks: plain parallel HDF5, alone and under the
VOL connector, interleaved, on the local disk and on the emulated file system.

Natively twice: as HDF5 does by default, and with its collective metadata operations. Results go to
out/bench/vol.json. --quick is for trying out.
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
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]

from caesura_lab.demo.runner import find_build, find_programs  # noqa: E402
from plain import MPI, configuration, connector_variables, differences, program  # noqa: E402
from results import OUT, save  # noqa: E402

MODES = ("native", "native_collective", "connector")
TIMES = ("create_s", "write_s", "close_s", "total_s")


class Bench:
    """Runs in a folder of their own."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self._folder = folder
        self._options = options
        self._programs = find_programs(find_build(), emulated_file_system=True)
        self._program = program(self._programs.build, "bench/vol/vol_metadata")
        self._config = folder / "run.toml"
        self._config.write_text(configuration({}))

    def run(self, mode: str, emulated: bool) -> dict:
        """Seconds of one run; its file stays until the next of the mode."""
        variables = []
        if emulated:
            variables += [
                f"LD_PRELOAD={self._programs.preload}",
                f"PFS_ROOT={self._folder}",
                f"PFS_BANDWIDTH={self._options.bandwidth:.0f}",
                f"PFS_LATENCY={self._options.latency:g}",
                f"PFS_BUCKET=caesura-vol-{os.getpid()}",
            ]
        if mode == "connector":
            variables += connector_variables(self._programs.build, self._config)
        command = ["mpirun", "-n", str(self._options.ranks), "env", "-u", "HDF5_VOL_CONNECTOR"]
        command += [*variables, str(self._program), str(self.file(mode))]
        command += [str(self._options.datasets)]
        command += ["collective"] if mode == "native_collective" else []
        answer = subprocess.run(
            command, capture_output=True, text=True, env={**MPI, **os.environ}, timeout=300
        )
        if answer.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\n{answer.stdout}{answer.stderr}")
        return json.loads(answer.stdout)

    def file(self, mode: str) -> Path:
        """Of the last run."""
        return self._folder / f"{mode}.h5"

    def compare(self) -> list[str]:
        """Nothing is lossy here."""
        build = self._programs.build
        return differences(build, self.file("native"), self.file("connector"), {})


def place(bench: Bench, emulated: bool, repeats: int) -> dict:
    """All modes on one file system."""
    runs: dict[str, list[dict]] = {mode: [] for mode in MODES}
    for repeat in range(repeats):
        for mode in MODES if repeat % 2 == 0 else MODES[::-1]:
            runs[mode].append(bench.run(mode, emulated))
    rows = {
        mode: {
            key: {
                "median": statistics.median(run[key] for run in of),
                "low": min(run[key] for run in of),
                "high": max(run[key] for run in of),
            }
            for key in TIMES
        }
        for mode, of in runs.items()
    }
    native_s = min(rows[mode]["total_s"]["median"] for mode in MODES[:2])
    return {"modes": rows, "over_native": rows["connector"]["total_s"]["median"] / native_s}


def main() -> int:
    """Measure, say, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--datasets", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--bandwidth", type=float, default=150e6, help="bytes/s, emulated")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds a call, emulated")
    parser.add_argument("--quick", action="store_true", help="100 datasets, one repeat")
    options = parser.parse_args()
    if options.quick:
        options.datasets, options.repeats = 100, 1
    OUT.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="vol-metadata-", dir=OUT))
    try:
        bench = Bench(folder, options)
        places = {
            "local disk": place(bench, False, options.repeats),
            "emulated file system": place(bench, True, options.repeats),
        }
        different = bench.compare()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    section = {**vars(options), "attributes": 20, "places": places, "differences": different}
    for name, of in places.items():
        print(name)
        for mode, times in of["modes"].items():
            print(
                f"  {mode:18}"
                + "".join(f" {key[:-2]} {times[key]['median']:7.3f} s" for key in TIMES)
            )
        print(f"  connector over the faster native: {of['over_native']:.2f}")
    print(save("metadata", section))
    print("\n".join(different) or "files: equal")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
