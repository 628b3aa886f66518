"""What blocks would come to under twice their bound: a few of a file are decoded and compressed
again, once with their own bound and once with twice it.

Invariants: numbers are of blocks that lie in the file; nothing is written. Blocks of other codecs,
and fields without one bound in the values' units, are left alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_MOST_RAW_BYTES = 16 << 20  # of a field that are compressed again
_MOST_FIELDS = 8  # the largest


@dataclass
class Doubled:
    """Sums over fields."""

    fields: list[str] = field(default_factory=list)
    blocks: int = 0
    now_bytes: int = 0  # of those blocks, compressed again with their bound
    then_bytes: int = 0  # with twice it
    of_dump: float = 0.0  # share of the dump's stored bytes that these fields are

    @property
    def smaller(self) -> float:
        """By how much the dump's stored bytes would shrink: the other fields stay as they are."""
        return self.of_dump * (1.0 - self.then_bytes / self.now_bytes)


def twice_the_bound(files: Sequence[Path], datasets: Sequence[Mapping[str, Any]]) -> Doubled | None:
    """Of the newest dump in the last file. None: no field has such a bound, or cannot be read."""
    if not files or not datasets:
        return None
    newest = max(dataset["iteration"] for dataset in datasets)
    dump = [dataset for dataset in datasets if dataset["iteration"] == newest]
    chosen = sorted(filter(_has_bound, dump), key=lambda one: -one["stored_bytes"])[:_MOST_FIELDS]
    found = Doubled()
    try:
        for dataset in chosen:
            _add(found, files[-1], dataset)
    except (OSError, KeyError, ValueError, RuntimeError):
        return None  # without its plugin, or while a writer is at work
    if not found.now_bytes:
        return None
    stored = sum(dataset["stored_bytes"] for dataset in dump)
    found.of_dump = sum(d["stored_bytes"] for d in dump if d["path"] in found.fields) / stored
    return found


def _has_bound(dataset: Mapping[str, Any]) -> bool:
    attributes = dataset["attributes"]
    return (
        attributes.get("caesura_bound_kind") in ("absolute", "relative", "psnr")
        and "caesura_bound_map" not in attributes
        and isinstance(attributes.get("caesura_bound"), float)
        and attributes["caesura_bound"] > 0
        and attributes.get("caesura_codec", "").partition(":")[0] == "caesura"
        and dataset["dtype"] in ("float32", "float64")
        and bool(dataset["chunks"])
    )


def _add(found: Doubled, path: Path, dataset: Mapping[str, Any]) -> None:
    import caesura
    from caesura.codec import compress
    from caesura.verifying import chunk_slices

    bound = dataset["attributes"]["caesura_bound"]
    raw_bytes = 0
    with caesura.open(path) as file:
        values = file[dataset["path"]]
        for chunk in dataset["chunks"]:
            block = values[chunk_slices(chunk["chunk"], dataset["shape"], dataset["chunk"])]
            raw_bytes += block.nbytes
            if found.blocks and raw_bytes > _MOST_RAW_BYTES and dataset["path"] in found.fields:
                break
            found.now_bytes += len(compress(block, bound))
            found.then_bytes += len(compress(block, 2 * bound))
            found.blocks += 1
            if dataset["path"] not in found.fields:
                found.fields.append(dataset["path"])
