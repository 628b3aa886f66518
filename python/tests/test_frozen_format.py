"""Version 1 of the file format is frozen: files of the day of the freeze read as they did, and what
is written today has version 1 and no name that the list lacks (docs/reference/format_names.md).

tests/golden/version_1 holds files with zeros packed away (gzip), and beside each its contents.
Made once, by `python test_frozen_format.py --make NAME`; no file that is there is ever made again.
Starts ranks by mpirun.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import caesura
import hdf5plugin
import numpy as np
import pytest
from format_contents import checksum, contents
from format_files import MAKERS, MISSING, has_connector, with_land

ROOT = Path(__file__).resolve().parents[2]
FROZEN = ROOT / "tests" / "golden" / "version_1"
NAMES = ROOT / "docs" / "reference" / "format_names.md"
FILES = sorted(path.name.removesuffix(".gz") for path in FROZEN.glob("*.h5.gz"))
MAGIC = b"\x8aCAESFL\n"


def unpacked(name: str, folder: Path) -> Path:
    path = folder / name
    path.write_bytes(gzip.decompress((FROZEN / f"{name}.gz").read_bytes()))
    return path


def known(name: str) -> dict:
    return json.loads((FROZEN / f"{name}.json").read_text(encoding="utf-8"))


def by_stock_h5py(path: Path) -> dict:
    """In a Python that has our filter plugin, and nothing else of ours."""
    script = Path(__file__).with_name("format_contents.py")
    env = {n: v for n, v in os.environ.items() if n not in ("PYTHONPATH", "HDF5_PLUGIN_PATH")}
    env["HDF5_PLUGIN_PATH"] = f"{caesura.plugin_path()}:{hdf5plugin.PLUGIN_PATH}"
    done = subprocess.run([sys.executable, str(script), str(path)], env=env, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)[path.name]


def test_there_is_a_golden_file_of_every_kind():
    assert len(FILES) >= len(MAKERS)
    for name in MAKERS:
        assert any(file.startswith(name) for file in FILES), f"no golden file of {name}"


@pytest.mark.parametrize("name", FILES)
def test_a_golden_file_reads_with_h5py_and_the_filter_alone(tmp_path, name):
    found = by_stock_h5py(unpacked(name, tmp_path))
    assert found == known(name)


@pytest.mark.parametrize("name", FILES)
def test_a_golden_file_reads_with_todays_reader(tmp_path, name):
    reader, compared = caesura.Reader(unpacked(name, tmp_path)), 0
    for path, said in known(name).items():
        if "sha256" not in said or "boxes" in path:
            continue
        values = reader[f"/{path}"][...]
        assert list(values.shape) == said["shape"], path
        assert checksum(values) == said["sha256"], path
        compared += 1
    assert compared > 0


def test_missing_values_of_the_golden_file_are_exact_and_the_others_within_their_bounds(tmp_path):
    with caesura.open(unpacked("missing.h5", tmp_path)) as file:
        for n in (0, 1):
            for name, (dtype, how, fill) in MISSING.items():
                found, true = file[f"/data/{n}/meshes/{name}"][...], with_land(name, dtype, n, fill)
                land = np.isnan(true) if np.isnan(fill) else true == dtype(fill)
                assert np.count_nonzero(land) > 100, name
                assert found[land].tobytes() == true[land].tobytes(), name
                sea = true[~land].astype(np.complex128)
                error = np.abs(found[~land].astype(np.complex128) - sea)
                limit = how.get("absolute", how.get("relative", 1e-2) * np.ptp(sea.real))
                assert error.max() <= limit * 1.5, name  # complex numbers: each part


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> list[Path]:
    """What today's Caesura writes of every kind."""
    folder = tmp_path_factory.mktemp("today")
    for name, make in MAKERS.items():
        if name != "connector" or has_connector():
            make(folder)
    return sorted(folder.glob("*.h5"))


def test_what_is_written_today_has_version_1(written):
    """In the file header; and h5py alone reads it."""
    assert len(written) >= len(MAKERS) - 1
    for path in written:
        head = path.read_bytes()[4096:4224]
        assert head[:8] == MAGIC, path.name
        assert struct.unpack("<I", head[8:12]) == (1,), path.name
        assert by_stock_h5py(path)


# Kinds of objects, by their paths; the first that fits counts.
KINDS = (
    ("file", r"/"),
    ("data", r"data"),
    ("iteration", r"data/\d+"),
    ("meshes", r"data/\d+/meshes"),
    ("mesh", r"data/\d+/meshes/[^/]+"),
    ("mesh component", r"data/\d+/meshes/[^/]+/[^/]+"),
    ("particles", r"data/\d+/particles"),
    ("species", r"data/\d+/particles/[^/]+"),
    ("particle patches", r"data/\d+/particles/[^/]+/particlePatches"),
    ("patch record", r"data/\d+/particles/[^/]+/particlePatches/[^/]+"),
    ("patch component", r"data/\d+/particles/[^/]+/particlePatches/[^/]+/[^/]+"),
    ("particle record", r"data/\d+/particles/[^/]+/[^/]+"),
    ("particle component", r"data/\d+/particles/[^/]+/[^/]+/[^/]+"),
    ("checkpoints", r"checkpoints"),
    ("checkpoint", r"checkpoints/\d+"),
    ("other", r".*"),
)
# What the test's own runs say of themselves.
OWN = {"run", "numbers", "words", "redshift", "dump"}


def kind_of(path: str) -> str:
    return next(kind for kind, pattern in KINDS if re.fullmatch(pattern, path))


# A dataset is a component, too.
PARTS = {"mesh": "mesh component", "particle record": "particle component"}


def listed() -> dict[str, set[str]]:
    """The page's table: kind of object, its attributes; of patches the names of records, too."""
    rows = re.findall(r"^\| ([a-z ]+) \| ([^|]*) \|(.*?) \|$", NAMES.read_text(), re.MULTILINE)
    found = {kind: set(re.findall(r"`(\w+)`", names)) for kind, _, names in rows}
    for record, component in PARTS.items():
        found[record] |= found[component]
    (places,) = (places for kind, places, _ in rows if kind == "patch record")
    found["patch record"] |= set(re.findall(r"`(\w+)`", places))
    return found


def used(found: dict[str, dict]) -> dict[str, set[str]]:
    """What a file has of them."""
    names: dict[str, set[str]] = {}
    for path, said in found.items():
        kind = kind_of(path)
        names.setdefault(kind, set()).update(set(said["attributes"]) - OWN)
        if kind == "patch record":
            names[kind].add(path.rsplit("/", 1)[1])
    return names


def test_no_name_is_written_that_the_list_lacks(written):
    """An addition is announced: in the list of the page, in the changes, and by a golden file."""
    page = listed()
    for path in written:
        for kind, names in used(contents(path)).items():
            assert kind in page, f"{path.name}: {NAMES.name} has no row '{kind}'"
            assert names <= page[kind], (
                f"{path.name}: {sorted(names - page[kind])} of '{kind}' are not in {NAMES.name}"
            )


def test_no_name_is_listed_that_no_file_has():
    """Of the golden files: what readers may find."""
    found: dict[str, set[str]] = {}
    for name in FILES:
        for kind, names in used(known(name)).items():
            found.setdefault(kind, set()).update(names)
    said = NAMES.read_text().split("## Not in golden files")[1]
    others, in_layouts = (set(re.findall(r"`(\w+)`", part)) for part in said.split("and there"))
    for record, component in PARTS.items():  # what either has, a component may have
        found[component] |= found[record] & listed()[component]
        found[record] |= found[component]
    for kind, names in listed().items():
        missing = names - others - found.get(kind, set())
        if kind == "other":
            missing -= in_layouts
        assert not missing, f"{kind}: no golden file has {sorted(missing)}"


def make(name: str) -> None:
    """Golden files of one maker, none of which is there yet."""
    FROZEN.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        MAKERS[name](Path(folder))
        for path in sorted(Path(folder).glob("*.h5")):
            packed = FROZEN / f"{path.name}.gz"
            if packed.exists():
                sys.exit(f"{packed.name} is frozen: give what is new another name")
            packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
            text = json.dumps(by_stock_h5py(path), indent=1) + "\n"
            (FROZEN / f"{path.name}.json").write_text(text, encoding="utf-8")
            print(f"{packed.name}: {packed.stat().st_size} bytes")


if __name__ == "__main__":
    for one in sys.argv[2:] or MAKERS:
        make(one)
