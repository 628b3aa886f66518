"""Holds every value of every file of the demonstration against the reference.

The synchronous, uncompressed file is compared bit for bit with the raw fields as they lay in
memory; from then on it is the reference: the simulation is bitwise reproducible, so each mode's
file must keep its bound against it in every repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import h5py
from caesura.comparing import (
    ComparisonError,
    FieldResult,
    Reference,
    blocks,
    compare_block,
    datasets,
)

from caesura_lab.demo.scenario import DemoError, Scenario

Progress = Callable[[int], None]


@dataclass
class Checked:
    """What was found in one file."""

    values: int = 0
    datasets: int = 0
    blocks_with_checksum: int = 0
    max_error_over_bound: float = 0.0
    findings: list[str] = field(default_factory=list)
    per_field: dict[str, dict[str, float]] = field(default_factory=dict)

    def add(self, result: FieldResult) -> None:
        self.values += result.values
        self.datasets += 1
        if not result.ok:
            self.findings.append(result.sentence())
        share = result.max_error_over_bound
        self.max_error_over_bound = max(self.max_error_over_bound, share)
        entry = self.per_field.setdefault(
            name_of(result.path), {"bound": result.bound, "max_error": 0.0}
        )
        entry["max_error"] = max(entry["max_error"], result.max_error)


def check_file(
    path: Path, reference: Reference, scenario: Scenario, lossy: bool, progress: Progress
) -> Checked:
    """All datasets the scenario must have written, and no other."""
    checked = Checked()
    with h5py.File(path, "r") as file:
        # What a Writer says of its particles besides is not what was handed in.
        found = {path: one for path, one in datasets(file) if "/particlePatches/" not in path}
        expected = expected_paths(scenario)
        for missing in sorted(expected - found.keys()):
            checked.findings.append(f"{path} has no dataset {missing}")
        for extra in sorted(found.keys() - expected):
            checked.findings.append(f"{path} has a dataset nobody wrote: {extra}")
        for name in sorted(expected & found.keys()):
            bound = scenario.datasets()[below_iteration(name)] if lossy else 0.0
            said = found[name].attrs.get("caesura_bound")
            if lossy and said is not None and float(said) != bound:
                checked.findings.append(f"{name} says its bound is {said}, asked was {bound}")
            checked.add(_check_dataset(found[name], bound, reference, progress))
    return checked


def _check_dataset(
    dataset: h5py.Dataset, bound: float, reference: Reference, progress: Progress
) -> FieldResult:
    result = FieldResult(dataset.name, bound)
    try:
        original = reference.find(dataset.name, dataset.shape, dataset.dtype)
    except ComparisonError as error:
        raise DemoError(str(error)) from error
    for where in blocks(dataset):
        try:
            stored = dataset[where]
        except (OSError, RuntimeError) as error:
            raise DemoError(f"{dataset.file.filename}: {dataset.name} cannot be read: {error}") \
                from error  # fmt: skip
        compare_block(result, original[where], stored, where)
        progress(stored.nbytes)
    return result


def check_checksums(path: Path, checked: Checked) -> None:
    """Caesura's own files: every block's checksum too, and nothing left to recover."""
    from caesura import _core

    store = _core.OpenFile(str(path))
    info = store.info()
    if info["needs_recover"]:
        checked.findings.append(f"{path} was closed but still needs `caesura recover`")
    for number, dataset in enumerate(info["datasets"]):
        for index, chunk in enumerate(dataset["chunks"]):
            if not chunk["has_checksum"]:
                checked.findings.append(f"{dataset['path']}: block {index} has no checksum")
                continue
            try:
                store.read_chunk(number, index)
            except (_core.CorruptError, OSError) as error:
                checked.findings.append(str(error))
            checked.blocks_with_checksum += 1


def expected_paths(scenario: Scenario) -> set[str]:
    numbers = scenario.handed_over(scenario.hand_over)
    iterations = [scenario.dump_every * (n + 1) - 1 for n in numbers]
    return {f"/data/{n}/{name}" for n in iterations for name in scenario.datasets()}


def below_iteration(path: str) -> str:
    """ "/data/3/meshes/temperature" -> "meshes/temperature"."""
    return path.split("/", 3)[3]


def name_of(path: str) -> str:
    """As people call it: "temperature", "dark_matter/id"."""
    return path.split("/", 4)[4]
