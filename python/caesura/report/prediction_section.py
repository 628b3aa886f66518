"""What was predicted of blocks and dumps beside what came, as pictures and in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from caesura.report.charts import key, scatter
from caesura.report.facts import Facts, Guess
from caesura.report.markup import tag, text
from caesura.report.quantities import bytes_text, duration_text

_MANY = 300  # points that lie on each other are drawn fainter
_MOST = 6000  # points of a picture; of more every so many-th is drawn


@dataclass(frozen=True)
class _Kind:
    title: str
    noun: str
    across: str
    up: str
    guesses: Sequence[Guess]
    said: Callable[[float], str]


def prediction_section(facts: Facts) -> str:
    kinds = [
        _Kind(
            "Size of a block", "blocks", "predicted bytes", "stored bytes", facts.sizes, bytes_text
        ),
        _Kind(
            "Compressing a block",
            "blocks",
            "predicted time",
            "CPU time taken",
            facts.compressions,
            duration_text,
        ),
        _Kind(
            "Writing a rank's dump",
            "dumps",
            "predicted time",
            "time taken",
            facts.writes,
            duration_text,
        ),
    ]
    figures = [_figure(kind) for kind in kinds if kind.guesses]
    if not figures:
        return ""
    return tag(
        "section",
        tag("h2", "Predicted and measured"),
        tag(
            "p",
            "On the dashed line a prediction was right; above it more came than was "
            "predicted. Both axes have powers of ten.",
            class_="note",
        ),
        key(
            ("dot", "first", "from a field's second dump on"),
            ("ring", "second", "its first dump, when nothing had been learned"),
        ),
        tag("div", *figures, class_="plots"),
    )


def _figure(kind: _Kind) -> str:
    guesses = kind.guesses
    drawn = guesses[:: -(-len(guesses) // _MOST)]
    learned = "first many" if len(drawn) > _MANY else "first"
    points = [("second" if one.first else learned, one.predicted, one.measured) for one in drawn]
    spoken = words(guesses, kind.noun)
    left = "" if len(drawn) == len(guesses) else f" Drawn: {len(drawn)} of {len(guesses)}."
    return tag(
        "figure",
        tag("figcaption", text(kind.title), tag("span", text(spoken + left))),
        scatter(
            points,
            (kind.across, kind.up),
            kind.said,
            f"{kind.title}, predicted and measured. {spoken}",
        ),
    )


def words(guesses: Sequence[Guess], noun: str) -> str:
    """Bias and spread, of what had been learned and of first dumps apart."""
    learned = [one for one in guesses if not one.first]
    firsts = [one for one in guesses if one.first]
    said = []
    if learned:
        said.append(_of(learned, noun))
    if firsts:
        begin = "First dumps" if learned else "First dumps only"
        said.append(f"{begin}: {_of(firsts, noun)}")
    return " ".join(said)


def bias_of(guesses: Sequence[Guess]) -> float:
    """What came in all over what was predicted in all, less 1."""
    return sum(g.measured for g in guesses) / sum(g.predicted for g in guesses) - 1.0


def spread_of(guesses: Sequence[Guess], share: float) -> float:
    """So far from its prediction is at most this share of them: |measured / predicted - 1|."""
    errors = sorted(abs(g.measured / g.predicted - 1.0) for g in guesses)
    return errors[min(len(errors) - 1, int(share * len(errors)))]


def _of(guesses: Sequence[Guess], noun: str) -> str:
    bias = 100 * bias_of(guesses)
    more = "more" if bias >= 0 else "less"
    half, most = 100 * spread_of(guesses, 0.5), 100 * spread_of(guesses, 0.9)
    counted = noun if len(guesses) != 1 else noun.removesuffix("s")
    return (
        f"{len(guesses)} {counted}, together {percent(abs(bias))} {more} than predicted; half "
        f"within ± {percent(half)}, nine of ten within ± {percent(most)}."
    )


def percent(value: float) -> str:
    """Two figures behind the point say nothing of hundreds."""
    return f"{value:.1f} %" if value < 100 else f"{value:.0f} %"
