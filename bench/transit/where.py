"""Where: the choice of a device, beside the best in hindsight, each device alone, and S4's
running average.

    where.py [--rounds N]

Real blocks go three ways: to the host's cores (two workers of the service at normal priority), to
an emulated GPU (which compresses on a core of the host and takes the time stated), and to another
caesura-serve on this machine whose only device is emulated too. What emulation costs the host
goes before all else there (nice -15, for root). Processes beside them compute digits of pi for a
stated share of the time (transit_where.cpp). Then

- each request runs on every device under the same load, three times, the devices taking turns; the
  policies are replayed on these times. `middle` takes the middle one of three, `single` the first;
- bursts of blocks go through the service's dispatch as a dump does, policy after policy;
- in the middle of one series the GPU becomes four times slower.

Results in out/bench/transit_where.json, pictures beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "bench" / "codec"), str(ROOT / "python")]

from conditions import conditions  # noqa: E402
from where_pictures import choices_picture, latency_picture  # noqa: E402

OUT = Path(os.environ.get("CAESURA_OUT", ROOT / "out")) / "bench"
BUILD = Path(os.environ.get("CAESURA_BUILD", ROOT / "build"))
GOALS = {
    "over the best in hindsight, mean, at most": 0.05,
    "over the best static choice, at most": 0.02,
    "r2 on the CPU, at least": 0.95,
    "median error at each size on the CPU, at most": 0.15,
    "requests until the slower device is left, at most": 10,
}
DEVICES = ("cpu", "gpu", "remote")
# The other service's device, which stands for a DPU: slower than the GPU, behind a network.
REMOTE = {"link_bytes_per_s": 4e9, "compress_bytes_per_s": 9e8, "per_block_s": 5e-4}


class Remote:
    """Another caesura-serve, with one emulated device that does all it can."""

    def __init__(self, folder: Path) -> None:
        keys = "\n".join(f"{key} = {value}" for key, value in REMOTE.items())
        config = folder / "remote.toml"
        config.write_text(
            f'listen = ["unix:{folder}/remote"]\nthreads = 1\nhost_last = true\n'
            f'[[device]]\nkind = "emulated"\nname = "dpu"\ncoder = "codec"\n{keys}\n'
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


def measured(rounds: int) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        remote = Remote(Path(folder))
        try:
            program = BUILD / "bench" / "transit" / "transit_where"
            told = subprocess.run(
                [str(program), remote.address, str(rounds)], capture_output=True, text=True
            )
        finally:
            remote.stop()
    if told.returncode != 0:
        raise SystemExit(f"where.py: transit_where: {told.stderr}")
    return json.loads(told.stdout)


def of_bursts(bursts: dict) -> dict:
    """The time of all bursts by each policy, and beside the best static choice."""
    total = {
        name: sum(one["took_s"][name] for one in bursts["rounds"])
        for name in bursts["rounds"][0]["took_s"]
    }
    static = min(DEVICES, key=lambda name: total[name])
    ratios = [
        one["took_s"]["model"] / min(one["took_s"][name] for name in DEVICES)
        for one in bursts["rounds"]
    ]
    return {
        "total_s": total,
        "best_static": static,
        "model_over_best_static": total["model"] / total[static] - 1,
        "average_over_best_static": total["average"] / total[static] - 1,
        "model_over_best_static_of_each_burst_median": statistics.median(ratios) - 1,
    }


def summary(found: dict) -> dict:
    made: dict = {}
    for kind, policies in found["policies"].items():
        static = min(DEVICES, key=lambda name: policies[name]["took_s"])
        made[kind] = {
            "over_best_mean": policies["model"]["over_best_mean"],
            "over_best_mean_second_half": policies["model"]["second_half"]["over_best_mean"],
            "over_best_total": policies["model"]["over_best_total"],
            "best_static": static,
            "over_best_static": policies["model"]["took_s"] / policies[static]["took_s"] - 1,
            "average_over_best_mean": policies["average"]["over_best_mean"],
            "average_over_best_total": policies["average"]["over_best_total"],
        }
    cpu = found["model"]["cpu"]["fields"]
    made["cpu_r2"] = cpu["r2"]
    made["cpu_median_error_by_bytes"] = cpu["median_error_by_bytes"]
    made["cpu_r2_sizes_alone"] = found["model"]["cpu"]["sizes_alone"]["r2"]
    for name in ("model", "average"):
        of_it = found["slow_down"][name]
        made[f"slow_down_{name}"] = {"before": of_it["before"], "last": of_it["last"]}
    made["bursts"] = of_bursts(found["bursts"])
    middle = made["middle"]
    made["goals_met"] = {
        "over the best in hindsight": middle["over_best_mean"] <= 0.05,
        "over the best static choice": middle["over_best_static"] <= 0.02
        and made["bursts"]["model_over_best_static"] <= 0.02,
        "r2": made["cpu_r2"] >= 0.95,
        "median error": max(made["cpu_median_error_by_bytes"].values()) <= 0.15,
        "recovery": made["slow_down_model"]["before"] > 0 and made["slow_down_model"]["last"] <= 10,
        "bound": found["worst_error"] <= found["bound"],
    }
    return made


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=24, help="loads, 10 requests each")
    options = parser.parse_args()
    found = measured(options.rounds)
    found["stated"]["remote"] = REMOTE
    document = {
        "conditions": conditions(),
        "load_average": os.getloadavg(),
        "rounds": options.rounds,
        "emulated": [
            "gpu: times stated",
            "remote: another service here, its device's times stated",
        ],
        "goals": GOALS,
        "summary": summary(found),
        **found,
    }
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "transit_where.json").write_text(json.dumps(document, indent=1) + "\n")
    (OUT / "transit_where_latency.svg").write_text(latency_picture(found))
    (OUT / "transit_where_choices.svg").write_text(choices_picture(found))
    print(json.dumps(document["summary"], indent=1))


if __name__ == "__main__":
    main()
