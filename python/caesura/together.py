"""Many small checkpoints of one GPU: which are sent raw, which compressed, which held and together.

A profile is JSON, or a Profile:
    {"checkpoint_bytes": 2000000, "intervals_s": [5e-05, ...], "compressed_bytes": [200000, ...],
     "compress_curve": [[bytes, seconds], ...], "link_bytes_per_s": 25e9,
     "cache_bytes": 128000000, "header_bytes": 1000, "copy_bytes_per_s": 500e9}
The last two may be left out. Files that keep a profile say "format" and "version" too. The model
behind the times, and what the letters of a plan mean, is in plan/together.hpp and
docs/how/checkpoints.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from caesura import _core

_KEYS = ("checkpoint_bytes", "intervals_s", "compressed_bytes", "compress_curve",
         "link_bytes_per_s", "cache_bytes", "header_bytes", "copy_bytes_per_s")  # fmt: skip
_OPTIONAL = ("header_bytes", "copy_bytes_per_s")
_FORMAT, _VERSION = "caesura-checkpoints", 1
GOALS = ("host", "application")
_WHOLE = ("checkpoint_bytes", "cache_bytes", "header_bytes")


class ProfileError(ValueError):
    """The text is not a profile; the message says where and why."""


@dataclass(frozen=True)
class Plan:
    """A letter a checkpoint, U, C, A or X, and what it comes to."""

    word: str
    flush_end_s: float  # the last byte has reached the host
    application_end_s: float  # the last checkpoint is handled
    exact: bool  # no better word exists in the model
    plan_s: float = 0.0  # what making it took


class Profile:
    """What is known, or expected, of a run. ValueError naming index and value."""

    def __init__(
        self,
        checkpoint_bytes: int,
        intervals_s: list[float],
        compressed_bytes: list[int],
        compress_curve: list[tuple[float, float]],
        link_bytes_per_s: float,
        cache_bytes: int,
        header_bytes: int = 0,
        copy_bytes_per_s: float = 0.0,
    ) -> None:
        self._profile = _core.checkpoint_profile(
            checkpoint_bytes=checkpoint_bytes,
            intervals_s=list(intervals_s),
            compressed_bytes=list(compressed_bytes),
            compress_curve=[tuple(point) for point in compress_curve],
            link_bytes_per_s=link_bytes_per_s,
            cache_bytes=cache_bytes,
            header_bytes=header_bytes,
            copy_bytes_per_s=copy_bytes_per_s,
        )
        self.checkpoints = len(intervals_s)
        self._machine = (compress_curve, link_bytes_per_s, cache_bytes, header_bytes,
                         copy_bytes_per_s)  # fmt: skip
        self._checkpoint_bytes = checkpoint_bytes

    def to_json(self) -> str:
        """What parse() reads: to be kept for the other members of an ensemble."""
        return _core.checkpoint_profile_json(self._profile)

    def machine(self) -> Profile:
        """The same machine and size of a checkpoint, nothing known of intervals and results."""
        return Profile(self._checkpoint_bytes, [], [], *self._machine)

    def play_planner(self, expected: Profile, checkpoints: int = 0) -> tuple[Plan, int]:
        """What planning while checkpoints come makes of this run, and how often it planned all that
        remained. `expected`: another member of the ensemble, or machine() if nothing is known;
        `checkpoints`: how many it is told that there will be, 0 if nobody knows."""
        made, plans = _core.play_planner(self._profile, expected._profile, checkpoints)
        return Plan(*made), plans

    def plan(self, states: int = 0, goal: str = "host") -> Plan:
        """The word with which everything is at the host soonest or, with the goal "application",
        with which the application goes on soonest after its last checkpoint. `states` bounds what
        is looked at; 0 is exact for up to 20 checkpoints and quick for more. Other threads run
        meanwhile."""
        if goal not in GOALS:
            raise ValueError(f"the goal is {goal!r}; use {' or '.join(GOALS)}")
        made, plan_s = _core.together(self._profile, states, goal == "application")
        return Plan(*made, plan_s)

    def play(self, word: str) -> Plan:
        """What a word comes to. ValueError naming the letter that is not legal."""
        return Plan(*_core.play_together(self._profile, word))

    def send_all_raw(self) -> Plan:
        """U for every checkpoint."""
        return Plan(*_core.send_all_raw(self._profile))

    def compress_each(self) -> Plan:
        """C for every checkpoint, U where compressing does not fit the cache."""
        return Plan(*_core.compress_each(self._profile))


def parse(text: str, source: str) -> Profile:
    """The profile in `text`, which came from `source`. Raises ProfileError."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"{source} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise ProfileError(f"{source}: the profile must be an object")
    if document.pop("format", _FORMAT) != _FORMAT:
        raise ProfileError(f'{source}: "format" is not {_FORMAT!r}')
    if (version := document.pop("version", _VERSION)) != _VERSION:
        raise ProfileError(f"{source} is of version {version}; this build reads {_VERSION}")
    for key in document:
        if key not in _KEYS:
            raise ProfileError(f"{source}: the key {key!r} is not known; use {', '.join(_KEYS)}")
    values = {}
    for key in _KEYS:
        if key in document:
            values[key] = _checked(source, key, document[key])
        elif key not in _OPTIONAL:
            raise ProfileError(f"{source}: {key} is missing")
    try:
        profile = Profile(**values)
        profile.send_all_raw()  # checks all numbers
    except (ValueError, TypeError, OverflowError) as error:
        raise ProfileError(f"{source}: {error}") from None
    return profile


def _checked(source: str, key: str, value: Any) -> Any:
    """Of the type that the key wants."""
    if key in ("intervals_s", "compressed_bytes", "compress_curve"):
        if not isinstance(value, list):
            raise ProfileError(f"{source}: {key} must be a list")
        inner = {"intervals_s": _number, "compressed_bytes": _whole, "compress_curve": _pair}[key]
        return [inner(source, f"{key}[{i}]", item) for i, item in enumerate(value)]
    return (_whole if key in _WHOLE else _number)(source, key, value)


def _number(source: str, where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ProfileError(f"{source}: {where} is {json.dumps(value)}; it must be a number")
    return float(value)


def _whole(source: str, where: str, value: Any) -> int:
    number = _number(source, where, value)
    if number < 0 or not number.is_integer() or number >= 2**63:
        raise ProfileError(
            f"{source}: {where} is {json.dumps(value)}; it must be a whole number of bytes"
        )
    return int(number)


def _pair(source: str, where: str, value: Any) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2:
        raise ProfileError(f"{source}: {where} is {json.dumps(value)}; give [bytes, seconds]")
    return _number(source, where, value[0]), _number(source, where, value[1])
