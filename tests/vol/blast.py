#!/usr/bin/env python3
"""The blast mini-app as a program of plain HDF5 that writes AMReX's plotfiles, under the connector.

It knows nothing of Caesura. Its plotfiles, of levels whose boxes come, go and are of unequal size,
are decoded by stock h5diff equal to those of a native run: without loss to the last bit, with a
bound within it. And its boxes take little more space under the connector than the same boxes do
where the mini-app calls Caesura itself, which joins neighbours before it compresses them.

Standard library only. Exit status 0 or 1.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "vol"))
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "vol")]

from launching import environment, on_ranks  # noqa: E402
from mini_app import names_caesura  # noqa: E402
from plain import connector_variables, differences  # noqa: E402

BOUND = 1e-3
LEVELS = 3
SHARE = 0.86  # of the ratio where Caesura is called; docs/evidence/connector.md
# Complete at once: what is learned of one plotfile is known to the next, however busy cores are.
LOSSLESS = 'threshold_bytes = 4096\ndurability = "complete"\n'
WITH_BOUND = f"""{LOSSLESS}
[[dataset]]
path = "**/data:datatype=*"
component = "*"
bound = {BOUND}
"""


def run(
    options: argparse.Namespace, ranks: int, program: Path, output: Path, *variables: str
) -> str:
    """One run; its files lie beside `output`. What it prints."""
    shutil.rmtree(output.parent, ignore_errors=True)
    output.parent.mkdir(parents=True)
    words = ["env", *variables, program, "--check", "--steps", "40", "--output", output]
    command = [options.mpirun, *on_ranks(ranks, *words)]
    answer = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=300)
    if answer.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{answer.stdout}{answer.stderr}")
    return answer.stdout


def sums_of(report: Path) -> dict[str, float]:
    """Of blocks of all plotfiles, without loss of any."""
    told = json.loads(report.read_text())
    blocks = [entry["blocks"] for entry in told["files"] if "blocks" in entry]
    datasets = [one for one in told["datasets"] if one["path"].endswith("data:datatype=0")]
    wrong = [one for one in datasets if not one["blocks"]]
    wrong += [entry for entry in told["files"] if "error" in entry]
    if wrong or not blocks:
        raise SystemExit(f"{report}: {wrong or 'no blocks'}")
    return {key: sum(one[key] for one in blocks) for key in ("raw_bytes", "stored_bytes", "count")}


def compare(options: argparse.Namespace, native: Path, ours: Path, bound: float) -> bool:
    """The same plotfiles, within the bound."""
    names = sorted(path.name for path in native.glob("*.h5"))
    if len(names) < 2 or names != sorted(path.name for path in ours.glob("*.h5")):
        print(f"files: natively {names}, under the connector {sorted(ours.glob('*.h5'))}")
        return False
    data = [f"/level_{level}/data:datatype=0" for level in range(LEVELS)]
    bounds = dict.fromkeys(data, bound) if bound else {}
    found = [
        line
        for name in names
        for line in differences(options.build, native / name, ours / name, bounds)
    ]
    print("\n".join(found))
    return not found


def main() -> int:
    """All runs, and what they left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True, help="blast_plotfile")
    parser.add_argument("--calling", type=Path, required=True, help="blast, which calls Caesura")
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[3])
    parser.add_argument("--mpirun", default="mpirun")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    found = names_caesura(options.program)
    print("\n".join(found))
    good = not found
    for ranks in options.ranks:
        native = options.out / f"native-{ranks}"
        run(options, ranks, options.program, native / "plt.h5")
        said = run(options, ranks, options.calling, options.out / f"calling-{ranks}" / "blast.h5")
        calling = float(re.search(r"ratio ([\d.]+)", said).group(1))
        for name, text, bound in (("lossless", LOSSLESS, 0.0), ("bound", WITH_BOUND, BOUND)):
            config = options.out / f"{name}-{ranks}.toml"
            report = config.with_suffix(".json")
            config.write_text(f'report = "{report}"\n' + text)
            ours = options.out / f"{name}-{ranks}"
            run(
                options,
                ranks,
                options.program,
                ours / "plt.h5",
                *connector_variables(options.build, config),
            )
            good = compare(options, native, ours, bound) and good
            sums = sums_of(report)
            ratio = sums["raw_bytes"] / sums["stored_bytes"]
            print(f"{ranks} ranks, {name}: {sums}, ratio {ratio:.2f}")
            if bound:
                print(f"where it calls Caesura: ratio {calling:.2f}")
                good = good and ratio >= SHARE * calling
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
