"""S4's Figures 1, 2 and 5 to 9 as far as one machine can redo them; bench/transit/where.py has 10
to 14.

    figures.py [--figures 1,5] [--quick] [--rounds N] [--draw]

Each figure is measured, saved as section figure_N of out/bench/transit.json, and drawn into
out/bench/transit_figure_N.svg; S4's values, where its text states any, stand beside ours. --draw
draws what was measured before. About 15 minutes on 2 cores; --quick tries all in 2.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import by_region
import figure_pictures
import offload
import over_bounds
import saturation
import slabs
import steps
import weak_scaling
from applications import wait_for_quiet
from figure import Plan, pfs_stat
from results import OUT, save

FIGURES = {
    1: saturation,
    2: over_bounds,
    5: steps,
    6: offload,
    7: slabs,
    8: by_region,
    9: weak_scaling,
}
QUIET = 0.1  # of the cores, kept busy by others
PRIORITY = -15


def measure(number: int, options: argparse.Namespace) -> dict:
    """The section of one figure."""
    memory = Path("/dev/shm")
    base = memory if os.access(memory, os.W_OK) else None
    place = Path(tempfile.mkdtemp(prefix="caesura-figure-", dir=base))
    plan = Plan(options.quick, options.rounds, len(os.sched_getaffinity(0)), place)
    others = wait_for_quiet(QUIET, 0.0 if options.quick else options.patience_s)
    try:
        found = FIGURES[number].measure(plan)
    finally:
        shutil.rmtree(place, ignore_errors=True)
        pfs_stat("--remove")
    return {
        "what": (FIGURES[number].__doc__ or "").split("\n\n")[0].replace("\n", " "),
        "s4": FIGURES[number].S4,
        "quick": plan.quick,
        "statistic": f"median of {plan.rounds}",
        "priority": os.nice(0),
        "others_share": others,
        "others_share_after": wait_for_quiet(1.0, 0.0),
        **found,
    }


def before_others() -> None:
    """What is measured goes before other programs, where that is allowed (root)."""
    with contextlib.suppress(PermissionError):
        os.nice(PRIORITY)


def main() -> int:
    """Measure, save, draw; a figure that fails does not keep the others from being made."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--figures", default=",".join(map(str, FIGURES)))
    parser.add_argument("--quick", action="store_true", help="small fields, one round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--patience-s", type=float, default=30.0, help="for a quiet machine")
    parser.add_argument("--draw", action="store_true", help="what is in transit.json")
    options = parser.parse_args()
    if options.quick:
        options.rounds = 1
    numbers = [int(word) for word in options.figures.split(",")]
    if unknown := [n for n in numbers if n not in FIGURES]:
        parser.error(f"no figure {unknown[0]}; there are {', '.join(map(str, FIGURES))}")
    before_others()
    failed = []
    for at, number in enumerate(numbers, 1):
        begin_s = time.monotonic()
        print(f"[{at}/{len(numbers)}] figure {number}", flush=True)
        try:
            if not options.draw:
                save(f"figure_{number}", measure(number, options))
            section = json.loads((OUT / "transit.json").read_text())[f"figure_{number}"]
            print(f"  {figure_pictures.draw(number, section)}", end=", ")
            print(f"{time.monotonic() - begin_s:.0f} s", flush=True)
        except (Exception, SystemExit):
            traceback.print_exc()
            failed.append(number)
    if failed:
        print(f"failed: figures {', '.join(map(str, failed))}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
