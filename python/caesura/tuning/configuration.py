"""What to paste: the bound and the codec in each language of a Writer, and for the connector."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

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


def lines(
    name: str, path: str, dtype: np.dtype, axes: int, bound: Bound, codec: str
) -> dict[str, str]:
    """By language. name: of the field; path: of its dataset, as the connector sees it."""
    extents = [f"n{axis}" for axis in "tzyx"[-axes:]] if axes <= 4 else ["..."]
    variable = re.sub(r"\W+", "_", name, flags=re.ASCII)[:_LONGEST].strip("_") or "field"
    if variable[0].isdigit():
        variable = f"field_{variable}"
    return {
        "c++": _cpp(variable, name, dtype, extents, bound, codec),
        "c": _c(variable, name, dtype, extents, bound, codec),
        "fortran": _fortran(variable, name, dtype, extents, bound, codec),
        "python": _python(variable, name, dtype, extents, bound, codec),
        "toml": _toml(path, bound, codec),
    }


def pattern_of(paths: Sequence[str]) -> str:
    """A pattern of the connector that all of them meet: iterations, and whatever differs, are *."""
    parts = [re.sub(r"^/data/\d+/", "/data/*/", path).split("/") for path in paths]
    if len({len(each) for each in parts}) > 1:
        return f"**/{parts[0][-1]}"
    return "/".join(names[0] if len(set(names)) == 1 else "*" for names in zip(*parts, strict=True))


def _call(bound: Bound) -> str:
    return "lossless()" if bound.kind == "lossless" else f"{bound.kind}({bound.value:g})"


def _cpp(
    variable: str, name: str, dtype: np.dtype, extents: list[str], bound: Bound, codec: str
) -> str:
    before = options = ""
    if codec != _DEFAULT_CODEC:
        options = f", {variable}_options"
        before = (
            f"caesura::FieldOptions {variable}_options;\n"
            f'{variable}_options.codec = caesura::CodecSpec{{"{codec}"}};\n'
        )
    return (
        f"{before}auto {variable} = (*writer)->define_field(\n"
        f"    {json.dumps(name)}, caesura::{dtype.name}, {{{', '.join(extents)}}}, "
        f"caesura::{_call(bound)}{options});"
    )


def _c(
    variable: str, name: str, dtype: np.dtype, extents: list[str], bound: Bound, codec: str
) -> str:
    value = f"{bound.value:g}"
    lines = [
        f"uint64_t {variable}_shape[] = {{{', '.join(extents)}}};",
        f"uint32_t {variable};",
    ]
    call, options = "caesura_define_field", ""
    if codec != _DEFAULT_CODEC:
        call, options = "caesura_define_field_with", f" &{variable}_options,"
        lines += [
            f"caesura_field_options {variable}_options = CAESURA_FIELD_OPTIONS_DEFAULT;",
            f"{variable}_options.codec = {json.dumps(codec)};",
        ]
    lines += [
        f"{call}(writer, {json.dumps(name)}, CAESURA_{dtype.name.upper()}, {len(extents)},",
        f"    {variable}_shape, CAESURA_{bound.kind.upper()}, {value},{options} &{variable});",
    ]
    return "\n".join(lines)


def _fortran(
    variable: str, name: str, dtype: np.dtype, extents: list[str], bound: Bound, codec: str
) -> str:
    """Declarations, and the call. Fortran's first axis is the file's last."""
    if dtype.itemsize < 4:
        return f"! Fortran has no {dtype.name}"
    what = [f"caesura_{dtype.name}", f"[{', '.join(reversed(extents))}]", variable]
    if bound.kind != "lossless":
        what.append(f"{bound.kind}={number(bound.value)}_real64")
    lines = [f"type(caesura_field) :: {variable}"]
    if codec != _DEFAULT_CODEC:
        lines += [
            f"type(caesura_field_options) :: {variable}_options",
            f"{variable}_options%codec = {_in_quotes(codec)}",
        ]
        what.append(f"&\n  options={variable}_options")
    lines += [
        f"call caesura_define_field(writer, {_in_quotes(name)}, &",
        f"  {', '.join(what)})",
    ]
    return "\n".join(lines)


def _in_quotes(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _python(
    variable: str, name: str, dtype: np.dtype, extents: list[str], bound: Bound, codec: str
) -> str:
    shape = ", ".join(extents) + ("," if len(extents) == 1 else "")
    options = "" if codec == _DEFAULT_CODEC else f", codec={json.dumps(codec)}"
    return (
        f"{variable} = writer.define_field(\n"
        f"    {json.dumps(name)}, numpy.{dtype.name}, ({shape}), "
        f"bound=caesura.{_call(bound)}{options}\n)"
    )


def _toml(path: str, bound: Bound, codec: str) -> str:
    lines = ["[[dataset]]", f"path = {json.dumps(path)}"]
    if bound.kind == "lossless":
        lines.append('bound_kind = "lossless"')
    else:
        lines += [f"bound = {number(bound.value)}", f'bound_kind = "{bound.kind}"']
    if codec != _DEFAULT_CODEC:
        lines.append(f"codec = {json.dumps(codec)}")
    return "\n".join(lines)


def number(value: float) -> str:
    """A float of TOML or Fortran has a point or an exponent."""
    text = f"{value:g}"
    return text if re.search(r"[.e]", text) else f"{text}.0"
