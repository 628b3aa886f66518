"""What to paste: the bound and the codec in C++, in Python, and for the connector."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import numpy as np

from caesura.bounds import Bound

_DEFAULT_CODEC = "caesura"


def lines(
    name: str, path: str, dtype: np.dtype, axes: int, bound: Bound, codec: str
) -> dict[str, str]:
    """By language. name: of the field; path: of its dataset, as the connector sees it."""
    extents = [f"n{axis}" for axis in "tzyx"[-axes:]] if axes <= 4 else ["..."]
    variable = re.sub(r"\W+", "_", name).strip("_") or "field"
    if variable[0].isdigit():
        variable = f"field_{variable}"
    return {
        "c++": _cpp(variable, name, dtype, extents, bound, codec),
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
        lines += [f"bound = {_number(bound.value)}", f'bound_kind = "{bound.kind}"']
    if codec != _DEFAULT_CODEC:
        lines.append(f"codec = {json.dumps(codec)}")
    return "\n".join(lines)


def _number(value: float) -> str:
    """A float of TOML has a point or an exponent."""
    text = f"{value:g}"
    return text if re.search(r"[.e]", text) else f"{text}.0"
