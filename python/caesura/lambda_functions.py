"""Functions on data in transit, in Python: how one's own are written.

    # halo.py, in the operator's directory
    from caesura.lambda_functions import direct, iterative

    @direct
    def count(region, above: float = 0.0):
        \"\"\"How many values are above a limit.

        above: The limit.
        \"\"\"
        return {"above": int((region.values > above).sum())}

    @iterative
    def highest(regions):
        \"\"\"The greatest value of each region.\"\"\"
        return {"highest": [float(region.values.max()) for region in regions]}

The service knows them as `halo.count(above=1.5)` and `halo.highest`. They run in a process of their
own, with limits on memory, processor time and time. `direct` gets one region, `iterative` an
iterator over the regions of an object, in any order, each valid until the next. The first sentence
of the docstring is the help, lines `name: sentence` are that of the parameters, which are int,
float, str or bool by their annotation. What is returned is a dict of names with int, float, str,
or lists or arrays of int or float.

Needs numpy and nothing else of the package.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

MARK = "_caesura_lambda"
TYPES = {int: "whole", float: "number", str: "text", bool: "flag"}
Function = TypeVar("Function", bound=Callable[..., dict[str, Any]])


@dataclass(frozen=True)
class Region:
    """A part of an object. `values` has the shape `extent` and cannot be written."""

    object: str
    id: int
    shape: tuple[int, ...]
    offset: tuple[int, ...]
    extent: tuple[int, ...]
    time: float
    owner: str
    tags: dict[str, str] = field(default_factory=dict)
    values: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)


def direct(function: Function) -> Function:
    """A function of one region."""
    setattr(function, MARK, "direct")
    return function


def iterative(function: Function) -> Function:
    """A function of an iterator over regions."""
    setattr(function, MARK, "iterative")
    return function


def describe(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """What the service has to know of a marked function. Raises TypeError, naming what is wrong."""
    lines = [line.strip() for line in (inspect.getdoc(function) or "").splitlines()]
    help_of = {m[1]: m[2] for m in (re.match(r"(\w+): (.+)", line) for line in lines) if m}
    hints = typing.get_type_hints(function)
    parameters = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        annotation = hints.get(parameter.name)
        if annotation not in TYPES:
            raise TypeError(f"{name}: parameter {parameter.name} is no int, float, str or bool")
        described = {
            "name": parameter.name,
            "type": TYPES[annotation],
            "help": help_of.get(parameter.name, "Of the function in Python."),
        }
        if parameter.default is not inspect.Parameter.empty:
            described["fallback"] = as_text(annotation(parameter.default))
        parameters.append(described)
    return {
        "name": name,
        "kind": getattr(function, MARK),
        "help": lines[0] if lines and lines[0] else "A function in Python.",
        "parameters": parameters,
    }


def as_text(value: int | float | str | bool) -> str:
    """As one would write it in a call."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else repr(value)
