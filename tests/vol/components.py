#!/usr/bin/env python3
"""Plotfiles of six components under the connector: each within its own bound, and small.

`vol_components` writes what a code on AMReX writes: density, momenta, temperature and potential,
whose ranges have nothing in common, box after box in one dataset for each level, boxes of unequal
sizes.
It runs natively and under the connector, and the files are compared component by component:

  1. every value within the bound that a rule names for its component, relative and PSNR bounds by
     the component's range over all boxes and levels;
  2. no more than 1.10 times the bytes of the same boxes compressed one by one, without loss too;
  3. the file's attributes and each block say the bound, and `caesura verify --against` agrees;
  4. quantities along an axis, and in boxes that a rule describes, likewise;
  5. a file that is opened again keeps all of this for what is written to it, by its own attributes
     where the configuration says nothing any more;
  6. levels that are handed over one by one, or piece by piece, as memory is short, are within the
     bounds of the final ranges too, and within what blocks and attributes say;
  7. levels that are written piece by piece are as small as at once where there is memory for them;
  8. a rule that does not fit, and a bound that would be one of all components together, are errors
     that say so.

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
from caesura.block_bounds import add_bounds
from caesura.cli.info import add_components
from caesura.components import components_of, parts_of
from running import rank_counts, run_in

NAMES = ["density", "xmom", "ymom", "zmom", "Temp", "phi_grav"]
DATA = "data:datatype=0"
PATHS = [f"level_{level}/{DATA}" for level in (0, 1)]
MOST_OVER_ONE_BY_ONE = 1.10
# On all ranks together: more than both levels, less than three times the first.
MOST_WAITING_BYTES = 32 << 20
RULE = '[[dataset]]\npath = "**/data:datatype=*"\n'
RELATIVE = 'bound_kind = "relative"\n'
MIXED = "".join(
    [
        RULE + 'component = "*"\nbound = 1e-3\n' + RELATIVE,
        RULE + 'component = "ymom"\ncapture = false\n',
        RULE + 'component = "zmom"\nbound = 70\nbound_kind = "psnr"\n',
        RULE + 'component = "Temp"\nbound = 0.5\n',
        RULE + 'component = "phi_*"\nbound = 1e-5\nbound_kind = "pointwise_relative"\n',
    ]
)
CONFIGURATIONS = {
    "relative": RULE + 'component = "*"\nbound = 1e-3\n' + RELATIVE,
    "mixed": MIXED,
    "lossless": "",
}
# Quantities along an axis, and in boxes: by rules alone. Those of "first_axis" have no names.
DECLARED = """
threshold_bytes = 65536
[[dataset]]
path = "first_axis"
component_axis = 0
[[dataset]]
path = "last_axis"
component_axis = 3
components = ["rho", "v", "T"]
[[dataset]]
path = "cubes"
box = [16, 16, 16]
components = ["rho", "v", "T"]
[[dataset]]
path = "lone"
box = [24, 24, 24]
bound = 1e-3
[[dataset]]
path = "prime"
box = [131, 128, 128]
bound = 1e-3
bound_kind = "relative"
[[dataset]]
path = "*"
component = "*"
bound = 1e-3
bound_kind = "relative"
[[dataset]]
path = "*"
component = "T"
bound_kind = "lossless"
[[dataset]]
path = "first_axis"
component = "1"
bound = 1e7
"""
# A rule that does not fit its dataset, and what is said of it.
MISFITS = {
    'path = "first_axis"\ncomponent_axis = 4': "says component_axis = 4, and it has 4 axes",
    'path = "last_axis"\ncomponent_axis = 3\ncomponents = ["rho", "v"]': (
        "names 2 components, and axis 3 has extent 3"
    ),
    'path = "cubes"\nbox = [17, 16]\ncomponents = ["rho", "v"]': (
        "says 2 components in boxes of [17, 16], which do not make its 122880 values"
    ),
    # What a plotfile says of itself goes before a box.
    'path = "**/data:*"\nbox = [8, 8, 8]\nbound = 1.0': "holds 6 quantities (density, xmom",
    'path = "last_axis"\nbound = 1.0\ncomponent_axis = 3': "holds 3 quantities (0, 1, 2)",
    'path = "last_axis"\ncomponent_axis = 3\ncodec = "zstd"\n'
    '[[dataset]]\npath = "last_axis"\ncomponent = "1"\nbound = 1.0': "need codec caesura",
}
TOGETHER = RULE + "bound = 1e-3\n" + RELATIVE
SAID = (
    "/level_0/data:datatype=0 holds 6 quantities (density, xmom, ymom, zmom, Temp, phi_grav). {} "
    "gives no bound to density, xmom, ymom, zmom, Temp, phi_grav, and its relative bound of 0.001 "
    "would be one of all of them together. Add [[dataset]] rules with path, component and bound; "
    'component = "*" is every one that no later rule names. A bound_kind of lossless or '
    "pointwise_relative needs no component"
)


def run(
    options: argparse.Namespace, ranks: int, where: Path, config: str | None, *more: str
) -> str | None:
    """run_in() of the program with its place and `more`; "again": in the place as it is."""
    command = [options.program, str(where), "2", *more]
    return run_in(where, command, options, ranks, config, again="again" in more)


def arrays_of(level: h5py.Group) -> list[tuple[int, slice, tuple[int, ...]]]:
    """Component, place and shape of each array, by the file's own boxes."""
    arrays, at = [], 0
    for box in level["boxes"]:
        numbers = list(box)
        shape = tuple(high - low + 1 for low, high in zip(numbers[:3], numbers[3:], strict=True))
        cells = int(np.prod(shape))
        for component in range(len(NAMES)):
            arrays.append((component, slice(at, at + cells), shape[::-1]))
            at += cells
    return arrays


def ranges_of(file: h5py.File) -> list[float]:
    """Of each component over both levels."""
    low, high = [np.inf] * len(NAMES), [-np.inf] * len(NAMES)
    for path in PATHS:
        values = file[path][:]
        for component, place, _ in arrays_of(file[path].parent):
            low[component] = min(low[component], values[place].min())
            high[component] = max(high[component], values[place].max())
    return [float(b - a) for a, b in zip(low, high, strict=True)]


def bounds_for(configuration: str, ranges: list[float]) -> list[caesura.Bound]:
    """What each component is to be held to."""
    if configuration == "lossless":
        return [caesura.lossless()] * len(NAMES)
    bounds = [caesura.absolute(1e-3 * extent) for extent in ranges]
    if configuration == "mixed":
        bounds[2] = caesura.lossless()
        bounds[3] = caesura.absolute(10 ** (-70 / 20) * ranges[3])
        bounds[4] = caesura.absolute(0.5)
        bounds[5] = caesura.pointwise_relative(1e-5)
    return bounds


def check_values(
    path: str, native: h5py.File, ours: h5py.File, bounds: list[caesura.Bound]
) -> list[str]:
    """Every value within its component's bound."""
    wrong = []
    before, after = native[path][:], ours[path][:]
    for component, place, _ in arrays_of(native[path].parent):
        error = np.abs(before[place] - after[place])
        bound = bounds[component]
        limit = bound.value * (
            np.abs(before[place]) if bound.kind == "pointwise_relative" else np.ones_like(error)
        )
        if not (error <= limit).all():
            wrong.append(f"{path} {NAMES[component]}: off by {error.max()} with {bound}")
    return wrong


def one_by_one(path: str, native: h5py.File, bounds: list[caesura.Bound], as_is: set[int]) -> int:
    """Bytes of the same boxes, each compressed by itself."""
    values, total = native[path][:], 0
    for component, place, shape in arrays_of(native[path].parent):
        box = values[place].reshape(shape)
        total += box.nbytes if component in as_is else len(codec.compress(box, bounds[component]))
    return total


def check_said(path: str, ours: Path, bounds: list[caesura.Bound]) -> list[str]:
    """Attributes and blocks say the bound in units."""
    wrong = []
    with h5py.File(ours) as file:
        components = components_of(file[path].attrs)
        if [one.name for one in components] != NAMES:
            return [f"{path}: the attributes name {components}"]
        for one, bound in zip(components, bounds, strict=True):
            expected = bound.value if bound.kind != "lossless" else 0.0
            if not np.isclose(one.bound, expected, rtol=1e-6):
                wrong.append(f"{path} {one.name}: the attribute says {one.bound}, not {expected}")
        dataset = file[path]
        for number in range(dataset.id.get_num_chunks()):
            block = dataset.id.read_direct_chunk(dataset.id.get_chunk_info(number).chunk_offset)[1]
            if not parts_of(block):
                wrong.append(f"{path}: a block does not say what it holds")
            for part in parts_of(block):
                bound = bounds[part.component]
                expected = 0.0 if bound.kind == "lossless" else bound.value
                pointwise = bound.kind == "pointwise_relative"
                if part.bound > expected * (1 + 1e-6) or part.pointwise not in (pointwise, False):
                    wrong.append(f"{path} {NAMES[part.component]}: a block says {part.bound}")
    return wrong


def check_info(path: Path, bounds: list[caesura.Bound]) -> list[str]:
    """`caesura info` lists the bound of each array in each block, by component."""
    listing = caesura._core.OpenFile(str(path)).info()
    for dataset in listing["datasets"]:
        add_components(path, dataset)
    add_bounds(path, listing, each_block=True)
    wrong, found = [], {dataset["path"]: dataset for dataset in listing["datasets"]}
    for data in PATHS:
        dataset = found[f"/{data}"]
        limits = dict(zip(NAMES, bounds, strict=True))
        for array in (array for chunk in dataset["chunks"] for array in chunk["arrays"]):
            limit = limits[array["component"]]
            if array["kind"] not in (limit.kind, "lossless") or array["bound"] > limit.value * (
                1 + 1e-6
            ):
                wrong.append(f"{data}: info says {array}, not {limit}")
        for one in dataset["components"]:
            limit = limits[one["name"]]
            if {of["kind"] for of in one["bounds"]} - {"lossless"} != {limit.kind} - {"lossless"}:
                wrong.append(f"{data}: info says {one}, not {limit}")
    return wrong


def check(options: argparse.Namespace, configuration: str, ranks: int) -> list[str]:
    """One run and all that is to hold of its files."""
    native_place = options.out / f"native-{ranks}"
    place = options.out / f"{configuration}-{ranks}"
    if said := run(options, ranks, place, CONFIGURATIONS[configuration]):
        return [f"the program failed: {said[-3000:]}"]
    wrong = []
    as_is = {2} if configuration == "mixed" else set()
    for plot in ("plt00000.h5", "plt00001.h5"):
        with h5py.File(native_place / plot) as native, h5py.File(place / plot) as ours:
            bounds = bounds_for(configuration, ranges_of(native))
            for path in PATHS:
                wrong += check_values(path, native, ours, bounds)
                alone = one_by_one(path, native, bounds, as_is)
                stored, raw = ours[path].id.get_storage_size(), native[path].nbytes
                print(
                    f"{configuration}, {ranks} ranks, {plot} {path}: ratio {raw / stored:.2f}, "
                    f"box by box {raw / alone:.2f}"
                )
                if stored > MOST_OVER_ONE_BY_ONE * alone:
                    wrong.append(f"{path}: {stored} bytes, box by box {alone}")
                if configuration != "lossless":
                    wrong += check_said(path, place / plot, bounds)
            if configuration != "lossless":
                wrong += check_info(place / plot, bounds)
        verified = verifying.verify(place / plot, comparing.open_reference(native_place / plot))
        wrong += verified.findings
        named = [f"/{path} [{name}]" for path in PATHS for name in NAMES]
        if configuration != "lossless" and not set(named) <= set(verified.fields):
            wrong.append(f"verify compared {sorted(verified.fields)}")
    return wrong


def quantity(values: np.ndarray, name: str, which: int) -> np.ndarray:
    """The values of one of the three."""
    if name == "cubes":
        return values.reshape(-1, 3, 16**3)[:, which]
    return values[which] if name == "first_axis" else values[..., which]


def check_declared(options: argparse.Namespace, ranks: int) -> list[str]:
    """What rules say where quantities lie."""
    native_place, place = options.out / f"native-{ranks}", options.out / f"declared-{ranks}"
    if said := run(options, ranks, place, DECLARED):
        return [f"the program failed: {said[-3000:]}"]
    wrong = []
    with (
        h5py.File(native_place / "plt00000.h5") as native,
        h5py.File(place / "plt00000.h5") as ours,
    ):
        limits = {"lone": 1e-3, "prime": 1e-3 * float(np.ptp(native["prime"][:]))}
        for name in ("first_axis", "last_axis", "cubes"):
            before, after = native[name][:], ours[name][:]
            components = components_of(ours[name].attrs)
            names = ["0", "1", "2"] if name == "first_axis" else ["rho", "v", "T"]
            if [one.name for one in components] != names:
                wrong.append(f"{name}: the attributes name {components}")
                continue
            for which, one in enumerate(components):
                true, stored = (quantity(values, name, which) for values in (before, after))
                error, bound = np.abs(true - stored).max(), 1e-3 * float(np.ptp(true))
                bound = 0.0 if one.name == "T" else 1e7 if one.name == "1" else bound
                if error > bound or not np.isclose(one.bound, bound, rtol=1e-6):
                    wrong.append(f"{name} [{one.name}]: off by {error} of {bound}, says {one}")
                if bound > 0 and error == 0:
                    wrong.append(f"{name} [{one.name}]: nothing was lost")
    reference = comparing.open_reference(native_place / "plt00000.h5")
    verified = verifying.verify(place / "plt00000.h5", reference)
    with h5py.File(place / "plt00000.h5") as ours:
        for name, kind, requested in (("lone", "absolute", 1e-3), ("prime", "relative", 1e-3)):
            said = {
                key: ours[name].attrs.get(f"caesura_bound{key}") for key in ("_kind", "_requested")
            }
            if said != {"_kind": kind.encode(), "_requested": requested}:
                wrong.append(f"{name}: the attributes say {said}")
    for name in ("lone", "prime"):
        result = verified.fields[f"/{name}"]
        if not np.isclose(result.bound, limits[name], rtol=1e-6):
            wrong.append(f"{name}: the attribute says {result.bound}, not {limits[name]}")
        if not 0 < result.max_error <= result.bound:
            wrong.append(f"{name}: off by {result.max_error} of {result.bound}")
    if "/cubes [rho]" not in verified.fields or "/last_axis [v]" not in verified.fields:
        wrong.append(f"verify compared {sorted(verified.fields)}")
    return wrong + verified.findings


def check_each(options: argparse.Namespace, ranks: int) -> list[str]:
    """A dataset of each component: rules find it by the name that the file gives it."""
    native_place, place = options.out / f"each-native-{ranks}", options.out / f"each-{ranks}"
    for where, config in ((native_place, None), (place, MIXED)):
        if said := run(
            options, ranks, where, "threshold_bytes = 65536\n" + config if config else None, "each"
        ):
            return [f"the program failed: {said[-3000:]}"]
    wrong = []
    with h5py.File(options.out / f"native-{ranks}" / "plt00001.h5") as together:
        bounds = bounds_for("mixed", ranges_of(together))
    reference = comparing.open_reference(native_place / "plt00001.h5")
    verified = verifying.verify(place / "plt00001.h5", reference)
    for level in (0, 1):
        for component, bound in enumerate(bounds):
            result = verified.fields[f"/level_{level}/data:datatype={component}"]
            if not np.isclose(result.bound, bound.value, rtol=1e-6):
                wrong.append(f"{result.path}: blocks are held to {result.bound}, not {bound}")
    return wrong + verified.findings


def check_again(options: argparse.Namespace, ranks: int) -> list[str]:
    """Files that are opened again, with the same rules, and with none."""
    made = options.out / f"made-{ranks}"
    native_place = options.out / f"native-again-{ranks}"
    shutil.rmtree(native_place, ignore_errors=True)
    shutil.copytree(options.out / f"native-{ranks}", native_place)
    runs = [(native_place, None, "again"), (made, DECLARED + MIXED, "")]
    for where, config, how in runs:
        if said := run(options, ranks, where, config, how):
            return [f"the program failed: {said[-3000:]}"]
    wrong = []
    for name, config in {
        "rules": DECLARED + MIXED,
        "attributes": "threshold_bytes = 65536\n",
    }.items():
        place = options.out / f"again-{name}-{ranks}"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(made, place)
        if said := run(options, ranks, place, config, "again"):
            return [*wrong, f"the program failed: {said[-3000:]}"]
        for plot in ("plt00000.h5", "plt00001.h5"):
            files = [where / plot for where in (native_place, place)]
            found = check_rewritten(*files, name == "rules")
            verified = verifying.verify(files[1], comparing.open_reference(files[0]))
            wrong += [f"{name} {plot} {one}" for one in [*found, *verified.findings]]
    return wrong


def check_rewritten(native_path: Path, path: Path, rules: bool) -> list[str]:
    """Each component within the bound that it was made with, and as small as box by box."""
    wrong = []
    with h5py.File(native_path) as native, h5py.File(path) as ours:
        bounds = bounds_for("mixed", ranges_of(native))
        for data in PATHS:
            wrong += check_values(data, native, ours, bounds) + check_said(data, path, bounds)
            alone = one_by_one(data, native, bounds, {2})
            stored, raw = ours[data].id.get_storage_size(), native[data].nbytes
            print(f"again: {data}: ratio {raw / stored:.2f}, box by box {raw / alone:.2f}")
            # "ymom" was not compressed, which attributes do not say; now it is, without loss.
            if stored > MOST_OVER_ONE_BY_ONE * alone:
                wrong.append(f"{data}: {stored} bytes, box by box {alone}")
        for name in ("first_axis", "last_axis", "cubes"):
            before, after = native[name][:], ours[name][:]
            kept = name != "cubes" or rules  # else nobody knows where its boxes are
            for which, one in enumerate(components_of(ours[name].attrs)):
                true, stored = (quantity(values, name, which) for values in (before, after))
                error, bound = np.abs(true - stored).max(), 1e-3 * float(np.ptp(true))
                bound = 0.0 if one.name == "T" else 1e7 if one.name == "1" else bound
                if error > bound or (kept and bound > 0 and error == 0):
                    wrong.append(f"{name} [{one.name}]: off by {error} of {bound}")
                if kept and not np.isclose(one.bound, bound, rtol=1e-6):
                    wrong.append(f"{name} [{one.name}]: says {one.bound}, not {bound}")
        # Of one quantity: its filter says the bound, with rules or without.
        error = np.abs(native["lone"][:] - ours["lone"][:]).max()
        if not 0 < error <= 1e-3:
            wrong.append(f"lone: off by {error}")
    return wrong


def check_blocks_kept(path: str, native: h5py.File, ours: h5py.File) -> list[str]:
    """Each array within what its block says; where that is nothing, as the block was rewritten in
    part, within what the attribute says."""
    wrong, dataset = [], ours[path]
    limits = [one.bound for one in components_of(dataset.attrs)]
    before, after = native[path][:], dataset[:]
    for number in range(dataset.id.get_num_chunks()):
        begin = at = dataset.id.get_chunk_info(number).chunk_offset[0]
        for part in parts_of(dataset.id.read_direct_chunk((begin,))[1]):
            place = slice(at, at + part.values)
            error = np.abs(before[place] - after[place]).max()
            if error > (part.bound or limits[part.component]):
                wrong.append(f"{path} from {at}: off by {error}, the block says {part}")
            at += part.values
    return wrong


def check_short_of_memory(options: argparse.Namespace, ranks: int, *how: str) -> list[str]:
    """What is handed over before all of it is known: the range that counts is that of all before,
    so that each component is within the bound of the final range, and of what the file says."""
    place = options.out / f"short-{ranks}"
    config = "memory_bytes = 1048576\n" + CONFIGURATIONS["relative"]
    if said := run(options, ranks, place, config, *how):
        return [f"the program failed: {said[-3000:]}"]
    wrong, said_less = [], False
    for plot in ("plt00000.h5", "plt00001.h5"):
        native_path = options.out / f"native-{ranks}" / plot
        with h5py.File(native_path) as native, h5py.File(place / plot) as ours:
            bounds = bounds_for("relative", ranges_of(native))
            for path in PATHS:
                components = components_of(ours[path].attrs)
                said = [caesura.absolute(one.bound) for one in components]
                wrong += check_values(path, native, ours, bounds)
                wrong += check_values(path, native, ours, said)
                wrong += check_blocks_kept(path, native, ours)
                for one, bound in zip(components, bounds, strict=True):
                    if not 0 < one.bound <= bound.value * (1 + 1e-6):
                        wrong.append(f"{path} {one.name}: says {one.bound}, not {bound.value}")
                    said_less = said_less or one.bound < bound.value * (1 - 1e-6)
                stored, raw = ours[path].id.get_storage_size(), native[path].nbytes
                print(f"short of memory {how}: {path}: ratio {raw / stored:.2f}")
        verified = verifying.verify(place / plot, comparing.open_reference(native_path))
        wrong += verified.findings
    if not said_less:
        wrong.append("nothing was handed over before all was known: nothing was tested")
    return wrong


def check_pieces(options: argparse.Namespace, ranks: int) -> list[str]:
    """Many calls for one dataset count with what they write: where there is memory for all of it,
    blocks are made once all their pieces are there, and are as small as those of one call."""
    place = options.out / f"pieces-{ranks}"
    config = f"memory_bytes = {2 * MOST_WAITING_BYTES // ranks}\n" + CONFIGURATIONS["relative"]
    if said := run(options, ranks, place, config, "pieces"):
        return [f"the program failed: {said[-3000:]}"]
    wrong = []
    with (
        h5py.File(options.out / f"native-{ranks}" / "plt00001.h5") as native,
        h5py.File(place / "plt00001.h5") as ours,
    ):
        bounds = bounds_for("relative", ranges_of(native))
        for path in PATHS:
            wrong += check_values(path, native, ours, bounds)
            alone = one_by_one(path, native, bounds, set())
            stored = ours[path].id.get_storage_size()
            if stored > MOST_OVER_ONE_BY_ONE * alone:
                wrong.append(f"{path}: {stored} bytes, box by box {alone}")
    return wrong


def check_misfits(options: argparse.Namespace) -> list[str]:
    """Rules that cannot be carried out are errors of H5Dcreate."""
    wrong = []
    for number, (rule, expected) in enumerate(MISFITS.items()):
        place = options.out / f"misfit-{number}"
        text = f"threshold_bytes = 65536\n[[dataset]]\n{rule}\n"
        said = run(options, 2, place, text)
        if said is None or expected not in said:
            wrong.append(f"{rule}: expected: {expected}\nsaid: {said}")
    return wrong


def check_refused(options: argparse.Namespace, ranks: int) -> list[str]:
    """A rule that does not say which component."""
    place = options.out / f"together-{ranks}"
    said = run(options, ranks, place, TOGETHER)
    expected = SAID.format(place.with_suffix(".toml"))
    return [] if said and expected in said else [f"expected: {expected}\nsaid: {said}"]


def main() -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
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
        runs["together"] = check_refused(options, ranks)
        runs["declared"] = check_declared(options, ranks)
        runs["each"] = check_each(options, ranks)
        runs["again"] = check_again(options, ranks)
        runs["short of memory"] = check_short_of_memory(options, ranks)
        runs["pieces"] = check_pieces(options, ranks)
        runs["short, in pieces"] = check_short_of_memory(options, ranks, "pieces")
        for name, wrong in runs.items():
            print(f"{name}, {ranks} ranks: {'FAILED' if wrong else 'passed'}", *wrong, sep="\n  ")
            good = good and not wrong
    misfits = check_misfits(options)
    print(f"misfits: {'FAILED' if misfits else 'passed'}", *misfits, sep="\n  ")
    good = good and not misfits
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
