#!/usr/bin/env python3
"""The best that is known of each published instance: instances/best.json.

For both kinds of compress lane: bounds.py from below; from above our search with many seeds and
long budgets, and CP-SAT, which also proves, on the instances named by --cp. What the file holds is
kept where nothing better is found, so that running it again can only improve it.

    {"instance": {"excluded" or "resumable": {
        "optimum_s": s,                  # proven: no plan ends earlier, or, if it is not,
        "bound_s": s, "best_s": s,       # no plan ends before; a plan ends then
        "by": "search" or "cp-sat", "compress": [job, ...], "write": [job, ...]}}}

The orders are the plan: each task as early as possible (exact.answer_of) gives best_s to the bit.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

from caesura import plan
from caesura_lab.planning import bounds, exact, planners
from caesura_lab.planning.instances import Instance, parse

PLACE = Path(__file__).resolve().parent / "instances"
PATH = PLACE / "best.json"
KINDS = {"excluded": False, "resumable": True}


def families() -> dict[str, list[Instance]]:
    """The published instances by file."""
    return {
        path.stem: parse(path.read_text(), path.name)
        for path in sorted(PLACE.glob("*.json"))
        if path != PATH
    }


def read() -> dict[str, dict]:
    """What is known so far."""
    return json.loads(PATH.read_text()) if PATH.exists() else {}


def best_s(entry: dict) -> float:
    """The end of the best plan."""
    return entry.get("optimum_s", entry.get("best_s"))


def bound_s(entry: dict) -> float:
    """What no plan ends before."""
    return entry.get("optimum_s", entry.get("bound_s"))


def write(known: dict[str, dict]) -> None:
    """One line for each instance and kind."""
    lines = []
    for name, kinds in known.items():
        inner = ",\n".join(
            f"  {json.dumps(kind)}: {json.dumps(entry, separators=(',', ':'))}"
            for kind, entry in kinds.items()
        )
        lines.append(f" {json.dumps(name)}: {{\n{inner}\n }}")
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def searched(instance: Instance, seeds: int, steps: int) -> exact.Answer:
    """The best of all algorithms and of the search from many seeds."""
    made = [instance.schedule(name) for name in planners.ALGORITHMS]
    made += [instance.schedule("search", search_steps=steps, seed=1 + s) for s in range(seeds)]
    found = min(made, key=lambda m: m.end_s)
    jobs = range(len(instance.jobs))
    return exact.answer_of(
        instance,
        tuple(sorted(jobs, key=lambda j: (found.compress_begin_s[j], found.compress_end_s[j]))),
        tuple(sorted(jobs, key=lambda j: (found.write_begin_s[j], found.write_end_s[j]))),
        0.0,
    )


def improved(instance: Instance, entry: dict | None, options: argparse.Namespace) -> dict:
    """The entry after more work; an optimum is left alone."""
    if entry is not None and "optimum_s" in entry:
        return entry
    low = bounds.bound_s(instance)
    best, by = None, "search"
    if entry is not None:
        low = max(low, entry["bound_s"])
        best = exact.answer_of(instance, tuple(entry["compress"]), tuple(entry["write"]), low)
        by = entry["by"]
    if options.seeds:
        found = searched(instance, options.seeds, options.steps)
        if best is None or found.end_s < best.end_s:
            best, by = found, "search"
    if best is None:
        raise SystemExit(f"{instance.name} is new: give it --seeds")
    best = replace(best, bound_s=low)
    if options.cp and not best.is_proven:
        solved = exact.solve_cp(
            instance, options.cp_s, hint=best, bound_s=low, workers=options.workers
        )
        by = "cp-sat" if solved.end_s < best.end_s else by
        best = solved
    known = {"optimum_s": best.end_s} if best.is_proven else {
        "bound_s": best.bound_s, "best_s": best.end_s
    }  # fmt: skip
    return {**known, "by": by, "compress": best.compress_order, "write": best.write_order}


def better_of(ours: dict | None, theirs: dict) -> dict:
    """Two entries of one problem: the earlier end, the higher bound."""
    if ours is None or "optimum_s" in theirs:
        return theirs
    if "optimum_s" in ours:
        return ours
    plan_of = ours if best_s(ours) <= best_s(theirs) else theirs
    low, high = max(bound_s(ours), bound_s(theirs)), best_s(plan_of)
    proven = exact.Answer(low, high).is_proven
    known = {"optimum_s": high} if proven else {"bound_s": low, "best_s": high}
    return {**known, **{key: plan_of[key] for key in ("by", "compress", "write")}}


def main() -> int:
    """Improve what is known."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=0, help="searches from so many seeds")
    parser.add_argument("--steps", type=int, default=4 * plan.SEARCH_STEPS, help="each so long")
    parser.add_argument("--cp", action="store_true", help="CP-SAT too")
    parser.add_argument("--cp-s", type=float, default=5.0, help="seconds for each")
    parser.add_argument("--workers", type=int, default=8, help="of CP-SAT, each another strategy")
    parser.add_argument("--every", type=int, default=1, help="only each n-th of a family")
    parser.add_argument("--kind", choices=KINDS, action="append", help="only of this kind")
    parser.add_argument("--family", action="append", help="only of these files")
    parser.add_argument("--merge", type=Path, help="only take what another such file knows better")
    options = parser.parse_args()
    known = read()
    if options.merge:
        for name, kinds in json.loads(options.merge.read_text()).items():
            for kind, theirs in kinds.items():
                known[name][kind] = better_of(known[name].get(kind), theirs)
        write(known)
        return 0
    begin_s = time.monotonic()
    for family, instances in families().items():
        if options.family and family not in options.family:
            continue
        better = 0
        for instance in instances[:: options.every]:
            entries = known.setdefault(instance.name, {})
            for kind in options.kind or KINDS:
                before = entries.get(kind)
                item = replace(instance, resumable=KINDS[kind])
                entries[kind] = improved(item, before, options)
                better += before is not None and best_s(entries[kind]) < best_s(before)
            if time.monotonic() - begin_s > 10.0:  # what is found is not lost
                write(known)
                begin_s = time.monotonic()
        proven = sum("optimum_s" in e for i in instances for e in known.get(i.name, {}).values())
        print(f"{family}: {2 * len(instances)} problems, {proven} proven, {better} improved",
              flush=True)  # fmt: skip
    write(known)
    return 0


if __name__ == "__main__":
    sys.exit(main())
