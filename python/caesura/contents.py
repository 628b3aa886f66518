"""What an HDF5 file holds beside the blocks that Caesura's own listing knows, and who wrote it.

Everything is asked of HDF5 by h5py, so that any healthy file is described: datasets of every type
and layout, groups and attributes, filters that are not installed here, files that are not there.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  registers the filters

from caesura import _core
from caesura.reading import looks_like_hdf5

# Of the record that docs/how/file_format.md calls the file header.
_HEADER_ADDRESS, _HEADER_MAGIC = 4096, b"\x8aCAESF"

_LAYOUTS = {
    h5py.h5d.COMPACT: "compact",
    h5py.h5d.CONTIGUOUS: "contiguous",
    h5py.h5d.CHUNKED: "chunked",
    h5py.h5d.VIRTUAL: "virtual",
}


@dataclass
class PlainDataset:
    """A dataset as HDF5 has it."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    layout: str  # compact, contiguous, chunked, virtual, external
    chunk: tuple[int, ...]
    filters: list[str]
    raw_bytes: int
    stored_bytes: int
    needs: str = ""  # what is not here and reading needs: a filter, a file

    def codec(self) -> str:
        return "+".join(self.filters) or "none"


@dataclass
class Contents:
    """Of one file."""

    path: str
    ours: bool  # a Writer or the connector made it
    has_dumps: bool  # openPMD's, or a Writer's
    groups: int = 0  # without the root
    attributes: int = 0
    links_to_nothing: int = 0
    datasets: list[PlainDataset] = field(default_factory=list)

    def sentence(self) -> str:
        """ "plain HDF5, 3 datasets (2 chunked, 1 contiguous), 1 group, 4 attributes" """
        kinds = Counter(one.layout for one in self.datasets)
        said = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
        who = "plain HDF5"
        if self.ours:
            who = "HDF5 of an application, written through Caesura"
        parts = [counted(len(self.datasets), "dataset") + (f" ({said})" if said else "")]
        parts.append(counted(self.groups, "group"))
        parts.append(counted(self.attributes, "attribute"))
        if self.links_to_nothing:
            n = self.links_to_nothing
            parts.append(f"{n} links that lead nowhere" if n > 1 else "1 link that leads nowhere")
        return f"{who}, {', '.join(parts)}"

    def as_json(self) -> dict[str, Any]:
        return {"kind": "caesura" if self.ours else "hdf5", "summary": self.sentence(),
                "has_dumps": self.has_dumps, "groups": self.groups,
                "attributes": self.attributes,
                "all_datasets": [asdict(one) for one in self.datasets]}  # fmt: skip


def counted(n: int, noun: str) -> str:
    return f"{n} {noun}" + ("" if n == 1 else "s")


def listing_of(core: Any, path: Path) -> dict[str, Any]:
    """What _core.OpenFile says; of a file of others that its HDF5 cannot read, without blocks.

    Raises OSError (no HDF5 file, cut off), CorruptError.
    """
    check_is_hdf5(path)
    try:
        return core.OpenFile(str(path)).info()
    except (OSError, RuntimeError, core.CorruptError):
        if is_ours(path):
            raise
        with h5py.File(path, "r"):  # what h5py cannot open either is said by the error
            pass
    status = path.stat()
    return {
        "path": str(path), "file_bytes": status.st_size, "allocated_bytes": status.st_blocks * 512,
        "metadata_bytes": 0, "unused_bytes": 0, "needs_recover": False, "root": {},
        "datasets": [],
    }  # fmt: skip


def is_ours(path: Path) -> bool:
    """Has it the header of a file that Caesura makes?"""
    with path.open("rb") as file:
        file.seek(_HEADER_ADDRESS)
        return file.read(len(_HEADER_MAGIC)) == _HEADER_MAGIC


def check_is_hdf5(path: Path) -> None:
    """Raises OSError in words: empty, another format, cut off. A run's file without a commit goes
    through."""
    if path.stat().st_size == 0:
        raise OSError(f"{path} is empty: 0 bytes")
    if is_ours(path):
        return
    if not (looks_like_hdf5(path) or h5py.is_hdf5(path)):
        raise OSError(f"{path} is no HDF5 file: it has no signature of one")
    if said := is_cut_off(path):
        raise _core.CorruptError(said)
    with h5py.File(path, "r"):  # its error names the file
        pass


def check_is_whole(path: Path) -> None:
    """Raises CorruptError for a file of others that is cut off."""
    if path.is_file() and not is_ours(path) and (said := is_cut_off(path)):
        raise _core.CorruptError(said)


def is_cut_off(path: Path) -> str:
    """A sentence about a file of others that is shorter than its superblock says; empty: it is
    not."""
    try:
        with h5py.File(path, "r"):
            return ""
    except OSError as error:
        if "truncated file" not in str(error):
            return ""
        stored = str(error).rpartition("stored_eof = ")[2].rstrip(")")
        return (
            f"{path} cannot be read: it is cut off, with {path.stat().st_size} bytes where its "
            f"superblock says {stored}; copy it again"
        )


def contents_of(path: Path, listing: dict[str, Any]) -> Contents:
    """Raises OSError."""
    root = listing["root"]
    ours = is_ours(path)
    # The connector's dumps are the application's calls, and no iterations of a tree.
    has_dumps = "openPMD" in root or "caesura_layout" in root
    found = Contents(str(path), ours, has_dumps)
    if not (looks_like_hdf5(path) or h5py.is_hdf5(path)):
        return found  # no commit yet
    with h5py.File(path, "r") as file:
        found.attributes += len(file.attrs)
        for name, one in _objects(file, found):
            found.attributes += len(one.attrs)
            if isinstance(one, h5py.Group):
                found.groups += 1
            elif isinstance(one, h5py.Dataset):
                found.datasets.append(_describe(f"/{name}", one, path))
    return found


def plain_words(core: Any, path: Path) -> str:
    """ "x.h5 is plain HDF5, 2 datasets, ...: it has no dumps"; empty for a file that has some, or
    that is no file of others."""
    if not path.is_file() or is_ours(path) or not h5py.is_hdf5(path):
        return ""
    try:
        found = contents_of(path, listing_of(core, path))
    except OSError:  # another program is writing it
        return ""
    return "" if found.has_dumps else f"{path} is {found.sentence()}: it has no dumps"


def check_can_be_recovered(path: Path) -> None:
    """Raises OSError, which says what the file is, unless Caesura has written it."""
    if not path.is_file() or is_ours(path):
        return
    if path.stat().st_size == 0:
        raise OSError(f"{path} is empty: 0 bytes; there is nothing to recover")
    if said := is_cut_off(path):
        raise OSError(f"{said}. Caesura did not write it, so it cannot be recovered")
    if h5py.is_hdf5(path):
        raise OSError(f"{path} is HDF5 that Caesura did not write: there is nothing to recover")
    raise OSError(f"{path} is no HDF5 file, and none of Caesura's: there is nothing to recover")


def _objects(file: h5py.File, found: Contents) -> list[tuple[str, Any]]:
    """Each object once, and how many links lead nowhere."""
    objects: list[tuple[str, Any]] = []
    file.visititems(lambda name, one: objects.append((name, one)))

    def look(name: str, link: Any) -> None:
        if isinstance(link, h5py.HardLink):
            return
        try:
            leads = file.get(name) is not None
        except (OSError, KeyError, RuntimeError):
            leads = False
        found.links_to_nothing += not leads

    file.visititems_links(look)
    return objects


def _describe(path: str, dataset: h5py.Dataset, file: Path) -> PlainDataset:
    plist = dataset.id.get_create_plist()
    layout = _LAYOUTS.get(plist.get_layout(), "unknown")
    external = [plist.get_external(n) for n in range(plist.get_external_count())]
    filters, needs = _filters(plist)
    if external:
        layout = "external"
        missing = [name for name, *_ in external if not _is_there(os.fsdecode(name), file)]
        needs = f"the file {os.fsdecode(missing[0])}" if missing else ""
    elif layout == "virtual":
        sources = dataset.virtual_sources()
        missing = [s.file_name for s in sources if not _is_there(s.file_name, file)]
        needs = f"the file {missing[0]}" if missing else ""
    try:
        dtype = "text" if h5py.check_string_dtype(dataset.dtype) else str(dataset.dtype)
        width = dataset.id.get_type().get_size()
    except (TypeError, ValueError):
        dtype, width = "unknown to h5py", 0
    shape = dataset.shape if dataset.shape is not None else (0,)
    return PlainDataset(
        path, dtype, shape, layout, dataset.chunks or (), filters, math.prod(shape) * width,
        dataset.id.get_storage_size(), needs,
    )  # fmt: skip


def needs_of(dataset: h5py.Dataset, file: Path) -> str:
    """What reading it needs and is not here: a filter, a file. Empty: nothing."""
    return _describe(dataset.name, dataset, file).needs


def _filters(plist: Any) -> tuple[list[str], str]:
    """Their names, and the first one that is not installed here."""
    names, needs = [], ""
    for n in range(plist.get_nfilters()):
        number, _, _, name = plist.get_filter(n)
        word = name.decode("utf-8", "replace").split(";")[0].strip() or f"filter {number}"
        names.append("caesura" if word.startswith("caesura ") else word)
        if not needs and not h5py.h5z.filter_avail(number):
            needs = f"the HDF5 filter {number}" + (
                "" if word == f"filter {number}" else f", {word}"
            )
    return names, needs


def _is_there(name: str, file: Path) -> bool:
    """As HDF5 looks for sources: "." is the file itself; a relative name lies beside it."""
    if name == ".":
        return True
    parent = os.environ.get("HDF5_VDS_PREFIX") or str(file.parent)
    return any(os.path.exists(one) for one in (name, os.path.join(parent, name)))
