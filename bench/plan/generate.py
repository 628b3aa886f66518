#!/usr/bin/env python3
"""The generated instances: 67 for each of three stages of a Nyx run, as in S0 §5.2, from a seed.

What S0 gives: 32 blocks of 8.39 MB a process; the beginning of a run, where data are even, the
middle, and the end, where ratios differ from part to part; actual times. What it does not give
(throughput of a process' writes, how long and how scattered the application's own work is) is
drawn, differently for each instance, so that no one machine's balance decides:

 - blocks: fields in order, 32 over 6 fields. A block's ratio is that of a part of the real field
   (ratios.json): with one half probability the part that this process holds, else any; the
   change between dumps that S0 found (1.45 %) on top. It compresses at the field's measured
   speed, 5 % up or down (S0 §5.4.1).
 - writes: 2 ms and a bandwidth (S1-Eq2 has the throughput rise with the size) with which all
   writes take 0.5 to 2 times as long as all compressions.
 - the application: 6 to 20 phases of waiting for the GPU, computing (obstacle of the compress lane)
   and communicating (obstacle of the write lane), 30 to 60 % and 10 to 40 % of the iteration.
 - the iteration is as long as makes the busier lane 85 to 105 % busy: plans matter there. Where
   there is more room every plan is good.

All times are multiples of 2^-20 s: sums of them are exact, so that what fits, fits for everybody.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from caesura_lab.planning.instances import Instance, dumps

HERE = Path(__file__).resolve().parent
PLACE = HERE / "instances"
SEED = 20240422
STAGES = ("beginning", "middle", "end")
PER_STAGE = 67
BLOCKS, BLOCK_BYTES = 32, 8388608
TICK_S = 2.0**-20
WRITE_LATENCY_S = 2e-3


def whole(seconds: float) -> float:
    """The nearest multiple of the tick, at least one."""
    return max(1, round(seconds / TICK_S)) * TICK_S


def blocks(fields: dict[str, dict], chance: random.Random) -> tuple[list[float], list[float]]:
    """Compression times, and compressed bytes, in order of generation."""
    compress_s, stored_bytes = [], []
    names = list(fields)
    home = chance.randrange(len(fields[names[0]]["ratio"]))
    for block in range(BLOCKS):
        field = fields[names[block * len(names) // BLOCKS]]
        part = home if chance.random() < 0.5 else chance.randrange(len(field["ratio"]))
        ratio = field["ratio"][part] * chance.lognormvariate(0.0, 0.0145)
        stored_bytes.append(BLOCK_BYTES / ratio)
        speed = 1e6 * field["mb_per_s"] * chance.lognormvariate(0.0, 0.05)
        compress_s.append(BLOCK_BYTES / speed)
    return compress_s, stored_bytes


def phases(
    iteration_s: float, compute_share: float, communicate_share: float, chance: random.Random
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Obstacles of both lanes: each phase waits for the GPU, computes, communicates."""
    count = chance.randint(6, 20)
    parts: list[list[float]] = []
    for share, spread in ((1 - compute_share - communicate_share, 0.8), (compute_share, 0.6),
                          (communicate_share, 0.6)):  # fmt: skip
        weights = [chance.lognormvariate(0.0, spread) for _ in range(count)]
        parts.append([iteration_s * share * w / sum(weights) for w in weights])
    compress, write = [], []
    at_s = 0.0
    for wait_s, compute_s, communicate_s in zip(*parts, strict=True):
        begin_s = at_s + whole(wait_s)
        middle_s = begin_s + whole(compute_s)
        at_s = middle_s + whole(communicate_s)
        compress.append((begin_s, middle_s))
        write.append((middle_s, at_s))
    return compress, write


def instance(
    stage: str, number: int, fields: dict[str, dict], busy: float | None = None
) -> Instance:
    """One process in one iteration; `busy`: so much of the busier lane instead of what is drawn."""
    chance = random.Random(f"{SEED} {stage} {number}")
    compress_s, stored_bytes = blocks(fields, chance)
    balance = 2.0 ** chance.uniform(-1.0, 1.0)
    transfer_s = max(0.1, balance * sum(compress_s) - BLOCKS * WRITE_LATENCY_S)
    bandwidth = sum(stored_bytes) / transfer_s
    write_s = [WRITE_LATENCY_S + size / bandwidth for size in stored_bytes]
    compute, communicate = chance.uniform(0.3, 0.6), chance.uniform(0.1, 0.4)
    drawn = chance.uniform(0.85, 1.05)
    busy = drawn if busy is None else busy
    iteration_s = max(sum(compress_s) / (busy - compute), sum(write_s) / (busy - communicate))
    compress, write = phases(iteration_s, compute, communicate, chance)
    return Instance(
        name=f"{stage} {number:02}",
        jobs=tuple((whole(c), whole(w)) for c, w in zip(compress_s, write_s, strict=True)),
        compress=tuple(compress),
        write=tuple(write),
        iteration_s=max(whole(iteration_s), write[-1][1]),
    )


def generate() -> dict[str, list[Instance]]:
    """The instances of each stage."""
    ratios = json.loads((HERE / "ratios.json").read_text())
    return {
        stage: [instance(stage, number, ratios[stage]) for number in range(PER_STAGE)]
        for stage in STAGES
    }


def main() -> int:
    """Write instances/STAGE.json."""
    PLACE.mkdir(exist_ok=True)
    for stage, made in generate().items():
        (PLACE / f"{stage}.json").write_text(dumps(made))
        print(f"{PLACE.name}/{stage}.json: {len(made)} instances")
    return 0


if __name__ == "__main__":
    sys.exit(main())
