"""Where: the choice of a device, beside the best in hindsight, each device alone, and S4's
running average; and what S4's Figures 10 to 14 show.

    where.py [--quick] [--rounds N] [--seeds N ...] [--parts PART ...] [--most-s S]

Real blocks go three ways: to the host's cores (two workers of the service at normal priority), to
an emulated GPU, and to another caesura-serve on this machine whose only device is emulated too.
The emulated devices keep their results: a block that was compressed before is looked up by its
content, and the device takes the time stated, without the cores. Processes beside them compute
digits of pi for a stated share of the time (where_load.hpp). The parts, each for every seed:

- record: each request runs on every device under the same load, three times, the devices taking
  turns; in a series of its own the GPU becomes four times slower. The policies are replayed on
  these times: `middle` takes the middle one of three, `single` the first;
- noise: one request under one load again and again, on the cores;
- bursts: blocks go through the service's dispatch as a dump does, policy after policy;
- figures: instances on one device, latency under load, an application beside its compression.

Each part and seed is a file in out/bench/where, so that they can be measured one at a time. The
summary is of all files there: section "where" of out/bench/transit.json. where_figures.py draws it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from results import BUILD, OUT, save  # noqa: E402

PIECES = OUT / "where"
PROGRAM = BUILD / "bench" / "transit" / "transit_where"
PARTS = ("record", "noise", "bursts", "figures")
GOALS = {
    "over the best in hindsight, mean, at most": 0.05,
    "over the best static choice, at most": 0.02,
    "r2 on the CPU, at least": 0.95,
    "median error at each size on the CPU, at most": 0.15,
    "requests until the slower device is left, at most": 10,
}
DEVICES = ("cpu", "gpu", "remote")
# The other service's device, which stands for a DPU: slower than the GPU, behind a network.
REMOTE = {"link_bytes_per_s": 4e9, "compress_bytes_per_s": 2.5e9, "per_block_s": 1e-3}
KEPT_BYTES = 1 << 30


class Remote:
    """Another caesura-serve, with one emulated device that does all it can."""

    def __init__(self, folder: Path) -> None:
        keys = "\n".join(f"{key} = {value}" for key, value in REMOTE.items())
        config = folder / "remote.toml"
        config.write_text(
            f'listen = ["unix:{folder}/remote"]\nthreads = 1\nhost_last = true\n'
            f"probe = false\n"
            f'[[device]]\nkind = "emulated"\nname = "dpu"\ncoder = "codec"\n{keys}\n'
            f"kept_bytes = {KEPT_BYTES}\n"
            f'[[write]]\ndirectory = "{folder}"\n'
        )
        self.process = subprocess.Popen(
            ["nice", "-n", "-15", str(BUILD / "bin" / "caesura-serve"), str(config)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line.startswith("service:"):
            raise SystemExit("where.py: the other service did not start")
        self.address = line.removeprefix("service:")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=30)


def measure(part: str, seed: int, rounds: int, most_s: float = 1e9) -> None:
    with tempfile.TemporaryDirectory() as folder:
        remote = Remote(Path(folder))
        try:
            told = subprocess.run(
                [str(PROGRAM), part, remote.address, str(seed), str(rounds), str(most_s)],
                capture_output=True,
                text=True,
            )
        finally:
            remote.stop()
    if told.returncode != 0:
        raise SystemExit(f"where.py: transit_where {part}: {told.stderr}")
    piece = {"load_average": os.getloadavg(), "rounds": rounds, **json.loads(told.stdout)}
    PIECES.mkdir(parents=True, exist_ok=True)
    (PIECES / f"{part}_{seed}.json").write_text(json.dumps(piece) + "\n")


def pieces(part: str) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted(PIECES.glob(f"{part}_*.json"))]


def replayed(recordings: list[dict]) -> dict:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(recordings, file)
        file.flush()
        told = subprocess.run([str(PROGRAM), "replay", file.name], capture_output=True, text=True)
    if told.returncode != 0:
        raise SystemExit(f"where.py: transit_where replay: {told.stderr}")
    return json.loads(told.stdout)


def of_bursts(found: list[dict]) -> dict:
    """The time of all bursts by each policy, and beside the best static choice."""
    rounds = [one for piece in found for one in piece["rounds"]]
    total = {name: sum(one["took_s"][name] for one in rounds) for name in rounds[0]["took_s"]}
    static = min(DEVICES, key=lambda name: total[name])
    ratios = [
        one["took_s"]["model"] / min(one["took_s"][name] for name in DEVICES) for one in rounds
    ]
    return {
        "bursts": len(rounds),
        "total_s": total,
        "best_static": static,
        "model_over_best_static": total["model"] / total[static] - 1,
        "average_over_best_static": total["average"] / total[static] - 1,
        "model_over_best_static_of_each_burst_median": statistics.median(ratios) - 1,
        "model_over_best_static_of_each_burst_worst": max(ratios) - 1,
        "moved": sum(piece["moved"]["model"] for piece in found),
        "blocks": [piece["blocks"]["model"] for piece in found],
    }


def of_noise(found: list[dict]) -> dict:
    """How far single runs of one request under one load are from their middle, by bytes; and the r2
    of a model that knew the middle of each."""
    by_bytes: dict[str, list[float]] = {}
    cpu_by_bytes: dict[str, list[float]] = {}
    off = total = 0.0
    rows = [row for piece in found for row in piece["noise"]]
    mean = statistics.fmean(seconds for row in rows for seconds in row["took_s"])
    for row in rows:
        middle = statistics.median(row["took_s"])
        for seconds in row["took_s"]:
            by_bytes.setdefault(str(int(row["bytes"])), []).append(abs(seconds / middle - 1))
            off += (seconds - middle) ** 2
            total += (seconds - mean) ** 2
        middle = statistics.median(row["cpu_s"])
        cpu_by_bytes.setdefault(str(int(row["bytes"])), []).extend(
            abs(seconds / middle - 1) for seconds in row["cpu_s"]
        )
    return {
        "median_error_by_bytes": {key: statistics.median(by_bytes[key]) for key in by_bytes},
        "median_error_of_cpu_time_by_bytes": {
            key: statistics.median(cpu_by_bytes[key]) for key in cpu_by_bytes
        },
        "r2": 1 - off / total,
        "runs": sum(len(row["took_s"]) for row in rows),
    }


def of_requests(replay: dict) -> dict:
    made: dict = {}
    for kind, policies in replay["policies"].items():
        static = min(DEVICES, key=lambda name: policies[name]["took_s"])
        model, average = policies["model"], policies["average"]
        made[kind] = {
            "over_best_mean": model["over_best_mean"],
            "over_best_mean_second_half": model["second_half"]["over_best_mean"],
            "over_best_total": model["over_best_total"],
            "trials": model["trials"],
            "best_static": static,
            "over_best_static": model["took_s"] / policies[static]["took_s"] - 1,
            "without_samples_over_best_mean": policies["without_samples"]["over_best_mean"],
            "average_over_best_mean": average["over_best_mean"],
            "average_over_best_total": average["over_best_total"],
            "static_over_best_mean": {n: policies[n]["over_best_mean"] for n in DEVICES},
            "static_over_best_total": {n: policies[n]["over_best_total"] for n in DEVICES},
            "blocks": model["blocks"],
        }
    for name in DEVICES:
        of_it = replay["model"][name]["fields"]
        made[f"{name}_r2"] = of_it["r2"]
        made[f"{name}_median_error_by_bytes"] = of_it["median_error_by_bytes"]
    made["cpu_r2_sizes_alone"] = replay["model"]["cpu"]["sizes_alone"]["r2"]
    for name in ("model", "average"):
        of_it = replay["slow_down"][name]
        made[f"slow_down_{name}"] = {"before": of_it["before"], "last": of_it["last"]}
    return made


def goals_met(summary: dict) -> dict:
    middle = summary["middle"]
    met = {
        "over the best in hindsight": middle["over_best_mean"] <= 0.05,
        "over the best static choice, requests": middle["over_best_static"] <= 0.02,
        "r2": summary["cpu_r2"] >= 0.95,
        "median error": max(summary["cpu_median_error_by_bytes"].values()) <= 0.15,
        "recovery": summary["slow_down_model"]["before"] > 0
        and summary["slow_down_model"]["last"] <= 10,
    }
    if "bursts" in summary:
        met["over the best static choice, bursts"] = (
            summary["bursts"]["model_over_best_static"] <= 0.02
        )
    return met


def section() -> dict:
    """Of all that was measured so far."""
    found = {part: pieces(part) for part in PARTS}
    everything = [piece for part in PARTS for piece in found[part]]
    made: dict = {
        "emulated": [
            "gpu: times stated, results kept",
            "remote: another service here, its device's times stated, results kept",
        ],
        "stated": {**everything[0]["stated"], "remote": REMOTE},
        "goals": GOALS,
        "load_average": {part: [one["load_average"] for one in found[part]] for part in PARTS},
        "bound": everything[0]["bound"],
        "worst_error": max(piece["worst_error"] for piece in everything),
    }
    if found["record"]:
        replay = replayed(found["record"])
        summary = of_requests(replay)
        made["requests"] = [
            {
                key: one[key]
                for key in ("field", "bytes", "utilisation", "runnable", "waiting_share", "load")
            }
            | {"took_s": [_middle_s(one, device) for device in range(len(DEVICES))]}
            for piece in found["record"]
            for one in piece["requests"]
        ]
        summary["requests"] = len(made["requests"])
        if found["bursts"]:
            summary["bursts"] = of_bursts(found["bursts"])
        summary["goals_met"] = goals_met(summary)
        made["summary"] = summary
        made["replay"] = replay
    if found["noise"]:
        made["noise"] = of_noise(found["noise"])
    if found["figures"]:
        made["figures"] = found["figures"][-1]
    return made


def _middle_s(request: dict, device: int) -> float:
    return statistics.median(
        sum(repeat[device][key] for key in ("to_s", "compute_s", "from_s"))
        for repeat in request["repeats"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=24, help="loads, 10 requests each")
    parser.add_argument("--seeds", type=int, nargs="*", default=[1], help="each measures all parts")
    parser.add_argument("--parts", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--most-s", type=float, default=1e9, help="no round begins later")
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it runs")
    options = parser.parse_args()
    for seed in options.seeds:
        for part in options.parts:
            rounds = 3 if options.quick else options.rounds
            measure(
                part,
                seed,
                rounds if part in ("record", "bursts") else min(rounds, 12),
                options.most_s,
            )
    print(save("where", section()))
    if importlib.util.find_spec("matplotlib"):
        import where_figures

        where_figures.main()


if __name__ == "__main__":
    main()
