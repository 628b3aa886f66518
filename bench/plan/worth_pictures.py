"""Pictures of worth.py: distance from the best known over planning time, and overhead over load."""

from __future__ import annotations

from svg import Axis, document, line, mark, polyline, spread_out, words

WIDTH, HEIGHT = 1060.0, 430.0
TOP, BOTTOM = 84.0, 372.0
PANELS = ((70.0, 400.0), (620.0, 950.0))  # left and right of each plot
TITLES = {
    "excluded": "an obstacle excludes a compression (S0)",
    "resumable": "an obstacle suspends a compression",
}
CLASSES = {
    "generation_list": "other",
    "generation_list_backfill": "sz",
    "ext_johnson_backfill": "alt",
    "default": "ours",
}
LEAST_MS = 5e-4


def _time(ms: float) -> str:
    return f"{1000 * ms:g} µs" if ms < 1 else f"{ms:g} ms"


def _frame(x: Axis, y: Axis, left: float, right: float, ticks: list, label: str) -> list[str]:
    parts = []
    for value in y.ticks():
        parts.append(line(left, y(value), right, y(value), "grid"))
        parts.append(words(left - 6, y(value) + 4, f"{100 * value:g} %", "tick", "end"))
    for value, text in ticks:
        parts.append(line(x(value), TOP, x(value), BOTTOM, "grid"))
        parts.append(words(x(value), BOTTOM + 16, text, "tick", "middle"))
    parts.append(words((left + right) / 2, BOTTOM + 36, label, "soft", "middle"))
    return parts


def _names(names: list[tuple[float, str, str]], x: float) -> list[str]:
    """Labels right of the plot, apart."""
    places = spread_out([y for y, _, _ in names], 15.0, TOP, BOTTOM)
    return [
        words(x + 8, y + 4, name, f"name {class_}")
        for y, (_, name, class_) in zip(places, names, strict=True)
    ]


def draw_budget(figures: dict) -> str:
    """Lists as marks, the search as a curve; mean and worst."""
    parts = [
        words(24, 30, "What time for planning buys", "heading"),
        words(24, 50, "how much later than the best known plan the last write ends, mean of "
              f"{figures['excluded']['instances']} instances of 32 blocks (marks: of all 201)",
              "soft"),
    ]  # fmt: skip
    highest = max(o["gap_mean"] for k in TITLES for o in figures[k]["others"].values())
    for (left, right), (kind, title) in zip(PANELS, TITLES.items(), strict=True):
        x, y = Axis(LEAST_MS, 200, left, right), Axis(0, 1.08 * highest, BOTTOM, TOP, log=False)
        ticks = [(10.0**p, _time(10.0**p)) for p in range(-3, 3)]
        parts.append(words(left, TOP - 12, title, "panel"))
        parts += _frame(x, y, left, right, ticks, "time for one plan")
        search = figures[kind]["search"]
        points = [(r["budget_ms"] or r["taken_ms"], r) for r in search]
        for key, class_ in (("gap_worst", "line ours dashed"), ("gap_mean", "line ours")):
            shown = [(x(t), y(min(r[key], 1.08 * highest))) for t, r in points]
            parts.append(polyline(shown, class_))
        names = [
            (y(min(search[-1]["gap_mean"], highest)), "search: mean", "ours"),
            (y(min(search[-1]["gap_worst"], highest)), "search: worst", "ours"),
        ]
        lists = {n: o for n, o in figures[kind]["others"].items() if n != "search"}
        at = {n: (x(max(LEAST_MS, o["taken_ms"])), y(o["gap_mean"])) for n, o in lists.items()}
        tops = spread_out([place[1] for place in at.values()], 13.0, TOP, BOTTOM)
        for (name, place), top in zip(at.items(), tops, strict=True):
            gap = 100 * lists[name]["gap_mean"]
            parts.append(mark(*place, "square", "sz", f"{name}: {gap:.2f} %"))
            parts.append(words(place[0] + 9, top + 4, name, "tick"))
        parts += _names(names, right)
    return document(WIDTH, HEIGHT, *parts)


def draw_load(load: dict, compared: tuple[str, ...]) -> str:
    """What the dump adds to the iteration over how busy the busier lane is."""
    parts = [
        words(24, 30, "When planning pays", "heading"),
        words(24, 50, "what the dump adds to the iteration, mean of "
              f"{load['instances']} instances a point; no plan hides more than 100 %", "soft"),
    ]  # fmt: skip
    loads = load["loads"]
    highest = 1.05 * max(max(load[kind][name]) for kind in TITLES for name in compared)
    for (left, right), (kind, title) in zip(PANELS, TITLES.items(), strict=True):
        x = Axis(loads[0], loads[-1], left, right, log=False)
        y = Axis(0, highest, BOTTOM, TOP, log=False)
        ticks = [(v, f"{100 * v:.0f} %") for v in loads if round(100 * v) % 10 == 0]
        parts.append(words(left, TOP - 12, title, "panel"))
        parts += _frame(x, y, left, right, ticks, "of the busier lane is needed")
        names = []
        for name in compared:
            points = [(x(v), y(g)) for v, g in zip(loads, load[kind][name], strict=True)]
            parts.append(polyline(points, f"line {CLASSES[name]}"))
            names.append((points[-1][1], name, CLASSES[name]))
        parts += _names(names, right)
    return document(WIDTH + 60, HEIGHT, *parts)
