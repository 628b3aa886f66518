"""Species of particles: records of as many values as each dump has particles.

    electrons = writer.define_species("electrons")
    x = electrons.define_record("position/x", numpy.float64, absolute=1e-4, unit_dimension=LENGTH)
    electrons.define_constant("charge", -1.6e-19)
    ...
    dump.put_particles(x, positions)  # as many as this rank has, none included

The rules are those of caesura/particles.hpp.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caesura.bfloat16 import is_floating, name_of, number_type
from caesura.bounds import bound_of

TYPES = (
    "float32", "float64",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "bool", "float16", "bfloat16", "complex64", "complex128",
)  # fmt: skip
_OPTIONS = {"unit_si", "unit_dimension", "time_offset", "macro_weighted", "weighting_power"}


def storable(who: str, dtype: Any) -> np.dtype:
    """The type of a field or record. Raises ValueError: it cannot be stored."""
    kind = number_type(dtype)
    if not kind.isnative or name_of(kind) not in TYPES:
        raise ValueError(f"{who} is {kind}; what can be stored is {', '.join(TYPES)}")
    return kind


def check_options(who: str, options: dict[str, Any], known: Collection[str]) -> None:
    """Raises ValueError: an option that there is not."""
    unknown = set(options) - set(known)
    if unknown:
        raise ValueError(
            f"{who}: unknown option {sorted(unknown)[0]!r}; known are {', '.join(sorted(known))}"
        )


@dataclass(frozen=True)
class Record:
    """Handle of one component of a record; valid for the life of its Writer."""

    index: int
    name: str
    dtype: np.dtype


class Species:
    """Made by Writer.define_species."""

    def __init__(self, core: Any, index: int, name: str, bound: tuple[str, float]) -> None:
        self._core = core
        self._index = index
        self._bound = bound
        self.name = name

    def define_record(
        self,
        name: str,
        dtype: Any,
        *,
        absolute: float | None = None,
        relative: float | None = None,
        lossless: bool = False,
        bound: Any = None,
        codec: str | None = None,
        cd_values: Sequence[int] = (),
        **options: Any,
    ) -> Record:
        """Define what each particle has; the same calls in the same order on all ranks.

        name: an openPMD record name; "position/x" is component x of the record "position".
        options: unit_si, unit_dimension, time_offset, macro_weighted, weighting_power.

        Raises ValueError (name, type or bound), RuntimeError (plugin missing).
        """
        who = f"record '{self.name}/{name}'"
        kind = storable(who, dtype)
        check_options(who, options, _OPTIONS)
        if codec is not None:
            options |= {"codec": codec, "cd_values": [int(value) for value in cd_values]}
        own = ("lossless", 0.0) if lossless else bound_of(absolute, relative, bound)
        usual = self._bound if is_floating(kind) else ("lossless", 0.0)
        index = self._core.define_record(self._index, name, name_of(kind), own or usual, options)
        return Record(index, f"{self.name}/{name}", kind)

    def define_constant(self, name: str, value: float, **options: Any) -> None:
        """Define what all particles have alike: a number in the file, no data.

        options: those of define_record. Raises ValueError (name).
        """
        check_options(f"record '{self.name}/{name}'", options, _OPTIONS)
        self._core.define_constant(self._index, name, float(value), options)
