"""The picture of what a demonstration simulated: density and particles, as Caesura's file has them.

Left a thin slab of the whole box, right a part of it enlarged, around its densest cell, with the
particles as points. x runs to the right and y upwards; the slab is thin in z. A mesh node i is the
centre of pixel i and lies at i cells, as the mini-app's particles are counted.

A dump has the particles as the next step begins with them: it is the next step's density that they
make. So the last density is drawn with the particles of the dump before, if that is one step away.

The field's colours are the same in light and dark pages; text and frames follow the page.
"""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import caesura
import h5py
import numpy as np
from caesura.report.markup import tag, text
from caesura.report.quantities import nice_step

_FIELD, _SPECIES = "dark_matter_density", "dark_matter"
_METRES_PER_MPC = 3.0856775814913673e22
_SIDE, _LEFT, _TOP, _RIGHT = 400.0, 64.0, 34.0, 556.0  # of a panel; where the panels begin
_MOST_POINTS = 8000
_READ_AT_ONCE = 1 << 20
# From black through violet and red to yellow: darker is always less.
_ANCHORS = (
    (8, 9, 24),
    (46, 24, 92),
    (128, 37, 104),
    (208, 72, 66),
    (244, 150, 54),
    (252, 232, 158),
)


@dataclass(frozen=True)
class Universe:
    """One dump: a slab's mean density, and the particles that lie in it. Lengths in Mpc."""

    step: int
    density: np.ndarray  # [x, y], in means
    bound: float  # largest error of a density; 0: none
    cell: float
    z: tuple[float, float]  # of the slab
    centre: tuple[int, int]  # of the part that is enlarged, in cells
    points: np.ndarray | None  # [x or y, particle]; None: the file has no particles
    ids: np.ndarray | None
    points_step: int = 0  # whose dump they are from

    @property
    def cells(self) -> int:
        return len(self.density)

    def part(self) -> tuple[int, int, int]:
        """First cells and number of cells a side of what is enlarged: a quarter of the box."""
        side = max(8, self.cells // 4)
        first = [min(max(at - side // 2, 0), self.cells - side) for at in self.centre]
        return first[0], first[1], side


def read_universe(path: Path) -> Universe | None:
    """The last dump; None where the file has none of this program's."""
    with caesura.open(path) as file:
        steps = sorted((int(n) for n in file.get("data", {})), reverse=True)
        for step in steps:
            dump = file[f"data/{step}"]
            if f"meshes/{_FIELD}" in dump:
                before = step - 1 if step - 1 in steps else step
                return _read(step, dump, before, file[f"data/{before}"])
    return None


def _read(step: int, dump: h5py.Group, points_step: int, points_dump: h5py.Group) -> Universe:
    field = dump[f"meshes/{_FIELD}"]
    values = field[...]
    n = len(values)
    densest = np.unravel_index(int(np.argmax(values)), values.shape)
    thick = max(1, n // 80)
    first = min(max(int(densest[2]) - thick // 2, 0), n - thick)
    spacing_mpc = float(field.attrs["gridSpacing"][0]) * field.attrs["gridUnitSI"] / _METRES_PER_MPC
    cell = float(spacing_mpc)
    z = ((first - 0.5) * cell, (first + thick - 0.5) * cell)
    box = n * cell
    points, ids = _particles(points_dump.get(f"particles/{_SPECIES}"), z, box, 0.5 * cell)
    return Universe(
        step=step,
        density=values[:, :, first : first + thick].mean(axis=2),
        bound=float(field.attrs.get("caesura_bound", 0.0)),
        cell=cell,
        z=z,
        centre=(int(densest[0]), int(densest[1])),
        points=points,
        ids=ids,
        points_step=points_step,
    )


def _particles(
    species: h5py.Group | None, z: tuple[float, float], box: float, edge: float
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """x and y of those in the slab, and their ids. The box is periodic: pictures begin half a cell
    before its origin, and so do the places."""
    if species is None or not isinstance(species.get("position/x"), h5py.Dataset):
        return None, None
    parts: list[np.ndarray] = []
    ids: list[np.ndarray] = []
    count = len(species["position/x"])
    for begin in range(0, count, _READ_AT_ONCE):
        where = slice(begin, begin + _READ_AT_ONCE)
        places = []
        for axis in "xyz":
            component = species[f"position/{axis}"]
            unit = float(component.attrs["unitSI"]) / _METRES_PER_MPC
            place = component[where].astype(np.float64) * unit
            places.append((place + edge) % box - edge)
        inside = (places[2] >= z[0]) & (places[2] < z[1])
        parts.append(np.stack([places[0][inside], places[1][inside]]))
        ids.append(species["id"][where][inside])
    return np.concatenate(parts, axis=1), np.concatenate(ids)


def universe_section(universe: Universe) -> str:
    return tag(
        "section",
        tag("h2", text(f"What was simulated: dump {universe.step} in Caesura's file")),
        tag("div", universe_svg(universe), class_="scroll"),
        tag("p", text(_caption(universe)), class_="note"),
    )


def universe_svg(universe: Universe) -> str:
    low, high = _scale(universe)
    x0, y0, side = universe.part()
    whole = _Panel(universe, 0, 0, universe.cells, _LEFT)
    part = _Panel(universe, x0, y0, side, _RIGHT)
    cell = universe.cell
    drawn, every = _drawn(universe, part)
    count = "" if universe.points is None else ", with its particles"
    return tag(
        "svg",
        _title(_LEFT, f"Dark matter, a slab {universe.z[1] - universe.z[0]:.2g} Mpc thick"),
        _image(whole, low, high, dim=1.0),
        _frame(whole, x0, y0, side),
        _axes(whole),
        _title(_RIGHT, f"The frame enlarged, {side * cell:.3g} Mpc a side{count}"),
        _image(part, low, high, dim=0.62 if len(drawn) else 1.0),
        _points(part, drawn),
        _axes(part),
        _colour_bar(low, high),
        _point_key(drawn, every) if universe.points is not None else "",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 980 {_TOP + _SIDE + 118:g}",
        class_="chart",
        role="img",
        aria_label="Density of dark matter in a slab of the box, and particles in a part of it",
        style="width:100%;max-width:980px;min-width:640px",
    )


def _caption(universe: Universe) -> str:
    sentences = [
        f"Density in means, from the file: the mean over the slab {universe.z[0]:.2f} to "
        f"{universe.z[1]:.2f} Mpc of z, through the densest cell. Lengths are comoving."
    ]
    if universe.bound > 0:
        sentences.append(
            f"Each density may be off by {universe.bound:g}; below that all is one colour."
        )
    if universe.points is None:
        sentences.append("The file has no particles; --write-particles writes them, too.")
    else:
        made = "of which this density was made"
        if universe.points_step == universe.step:
            made = "one drift after this density: the dump before is more than a step away"
        sentences.append(
            f"Points are the particles of dump {universe.points_step} in this slab, {made}."
        )
    return " ".join(sentences)


def _scale(universe: Universe) -> tuple[float, float]:
    """Where colours begin and end, in means; logarithmic between."""
    low = max(universe.bound, 0.1)
    return low, max(float(universe.density.max()), 10.0 * low)


class _Panel:
    """A square of cells, drawn from `left`; places in Mpc to places in the picture."""

    def __init__(self, universe: Universe, x0: int, y0: int, side: int, left: float) -> None:
        self.values = universe.density[x0 : x0 + side, y0 : y0 + side]
        self.left = left
        self.low = ((x0 - 0.5) * universe.cell, (y0 - 0.5) * universe.cell)
        self.length = side * universe.cell
        self.cell = universe.cell

    def x(self, place: float) -> float:
        return self.left + (place - self.low[0]) / self.length * _SIDE

    def y(self, place: float) -> float:
        return _TOP + _SIDE - (place - self.low[1]) / self.length * _SIDE


def _title(left: float, words: str) -> str:
    return tag("text", text(words), x=left, y=_TOP - 12, style="font-weight:600")


def _image(panel: _Panel, low: float, high: float, dim: float) -> str:
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.log(np.maximum(panel.values, low) / low) / np.log(high / low)
    numbers = np.clip(np.rint(255 * share), 0, 255).astype(np.uint8)
    rows = numbers.T[::-1]  # y upwards: its largest in the first row
    # Cells stay squares: programs that enlarge a picture smooth it, each in its own way.
    times = -(-int(_SIDE) // len(rows))
    rows = rows.repeat(times, axis=0).repeat(times, axis=1)
    return _raster(rows, dim, panel.left, _TOP, _SIDE)


def _raster(rows: np.ndarray, dim: float, left: float, top: float, height: float) -> str:
    data = base64.b64encode(_png(rows, _palette(dim))).decode()
    place = {"x": left, "y": top, "width": _SIDE, "height": height}
    return tag("image", href=f"data:image/png;base64,{data}", **place, preserveAspectRatio="none",
               style="image-rendering:pixelated")  # fmt: skip


def _palette(dim: float) -> np.ndarray:
    at = np.linspace(0, 1, len(_ANCHORS))
    anchors = np.array(_ANCHORS, dtype=float)
    wanted = np.linspace(0, 1, 256)
    channels = [np.interp(wanted, at, anchors[:, channel]) for channel in range(3)]
    return np.rint(dim * np.stack(channels, axis=1)).astype(np.uint8)


def _png(rows: np.ndarray, palette: np.ndarray) -> bytes:
    """One byte a pixel, the number of a colour."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        checksum = zlib.crc32(kind + body)
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", checksum)

    height, width = rows.shape
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    lines = np.zeros((height, width + 1), dtype=np.uint8)  # each begins with "no filter"
    lines[:, 1:] = rows
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", head),
            chunk(b"PLTE", palette.tobytes()),
            chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
            chunk(b"IEND", b""),
        ]
    )


def _frame(panel: _Panel, x0: int, y0: int, side: int) -> str:
    low = [(first - 0.5) * panel.cell for first in (x0, y0)]
    length = side * panel.cell
    return tag("rect", x=panel.x(low[0]), y=panel.y(low[1] + length), fill="none",
               width=length / panel.length * _SIDE, height=length / panel.length * _SIDE,
               stroke="#ffffff", stroke_width=1.5)  # fmt: skip


def _drawn(universe: Universe, panel: _Panel) -> tuple[np.ndarray, int]:
    """Places [particle, x or y] inside the panel; every how many are drawn, chosen by id, so that
    neither mode nor ranks change the picture."""
    if universe.points is None or universe.ids is None:
        return np.empty((0, 2)), 1
    x, y = universe.points
    inside = (x >= panel.low[0]) & (x < panel.low[0] + panel.length)
    inside &= (y >= panel.low[1]) & (y < panel.low[1] + panel.length)
    every = max(1, -(-int(np.count_nonzero(inside)) // _MOST_POINTS))
    chosen = inside & (universe.ids % np.uint64(every) == 0)
    return np.stack([x[chosen], y[chosen]], axis=1), every


def _points(panel: _Panel, drawn: np.ndarray) -> str:
    """One path: a line of no length with round ends is a point."""
    moves = [f"M{panel.x(x):.1f} {panel.y(y):.1f}h0" for x, y in drawn]
    return tag("path", d="".join(moves), fill="none", stroke="#d9f3ff", stroke_width=2.0,
               stroke_linecap="round", stroke_opacity=0.75) if moves else ""  # fmt: skip


def _axes(panel: _Panel) -> str:
    """A frame, ticks on the left and below, and what they count."""
    bottom = _TOP + _SIDE
    parts = [tag("rect", class_="zero", x=panel.left, y=_TOP, width=_SIDE, height=_SIDE,
                 fill="none")]  # fmt: skip
    step = nice_step(panel.length, 5)
    for axis in (0, 1):
        tick = -(-panel.low[axis] // step) * step
        while tick <= panel.low[axis] + panel.length:
            label = text(f"{tick + 0.0:.4g}")
            if axis == 0:
                at = panel.x(tick)
                parts.append(tag("line", class_="zero", x1=at, x2=at, y1=bottom, y2=bottom + 5))
                parts.append(tag("text", label, x=at, y=bottom + 19, text_anchor="middle",
                                 class_="soft"))  # fmt: skip
            else:
                at = panel.y(tick)
                parts.append(tag("line", class_="zero", x1=panel.left - 5, x2=panel.left, y1=at,
                                 y2=at))  # fmt: skip
                parts.append(tag("text", label, x=panel.left - 9, y=at + 4, text_anchor="end",
                                 class_="soft"))  # fmt: skip
            tick += step
    middle = _TOP + _SIDE / 2
    parts.append(tag("text", "x, Mpc", x=panel.left + _SIDE / 2, y=bottom + 38,
                     text_anchor="middle", class_="soft"))  # fmt: skip
    turned = f"rotate(-90 {panel.left - 44:g} {middle:g})"
    parts.append(tag("text", "y, Mpc", x=panel.left - 44, y=middle, text_anchor="middle",
                     class_="soft", transform=turned))  # fmt: skip
    return "".join(parts)


def _colour_bar(low: float, high: float) -> str:
    y = _TOP + _SIDE + 58
    strip = np.arange(256, dtype=np.uint8)[None, :].repeat(12, axis=0)
    parts = [
        _raster(strip, 1.0, _LEFT, y, 12.0),
        tag("rect", class_="zero", x=_LEFT, y=y, width=_SIDE, height=12.0, fill="none"),
    ]
    decade = 10.0 ** np.ceil(np.log10(low) - 1e-9)
    while decade <= high:
        at = float(_LEFT + np.log(decade / low) / np.log(high / low) * _SIDE)
        parts.append(tag("line", class_="zero", x1=at, x2=at, y1=y + 12, y2=y + 17))
        parts.append(tag("text", text(f"{decade:g}"), x=at, y=y + 31, text_anchor="middle",
                         class_="soft"))  # fmt: skip
        decade *= 10.0
    parts.append(tag("text", "density, in means", x=_LEFT + _SIDE / 2, y=y + 50,
                     text_anchor="middle", class_="soft"))  # fmt: skip
    return "".join(parts)


def _point_key(drawn: np.ndarray, every: int) -> str:
    y = _TOP + _SIDE + 64
    words = f"a particle ({len(drawn):,} drawn{f', 1 in {every}' if every > 1 else ', all'})"
    return "".join(
        [
            tag("rect", x=_RIGHT, y=y - 8, width=18, height=16, rx=3, fill="#2b1a3a"),
            tag("circle", cx=_RIGHT + 9, cy=y, r=2.0, fill="#d9f3ff"),
            tag("text", text(words), x=_RIGHT + 26, y=y + 5, class_="soft"),
        ]
    )
