"""What a change of the code did to speed, overheads and sizes: two builds beside each other.

    make bench ARGS="builds --before DIR [--rounds N] [--fields N] [--json FILE]"

DIR is the build tree of another checkout, with the Python module and the mini-app; this one's is
the build after. Both codecs take the same array in turns, call by call; their times are CPU time
of the calling thread. Every round of the mini-app runs both builds. The build that runs
first changes from turn to turn. Figures are ratios after/before within a turn, their median and
their quartiles. Frames are compared by size and by bytes. The program passes no judgement: the
reader decides which differences are noise.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "codec"))

MODES = ("auto", "fast", "strong", "planes")
RELATIVE_BOUND = 1e-3
TURN_S = 0.02  # of CPU time, about, of one codec's turn
SMALL_SIDE = 26  # of a small block: 64 KiB of float32, the least that the connector compresses
APPLICATION = ["--grid", "128", "--steps", "9", "--device-s", "0.5", "--device", "emulated"]
APPLICATION += ["--no-fsync", "--quiet"]


# ------------------------------------------------------------------------------- one build's codec


def cases(count: int) -> dict[str, Any]:
    """The arrays, by name: about so many real fields, synthetic ones, and small blocks of both."""
    import fields
    import numpy as np

    real = fields.real_blocks()
    blocks = real[:: max(1, len(real) // count)] + fields.synthetic_blocks((2,))[::3]
    found = {}
    for block in blocks:
        values = block.values()
        if np.ptp(values[np.isfinite(values)]) == 0:
            continue
        found[block.name] = values
        half = SMALL_SIDE // 2
        middle = tuple(slice(n // 2 - half, n // 2 + half) for n in values.shape)
        found[f"{block.name} small"] = np.ascontiguousarray(values[middle])
    return found


def repeated(call: Any) -> tuple[float, Any]:
    """CPU seconds a call, the least of a few; what it returns."""
    best, spent, result = float("inf"), 0.0, None
    while spent < TURN_S:
        begin = time.thread_time()
        result = call()
        took = time.thread_time() - begin
        best, spent = min(best, took), spent + took
    return best, result


def serve(count: int) -> None:
    """By the module that PYTHONPATH names: answer each line (case, mode, bound) with one."""
    import numpy as np
    from caesura import codec

    arrays = cases(count)
    print(json.dumps(list(arrays)), flush=True)
    for line in sys.stdin:
        name, mode, kind = json.loads(line)
        values = arrays[name]
        span = float(np.ptp(values[np.isfinite(values)]))
        bound = (kind, RELATIVE_BOUND * (span if kind == "absolute" else 1.0))
        compress_s, frame = repeated(
            lambda v=values, b=bound, m=mode: codec.compress(v, b, mode=m, threads=1)
        )
        decompress_s, _ = repeated(lambda f=frame: codec.decompress(f, threads=1))
        told = {
            "bytes": len(frame),
            "digest": hashlib.sha256(frame).hexdigest(),
            "compress_s": compress_s,
            "decompress_s": decompress_s,
        }
        print(json.dumps(told), flush=True)


class Codec:
    """A process with the codec of one build."""

    def __init__(self, build: Path, count: int) -> None:
        environment = {**os.environ, "PYTHONPATH": str(build / "python")}
        self._process = subprocess.Popen(
            [sys.executable, str(HERE), "--worker", str(count)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.names = json.loads(self._process.stdout.readline())

    def code(self, *case: str) -> dict[str, Any]:
        """One turn of it."""
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        self._process.stdin.close()
        self._process.wait()


def in_turns(builds: dict[str, Path], number: int) -> list[str]:
    return list(builds) if number % 2 == 0 else list(reversed(builds))


def compare_codecs(builds: dict[str, Path], rounds: int, count: int) -> dict[str, list[Any]]:
    """Of each case, what both said in each turn."""
    codecs = {which: Codec(build, count) for which, build in builds.items()}
    found: dict[str, list[Any]] = {}
    for name in codecs["before"].names:
        for mode in MODES:
            for kind in ("relative", "absolute"):
                found[f"{name}, {kind}, {mode}"] = [
                    {which: codecs[which].code(name, mode, kind) for which in in_turns(builds, n)}
                    for n in range(rounds)
                ]
        print(name, file=sys.stderr)
    for codec in codecs.values():
        codec.close()
    return found


# ----------------------------------------------------------------------------------- the mini-app


def simulate(build: Path, mode: str) -> dict[str, float]:
    """One run of the mini-app on 2 ranks."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        timing = Path(place, "timing.json")
        command = ["mpirun", "-n", "2", str(build / "miniapps/cosmology/cosmology"), *APPLICATION]
        command += ["--mode", mode, "--timing-json", str(timing)]
        if mode != "compute":
            command += ["--output", str(Path(place, "run.h5"))]
        subprocess.run(command, check=True, capture_output=True)
        told = json.loads(timing.read_text())
    return {
        "run_s": sum(told["iteration_s"]) + told["open_s"] + told["close_s"],
        "in_calls_s": told["output_s"] + told["open_s"] + told["close_s"],
        "file_bytes": told.get("file_bytes") or 0,
    }


def application(build: Path) -> dict[str, float]:
    """What output costs, in shares of the same run without."""
    alone, written = simulate(build, "compute"), simulate(build, "caesura")
    return {
        "compute_s": alone["run_s"],
        "overhead": written["run_s"] / alone["run_s"] - 1.0,
        "in_calls": written["in_calls_s"] / alone["run_s"],
        "file_bytes": written["file_bytes"],
    }


# ----------------------------------------------------------------------------------- both of them


def spread(values: list[float]) -> dict[str, float]:
    low, middle, high = quantiles(values, n=4) if len(values) > 1 else values * 3
    return {"median": middle, "low": low, "high": high}


def kinds_of(case: str) -> tuple[str, str]:
    """Of a small block or a large one, and the mode."""
    size = "small" if " small," in case else "large"
    return size, case.rsplit(" ", 1)[-1]


def summarise_codecs(told: dict[str, list[Any]]) -> dict[str, Any]:
    """Speeds after/before: the median of a case's turns, then over the cases of a kind."""
    summary: dict[str, Any] = {}
    for what in ("compress_s", "decompress_s"):
        of_kind: dict[tuple[str, str], list[float]] = {}
        for case, turns in told.items():
            ratio = median(turn["before"][what] / turn["after"][what] for turn in turns)
            of_kind.setdefault(kinds_of(case), []).append(ratio)
        for (size, mode), ratios in sorted(of_kind.items()):
            summary[f"{what.removesuffix('_s')} speed, {size}, {mode}"] = spread(ratios)
    summary["frames"] = len(told)
    for what in ("bytes", "digest"):
        summary[f"frames of other {what}"] = sum(
            turns[0]["before"][what] != turns[0]["after"][what] for turns in told.values()
        )
    return summary


def summarise_application(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    summary = {}
    for what in ("overhead", "in_calls", "compute_s", "file_bytes"):
        for which in ("before", "after"):
            summary[f"{what} {which}"] = spread([one[which][what] for one in rounds])
        if what != "file_bytes":
            more = [one["after"][what] - one["before"][what] for one in rounds]
            summary[f"{what} after - before"] = spread(more)
    return summary


def show(summary: dict[str, Any]) -> None:
    print(f"{'':34} {'median':>10} {'quartiles':>21}")
    for name, value in summary.items():
        if isinstance(value, dict):
            low, middle, high = value["low"], value["median"], value["high"]
            print(f"{name:34} {middle:10.4g} {low:10.4g} {high:10.4g}")
        else:
            print(f"{name:34} {value:10}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--before", type=Path, help="the build tree to compare with")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--fields", type=int, default=8, help="about so many real fields")
    parser.add_argument("--only", choices=("codec", "application"))
    parser.add_argument("--json", type=Path, help="every figure of every round")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        return serve(options.worker)
    if not options.before:
        parser.error("--before DIR: which build is this one to be compared with?")
    after = Path(os.environ.get("CAESURA_BUILD", HERE.parents[2] / "build"))
    builds = {"before": options.before.resolve(), "after": after.resolve()}
    told: dict[str, Any] = {}
    summary: dict[str, Any] = {}
    if options.only != "application":
        told["codec"] = compare_codecs(builds, options.rounds, options.fields)
        summary |= summarise_codecs(told["codec"])
    if options.only != "codec":
        told["application"] = [
            {which: application(builds[which]) for which in in_turns(builds, number)}
            for number in range(options.rounds)
        ]
        summary |= summarise_application(told["application"])
    show(summary)
    if options.json:
        options.json.write_text(json.dumps({"summary": summary, **told}, indent=1))
    return None


if __name__ == "__main__":
    main()
