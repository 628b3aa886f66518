"""A whole configuration of the connector: one rule for each quantity of a file, to be read and
edited, with what is known of it beside it.

What the quantities are, and which of them are coordinates, the connector itself says
(`caesura.vol`): there is one answer.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from caesura import missing, vol
from caesura.bounds import Bound, lossless
from caesura.tuning import search, sources
from caesura.tuning.configuration import number, numbers_of, pattern_of

Watch = Callable[[str, int, int | None], None]
_EXACT = 'bound_kind = "lossless"\n'
# Of every quantity that can have a bound, members of compound types too.
_PROBE = 'bound = 1e-3\nbound_kind = "pointwise_relative"\n'


@dataclass(frozen=True)
class Quantity:
    """What a rule is for, and what it is to say."""

    path: str  # pattern
    component: str  # "": the dataset is one quantity
    bound: Bound | None  # None: stored as it is, uncompressed
    codec: str  # "": the configuration's
    words: str  # for people, after the bound
    missing: tuple[Any, ...] = ()  # values that are no data, of all its quantities


@dataclass(frozen=True)
class Member(sources.Dump):
    """A part of complex numbers, or a member of a compound type, as an array of its own."""

    member: str = ""

    def slabs(self) -> Iterator[np.ndarray]:
        step = max(1, (8 << 20) * self.shape[0] // max(1, self.raw_bytes))
        with h5py.File(self.file) as file:
            for begin in range(0, self.shape[0], step):
                yield self._of(file[self.path][begin : begin + step])

    def _of(self, values: np.ndarray) -> np.ndarray:
        if values.dtype.kind == "c":
            values = values.real if self.member.startswith("r") else values.imag
        else:
            values = values[self.member]
        return self._without_missing(values)

    def pieces(self, budget_bytes: int, block_bytes: int) -> list[np.ndarray]:
        """Stretches of the first axis, spread over all of it."""
        if self.raw_bytes <= budget_bytes or self.axes != self.shape:
            return [self.whole()]
        row_bytes = max(1, self.raw_bytes // self.shape[0])
        rows = min(self.shape[0], max(1, block_bytes // row_bytes))
        count = max(1, min(self.shape[0] // rows, budget_bytes // max(1, rows * row_bytes)))
        with h5py.File(self.file) as file:
            dataset = file[self.path]
            begins = [i * (self.shape[0] - rows) // max(1, count - 1) for i in range(count)]
            return [self._of(dataset[begin : begin + rows]) for begin in begins]


# ------------------------------------------------------------------------------------ what there is


def _reason(dataset: dict[str, Any]) -> str:
    """Why all of it is exact, whatever the bound; empty: it is not."""
    if "kept_exact" in dataset:
        return f"exact: {dataset['kept_exact']}"
    return ""


def _range(one: dict[str, Any]) -> str:
    if one["min"] is None or one["max"] is None:
        return ""  # bool, or no finite value
    return f"from {one['min']:.6g} to {one['max']:.6g}"


def _ratio(one: dict[str, Any]) -> str:
    return "" if one["ratio"] is None else f"ratio {one['ratio']:.3g} on a sample"


def _said(*words: str) -> str:
    return ", ".join(filter(None, words))


def _is_exact(dataset: dict[str, Any]) -> bool:
    return all(one["bound_kind"] == "lossless" for one in dataset["components"])


def _exact(path: str, why: str, ones: Sequence[dict[str, Any]]) -> Quantity:
    """All of a dataset."""
    one = ones[0]
    more = (_range(one), _ratio(one)) if len(ones) == 1 else (f"{len(ones)} parts",)
    return Quantity(path, "", lossless(), "", _said(why, *more))


def as_checked(answer: dict[str, Any]) -> list[Quantity]:
    """Of `vol.check`'s answer: each quantity with the bound that the configuration gives it."""
    found = []
    for dataset in answer["datasets"]:
        if "components" not in dataset:
            continue
        path, ones = pattern_of([dataset["path"]]), dataset["components"]
        if _is_exact(dataset):
            found.append(_exact(path, _reason(dataset) or "exact", ones))
            continue
        for one in ones:
            kind = one["bound_kind"]
            bound = None if kind == "as it is" else Bound(kind, one["bound"])
            found.append(Quantity(path, one["name"], bound, "", _said(_range(one), _ratio(one))))
    return found


# ------------------------------------------------------------------------------------------- tuning


def tuned(
    file: Path, config: Path | None, asked: search.Asked, watch: Watch = lambda *_: None,
    named: Sequence[float] = (),
) -> tuple[dict[str, Any], list[Quantity]]:  # fmt: skip
    """What `vol.check` says of the file, and each quantity with the loosest bound that meets the
    goal. named: values that mark places without data, beside those that datasets declare.
    Raises RuntimeError (no connector), OSError, ValueError."""
    answer = vol.check("", str(config) if config else "")
    if "error" in answer:
        raise ValueError(answer["error"])
    configuration = answer["configuration"]
    with tempfile.TemporaryDirectory() as directory:
        probe = Path(directory) / "probe.toml"
        # Only beside a bound is it told what that would not hold for.
        text = configuration.replace(_EXACT, _PROBE, 1)
        probe.write_text(re.sub(r"^codec = .*$", 'codec = "caesura"', text, count=1, flags=re.M))
        answer = vol.check(str(file), str(probe), lambda *how_far: watch(*how_far))
    if "error" in answer:
        raise OSError(answer["error"])
    answer["configuration"] = configuration
    groups: dict[str, list[dict[str, Any]]] = {}
    for dataset in answer["datasets"]:
        if "components" in dataset:
            groups.setdefault(pattern_of([dataset["path"]]), []).append(dataset)
    found = []
    for path, datasets in groups.items():
        found += _tune_one(file, path, datasets, asked, watch, named)
    return answer, found


def _tune_one(
    file: Path, path: str, datasets: Sequence[dict[str, Any]], asked: search.Asked, watch: Watch,
    named: Sequence[float],
) -> list[Quantity]:  # fmt: skip
    """The rules for the datasets of one pattern."""
    ones = datasets[0]["components"]
    reason = next(filter(None, map(_reason, datasets)), "")
    if reason or _is_exact(datasets[0]):
        return [_exact(path, reason or "exact: it has no bound", ones)]
    paths, found = [dataset["path"] for dataset in datasets], []
    for one in ones:
        if one["bound_kind"] == "lossless":
            words = _said("exact: a place, by its name", _range(one), _ratio(one))
            found.append(Quantity(path, one["name"], lossless(), "", words))
        else:
            found.append(_search(file, path, one, paths, asked, watch, named))
    return found


def _search(
    file: Path, path: str, one: dict[str, Any], paths: Sequence[str],
    asked: search.Asked, watch: Watch, named: Sequence[float],
) -> Quantity:  # fmt: skip
    name = one["name"]
    label = f"{path} {name}".strip()
    exact = Quantity(path, name, lossless(), "", "")
    try:
        dumps = [_dump(file, each, name, named) for each in paths]
        answer = search.tune(dumps, asked, lambda doing, *far: watch(f"{label}: {doing}", *far))
    except ValueError as error:
        why = str(error).removeprefix(f"{file}: ").partition(";")[0]
        return replace(exact, words=_said(f"exact: {why}", _range(one)))
    goal, chosen = asked.goal, answer.chosen
    if chosen is None:
        words = f"exact: no bound that keeps {goal.text()} takes less"
        return replace(exact, words=_said(words, _range(one), f"ratio {answer.lossless_ratio:.3g}"))
    ratios = f"ratio {chosen.ratio:.3g}, without loss {answer.lossless_ratio:.3g}"
    few = "FEW VALUES STRETCH THE RANGE, most keep fewer than 8 bits" if answer.stretched else ""
    words = _said(_range(one), f"{goal.text()}: {ratios}", few)
    codec = chosen.codec if not name else ""
    left_out = {str(one): one for dump in answer.dumps for one in dump.missing}
    return Quantity(path, name, chosen.bound, codec, words, tuple(left_out.values()))


def _type_of(dtype: np.dtype, member: str) -> np.dtype:
    """Of a quantity."""
    if dtype.kind == "c":
        return np.dtype(f"f{dtype.itemsize // 2}")
    if dtype.names and member in dtype.names:
        return dtype[member].newbyteorder("=")
    raise ValueError("its quantities lie in boxes or along an axis and are not taken apart")


def _dump(file: Path, path: str, name: str, named: Sequence[float]) -> sources.Dump:
    with h5py.File(file) as opened:
        dataset = opened[path]
        if not isinstance(dataset, h5py.Dataset) or not dataset.shape:
            raise ValueError(f"{path} is no array")
        shape, dtype = tuple(dataset.shape), dataset.dtype.newbyteorder("=")
        if name:
            dtype = _type_of(dtype, name)
        declared = missing.declared(dataset, named, dtype)
    if math.prod(shape) < 2:
        raise ValueError("it has too few values to tune for")
    if not name:
        if dtype.kind != "f":
            raise ValueError(f"it holds {dtype}, which has no bound")
        return sources.Dump(file, path, path, path, shape, dtype, 0.0, declared)
    return Member(file, path, path, path, shape, dtype, 0.0, declared, member=name)


# ------------------------------------------------------------------------------------------ as TOML


def text_of(answer: dict[str, Any], quantities: Sequence[Quantity], first_line: str) -> str:
    """The configuration that the answer names, and after it the rules."""
    lines = [f"# {first_line}", "# A rule for each quantity: edit them. Later rules win.", ""]
    lines += [answer["configuration"].rstrip(), ""]
    for dataset in answer["datasets"]:
        if "components" not in dataset:
            why = dataset.get("why") or dataset.get("error", "")
            lines.append(f"# {_one_line(dataset['path'])}: exact, no rule needed: {_one_line(why)}")
    seen = set()
    for one in quantities:
        if (one.path, one.component) in seen:  # another iteration of it
            continue
        seen.add((one.path, one.component))
        left_out = numbers_of(one.missing)
        if left_out and one.component:  # a dataset's, not a quantity's
            left_out = numbers_of(m for each in quantities if each.path == one.path
                                  for m in each.missing)  # fmt: skip
            lines += ["", "[[dataset]]", f"path = {_quoted(one.path)}",
                      f"missing = [{', '.join(left_out)}]"]  # fmt: skip
        lines += ["", f"# {_one_line(one.words)}", "[[dataset]]", f"path = {_quoted(one.path)}"]
        if one.component:
            lines.append(f"component = {_quoted(one.component)}")
        if one.bound is None:
            lines.append("capture = false")
        elif one.bound.kind == "lossless":
            lines.append('bound_kind = "lossless"')
        else:
            lines += [f"bound = {number(one.bound.value)}", f'bound_kind = "{one.bound.kind}"']
        if one.codec and one.codec != "caesura":
            lines.append(f"codec = {_quoted(one.codec)}")
        if left_out and not one.component:
            lines.append(f"missing = [{', '.join(left_out)}]")
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    """A comment of TOML has no control characters."""
    return "".join(c if c.isprintable() else " " for c in text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
