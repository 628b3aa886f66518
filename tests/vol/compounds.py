#!/usr/bin/env python3
"""Compound types of floats under the connector: each member within its own bound.

`vol_particles` writes particles {x, y, z, vx, vy, vz} of float32, complex numbers {r, i} as h5py
has them, and pairs of float64. It runs natively and under the connector, and the files are compared
member by member:

  1. every value within the bound that a rule names for its member, relative and PSNR bounds by the
     member's range over the whole dataset; without a bound, and of members that rules leave out,
     to the last bit;
  2. a bundle of all members takes no more than 1.10 times the bytes of each member by itself;
  3. the file's attributes and each block say the bound, `caesura info` lists the members, and
     `caesura verify --against` agrees;
  4. a bound that would be one of all members together is an error that names them, if a rule names
     the dataset; lossless and point-wise relative are none;
  5. a file that is opened again keeps all of this for what is written to it, by its own attributes
     where the configuration says nothing any more;
  6. a codec that cannot keep members apart leaves the dataset as it is.

Standard exit status: 0 if all holds, else 1.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import caesura
import h5py
import hdf5plugin  # noqa: F401  finds filters
import numpy as np
from caesura import codec, comparing, verifying
from caesura.cli.info import add_components
from caesura.components import components_of, members_in, parts_of
from running import rank_counts, run_in

MEMBERS = {
    "particles": ["x", "y", "z", "vx", "vy", "vz"],
    "waves": ["r", "i"],
    "pairs": ["energy", "phase"],
}
MOST_OVER_ONE_BY_ONE = 1.10
COMMON = "threshold_bytes = 65536\nchunk_bytes = 1048576\n"
RULE = '[[dataset]]\npath = "/*"\n'
ALL = RULE + 'component = "*"\nbound = 1e-3\nbound_kind = "relative"\n'
MIXED = ALL + "".join(
    [
        RULE + 'component = "v?"\nbound = 1e-2\nbound_kind = "pointwise_relative"\n',
        RULE + 'component = "vz"\nbound = 70\nbound_kind = "psnr"\n',
        RULE + 'component = "y"\nbound = 2e-4\n',
        RULE + 'component = "z"\ncapture = false\n',
        RULE + 'component = "i"\nbound_kind = "lossless"\n',
    ]
)
CONFIGURATIONS = {"relative": ALL, "mixed": MIXED, "lossless": ""}
WITHOUT_PATH = 'bound = 1e-3\nbound_kind = "relative"\n'
TOGETHER = '[[dataset]]\npath = "/particles"\n' + WITHOUT_PATH
SAID = (
    "/particles holds 6 quantities (x, y, z, vx, vy, vz). {} gives no bound to x, y, z, vx, vy, "
    "vz, and its relative bound of 0.001 would be one of all of them together. Add [[dataset]] "
    'rules with path, component and bound; component = "*" is every one that no later rule names. '
    "A bound_kind of lossless or pointwise_relative needs no component"
)


def run(
    options: argparse.Namespace, ranks: int, where: Path, config: str | None, *more: str
) -> str | None:
    """run_in() of the program with its place and `more`; "again": in the place as it is."""
    text = None if config is None else COMMON + config
    command = [options.program, str(where), *more]
    return run_in(where, command, options, ranks, text, again="again" in more)


def bound_for(configuration: str, name: str, values: np.ndarray) -> caesura.Bound:
    """What a member is to be held to."""
    extent = float(np.ptp(values.astype("f8")))
    mixed = {
        "vx": caesura.pointwise_relative(1e-2),
        "vy": caesura.pointwise_relative(1e-2),
        "vz": caesura.absolute(10 ** (-70 / 20) * extent),
        "y": caesura.absolute(2e-4),
        "z": caesura.lossless(),
        "i": caesura.lossless(),
    }
    if configuration == "lossless":
        return caesura.lossless()
    relative = caesura.absolute(1e-3 * extent)
    return mixed.get(name, relative) if configuration == "mixed" else relative


def check_member(what: str, before: np.ndarray, after: np.ndarray, bound: caesura.Bound) -> str:
    """What is wrong with the values of a member; nothing."""
    before, after = before.astype("f8"), after.astype("f8")
    error = np.abs(before - after)
    if bound.kind == "lossless":
        return "" if (before == after).all() else f"{what} is not as it was: {error.max()}"
    limit = bound.value * (np.abs(before) if bound.kind == "pointwise_relative" else 1.0)
    if not (error <= limit).all():
        return f"{what}: off by {error.max()} with {bound}"
    return "" if error.max() > 0 else f"{what}: nothing was lost"


def check_said(path: str, ours: h5py.File, bounds: list[caesura.Bound]) -> list[str]:
    """Attributes and blocks say the bound in units."""
    names = MEMBERS[path]
    components = components_of(ours[path].attrs)
    if [one.name for one in components] != names:
        return [f"{path}: the attributes name {components}"]
    wrong = []
    limits = [0.0 if bound.kind == "lossless" else bound.value for bound in bounds]
    for one, limit in zip(components, limits, strict=True):
        if not np.isclose(one.bound, limit, rtol=1e-6):
            wrong.append(f"{path} {one.name}: the attribute says {one.bound}, not {limit}")
    dataset = ours[path]
    for number in range(dataset.id.get_num_chunks()):
        block = dataset.id.read_direct_chunk(dataset.id.get_chunk_info(number).chunk_offset)[1]
        parts = parts_of(block)
        if [part.component for part in parts] != list(range(len(names))):
            wrong.append(f"{path}: a block says it holds {parts}")
        for part in parts:
            if part.bound > limits[part.component] * (1 + 1e-6):
                wrong.append(f"{path} {names[part.component]}: a block says {part.bound}")
    return wrong


def check_size(
    path: str, native: h5py.File, ours: h5py.File, bounds: list[caesura.Bound], as_is: set[str]
) -> list[str]:
    """Against each member of each chunk by itself."""
    alone = 0
    dataset = ours[path]
    for where in dataset.iter_chunks():
        for member, name, bound in zip(
            members_in(native[path][where]), MEMBERS[path], bounds, strict=True
        ):
            dense = np.ascontiguousarray(member)
            alone += dense.nbytes if name in as_is else len(codec.compress(dense, bound))
    stored, raw = dataset.id.get_storage_size(), native[path].nbytes
    print(f"  {path}: ratio {raw / stored:.2f}, member by member {raw / alone:.2f}")
    if stored > MOST_OVER_ONE_BY_ONE * alone:
        return [f"{path}: {stored} bytes, member by member {alone}"]
    return []


def check_tools(place: Path, native: Path, lossy: bool) -> list[str]:
    """`caesura verify` and `caesura info`."""
    wrong = []
    verified = verifying.verify(place, comparing.open_reference(native))
    wrong += verified.findings
    named = {f"/{path} [{name}]" for path, names in MEMBERS.items() for name in names}
    if lossy and not named <= set(verified.fields):
        wrong.append(f"verify compared {sorted(verified.fields)}")
    listed = {
        entry["path"]: entry for entry in caesura._core.OpenFile(str(place)).info()["datasets"]
    }
    with h5py.File(native) as file:
        for path, names in MEMBERS.items():
            entry = listed.get(f"/{path}", {"members": []})
            if entry["members"] != names or entry["raw_bytes"] != file[path].nbytes:
                wrong.append(f"info says {entry}")
                continue
            add_components(place, entry)
            told = entry.get("components", [])
            if lossy and not all(one["stored_bytes"] > 0 for one in told):
                wrong.append(f"info says {told}")
    return wrong


def check(options: argparse.Namespace, configuration: str, ranks: int) -> list[str]:
    """One run and all that is to hold of its file."""
    native_file = options.out / f"native-{ranks}" / "particles.h5"
    place = options.out / f"{configuration}-{ranks}"
    if said := run(options, ranks, place, CONFIGURATIONS[configuration]):
        return [f"the program failed: {said[-3000:]}"]
    print(f"{configuration}, {ranks} ranks:")
    return check_file(native_file, place / "particles.h5", configuration)


def check_again(options: argparse.Namespace, ranks: int) -> list[str]:
    """The file of "mixed" is opened again, with the same rules and with none."""
    native_place = options.out / f"native-again-{ranks}"
    shutil.rmtree(native_place, ignore_errors=True)
    shutil.copytree(options.out / f"native-{ranks}", native_place)
    if said := run(options, ranks, native_place, None, "again"):
        return [f"the program failed: {said[-3000:]}"]
    wrong = []
    for name, config in {"rules": MIXED, "attributes": ""}.items():
        place = options.out / f"again-{name}-{ranks}"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(options.out / f"mixed-{ranks}", place)
        if said := run(options, ranks, place, config, "again"):
            return [*wrong, f"the program failed: {said[-3000:]}"]
        print(f"again, by {name}, {ranks} ranks:")
        files = [where / "particles.h5" for where in (native_place, place)]
        wrong += [f"by {name}: {one}" for one in check_file(*files, "mixed")]
    return wrong


def check_file(native_file: Path, ours_file: Path, configuration: str) -> list[str]:
    """All that is to hold of a file."""
    wrong = []
    lossy = configuration != "lossless"
    with h5py.File(native_file) as native, h5py.File(ours_file) as ours:
        for path, names in MEMBERS.items():
            if ours[path].dtype != native[path].dtype:
                wrong.append(f"{path} is of {ours[path].dtype}")
            before, after = members_in(native[path][:]), members_in(ours[path][:])
            bounds = [
                bound_for(configuration, name, values)
                for name, values in zip(names, before, strict=True)
            ]
            for name, a, b, bound in zip(names, before, after, bounds, strict=True):
                wrong.append(check_member(f"{path} [{name}]", a, b, bound))
            as_is = {"z"} if configuration == "mixed" else set()
            wrong += check_size(path, native, ours, bounds, as_is)
            if lossy:
                wrong += check_said(path, ours, bounds)
            # Parts, and one member alone, through a stock reader.
            part = (slice(3, 40),) * native[path].ndim
            for a, b in zip(members_in(ours[path][part]), after, strict=True):
                if (a != b[part]).any():
                    wrong.append(f"{path}: a part differs from the whole")
        if (ours["particles"]["vy"] != members_in(ours["particles"][:])[4]).any():
            wrong.append("vy alone differs")
    wrong += check_tools(ours_file, native_file, lossy)
    return [one for one in wrong if one]


def check_refused(options: argparse.Namespace) -> list[str]:
    """One bound of all members together, of whatever kind."""
    wrong = []
    place = options.out / "together"
    said = " ".join((run(options, 2, place, TOGETHER) or "it passed").split())
    if SAID.format(place.with_suffix(".toml")) not in said:
        wrong.append(f"a bound of all members together: {said[-2000:]}")
    if said := run(options, 2, options.out / "without-path", WITHOUT_PATH):
        wrong.append(f"a bound without a path: {said[-2000:]}")
    shared = 'bound = 1e-3\nbound_kind = "pointwise_relative"\n'
    if said := run(options, 1, options.out / "shared", shared):
        wrong.append(f"point-wise relative: {said[-2000:]}")
    foreign = 'codec = "zstd"\n'
    if said := run(options, 1, options.out / "foreign", foreign):
        return [*wrong, f"another codec: {said[-2000:]}"]
    with h5py.File(options.out / "foreign" / "particles.h5") as file:
        if file["particles"].chunks is not None:
            wrong.append("another codec: the particles are not as they were")
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
    good = True
    for ranks in options.ranks:
        if said := run(options, ranks, options.out / f"native-{ranks}", None):
            print(f"natively, {ranks} ranks: {said}")
            return 1
        runs = {name: check(options, name, ranks) for name in CONFIGURATIONS}
        runs["again"] = check_again(options, ranks)
        for name, wrong in runs.items():
            print(f"{name}, {ranks} ranks: {'FAILED' if wrong else 'passed'}", *wrong, sep="\n  ")
            good = good and not wrong
    refused = check_refused(options)
    print(f"refused: {'FAILED' if refused else 'passed'}", *refused, sep="\n  ")
    return 0 if good and not refused else 1


if __name__ == "__main__":
    sys.exit(main())
