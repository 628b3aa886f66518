#!/usr/bin/env python3
"""One bound for the file is a bound of its fields.

`programs/python_one_bound.py` writes files as other packages do, natively and under the connector
with a bound that no rule gives a path. Stock h5py compares them:

  1. fields are within the bound, and not equal, so that the bound is in use;
  2. coordinates of every kind, meshes, positions, integers, strings and compounds are equal bit for
     bit, and no program stops;
  3. complex numbers have both parts within the bound;
  4. the report says of each dataset why it is exact, and the closing line that there are such;
  5. a rule that names a coordinate still holds for it, and a rule that names what cannot have its
     bound is an error that says what to write.

Standard exit status: 0 if all holds, else 1; 77 without $CAESURA_PARALLEL_PYTHON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from launching import environment, on_ranks, rank_counts

BOUND = 1e-3
COMMON = "threshold_bytes = 1\nreport = 'report.json'\n"
CONFIGURATIONS = {
    "absolute": f"bound = {BOUND}\n",
    "relative": f"bound = {BOUND}\nbound_kind = 'relative'\n",
    "a rule for all": f"[[dataset]]\npath = '**'\nbound = {BOUND}\n",
}
FIELDS = {
    "dolfinx": ["Function/u/0", "Function/z/0"],
    "ocean": ["temp", "salt"],
    "spectral": ["u_hat", "v_hat"],
    "openpmd": ["data/0/particles/e/momentum/x", "data/0/fields/E/x"],
    "one_axis": ["rho", "sound"],
}
# What the report says of those that are exact though a bound reaches them.
WHY = {
    "Mesh/mesh/geometry": "its name is 'geometry'",
    "lat": "its name is 'lat'",
    "lat_bnds": "its name is 'lat_bnds'",
    "sigma": "it is a dimension scale",
    "corners": "an attribute lists it among coordinates",
    "anchor": "an attribute lists it among coordinates",
    "cell_edges": "an attribute lists it among coordinates",
    "clock": "its units are 'days since 1970-01-01'",
    "data/0/particles/e/position/x": "it is in a group 'position'",
    "data/0/particles/e/positionOffset/x": "it is in a group 'positionOffset'",
    "phase": "it holds 3 quantities, and no rule gives each of them a bound",
    "cells": "its values rise, or fall",
    "seen": "its values rise, or fall",
}


def run(options: argparse.Namespace, ranks: int, place: Path, config: str | None) -> tuple:
    """Exit status and what was said."""
    place.mkdir(parents=True, exist_ok=True)
    variables = {}
    if config is not None:
        (place / "run.toml").write_text(config)
        variables = {
            "HDF5_PLUGIN_PATH": f"{options.connector}:{options.filters}",
            "HDF5_VOL_CONNECTOR": f"caesura config={place / 'run.toml'}",
            "VOL_TEST_CONNECTOR": "caesura",
        }
    program = [os.environ["CAESURA_PARALLEL_PYTHON"], options.program, place]
    done = subprocess.run(
        [options.mpirun, *on_ranks(ranks, *program, variables=variables)],
        capture_output=True, text=True, env=environment(), timeout=300, cwd=place,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def parts(values: np.ndarray) -> list[np.ndarray]:
    return [values.real, values.imag] if values.dtype.kind == "c" else [values]


def faults_of_field(path: str, ours: np.ndarray, wanted: np.ndarray, kind: str) -> list[str]:
    """Each part within its own bound, and the bound in use."""
    wrong = []
    for a, b in zip(parts(ours), parts(wanted), strict=True):
        limit = BOUND * (float(b.max()) - float(b.min())) if kind == "relative" else BOUND
        away = float(np.abs(a.astype(float) - b.astype(float)).max())
        if away > limit:
            wrong.append(f"{path}: off by {away}, the bound is {limit}")
    if path != "rho" and (ours == wanted).all():  # two values only: they are met by chance
        wrong.append(f"{path}: exact, as if it had no bound")
    return wrong


def compare(native: Path, place: Path, kind: str) -> list[str]:
    wrong = []
    for name, fields in FIELDS.items():
        with h5py.File(native / f"{name}.h5") as a, h5py.File(place / f"{name}.h5") as b:
            paths: list[str] = []
            a.visititems(lambda p, x, to=paths: to.append(p) if isinstance(x, h5py.Dataset) else 0)
            for path in paths:
                wanted, ours = a[path][()], b[path][()]
                if path in fields:
                    wrong += faults_of_field(path, ours, wanted, kind)
                elif ours.tobytes() != wanted.tobytes():
                    wrong.append(f"{path} is not exact")
    return wrong


def faults_of_report(place: Path, said: str) -> list[str]:
    report = json.loads((place / "report.json").read_text())
    entries = {one["path"].lstrip("/"): one for one in report["datasets"]}
    wrong = [
        f"{path}: the report says {entries[path]}"
        for path, why in WHY.items()
        if why not in entries[path].get("kept_exact", "") or why not in entries[path]["what"]
    ]
    for fields in FIELDS.values():
        wrong += [f"{p}: the report says exact" for p in fields if "kept_exact" in entries[p]]
    for word in ("kept exact, the first: /Mesh/mesh/geometry", "complex numbers bounded by part"):
        if word not in said:
            wrong.append(f"the closing line lacks '{word}': {said[-1500:]}")
    return wrong


def check(options: argparse.Namespace, ranks: int, kind: str) -> list[str]:
    place = options.out / f"{kind.replace(' ', '_')}-{ranks}"
    status, said = run(options, ranks, place, COMMON + CONFIGURATIONS[kind])
    if status != 0:
        return [f"the program failed: {said[-3000:]}"]
    return compare(options.out / f"native-{ranks}", place, kind) + faults_of_report(place, said)


def check_named(options: argparse.Namespace) -> list[str]:
    """Rules that name coordinates, and what cannot have a bound."""
    place = options.out / "named"
    named = {  # by its path, what attributes say, what values say
        "dolfinx": ("/Mesh/**", "Mesh/mesh/geometry", 0.5),
        "ocean": ("/anchor", "anchor", 0.25),
        "one_axis": ("c*", "cells", 0.01),
    }
    rules = "".join(f"[[dataset]]\npath = '{path}'\nbound = {b}\n" for path, _, b in named.values())
    status, said = run(options, 2, place, COMMON + CONFIGURATIONS["absolute"] + rules)
    if status != 0:
        return [f"the program failed: {said[-3000:]}"]
    wrong, native = [], options.out / f"native-{options.ranks[-1]}"
    for file, (_, path, bound) in named.items():
        wanted, ours = (h5py.File(where / f"{file}.h5")[path][()] for where in (native, place))
        if not 0 < np.abs(ours - wanted).max() <= bound:
            wrong.append(f"{path}: off by {np.abs(ours - wanted).max()} where a rule says {bound}")
    rule = "[[dataset]]\npath = '/phase'\nbound = 0.5\n"
    status, said = run(options, 2, options.out / "refused", COMMON + rule)
    if status == 0 or "/phase holds 3 quantities (x, y, vx)" not in " ".join(said.split()):
        wrong.append(f"a rule that names particles: {said[-2000:]}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 4])
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--connector", required=True, help="directory of libcaesura_vol.so")
    parser.add_argument("--filters", required=True, help="directory of libh5caesura.so")
    options = parser.parse_args()
    options.ranks = rank_counts(options.ranks)
    h5py.h5pl.append(options.filters.encode())
    if not os.environ.get("CAESURA_PARALLEL_PYTHON"):
        print("skipped: $CAESURA_PARALLEL_PYTHON names no Python with parallel h5py")
        return 77
    options.out = options.out.resolve()
    good = True
    for ranks in options.ranks:
        status, said = run(options, ranks, options.out / f"native-{ranks}", None)
        if status != 0:
            print(f"natively, {ranks} ranks: {said}")
            return 1
    cases = {
        f"{kind}, {ranks} ranks": lambda kind=kind, ranks=ranks: check(options, ranks, kind)
        for ranks in options.ranks
        for kind in CONFIGURATIONS
    }
    for name, case in {**cases, "rules that name": lambda: check_named(options)}.items():
        wrong = case()
        print(f"{name}: {'FAILED' if wrong else 'passed'}", *wrong, sep="\n  ", flush=True)
        good = good and not wrong
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
