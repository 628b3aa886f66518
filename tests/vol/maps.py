#!/usr/bin/env python3
"""Bound maps under the connector: each value within the bound of its place.

`vol_mapped` writes fields natively and under the connector, by this process and by a service, and
the files are compared value by value through stock h5py:

  1. every value within what the map in the file asks of it, by box, by value and by steepness, in
     a dataset that grows, in one that is written in part, and in a file that is opened again, with
     the same rules and with none;
  2. no layer of a block says a looser bound than any of its values has, and some blocks have layers
     of several bounds;
  3. `caesura verify --against` agrees, and `caesura info` and `caesura vol check` tell of the map;
  4. whatever cannot have a map is an error of H5Dcreate that says why.

Standard exit status: 0 if all holds, else 1.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  finds filters
import numpy as np
from caesura import comparing, verifying
from caesura.bound_maps import map_in
from caesura.components import own_bound, parts_of
from running import rank_counts, run_in

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "transit"))
from service_process import Service

COMMON = "threshold_bytes = 65536\nchunk_bytes = 1048576\n"


def rule(path: str, more: str) -> str:
    return f'[[dataset]]\npath = "{path}"\n{more}\n'


BOX = "{ offset = [70, 0, 0], extent = [9, 20, 64], bound = 1e-4 }"
MAPS = (
    rule(
        "fixed",
        f"bound = 1e-1\nbound_map = {{ boxes = [{BOX}], "
        "values = [{ lowest = 2.4, highest = inf, bound = 1e-3 }], "
        "steep = [{ change = 3, bound = 0 }] }",
    )
    + rule(
        "growing",
        'bound = 1e-2\nbound_kind = "relative"\nbound_map = { boxes = '
        "[{ offset = [90, 3, 0], extent = [20, 9, 9], bound = 1e-5 }] }",
    )
    # The bound elsewhere is none: exact but for what the map says.
    # Values that nobody wrote are zeros, which a rule of values sees too.
    + rule(
        "part",
        "bound_map = { boxes = [{ offset = [0, 0, 0], extent = [48, 64, 64], bound = 1e-2 }], "
        "values = [{ lowest = 0, highest = 0, bound = 1e-5 }] }",
    )
    + rule("late", "bound = 1e-2\nbound_map = { steep = [{ change = 3, bound = 1e-6 }] }")
)
ELSEWHERE = {"fixed": 1e-1, "growing": None, "part": 0.0, "late": 1e-2}
REFUSED = {
    "box": (rule("fixed", "bound_map = { boxes = [{ offset = [90, 0, 0], extent = [9, 1, 1], "
                 "bound = 1 }] }"), "it leaves the field [96, 64, 64] along axis 0"),
    "axes": (rule("fixed", "bound_map = { boxes = [{ offset = [0], extent = [9], bound = 1 }] }"),
             "the field [96, 64, 64] has 3 axes"),
    "codec": (rule("fixed", 'codec = "none"\nbound_map = { steep = [{ change = 1, bound = 1 }] }'),
              'codec "none" has one bound for all values; a bound map needs codec "caesura"'),
    "psnr": (rule("fixed", 'bound = 60\nbound_kind = "psnr"\nbound_map = { steep = '
                  "[{ change = 1, bound = 1 }] }"),
             "beside a bound map the field's own bound must be absolute, relative or lossless"),
    "components": (rule("fixed", "component_axis = 0\nbound_map = { steep = [{ change = 1, "
                        "bound = 1 }] }"), "and it holds 96 quantities"),
    "boxes": (rule("line", "box = [8, 8, 8]\nbound_map = { steep = [{ change = 1, bound = 1 }] }"),
              "and it is a sequence of 768 boxes"),
}  # fmt: skip
COMPOUND = (
    rule("particles", "bound_map = { steep = [{ change = 1, bound = 1 }] }"),
    "and it is a compound type of x, y, z, vx, vy, vz. A map is of one array of numbers: name this "
    "dataset in a later rule with bound_map = {}",
)


def run(
    options: argparse.Namespace,
    program: str,
    ranks: int,
    where: Path,
    config: str | None,
    *more: str,
) -> str | None:
    """run_in() of a program with its place and `more`; "again": in the place as it is."""
    text = None if config is None else COMMON + config
    command = [program, str(where), *more]
    return run_in(where, command, options, ranks, text, again="again" in more)


def check_dataset(name: str, native: h5py.Dataset, ours: h5py.Dataset) -> list[str]:
    """Every value, and what the blocks say."""
    mapped = map_in(ours.attrs)
    if mapped is None:
        return [f"{name}: the file has no map"]
    wrong = []
    if ELSEWHERE[name] is not None and mapped.elsewhere != ELSEWHERE[name]:
        wrong.append(f"{name}: elsewhere {mapped.elsewhere}")
    loosest = max(mapped.rules.loosest, mapped.elsewhere)
    if ours.attrs["caesura_bound"] != loosest:
        wrong.append(f"{name}: caesura_bound is {ours.attrs['caesura_bound']}, not {loosest}")
    if ours.shape != native.shape:
        return [*wrong, f"{name} is of {ours.shape}"]
    largest = 0.0
    several = 0
    for where in ours.iter_chunks():
        before, after = native[where].astype("f8"), ours[where].astype("f8")
        bounds = mapped.at(native[where], where)
        off = np.abs(before - after)
        largest = max(largest, off.max())
        if not (off <= bounds).all():
            at = np.unravel_index(np.argmax(off - bounds), off.shape)
            wrong.append(f"{name} {where}: off by {off[at]} at {at}, where {bounds[at]} is allowed")
        offset = tuple(part.start for part in where)
        try:
            _, block = ours.id.read_direct_chunk(offset)
        except (OSError, RuntimeError):  # nobody wrote there
            continue
        said = [(part.values, part.bound) for part in parts_of(block)]
        several += len({bound for _, bound in said}) > 1
        said = said or [(before.size, own_bound(block)[0])]
        first = 0
        for values, bound in said:
            planes = values // int(np.prod(ours.chunks[1:]))
            tightest = bounds[first : first + planes].min(initial=np.inf)
            if bound > tightest * (1 + 1e-6):
                wrong.append(f"{name} {where}: a layer says {bound}, and {tightest} is allowed")
            first += max(planes, 1)
    if largest == 0:
        wrong.append(f"{name}: nothing was lost")
    ratio = native.nbytes / ours.id.get_storage_size()
    print(f"  {name}: off by {largest:.3g}, {several} blocks of several bounds, ratio {ratio:.2f}")
    if name in ("fixed", "growing") and several == 0:
        wrong.append(f"{name}: no block has layers of several bounds")
    return wrong


def check_file(native_file: Path, ours_file: Path, names: list[str]) -> list[str]:
    """All that is to hold of a file."""
    wrong = []
    with h5py.File(native_file) as native, h5py.File(ours_file) as ours:
        for name in names:
            wrong += check_dataset(name, native[name], ours[name])
    verified = verifying.verify(ours_file, comparing.open_reference(native_file))
    # Blocks that nobody wrote to are not there.
    wrong += [one for one in verified.findings if not one.endswith(" blocks")]
    if not {f"/{name}" for name in names} <= set(verified.fields):
        wrong.append(f"verify compared {sorted(verified.fields)}")
    told = caesura_says("info", str(ours_file))
    if told.count("by a map") < len(names):
        wrong.append(f"info says {told}")
    return wrong


def caesura_says(*words: str, **variables: str) -> str:
    """A command's output."""
    command = [sys.executable, "-m", "caesura", *words]
    env = {**os.environ, "COLUMNS": "200", **variables}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    return done.stdout + done.stderr


def check(options: argparse.Namespace, ranks: int, served: bool) -> list[str]:
    """A run, the file opened again with rules and without, and all that is to hold of them."""
    native = options.out / f"native-{ranks}"
    if said := run(options, options.program, ranks, native, None):
        return [f"natively: {said[-3000:]}"]
    place = options.out / f"{'served' if served else 'own'}-{ranks}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    with contextlib.ExitStack() as stack:
        transport = ""
        if served:
            service = stack.enter_context(Service(options.serve, options.out.resolve(), threads=2))
            transport = f'transport = "{service.address}"\n'
        if said := run(options, options.program, ranks, place, transport + MAPS):
            return [f"the program failed: {said[-3000:]}"]
        if served:
            service.status(lambda told: told["connected"] > 0, 10)  # or TimeoutError
        wrong = check_file(native / "mapped.h5", place / "mapped.h5", ["fixed", "growing", "part"])
        if said := run(options, options.program, ranks, native, None, "again"):
            return [*wrong, f"natively: {said[-3000:]}"]
        for how, config in {"rules": MAPS, "attributes": ""}.items():
            again = options.out / f"{place.name}-again-{how}"
            shutil.rmtree(again, ignore_errors=True)
            shutil.copytree(place, again)
            if said := run(options, options.program, ranks, again, transport + config, "again"):
                return [*wrong, f"the program failed: {said[-3000:]}"]
            print(f" again, by {how}:")
            # Without rules nobody knows what an empty dataset was meant to be held to.
            names = ["fixed", "growing", "part"] + ["late"] * (how == "rules")
            found = check_file(native / "mapped.h5", again / "mapped.h5", names)
            wrong += [f"by {how}: {one}" for one in found]
    return wrong


def check_refused(options: argparse.Namespace) -> list[str]:
    """Errors of H5Dcreate."""
    wrong = []
    cases = {name: (options.program, *case) for name, case in REFUSED.items()}
    cases["compound"] = (options.particles, *COMPOUND)
    for name, (program, config, why) in cases.items():
        said = run(options, program, 2, options.out / f"refused-{name}", config) or "it passed"
        if why not in " ".join(said.split()):
            wrong.append(f"{name}: {said[-2000:]}")
    taken_back = COMPOUND[0] + rule("particles", "bound_map = {}")
    if said := run(options, options.particles, 1, options.out / "taken_back", taken_back):
        wrong.append(f"a map that a later rule takes back: {said[-2000:]}")
    return wrong


def check_foreseen(options: argparse.Namespace) -> list[str]:
    """`caesura vol check` on the native file."""
    wrong = []
    config = options.out / "foreseen.toml"
    config.write_text(COMMON + MAPS)
    words = ["vol", "check", str(options.out / f"native-{options.ranks[0]}" / "mapped.h5")]
    words += ["--config", str(config)]
    plugins = {"HDF5_PLUGIN_PATH": f"{options.connector}:{options.filters}"}
    answer = json.loads(caesura_says(*words, "--json", **plugins))
    told = {dataset["path"]: dataset for dataset in answer["datasets"]}
    fixed = told["/fixed"]["components"][0]
    if [box["bound"] for box in fixed["bound_map"]["boxes"]] != [1e-4] or not fixed["ratio"] > 1:
        wrong.append(f"vol check says {fixed}")
    if "bound_map" in told["/line"]["components"][0]:
        wrong.append(f"vol check says {told['/line']}")
    text = caesura_says(*words, **plugins)
    if "caesura, absolute 0.1, by a map" not in text or "exact to 0.1" not in text:
        wrong.append(f"vol check says {text}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--particles", required=True, help="a program with compound types")
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 4])
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--connector", required=True, help="directory of libcaesura_vol.so")
    parser.add_argument("--filters", required=True, help="directory of libh5caesura.so")
    parser.add_argument("--serve", default="", help="caesura-serve; empty: without a service")
    options = parser.parse_args()
    options.ranks = rank_counts(options.ranks)
    good = True
    for ranks in options.ranks:
        for served in (False, True) if options.serve else (False,):
            what = f"{ranks} ranks{', by a service' if served else ''}"
            print(f"{what}:")
            wrong = check(options, ranks, served)
            print(f"{what}: {'FAILED' if wrong else 'passed'}", *wrong, sep="\n  ")
            good = good and not wrong
    for name, call in {"refused": check_refused, "foreseen": check_foreseen}.items():
        wrong = call(options)
        print(f"{name}: {'FAILED' if wrong else 'passed'}", *wrong, sep="\n  ")
        good = good and not wrong
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
