"""What made the iterations after dumps longer or shorter than planned, cause by cause.

    deviation.py                the demo's scenario, modes compute and caesura in turn
    deviation.py --grid 128     seconds instead of minutes, for trying out
    deviation.py --tight        no device time and SZ3: the lanes need nearly all that is free

For each dump and rank the trace has what its plan took the next iteration to be and what became of
it. The iteration is the application's own time and time in our calls; the same step of the run that
computes alone, beside it, says how much of a difference of the application's own would have been
there without us. Section "deviation" of out/bench/running.json. The file system and the device's
time are emulated.
"""

from __future__ import annotations

import argparse
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

from caesura.trace import read_traces  # noqa: E402
from caesura_lab.demo.runner import Runner, find_build, find_programs  # noqa: E402
from caesura_lab.demo.scenario import Scenario  # noqa: E402
from judged import Judged, judge  # noqa: E402
from sections import Sections  # noqa: E402

OUT = Path(os.environ.get("CAESURA_OUT", ROOT / "out")) / "bench"


def row(name: str, values: list[float]) -> dict:
    """Median of the absolute values, and the median with its sign."""
    return {
        "cause": name,
        "absolute": statistics.median(abs(v) for v in values),
        "signed": statistics.median(values),
        "largest": max(abs(v) for v in values),
    }


def by_cause(judged: list[Judged]) -> list[dict]:
    """One row a cause."""
    return [
        row("iteration, all", [j.off for j in judged]),
        row("application's own time", [j.own for j in judged]),
        row("the same step computing alone", [j.alone for j in judged]),
        row("put", [j.put for j in judged]),
        row("end", [j.end for j in judged]),
        row("last write after the application", [j.lanes for j in judged]),
        row(
            "end of the last write against its plan",
            [(j.write_end_s - j.planned_write_end_s) / j.planned_s for j in judged],
        ),
    ]


def show(judged: list[Judged]) -> None:
    print("| dump | rank | planned | actual | off | own time | alone | put | end | lanes | "
          "last write, planned | actual |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for j in judged:
        shares = " | ".join(f"{x:+.1%}" for x in (j.off, j.own, j.alone, j.put, j.end, j.lanes))
        print(f"| {j.dump} | {j.rank} | {j.planned_s:.3f} s | {j.actual_s:.3f} s | {shares} | "
              f"{j.planned_write_end_s:.3f} s | {j.write_end_s:.3f} s |")  # fmt: skip


def measure(runner: Runner, repeats: int) -> dict:
    judged, walls, reports = [], [], []
    for repeat in range(repeats):
        alone = runner.run("compute", repeat, None, lambda _: None).timing
        run = runner.run("caesura", repeat, None, lambda _: None)
        timing = run.timing
        part = judge(read_traces(run.traces), alone["iteration_s"])
        print(f"\nrepeat {repeat + 1}: {timing['wall_s'] / alone['wall_s'] - 1.0:+.1%} over "
              f"computing alone, plan_deviation {timing['report']['plan_deviation']:.1%}, "
              f"planned again {timing['report']['replans']:.0f} times")  # fmt: skip
        show(part)
        judged += part
        walls.append(timing["wall_s"] / alone["wall_s"] - 1.0)
        reports.append(timing["report"])
    return {
        "overhead": walls,
        "plan_deviation": [r["plan_deviation"] for r in reports],
        "replans": [r["replans"] for r in reports],
        "causes": by_cause(judged),
        "later_dumps": by_cause([j for j in judged if j.dump > 0]),
        "dumps": [vars(j) | {"off": j.off} for j in judged],
    }


def main() -> None:
    """Run, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--grid", type=int, default=256)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--device-s", type=float, help="default: as the demo, scaled with the grid")
    parser.add_argument("--tight", action="store_true")
    options = parser.parse_args()
    cells = (options.grid / 256) ** 3
    device_s = options.device_s if options.device_s is not None else Scenario().device_s * cells
    scenario = Scenario(
        grid=options.grid, particles=options.grid, steps=options.steps, device_s=device_s
    )
    if options.tight:
        scenario = replace(scenario, codec="sz3")
    OUT.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="deviation-", dir=OUT))
    try:
        programs = find_programs(find_build(), emulated_file_system=True)
        result = measure(Runner(programs, scenario, folder), options.repeats)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for title, rows in (("all dumps", result["causes"]), ("later dumps", result["later_dumps"])):
        print(f"\n| {title}, of the planned iteration | median size | median | largest |")
        print("|---|---|---|---|")
        for cause in rows:
            print(f"| {cause['cause']} | {cause['absolute']:.1%} | {cause['signed']:+.1%} | "
                  f"{cause['largest']:.1%} |")  # fmt: skip
    overhead, off = (statistics.median(result[key]) for key in ("overhead", "plan_deviation"))
    print(f"\nmedians of the repeats: overhead {overhead:+.1%}, plan_deviation {off:.1%}")
    name = "deviation_tight" if options.tight else "deviation"
    result |= {"scenario": scenario.as_json(), "emulated": ["file system", "device time"]}
    print(Sections("running").merge(name, result))


if __name__ == "__main__":
    sys.exit(main())
