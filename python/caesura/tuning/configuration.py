"""What to paste: the bound and the codec in each language of a Writer, and for the connector."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caesura.bounds import Bound

_DEFAULT_CODEC = "caesura"
_LONGEST = 40  # of a variable's name; Fortran knows 63 characters, and 132 in a line
LANGUAGES = {
    "c++": "C++",
    "c": "C",
    "fortran": "Fortran",
    "python": "Python",
    "toml": "TOML of the connector",
}


@dataclass(frozen=True)
class Recommended:
    """What a field is to be given."""

    name: str  # of the field
    path: str  # of its dataset, as the connector sees it
    dtype: np.dtype
    axes: int
    bound: Bound
    codec: str
    missing: tuple[Any, ...] = ()  # values that are no data, of the type

    @property
    def variable(self) -> str:
        name = re.sub(r"\W+", "_", self.name, flags=re.ASCII)[:_LONGEST].strip("_") or "field"
        return f"field_{name}" if name[0].isdigit() else name

    @property
    def extents(self) -> list[str]:
        return [f"n{axis}" for axis in "tzyx"[-self.axes :]] if self.axes <= 4 else ["..."]

    @property
    def numbers(self) -> list[str]:
        return numbers_of(self.missing)

    @property
    def has_options(self) -> bool:
        return self.codec != _DEFAULT_CODEC or bool(self.numbers)


def numbers_of(missing: Iterable[Any]) -> list[str]:
    """Missing values as every language reads them; those that need no word are left out."""
    return list(dict.fromkeys(number(one) for one in missing if np.isfinite(one)))


def lines(field: Recommended) -> dict[str, str]:
    """By language."""
    return {
        "c++": _cpp(field),
        "c": _c(field),
        "fortran": _fortran(field),
        "python": _python(field),
        "toml": _toml(field),
    }


def pattern_of(paths: Sequence[str]) -> str:
    """A pattern of the connector that all of them meet: iterations, and whatever differs, are *."""
    parts = [re.sub(r"^/data/\d+/", "/data/*/", path).split("/") for path in paths]
    if len({len(each) for each in parts}) > 1:
        return f"**/{parts[0][-1]}"
    return "/".join(names[0] if len(set(names)) == 1 else "*" for names in zip(*parts, strict=True))


def _call(bound: Bound) -> str:
    return "lossless()" if bound.kind == "lossless" else f"{bound.kind}({bound.value:g})"


def _cpp(field: Recommended) -> str:
    variable, before, options = field.variable, "", ""
    if field.has_options:
        options = f", {variable}_options"
        before = f"caesura::FieldOptions {variable}_options;\n"
        if field.codec != _DEFAULT_CODEC:
            before += f'{variable}_options.codec = caesura::CodecSpec{{"{field.codec}"}};\n'
        if field.numbers:
            before += f"{variable}_options.missing = {{{', '.join(field.numbers)}}};\n"
    return (
        f"{before}auto {variable} = (*writer)->define_field(\n"
        f"    {json.dumps(field.name)}, caesura::{field.dtype.name}, "
        f"{{{', '.join(field.extents)}}}, caesura::{_call(field.bound)}{options});"
    )


def _c(field: Recommended) -> str:
    variable, bound = field.variable, field.bound
    lines = [
        f"uint64_t {variable}_shape[] = {{{', '.join(field.extents)}}};",
        f"uint32_t {variable};",
    ]
    call, options = "caesura_define_field", ""
    if field.has_options:
        call, options = "caesura_define_field_with", f" &{variable}_options,"
        lines.append(f"caesura_field_options {variable}_options = CAESURA_FIELD_OPTIONS_DEFAULT;")
    if field.codec != _DEFAULT_CODEC:
        lines.append(f"{variable}_options.codec = {json.dumps(field.codec)};")
    if field.numbers:
        lines += [
            f"const double {variable}_missing[] = {{{', '.join(field.numbers)}}};",
            f"{variable}_options.missing = {variable}_missing;",
            f"{variable}_options.missing_count = {len(field.numbers)};",
        ]
    lines += [
        f"{call}(writer, {json.dumps(field.name)}, CAESURA_{field.dtype.name.upper()}, "
        f"{len(field.extents)},",
        f"    {variable}_shape, CAESURA_{bound.kind.upper()}, {bound.value:g},{options} "
        f"&{variable});",
    ]
    return "\n".join(lines)


def _fortran(field: Recommended) -> str:
    """Declarations, and the call. Fortran's first axis is the file's last."""
    variable, bound = field.variable, field.bound
    if field.dtype.itemsize < 4:
        return f"! Fortran has no {field.dtype.name}"
    what = [f"caesura_{field.dtype.name}", f"[{', '.join(reversed(field.extents))}]", variable]
    if bound.kind != "lossless":
        what.append(f"{bound.kind}={number(bound.value)}_real64")
    lines = [f"type(caesura_field) :: {variable}"]
    if field.has_options:
        lines.append(f"type(caesura_field_options) :: {variable}_options")
        what.append(f"&\n  options={variable}_options")
    if field.codec != _DEFAULT_CODEC:
        lines.append(f"{variable}_options%codec = {_in_quotes(field.codec)}")
    if field.numbers:
        numbers = ", &\n  ".join(f"{one}_real64" for one in field.numbers)
        lines.append(f"{variable}_options%missing = [{numbers}]")
    lines += [
        f"call caesura_define_field(writer, {_in_quotes(field.name)}, &",
        f"  {', '.join(what)})",
    ]
    return "\n".join(lines)


def _in_quotes(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _python(field: Recommended) -> str:
    shape = ", ".join(field.extents) + ("," if len(field.extents) == 1 else "")
    options = "" if field.codec == _DEFAULT_CODEC else f", codec={json.dumps(field.codec)}"
    if field.numbers:
        options += f",\n    missing=[{', '.join(field.numbers)}]"
    return (
        f"{field.variable} = writer.define_field(\n"
        f"    {json.dumps(field.name)}, numpy.{field.dtype.name}, ({shape}), "
        f"bound=caesura.{_call(field.bound)}{options}\n)"
    )


def _toml(field: Recommended) -> str:
    lines = ["[[dataset]]", f"path = {json.dumps(field.path)}"]
    if field.bound.kind == "lossless":
        lines.append('bound_kind = "lossless"')
    else:
        lines += [f"bound = {number(field.bound.value)}", f'bound_kind = "{field.bound.kind}"']
    if field.codec != _DEFAULT_CODEC:
        lines.append(f"codec = {json.dumps(field.codec)}")
    if field.numbers:
        lines.append(f"missing = [{', '.join(field.numbers)}]")
    return "\n".join(lines)


def number(value: Any) -> str:
    """A float of TOML or Fortran has a point or an exponent; of numpy's types every figure."""
    text = str(value) if isinstance(value, np.generic) else f"{value:g}"
    return text if re.search(r"[.e]", text) else f"{text}.0"
