#!/usr/bin/env python3
"""Figures 2 and 5 to 11 of S2 by the planner's model, what the paper says beside what comes out.

  bench/together/figures.py        writes out/bench/together.json and together_*.svg, prints tables

No GPU: times are those of the model of docs/how/checkpoints.md with the A100 of a100.json. The
throughput of a run is its bytes over what it takes longer, until all are at the host, than the
application works: copies into the cache, compressing, waiting for the cache and for the last
transfer. S2 IV-D1 names both, "faster completion of flushes and minimal blocking time", and only so
do its numbers agree with each other (docs/evidence/checkpoints.md). Kept beside it: bytes over what
the application stands still for, which leaves out the last transfer.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pictures
import workloads as w
from caesura.together import Plan, Profile

OUT = Path("out", "bench")
MB, GB = 1e6, 1e9
WAYS = ("raw", "each", "planned", "ensemble", "counted", "unknown")


def ways(run: Profile, first: Profile) -> dict[str, Plan]:
    """planned: this very run is known. ensemble: `first` is, of which nothing was known but how
    many checkpoints it would have (S2 compresses each of it singly to get to know it). counted:
    nothing is known of any run but that. unknown: only the machine is known."""
    counted = run.play_planner(run.machine(), run.checkpoints)[0]
    return {
        "raw": run.send_all_raw(),
        "each": run.compress_each(),
        "planned": run.plan(),
        "ensemble": counted if run is first else run.play_planner(first)[0],
        "counted": counted,
        "unknown": run.play_planner(run.machine())[0],
    }


def row(runs: list[tuple[Profile, list[float]]], u: int) -> dict:
    """Of an ensemble: the first is what is known of the others."""
    first = runs[0][0]
    end_s, later_s, still_s = (dict.fromkeys(WAYS, 0.0) for _ in range(3))
    bytes_, words = 0, {}
    for run, own in runs:
        bytes_ += u * len(own)
        for way, plan in ways(run, first).items():
            end_s[way] += plan.flush_end_s
            later_s[way] += plan.flush_end_s - sum(own)
            still_s[way] += plan.application_end_s - sum(own)
            words[way] = plan.word
    better = min(end_s["raw"], end_s["each"])
    return {
        "bytes": bytes_,
        "end_s": end_s,
        "to_better_simple": {way: end_s[way] / better for way in WAYS},
        "over_raw": {way: end_s["raw"] / end_s[way] for way in WAYS},
        "over_each": {way: end_s["each"] / end_s[way] for way in WAYS},
        "bytes_per_s": {way: bytes_ / later_s[way] for way in WAYS},
        "standing_still_bytes_per_s": {way: bytes_ / still_s[way] for way in WAYS},
        "words": words,
    }


def table(name: str, rows: dict[str, dict], paper: str) -> None:
    print(f"\n## {name}\n\nS2: {paper}\n")
    print("| | GB/s: raw | each | planned | ensemble | counted | unknown | ensemble to raw | "
          "to each | standing still, GB/s: raw | each | planned |")  # fmt: skip
    print("|---|" + "---|" * 11)
    for label, r in rows.items():
        seen, still = r["bytes_per_s"], r["standing_still_bytes_per_s"]
        cells = [f"{seen[way] / GB:.0f}" for way in WAYS]
        cells += [f"{seen['ensemble'] / seen[way]:.2f}" for way in ("raw", "each")]
        cells += [f"{still[way] / GB:.0f}" for way in ("raw", "each", "planned")]
        print(f"| {label} | " + " | ".join(cells) + " |")


def letters(word: str) -> dict[str, int]:
    """How many checkpoints are sent raw, alone, or together."""
    alone = word.count("C")
    return {"raw": word.count("U"), "alone": alone, "together": len(word) - word.count("U") - alone}


def figure2() -> dict:
    """The compressor's curve, as S2's words give it."""
    sizes = [1e6 * 2**i for i in range(11)]
    return {f"{size / MB:g} MB": {"bytes": size, "bytes_per_s": size / w.compress_s(size)}
            for size in sizes}  # fmt: skip


def figure5() -> dict:
    found = {}
    for hz in w.FREQUENCIES_HZ:
        rates = [w.rtm_rate(hz, i) / GB for i in range(w.RTM_CHECKPOINTS)]
        found[f"{hz} Hz"] = {
            "checkpoint_bytes": w.rtm_bytes(hz), "made_gb_per_s": [min(rates), max(rates)],
            "ratio": [1 / w.rtm_share(w.RTM_CHECKPOINTS - 1), 1 / w.rtm_share(0)],
            "ratio_by_checkpoint": [1 / w.rtm_share(i) for i in range(w.RTM_CHECKPOINTS)],
            "made_by_checkpoint": [rate * GB for rate in rates],
        }  # fmt: skip
    return found


def figure6() -> dict:
    return {f"{hz} Hz": row([w.rtm(hz, shot) for shot in range(w.SHOTS)], w.rtm_bytes(hz))
            for hz in w.FREQUENCIES_HZ}  # fmt: skip


def figure8() -> dict:
    caches = (64, 128, 256, 512, 1024)
    return {f"{mb} MB": row([w.rtm(4, shot, int(mb * MB)) for shot in range(w.SHOTS)],
                            w.rtm_bytes(4)) for mb in caches}  # fmt: skip


def executed(rate: float, ratio: float, link_share: float = 1.0) -> dict:
    """The same runs through the Checkpointer on the emulated device: one of which nothing is known,
    one that has its profile. Real bytes, compressed by our codec."""
    program = Path(os.environ["CAESURA_BUILD"], "bench", "together", "together_synthetic")
    numbers = {"--gb-per-s": rate / GB, "--ratio": ratio, "--link-share": link_share,
               "--members": 2, "--cache-mb": w.CACHE_BYTES / MB,
               "--checkpoints": w.SYNTHETIC_CHECKPOINTS, "--bytes": w.SYNTHETIC_BYTES}  # fmt: skip
    arguments = [str(part) for pair in numbers.items() for part in pair]
    machine = Path(__file__).parent / "a100.json"
    answer = subprocess.run([program, "--machine", machine, *arguments], check=True,
                            capture_output=True, text=True)  # fmt: skip
    members = json.loads(answer.stdout)["members"]
    return {"bytes_per_s": {"unknown": members[0]["bytes_per_s"],
                            "planned": members[1]["bytes_per_s"]},
            "later_to_planned": members[1]["later_s"] / members[1]["planned_later_s"],
            "members": members}  # fmt: skip


def synthetic_rows(cases: dict[str, dict]) -> dict:
    return {label: {**row([w.synthetic(**case) for _ in range(w.SHOTS)], w.SYNTHETIC_BYTES),
                    "executed": executed(**case)} for label, case in cases.items()}  # fmt: skip


def main() -> int:
    begin = time.process_time()
    results: dict = {"figure 2": figure2(), "figure 5": figure5(),
                     "figure 6": figure6(), "figure 8": figure8()}  # fmt: skip
    results["figure 9"] = synthetic_rows(
        {f"{r} GB/s": {"rate": r * GB, "ratio": 16} for r in (40, 100, 200, 300, 400)}
    )
    results["figure 10"] = synthetic_rows(
        {f"{r} x": {"rate": 100 * GB, "ratio": r} for r in (4, 10, 16, 22, 28)}
    )
    # Two GPUs share a link (IV-A); half of it for each is also what makes raw lose 57 % (IV-D5).
    # That the first four have a link each is ours.
    results["figure 11"] = synthetic_rows(
        {f"{n} GPUs": {"rate": 100 * GB, "ratio": 16, "link_share": s}
         for n, s in ((1, 1.0), (2, 1.0), (4, 1.0), (8, 0.5))})  # fmt: skip
    for name, paper in pictures.PAPER.items():
        table(name, results[name], paper["said"])
    print("\n## executed on the emulated device, profile known\n")
    print("| | GB/s planned | executed | later, of what was planned | unknown, executed |")
    print("|---|---|---|---|---|")
    for label, r in itertools.chain(*(results[f"figure {n}"].items() for n in (9, 10, 11))):
        done = r["executed"]
        print(f"| {label} | {r['bytes_per_s']['planned'] / GB:.0f} | "
              f"{done['bytes_per_s']['planned'] / GB:.0f} | {done['later_to_planned']:.3f} | "
              f"{done['bytes_per_s']['unknown'] / GB:.0f} |")  # fmt: skip
    print("\n## figure 7: checkpoints sent raw, compressed alone, together (last shot)\n")
    for label, r in results["figure 6"].items():
        print(f"  {label}: planned {letters(r['words']['planned'])}, "
              f"unknown {letters(r['words']['unknown'])}")  # fmt: skip
    rows = list(itertools.chain(*(results[name].items() for name in pictures.PAPER)))
    worst = max(rows, key=lambda item: item[1]["to_better_simple"]["unknown"])
    print(f"\nwithout a profile, to the better of raw and each, at worst "
          f"{worst[1]['to_better_simple']['unknown']:.3f} ({worst[0]})")  # fmt: skip
    results["seconds"] = {"all": time.process_time() - begin}
    results["paper"] = pictures.PAPER
    results["device"] = "emulated"  # tools/dev.py bench-gpu writes "cuda:<name>"
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "together.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    for name, svg in pictures.draw(results).items():
        (OUT / f"together_{name}.svg").write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
