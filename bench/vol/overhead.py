"""What output costs a program of plain parallel HDF5, alone and under the VOL connector, beside
the same simulation that calls Caesura itself.

The cosmology mini-app on the emulated file system, in four modes, interleaved:

    compute      no output
    caesura      calls caesura::Writer, planned, one file
    connector    cosmology_hdf5: plain HDF5, collective writes, a file for each dump
    native       the same binary without the connector

Overheads are over the median of computing alone. The files of `connector` and `native` are compared
with h5diff within the bounds. Results go to out/bench/vol.json and out/bench/vol_overhead.svg.
Emulated are the file system's bandwidth and the device's time. --quick is for trying out.

--before DIR holds two connectors against each other instead: that of another checkout's build tree
and this one's, in turns, with computing alone before and after. The program is this build's.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "bench" / "codec"), str(ROOT / "python")]

from caesura_lab.demo.runner import Programs, Run, Runner, find_build, find_programs  # noqa: E402
from caesura_lab.demo.scenario import Scenario  # noqa: E402
from plain import PLAIN, configuration, connector_variables, differences, program  # noqa: E402
from results import OUT, save  # noqa: E402
from svg import document, mini_app, range_bar, tag, words  # noqa: E402

MODES = ("caesura", "connector", "native")
# Of --before: the connector of the other build, and this one's.
BEFORE = ("before", "connector")
NAMES = {
    "caesura": ("calls Caesura", "alt"),
    "connector": ("plain HDF5, connector", "ours"),
    "native": ("plain HDF5", "other"),
}
# The last columns of the table: at most so much more than calling Caesura, at least so much less
# than without us, of no less than a share of the run.
POINTS, TIMES, LEAST = 0.02, 3.0, 0.01


def dumped_steps(scenario: Scenario) -> list[int]:
    """The steps after which the simulation writes a dump; the last step is without one."""
    return [s for s in range(scenario.steps - 1) if (s + 1) % scenario.dump_every == 0]


class PlainRunner(Runner):
    """Also starts the program of plain HDF5."""

    def __init__(
        self, programs: Programs, scenario: Scenario, folder: Path, before: Path | None
    ) -> None:
        super().__init__(programs, scenario, folder)
        self._connectors = {"connector": programs.build, "before": before}
        self._plain = program(programs.build, "miniapps/cosmology/cosmology_hdf5")
        self._config = folder.with_suffix(".toml")
        self._config.write_text(configuration(scenario.bounds, chunk_bytes=scenario.chunk_bytes))

    def command(self, mode: str, repeat: int, raw: Path | None) -> list[str]:
        """As Runner.command."""
        if mode not in (*PLAIN, "before"):
            return super().command(mode, repeat, raw)
        stem = self.stem(mode, repeat)
        command = ["mpirun", "-n", str(self._scenario.ranks)]
        command += ["env", "-u", "HDF5_VOL_CONNECTOR", *self._shim()]
        if mode in self._connectors:
            command += connector_variables(self._connectors[mode], self._config)
        command += [str(self._plain), *self._scenario.arguments("sync")]
        command += ["--mode", "sync", "--file-per-dump", "--quiet"]
        command += ["--timing-json", str(stem.with_suffix(".timing.json"))]
        return [*command, "--output", str(stem.with_suffix(".h5"))]

    def outputs(self, mode: str, repeat: int) -> list[Path]:
        """As Runner.outputs: a file for each dump."""
        if mode not in (*PLAIN, "before"):
            return super().outputs(mode, repeat)
        stem = self.stem(mode, repeat)
        return [stem.with_name(f"{stem.name}-{step}.h5") for step in dumped_steps(self._scenario)]


class Bench:
    """All runs, and what is left of them."""

    def __init__(self, folder: Path, scenario: Scenario, before: Path | None) -> None:
        self.scenario = scenario
        self._folder = folder
        self._programs = find_programs(find_build(), emulated_file_system=True)
        self._runner = PlainRunner(self._programs, scenario, folder, before)
        self.runs: dict[str, list[dict]] = {mode: [] for mode in ("compute", *MODES, *BEFORE)}
        self.differences: list[str] = []

    def run(self, mode: str) -> None:
        """One more."""
        repeat = len(self.runs[mode])
        run: Run = self._runner.run(mode, repeat, None, lambda _: None)
        self.runs[mode].append(run.timing)
        print(f"  {mode:10} {repeat}: {run.timing['wall_s']:.2f} s", flush=True)

    def sweep(self, modes: tuple[str, ...], last: str, keep: bool) -> None:
        """Computing alone before and after; `keep` compares the files before they go."""
        self.run("compute")
        for mode in modes:
            self.run(mode)
        self.run(last)
        if keep:
            self._compare()
        for left in self._folder.iterdir():
            left.unlink()

    def _compare(self) -> None:
        for step in dumped_steps(self.scenario):
            native, ours = (self._folder / f"{mode}-0-{step}.h5" for mode in PLAIN)
            bounds = {
                f"/data/{step}/meshes/{name}": bound for name, bound in self.scenario.bounds.items()
            }
            self.differences += differences(self._programs.build, native, ours, bounds)

    def row(self, mode: str) -> dict:
        """Median and range of what the mode adds to computing alone."""
        alone_s = statistics.median(run["wall_s"] for run in self.runs["compute"])
        own = self.runs[mode]
        shares = [run["wall_s"] / alone_s - 1.0 for run in own]
        return {
            "mode": mode,
            "overhead": statistics.median(shares),
            "overhead_low": min(shares),
            "overhead_high": max(shares),
            "wall_s": [run["wall_s"] for run in own],
            "output_s": [run["output_s"] for run in own],
            "close_s": [run["close_s"] for run in own],
            "raw_bytes": own[0]["raw_bytes"],
            "file_bytes": own[0]["file_bytes"],
        }


def verdict(rows: list[dict]) -> dict:
    """The two figures that count, from medians."""
    overhead = {row["mode"]: row["overhead"] for row in rows}
    return {
        "more_than_calling_caesura": overhead["connector"] - overhead["caesura"],
        "times_less_than_native": overhead["native"] / max(LEAST, overhead["connector"]),
        "goal": {"more_at_most": POINTS, "times_less_at_least": TIMES, "denominator_least": LEAST},
    }


def picture(section: dict) -> str:
    """A bar a mode."""
    parts = [
        words(20, 30, "What output adds to computing alone, for an application of HDF5", "heading"),
        mini_app(section, 50),
    ]
    left, y = 190.0, 72.0
    scale = 440 / max(0.05, *(row["overhead_high"] for row in section["rows"]))
    for row in section["rows"]:
        label, class_ = NAMES[row["mode"]]
        parts.append(words(left - 10, y + 13, label, f"{class_} name", "end"))
        parts.append(range_bar(left, y, scale, row, class_))
        y += 24
    style = tag("style", ".range { stroke: var(--ink); stroke-width: 1.3; }")
    return document(760, y + 14, style, *parts)


def compare(scenario: Scenario, repeats: int, before: Path) -> dict:
    """What this build's connector costs more than the other's, in points of computing alone."""
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="vol-", dir=OUT) as place:
        folder = Path(place, "runs")
        folder.mkdir()
        bench = Bench(folder, scenario, before)
        for repeat in range(repeats):
            bench.sweep(BEFORE if repeat % 2 == 0 else BEFORE[::-1], "compute", keep=False)
    alone = bench.runs["compute"]
    points = []
    for repeat in range(repeats):
        alone_s = statistics.mean(run["wall_s"] for run in alone[2 * repeat : 2 * repeat + 2])
        old, new = (bench.runs[mode][repeat]["wall_s"] for mode in BEFORE)
        points.append(100 * (new - old) / alone_s)
    return {
        "scenario": scenario.as_json(),
        "emulated": ["file system", "device time"],
        "repeats": repeats,
        "compute_s": [run["wall_s"] for run in alone],
        "rows": [bench.row(mode) for mode in BEFORE],
        "points_more": points,
    }


def show_comparison(section: dict) -> None:
    """Overheads of both, and the difference round by round."""
    for row in section["rows"]:
        calls_s = statistics.median(row["output_s"])
        print(f"{row['mode']:10} {row['overhead']:+7.2%}  {calls_s:.3f} s in calls")
    points = section["points_more"]
    low, middle, high = statistics.quantiles(points, n=4) if len(points) > 1 else points * 3
    print(f"points more: median {middle:+.2f}, quartiles {low:+.2f} to {high:+.2f}")
    print(f"  by round: {', '.join(f'{one:+.1f}' for one in points)}")


def measure(scenario: Scenario, repeats: int) -> dict:
    """All repeats; the order of the modes turns round from one to the next."""
    OUT.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="vol-", dir=OUT))
    try:
        bench = Bench(folder, scenario, None)
        for repeat in range(repeats):
            modes = MODES if repeat % 2 == 0 else MODES[::-1]
            bench.sweep(modes, "compute", keep=repeat == 0)
        rows = [bench.row(mode) for mode in MODES]
        compute_s = [run["wall_s"] for run in bench.runs["compute"]]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        folder.with_suffix(".toml").unlink(missing_ok=True)
    return {
        "scenario": scenario.as_json(),
        "emulated": ["file system", "device time"],
        "repeats": repeats,
        "compute_s": compute_s,
        "rows": rows,
        **verdict(rows),
        "differences": bench.differences,
    }


def main() -> int:
    """Measure, say, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--grid", type=int, default=256)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--bandwidth", type=float, default=150e6, help="bytes/s, emulated")
    parser.add_argument("--quick", action="store_true", help="128³, one repeat")
    parser.add_argument("--before", type=Path, help="build tree whose connector to compare with")
    options = parser.parse_args()
    grid, repeats = (128, 1) if options.quick else (options.grid, options.repeats)
    scenario = Scenario(
        grid=grid,
        particles=grid,
        steps=options.steps,
        device_s=Scenario().device_s * (grid / 256) ** 3,
        bandwidth=options.bandwidth,
    )
    if options.before:
        section = compare(scenario, repeats, options.before.resolve())
        show_comparison(section)
        print(save("before", section))
        return 0
    section = measure(scenario, repeats)
    for row in section["rows"]:
        ratio = row["raw_bytes"] / max(1, row["file_bytes"])
        print(f"{row['mode']:10} {row['overhead']:+7.1%}  {ratio:5.1f} x smaller")
    print(
        f"connector: {100 * section['more_than_calling_caesura']:+.1f} points over calling Caesura"
    )
    print(f"connector: {section['times_less_than_native']:.1f} times less than without it")
    print(save("overhead", section))
    (OUT / "vol_overhead.svg").write_text(picture(section))
    print("\n".join(section["differences"]) or "files: equal within the bounds")
    return 1 if section["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
