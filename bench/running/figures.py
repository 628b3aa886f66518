"""S0's figures 4, 5, 9 and 10 by running the cosmology mini-app on the emulated file system.

    figures.py --figure 4    block size            figures.py --figure 9    modes
    figures.py --figure 5    buffer of writes      figures.py --figure 10   stages (runs of 9)

Beside every result of ours stand two lines: the same without planning (blocks as they come, the
operating system does the rest), and without idle priority either. As in S0, figure 4 shows times
relative to whole fields as blocks, figure 5 those of writing relative to writes of single blocks,
9 and 10 time over that of computing alone. Repeats are interleaved. Results are merged into
out/bench/running.json, one picture a figure. --grid 128 is for trying out: minutes become seconds.
Emulated are the file system's bandwidth and latency and the device's time; the codec, the planner,
MPI and every byte written are real.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "bench" / "codec"), str(ROOT / "python")]

from caesura_lab.demo.runner import Runner, find_build, find_programs  # noqa: E402
from caesura_lab.demo.scenario import PAPER, Scenario  # noqa: E402
from conditions import conditions  # noqa: E402
from pictures import picture  # noqa: E402
from planned import planned_against_actual  # noqa: E402

OUT = Path(os.environ.get("CAESURA_OUT", ROOT / "out")) / "bench"
MB = 1 << 20
OURS = ("caesura", "unplanned", "normal")
# Figure 5. Of each write, before its first byte; and bounds so much tighter than the papers' make
# our ratio that of S0's evaluation, about 16.
LATENCY_S = 0.01
BOUND_SCALE = 0.03
TAKEN = "take figure 9's runs from what bench/simulate/from_run.py left there"
# S0 prints no numbers in these figures: what its text says, to stand beside ours.
SAYS = {
    "4": "8 to 16 MB work best; excessively small blocks nullify the benefit",
    "5": "gathering reduces the time of writing; 20 MB (§5.3), 10 MB (§4.2) are enough",
    "9": f"artifact, Nyx: baseline {PAPER['nyx']['sync']} %, async {PAPER['nyx']['async']} %, "
    f"S0 {PAPER['nyx']['caesura']} %",
    "10": "ahead of the others at the beginning, in the middle and at the end",
}


class Bench:
    """Runs of the mini-app; each (scenario, mode, repeat) once."""

    def __init__(self, folder: Path, scenario: Scenario) -> None:
        self.scenario = scenario
        self._folder = folder
        self._programs = find_programs(find_build(), emulated_file_system=True)
        self._done: dict = {}

    def run(self, scenario: Scenario, mode: str, repeat: int) -> dict:
        """What the mini-app measured, and what its trace says of the plan."""
        key = (scenario, mode, repeat)
        if key not in self._done:
            runner = Runner(self._programs, scenario, self._folder)
            run = runner.run(mode, repeat, None, lambda _: None)
            timing = dict(run.timing)
            if mode in OURS:
                timing["planned"] = planned_against_actual(run.traces)
            for left in self._folder.iterdir():
                left.unlink()
            print(f"  {mode:10} {repeat}: {timing['wall_s']:.2f} s", flush=True)
            self._done[key] = timing
        return self._done[key]

    def warm(self, scenarios: list[Scenario], modes: tuple[str, ...], repeats: int) -> None:
        """All of a figure's runs, each scenario and mode once before any is repeated."""
        for repeat in range(repeats):
            self.run(self.scenario, "compute", 2 * repeat)
            for scenario in scenarios if repeat % 2 == 0 else scenarios[::-1]:
                for mode in modes if repeat % 2 == 0 else modes[::-1]:
                    self.run(scenario, mode, repeat)
            self.run(self.scenario, "compute", 2 * repeat + 1)

    def alone(self, repeats: int) -> list[dict]:
        """Computing alone, which everything is compared with: twice a repeat."""
        return [self.run(self.scenario, "compute", r) for r in range(2 * repeats)]

    def take(self, folder: Path, repeats: int) -> None:
        """Runs that bench/simulate/from_run.py measured and left in the folder."""
        for mode in ("compute", "sync", "async", *OURS):
            for repeat in range(repeats * (2 if mode == "compute" else 1)):
                timing = json.loads((folder / f"{mode}-{repeat}.timing.json").read_text())
                if mode in OURS:
                    traces = sorted(folder.glob(f"{mode}-{repeat}.trace-*.json"))
                    timing["planned"] = planned_against_actual(traces)
                self._done[self.scenario, mode, repeat] = timing

    def overheads(self, scenario: Scenario, mode: str, repeats: int) -> dict:
        """Over the median of computing alone: median and range, and the plan's exactness."""
        alone_s = statistics.median(run["wall_s"] for run in self.alone(repeats))
        own = [self.run(scenario, mode, r) for r in range(repeats)]
        shares = [o["wall_s"] / alone_s - 1.0 for o in own]
        row = {
            "mode": mode,
            "overhead": statistics.median(shares),
            "overhead_low": min(shares),
            "overhead_high": max(shares),
            "wall_s": [o["wall_s"] for o in own],
        }
        if report := own[0].get("report"):
            row |= {"write_s": [o["report"]["write_s"] for o in own]}
            row |= {"writes": report["writes"], "stored_bytes": report["stored_bytes"]}
        ratios = [ratio for o in own for ratio in o.get("planned", [])]
        if ratios:
            row["actual_over_planned"] = statistics.median(ratios)
            row["actual_off_planned"] = statistics.median(abs(r - 1.0) for r in ratios)
        return row


def sweep(
    bench: Bench, scenarios: dict[float, Scenario], repeats: int, key: str, base: float
) -> list[dict]:
    """Our modes in each scenario; `relative` is row[key] over that of scenario `base`."""
    bench.warm(list(scenarios.values()), OURS, repeats)
    rows = [
        {"x": x, **bench.overheads(scenario, mode, repeats)}
        for x, scenario in scenarios.items()
        for mode in OURS
    ]
    bases = {row["mode"]: row[key] for row in rows if row["x"] == base}
    for row in rows:
        shares = [own / of for own, of in zip(row[key], bases[row["mode"]], strict=True)]
        row |= {"relative": statistics.median(shares), "relative_low": min(shares),
                "relative_high": max(shares)}  # fmt: skip
    return rows


def figure_4(bench: Bench, repeats: int) -> list[dict]:
    """Block sizes, relative to one block a rank and field."""
    whole = bench.scenario.grid**3 * 4 // bench.scenario.ranks
    sizes = [size for size in (1 * MB, 2 * MB, 4 * MB, 8 * MB, 16 * MB) if size < whole]
    scenarios = {size / MB: replace(bench.scenario, chunk_bytes=size) for size in [*sizes, whole]}
    return sweep(bench, scenarios, repeats, "wall_s", whole / MB)


def figure_5(bench: Bench, repeats: int) -> list[dict]:
    """Bytes gathered into one write; every write has a latency, as on a real system."""
    slow = replace(bench.scenario, latency_s=LATENCY_S, bound_scale=BOUND_SCALE)
    sizes = (1, 1 * MB, 5 * MB, 20 * MB)
    scenarios = {size / MB: replace(slow, write_buffer=size) for size in sizes}
    return sweep(bench, scenarios, repeats, "write_s", 1 / MB)


def figure_9(bench: Bench, repeats: int) -> list[dict]:
    """Modes."""
    bench.warm([bench.scenario], ("sync", "async", *OURS), repeats)
    return [
        {"x": mode, **bench.overheads(bench.scenario, mode, repeats)}
        for mode in ("sync", "async", *OURS)
    ]


def figure_10(bench: Bench, repeats: int) -> list[dict]:
    """Stages: the first, the middle and the last third of the iterations of figure 9's runs."""
    bench.warm([bench.scenario], ("sync", "async", *OURS), repeats)
    rows = []
    steps = bench.scenario.steps
    parts = {
        "beginning": range(0, steps // 3),
        "middle": range(steps // 3, 2 * steps // 3),
        "end": range(2 * steps // 3, steps),
    }
    for stage, part in parts.items():
        for mode in ("sync", "async", *OURS):
            alone_s = statistics.median(
                sum(run["iteration_s"][i] for i in part) for run in bench.alone(repeats)
            )
            shares = []
            for repeat in range(repeats):
                own = bench.run(bench.scenario, mode, repeat)["iteration_s"]
                shares.append(sum(own[i] for i in part) / alone_s - 1.0)
            rows.append(
                {
                    "x": stage,
                    "mode": mode,
                    "overhead": statistics.median(shares),
                    "overhead_low": min(shares),
                    "overhead_high": max(shares),
                }
            )
    return rows


FIGURES = {"4": figure_4, "5": figure_5, "9": figure_9, "10": figure_10}


def save(name: str, scenario: Scenario, repeats: int, rows: list[dict]) -> Path:
    """Replace one figure in running.json; the file is whole at every instant."""
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / "running.json"
    everything = json.loads(path.read_text()) if path.exists() else {}
    everything[f"figure_{name}"] = {
        "conditions": conditions(),
        "scenario": scenario.as_json(),
        "emulated": ["file system", "device time"],
        "paper_says": SAYS[name],
        "repeats": repeats,
        "rows": rows,
    }
    partial = path.with_suffix(".partial.json")
    partial.write_text(json.dumps(everything, indent=1) + "\n")
    partial.replace(path)
    (OUT / f"running_{name}.svg").write_text(picture(name, everything[f"figure_{name}"]))
    return path


def main() -> None:
    """Run the figures asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", choices=list(FIGURES), action="append", help="default: all")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--grid", type=int, default=256)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--device-s", type=float, help="default: as the demo, scaled with the grid")
    parser.add_argument("--bandwidth", type=float, default=150e6, help="bytes/s, emulated")
    parser.add_argument("--runs", type=Path, metavar="FOLDER", help=TAKEN)
    options = parser.parse_args()
    device_s = options.device_s
    if device_s is None:
        device_s = Scenario().device_s * (options.grid / 256) ** 3
    scenario = Scenario(
        grid=options.grid,
        particles=options.grid,
        steps=options.steps,
        device_s=device_s,
        bandwidth=options.bandwidth,
    )
    OUT.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="running-", dir=OUT))
    try:
        bench = Bench(folder, scenario)
        if options.runs:
            bench.take(options.runs, options.repeats)
        for name in options.figure or FIGURES:
            print(f"figure {name}: {FIGURES[name].__doc__}")
            rows = FIGURES[name](bench, options.repeats)
            for row in rows:
                exact = row.get("actual_off_planned")
                tail = f"   off plan {exact:.1%}" if exact is not None else ""
                if "relative" in row:
                    tail = f"   relative {row['relative']:.3f}" + tail
                print(f"  {row['x']!s:>10} {row['mode']:10} {row['overhead']:+7.1%}{tail}")
            print(save(name, scenario, options.repeats, rows))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
