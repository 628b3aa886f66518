"""Which runs a demonstration is made of, in which order.

Invariants: a repeat has every mode that writes once, with all its dumps, and pairs of runs in which
the dumps are shared out (Scenario.pairs); the two runs of a pair follow each other, and pairs are
spread over the repeat, so that slow drifts of the machine touch all alike; the first run makes the
reference.
"""

from __future__ import annotations

from dataclasses import dataclass

from caesura_lab.demo.scenario import MODE_TITLES, MODES, PAIRED, Scenario

HALVES = ("half", "other-half")
# Bit for bit what was handed in: what all others can be held against.
EXACT = ("sync", "async")


@dataclass(frozen=True)
class Turn:
    """One run. `number` counts those of the same mode and hand-over."""

    mode: str
    number: int
    hand_over: str = "all"

    @property
    def title(self) -> str:
        which = "" if self.hand_over == "all" else f", {self.hand_over.replace('-', ' ')}"
        return MODE_TITLES[self.mode] + which

    @property
    def makes_reference(self) -> bool:
        return self.mode in EXACT and self.hand_over == "all"


def all_turns(scenario: Scenario) -> list[Turn]:
    return [turn for repeat in range(scenario.repeats) for turn in one_repeat(scenario, repeat)]


def one_repeat(scenario: Scenario, repeat: int) -> list[Turn]:
    """Pairs between single runs; later repeats begin elsewhere."""
    single: list[list[Turn]] = [[Turn(mode, repeat)] for mode in MODES if mode != "compute"]
    pairs: list[list[Turn]] = []
    for mode in PAIRED:
        count = scenario.pairs_of(mode)
        numbers = range(repeat * count, (repeat + 1) * count)
        pairs += [[Turn(mode, number, half) for half in HALVES] for number in numbers]
    groups = single[:1]
    rest = single[1:]
    for position, pair in enumerate(pairs):
        groups.append(pair)
        begin, end = (len(rest) * p // len(pairs) for p in (position, position + 1))
        groups += rest[begin:end]
    groups += rest if not pairs else []
    shift = repeat * 3 % len(groups)
    return [turn for group in groups[shift:] + groups[:shift] for turn in group]
