"""The report's page in a browser: the numbers on it are those of the file, every control is reached
by keyboard, and nothing is cut off on paper, in the dark, or on a phone.

CAESURA_BROWSER names a Chromium; else the installed one is taken, else this skips.
"""

from __future__ import annotations

import json
import math
import re

import pytest
from browser import Browser, browser_path
from caesura.cli import app
from report_runs import BOUND, largest_errors, long_trace, odd_run, sizes_in
from typer.testing import CliRunner

pytestmark = pytest.mark.skipif(
    browser_path() is None, reason="no Chromium: apt-get install chromium, or CAESURA_BROWSER=PATH"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """File, trace and page."""
    folder = tmp_path_factory.mktemp("run")
    path, trace, _ = odd_run(folder)
    page = folder / "page.html"
    done = CliRunner().invoke(app, ["report", str(path), str(trace), "--html", str(page)])
    assert done.exit_code == 0, done.output
    return path, trace, page


@pytest.fixture
def page(browser, run):
    browser.media()
    browser.open(run[2])
    return browser


def rows(browser, caption):
    """Cells of the table behind the picture of that name."""
    name = json.dumps(caption)
    return browser.evaluate(
        f"""[...document.querySelectorAll("figure")]
            .filter((one) => one.querySelector("figcaption").firstChild.data === {name})
            .flatMap((one) => [...one.querySelectorAll("tbody tr")])
            .map((row) => [...row.cells].map((cell) => cell.textContent))"""
    )


def times(browser):
    """What the timeline shows, from and to."""
    said = browser.evaluate("document.getElementById('window').textContent")
    return [float(number) for number in re.findall(r"(-?[\d.]+) s", said)]


# ------------------------------------------------------------------------------------- content


def test_numbers_on_the_page_are_those_of_the_file(page, run):
    sizes = sizes_in(run[0])
    names = {name for name, _ in sizes}
    assert names == {"checked", "promised", "exact", "holes", "sometimes"}
    for name in names:
        shown = {row[0]: row for row in rows(page, name)}
        wanted = {f"iteration {n}": pair for (of, n), pair in sizes.items() if of == name}
        assert shown.keys() == wanted.keys()
        for dump, (raw, stored) in wanted.items():
            assert shown[dump][4] == f"{raw / stored:.2f}", (name, dump)
    for name in ("checked", "holes"):
        errors = {f"iteration {n}": error for n, error in largest_errors(run[0], name).items()}
        for row in rows(page, name):
            share = errors[row[0]] / BOUND
            assert abs(float(row[6]) - math.floor(share * 1000) / 1000) < 1.5e-3
            assert float(row[6]) <= 1
    assert {row[6] for row in rows(page, "promised")} == {"not measured"}


def test_pictures_draw_the_ratios_to_scale(page, run):
    """The path's heights, read back through the axis' own ticks, are the ratios."""
    drawn = page.evaluate(
        """(() => {
          const plot = [...document.querySelectorAll("figure")]
            .find((one) => one.querySelector("figcaption").firstChild.data === "exact");
          const up = plot.querySelector("g.up");
          const lines = [...up.querySelectorAll("line")].map((one) => +one.getAttribute("y1"));
          const ticks = [...up.querySelectorAll(".tick")].map((one) => +one.textContent);
          return [lines, ticks, plot.querySelector("path.line").getAttribute("d")];
        })()"""
    )
    lines, ticks, path = drawn
    assert ticks[0] == 0  # from zero
    per_unit = (lines[-1] - lines[0]) / (ticks[-1] - ticks[0])
    heights = [float(pair.split()[1]) for pair in re.findall(r"[\d.]+ [\d.]+", path)]
    wanted = [raw / stored for (name, _), (raw, stored) in sorted(sizes_in(run[0]).items())
              if name == "exact"]  # fmt: skip
    assert [(y - lines[0]) / per_unit for y in heights] == pytest.approx(wanted, abs=0.02)


def test_nothing_is_asked_of_a_network_and_no_script_fails(page, run):
    assert page.requested() == [run[2].as_uri()]
    assert page.complaints() == []


# ------------------------------------------------------------------------------------- keyboard


def test_every_control_is_reached_with_tab_and_shows_that_it_is(page):
    page.evaluate(
        "document.querySelectorAll('button, summary, #stage').forEach((e, i) => e.dataset.t = i)"
    )
    wanted = set(
        page.evaluate("[...document.querySelectorAll('[data-t]')].map((e) => e.dataset.t)")
    )
    assert len(wanted) >= 14
    seen = set()
    for _ in range(4 * len(wanted)):
        page.press("Tab")
        at = page.evaluate(
            """(() => {
              const e = document.activeElement, style = getComputedStyle(e);
              return [e.dataset.t ?? null, style.outlineStyle !== "none"];
            })()"""
        )
        if at[0] is not None:
            assert at[1], f"control {at[0]} does not show the focus"
            seen.add(at[0])
        if seen == wanted:
            break
    assert seen == wanted


def test_the_timeline_moves_with_the_keys(page):
    page.evaluate("document.getElementById('stage').focus()")
    home = times(page)
    near_enough = 0.02 * (home[1] - home[0])  # an iteration of the run may be short
    page.press("ArrowRight")
    right = times(page)
    assert right[0] > home[0]
    assert right[1] - right[0] == pytest.approx(home[1] - home[0], abs=near_enough)
    page.press("ArrowLeft")
    assert times(page) == pytest.approx(home, abs=near_enough)
    page.press("+")
    near = times(page)
    assert near[1] - near[0] < 0.7 * (home[1] - home[0])
    page.press("-")
    page.press("End")
    whole = times(page)
    assert whole[1] - whole[0] > home[1] - home[0]
    page.press("Home")
    assert times(page) == pytest.approx(home, abs=near_enough)
    page.press("PageDown")
    assert sum(times(page)[:2]) >= sum(home[:2]) - near_enough  # the middle of a later one


def test_buttons_and_tables_work_from_the_keyboard(page):
    page.evaluate("document.querySelector('[data-action=in]').focus()")
    before = times(page)
    page.press("Enter")
    after = times(page)
    assert after[1] - after[0] < before[1] - before[0]
    page.evaluate("document.querySelector('summary').focus()")
    page.press("Enter")
    assert page.evaluate("document.querySelector('details').open")


# --------------------------------------------------------------------- paper, the dark, a phone


def test_print_shows_all_tables_and_cuts_nothing(page, run):
    page.on_paper()
    assert page.evaluate("document.querySelectorAll('details:not([open])').length") == 0
    assert page.cut_off() == []
    assert page.clipped() == []
    assert page.evaluate("getComputedStyle(document.querySelector('.toolbar')).display") == "none"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.querySelectorAll('details[open]').length") == 0
    page.media()
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_both_themes(browser, run, scheme):
    browser.media(scheme=scheme)
    browser.open(run[2])
    assert browser.weak_texts() == []
    back = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    shade = sum(int(n) for n in re.findall(r"\d+", back)[:3])
    assert (shade < 100) == (scheme == "dark")


def test_a_phone_needs_no_sideways_scrolling(browser, run):
    browser.media()
    browser.open(run[2], width=390, height=844)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    assert browser.cut_off() == []
    browser.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_long_runs_page_opens_and_stays_within_what_is_drawn(browser, tmp_path):
    trace, page = long_trace(tmp_path, dumps=400, fields=8), tmp_path / "long.html"
    done = CliRunner().invoke(app, ["report", str(trace), "--html", str(page)])
    assert done.exit_code == 0, done.output
    browser.media()
    browser.open(page)
    first, last = browser.evaluate(
        "(({from, to}) => [+from, +to])(document.getElementById('detail').dataset)"
    )
    assert 0 < first < last < 800
    browser.evaluate("document.getElementById('stage').focus()")
    for key in ("End", *["ArrowRight"] * 12, *["PageDown"] * 3):
        browser.press(key)
        begin, end = times(browser)[:2]
        assert first - 0.06 * (end - begin) <= begin
        assert end <= last + 0.06 * (end - begin)


# ------------------------------------------------------------------------------ seeing colours


def linear(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


# Machado, Oliveira, Fernandes 2009, severity 1: what is left of a colour.
SIGHTS = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
                   (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                     (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
                   (0.004733, 0.691367, 0.303900)),
}  # fmt: skip


def lab(colour, sight):
    r, g, b = (max(0.0, min(1.0, sum(m * c for m, c in zip(row, linear(colour), strict=True))))
               for row in SIGHTS[sight])  # fmt: skip
    xyz = (0.4124 * r + 0.3576 * g + 0.1805 * b, 0.2126 * r + 0.7152 * g + 0.0722 * b,
           0.0193 * r + 0.1192 * g + 0.9505 * b)  # fmt: skip
    f = [t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116
         for t in (v / w for v, w in zip(xyz, (0.9505, 1.0, 1.089), strict=True))]  # fmt: skip
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("sight", SIGHTS)
def test_colours_of_a_row_are_told_apart_by_every_eye(browser, run, scheme, sight):
    browser.media(scheme=scheme)
    browser.open(run[2])

    def colours(selector, names):
        return {
            name: browser.evaluate(
                f"getComputedStyle(document.querySelector('{selector}'))"
                f".getPropertyValue('--{name}').trim()"
            )
            for name in names
        }

    for selector, names in (
        (".plot", ("first", "second")),
        (".timeline", ("put", "end", "wait", "iteration")),
        (".timeline", ("write", "sync", "commit")),
    ):
        found = colours(selector, names)
        seen = {name: lab(colour, sight) for name, colour in found.items()}
        for one in names:
            for other in names:
                if one < other:
                    apart = math.dist(seen[one], seen[other])
                    assert apart > 14, f"{one} {found[one]} and {other} {found[other]}: {apart:.0f}"
