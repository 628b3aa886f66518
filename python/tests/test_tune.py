"""caesura tune: qualities are what the page says, and what it recommends keeps the goal when a
Writer writes with it."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import caesura
import h5py
import numpy as np
import pytest
from caesura.cli import app, common
from caesura.tuning import configuration, goals, picture, qualities, search, sources, trying
from numpy.lib.stride_tricks import sliding_window_view
from typer.testing import CliRunner

SEED = 20261126


def smooth(shape: tuple[int, ...], seed: int = SEED, scales: int = 4) -> np.ndarray:
    """Noise smoothed along every axis, periodic, around 3."""
    values = np.random.default_rng(seed).normal(size=shape)
    for axis in range(values.ndim):
        for _ in range(scales):
            values = values + np.roll(values, 1, axis) + np.roll(values, -1, axis)
    return (values / values.std() + 3).astype(np.float32)


def noisy(values: np.ndarray, size: float) -> np.ndarray:
    noise = np.random.default_rng(SEED + 1).uniform(-size, size, values.shape)
    return (values + noise).astype(values.dtype)


def save(path: Path, **datasets: np.ndarray) -> Path:
    with h5py.File(path, "w") as file:
        for name, values in datasets.items():
            file[name.replace("__", "/")] = values
    return path


def command(*arguments: object) -> Any:
    """The command line, in this process."""
    return CliRunner().invoke(app, ["tune", *map(str, arguments)])


# ----------------------------------------------------------- what the page says, written out again


def psnr(x: np.ndarray, y: np.ndarray) -> float:
    finite = np.isfinite(x)
    a, b = x[finite].astype(float), y[finite].astype(float)
    return 20 * math.log10(a.max() - a.min()) - 10 * math.log10(np.mean((a - b) ** 2))


def ssim(x: np.ndarray, y: np.ndarray) -> float:
    if x.ndim == 4:
        whole = [
            windows_of(a, b, float(x.max()) - float(x.min())) for a, b in zip(x, y, strict=True)
        ]
        return float(np.mean(whole))
    return float(windows_of(x, y, float(x.max()) - float(x.min())).mean())


def windows_of(x: np.ndarray, y: np.ndarray, span: float) -> np.ndarray:
    window = tuple(min(7, n) for n in x.shape)
    over = tuple(range(x.ndim, 2 * x.ndim))
    a, b = (sliding_window_view(v.astype(float), window) for v in (x, y))
    m, n = a.mean(over), b.mean(over)
    v, w = a.var(over), b.var(over)
    c = (a * b).mean(over) - m * n
    c1, c2 = (0.01 * span) ** 2, (0.03 * span) ** 2
    return (2 * m * n + c1) * (2 * c + c2) / ((m * m + n * n + c1) * (v + w + c2))


def gradient(x: np.ndarray, y: np.ndarray) -> float:
    wrong = whole = 0.0
    for axis in (i for i, n in enumerate(x.shape) if n >= 3):
        inner = tuple(slice(1, -1) if i == axis else slice(None) for i in range(x.ndim))
        before, after = (np.gradient(v.astype(float), axis=axis)[inner] for v in (x, y))
        wrong, whole = wrong + ((after - before) ** 2).sum(), whole + (before**2).sum()
    return math.sqrt(wrong / whole)


def spectrum(x: np.ndarray, y: np.ndarray) -> float:
    longest = max(x.shape)
    f = np.meshgrid(*(np.fft.fftfreq(n) for n in x.shape), indexing="ij")
    shells = np.rint(longest * np.sqrt(sum(each**2 for each in f)))
    before, after = (np.abs(np.fft.fftn(v.astype(float))) ** 2 for v in (x, y))
    return max(
        abs(after[shells == s].mean() / before[shells == s].mean() - 1)
        for s in range(1, longest // 2 + 1)
    )


BY_HAND = {"psnr": psnr, "ssim": ssim, "gradient": gradient, "spectrum": spectrum}


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize(
    "shape", [(40,), (31, 20), (5, 9, 12), (12, 13, 16), (24, 3, 8), (3, 8, 9, 10)]
)
def test_a_quality_is_what_the_page_says_whatever_the_slabs(name, shape, monkeypatch):
    x = smooth(shape)
    y = noisy(x, 0.05)
    expected = BY_HAND[name](x, y)
    span = float(x.max()) - float(x.min())
    for slab in (1, 100, 1 << 30):
        monkeypatch.setattr(qualities, "_SLAB_VALUES", slab)
        measure = qualities.About(name, span, max(shape)).measure()
        measure.add(x, y)
        assert measure.value() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
@pytest.mark.parametrize("name", BY_HAND)
def test_a_quality_does_not_depend_on_the_unit_of_the_field(name, unit):
    """Squares of such values are 0, or infinite."""
    x = smooth((12, 13, 16)).astype(np.float64)
    y = noisy(x, 0.05)
    measure = qualities.About(name, unit * float(np.ptp(x)), 16).measure()
    measure.add(unit * x, unit * y)
    assert measure.value() == pytest.approx(BY_HAND[name](x, y), rel=1e-9)


def test_psnr_leaves_out_what_is_not_finite():
    x = smooth((10, 12))
    x[2, 3], x[4, 5] = np.nan, np.inf
    y = x + np.float32(0.01)
    good = x[np.isfinite(x)]
    measure = qualities.About("psnr", float(good.max()) - float(good.min()), 12).measure()
    measure.add(x, y)
    assert measure.value() == pytest.approx(psnr(x, y))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_wave_lies_in_the_shell_of_its_wavelength_along_every_axis(axis):
    shape = (16, 32, 24)  # cells are cubes: 4 cells a wave are 8 waves along the longest axis
    wave = np.sin(2 * np.pi * np.indices(shape)[axis] / 4)
    power = qualities.power_spectrum(wave)
    assert power.size == 17
    assert np.argmax(power) == 8
    assert power[8] > 1e20 * np.delete(power, 8).max()


def test_exact_fields_have_the_best_of_qualities():
    x = smooth((12, 12, 12))
    for name, quality in goals.QUALITIES.items():
        measure = qualities.About(name, 1.0, 12).measure()
        measure.add(x, x.copy())
        assert measure.value() == pytest.approx(quality.exact, abs=1e-12)


# ------------------------------------------------------------------------------------------- goals


@pytest.mark.parametrize(
    ("text", "value"),
    [("psnr=80", 80), ("ssim=0.999", 0.999), ("spectrum=1%", 0.01), ("gradient = 0.02", 0.02)],
)
def test_goals_are_read(text, value):
    goal = goals.parse_goal(text)
    assert goal.value == pytest.approx(value)
    assert not goal.met_by(math.nan)
    assert goal.met_by(goal.quality.exact)


@pytest.mark.parametrize(
    "text",
    ["vmaf=90", "psnr", "psnr=", "psnr=80%", "psnr=-3", "ssim=1", "ssim=1.2", "spectrum=0",
     "gradient=100%", "psnr=nan", "=80"],
)  # fmt: skip
def test_goals_that_none_can_have_are_usage_errors(text, tmp_path):
    with pytest.raises(ValueError, match="--quality is"):
        goals.parse_goal(text)


def test_nines_are_shown_as_many_as_there_are():
    ssim_kind = goals.QUALITIES["ssim"]
    assert goals.shown(ssim_kind, 0.99999876) == "0.99999876"
    assert goals.shown(ssim_kind, 0.5) == "0.500"


# -------------------------------------------------------------------------------- from end to end


@pytest.fixture(scope="module")
def two_dumps(tmp_path_factory) -> Path:
    """Iterations of one field that need different bounds, as a run has them."""
    path = tmp_path_factory.mktemp("tune") / "run.h5"
    with caesura.Writer(path, bound=caesura.lossless()) as writer:
        rho = writer.define_field("rho", np.float32, (24, 32, 40))
        count = writer.define_field("count", np.int32, (24, 32, 40))
        for n, scales in enumerate((5, 1)):
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=n)
                dump.put(rho, smooth((24, 32, 40), SEED + n, scales))
                dump.put(count, np.zeros((24, 32, 40), np.int32))
    return path


@pytest.mark.parametrize("goal", ["psnr=70", "ssim=0.999", "spectrum=1%", "gradient=2%"])
def test_a_writer_with_the_pasted_lines_keeps_the_goal_in_every_dump(goal, two_dumps, tmp_path):
    told = command(two_dumps, "-f", "rho", "-q", goal, "--json")
    assert told.exit_code == 0, told.stderr
    document = json.loads(told.stdout)
    assert document["met"]
    assert document["sampled_bytes"] == document["raw_bytes"] == 2 * 24 * 32 * 40 * 4
    wanted, measured = goals.parse_goal(goal), BY_HAND[goal.partition("=")[0]]
    reader = caesura.open(two_dumps)
    originals = [reader[f"data/{n}/meshes/rho"][...] for n in (0, 1)]
    path = tmp_path / "again.h5"
    with caesura.Writer(path) as writer:
        names = {"writer": writer, "numpy": np, "caesura": caesura, "nz": 24, "ny": 32, "nx": 40}
        exec(document["configuration"]["python"], names)
        for n, values in enumerate(originals):
            with writer.iteration(n) as iteration:
                iteration.begin_dump(time=n).put(names["rho"], values)
    with caesura.open(path) as file:
        found = [measured(originals[n], file[f"data/{n}/meshes/rho"][...]) for n in (0, 1)]
    assert all(wanted.met_by(each) for each in found)
    said = [one["quality"] for one in document["chosen"]["dumps"]]
    assert found == pytest.approx(said, rel=1e-6)
    assert document["chosen"]["quality"] == wanted.worst(said)
    rule = tomllib.loads(document["configuration"]["toml"])["dataset"][0]
    assert rule["path"] == "/data/*/meshes/rho"
    assert (rule["bound_kind"], rule["bound"]) == ("relative", document["chosen"]["bound"])


def test_a_bound_a_tenth_looser_misses_the_goal(two_dumps):
    dumps = sources.find([two_dumps], "rho")
    goal = goals.parse_goal("psnr=70")
    answer = search.tune(dumps, search.Asked(goal, codecs=["caesura"]))
    looser = caesura.relative(1.1 * answer.chosen.bound.value)
    values = dumps[0].whole(), dumps[1].whole()
    results = []
    for original in values:
        back = caesura.codec.decompress(caesura.codec.compress(original, looser))
        results.append(psnr(original, back))
    assert min(results) < 70 <= answer.chosen.quality < 70.5


def waves_of(wave_number: int, noise: float = 0.0) -> np.ndarray:
    """64 values of one wave number, to the last bit."""
    period = 64 // wave_number
    wave = np.tile(np.sin(2 * np.pi * np.arange(period) / period), wave_number)
    return wave + noise * np.random.default_rng(SEED).normal(size=64)


def test_a_dump_without_what_is_asked_for_does_not_hide_the_others(tmp_path):
    """Of the second one nothing lies at wave numbers 1 to 8. The third one decides."""
    steps = {"s1__rho": waves_of(2, 0.3), "s2__rho": waves_of(32) + np.tile([0, 1.0], 32)}
    steps["s3__rho"] = waves_of(4, 1e-6)
    path = save(tmp_path / "three.h5", **steps)
    arguments = ["-q", "spectrum=1%", "--wavenumbers", "1:8", "--codec", "caesura", "--json"]
    told = command(path, "-f", "*/rho", *arguments)
    assert told.exit_code == 3
    error = json.loads(told.stdout)["error"]
    assert "/s2/rho has no power at these wave numbers" in error
    told = command(path, "-f", "s[13]/rho", *arguments)
    assert told.exit_code in (0, 1), told.stderr
    assert len(json.loads(told.stdout)["dumps"]) == 2


@pytest.mark.parametrize("shape", [(2, 2), (2,)], ids=["2 x 2", "2"])
def test_a_field_without_gradients_keeps_none(shape, tmp_path):
    values = np.random.default_rng(SEED).normal(size=shape)
    told = command(save(tmp_path / "x.h5", x=values), "-q", "gradient=1%", "--json")
    assert told.exit_code == 3
    assert "no central differences" in json.loads(told.stdout)["error"]


@pytest.mark.parametrize("goal", ["psnr=60", "ssim=0.999", "spectrum=1%", "gradient=1%"])
def test_a_sample_without_anything_in_it_does_not_end_the_search(goal, tmp_path, monkeypatch):
    """Rows 48 to 71 are 0: as of a blast wave, or of a laser that has not arrived."""
    field = smooth((96, 32, 32)) - np.float32(3)
    field[48:72] = 0
    (dump,) = sources.find([save(tmp_path / "blast.h5", rho=field)], None)
    monkeypatch.setattr(search, "BLOCK_BYTES", 1 << 16)
    asked = search.Asked(goals.parse_goal(goal), codecs=["caesura"], sample_bytes=1 << 16)
    answer = search.tune([dump], asked)
    assert not answer.complete
    assert asked.goal.met_by(answer.chosen.quality)
    back = caesura.codec.decompress(caesura.codec.compress(field, answer.chosen.bound))
    assert asked.goal.met_by(BY_HAND[asked.goal.quality.name](field, back))


def test_dumps_that_are_constant_are_left_out_and_said_to_be(tmp_path):
    """As a velocity is at the beginning."""
    path = save(tmp_path / "run.h5", s0__v=np.zeros((24, 24)), s1__v=smooth((24, 24)))
    told = command(path, "-f", "*/v", "-q", "psnr=60", "--codec", "caesura", "--json")
    assert told.exit_code == 0, told.stderr
    document = json.loads(told.stdout)
    assert [one["path"] for one in document["dumps"]] == ["/s1/v"]
    assert document["constant"] == [{"file": str(path), "path": "/s0/v"}]
    told = command(path, "-f", "*/v", "-q", "psnr=60", "--codec", "caesura")
    assert "1 of the dumps is constant and does not count" in told.stdout


def test_bounds_that_are_held_against_all_values_can_be_pasted(tmp_path, monkeypatch):
    """Also the loosest of all, half of a range that has more than three figures."""
    field = 7.123456789 / 6 * smooth((96, 32, 32)).astype(np.float64)
    (dump,) = sources.find([save(tmp_path / "loose.h5", rho=field)], None)
    tried = []

    def attempt(subjects, codec, bound, *rest, **named):
        tried.extend([bound] if named.get("give_up") else [])
        return trying.attempt(subjects, codec, bound, *rest, **named)

    monkeypatch.setattr(search, "BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr(search, "attempt", attempt)
    asked = search.Asked(goals.parse_goal("psnr=1"), "absolute", ["caesura"], None, 1 << 16)
    assert search.tune([dump], asked).chosen is not None
    for bound in tried:
        lines = configuration.lines(
            configuration.Recommended("rho", "/rho", dump.dtype, 3, bound, "caesura")
        )
        assert tomllib.loads(lines["toml"])["dataset"][0]["bound"] == bound.value


@pytest.mark.parametrize("rough_in_sample", [True, False])
def test_what_a_sample_does_not_show_is_found_on_all_values(rough_in_sample, tmp_path, monkeypatch):
    """The sample lies in rows 48 to 71. Where gradients are large they may lose more."""
    field = np.random.default_rng(SEED).uniform(-1, 1, (96, 32, 32)).astype(np.float32)
    calm = [slice(0, 48), slice(72, 96)] if rough_in_sample else [slice(48, 72)]
    for part in calm:
        field[part] *= 0.2
    (dump,) = sources.find([save(tmp_path / "long.h5", rho=field)], None)
    monkeypatch.setattr(search, "BLOCK_BYTES", 1 << 16)
    goal = goals.parse_goal("gradient=3%")
    answer = search.tune([dump], search.Asked(goal, codecs=["caesura"], sample_bytes=1 << 16))
    assert 0 < answer.sampled_bytes < answer.raw_bytes
    moved = answer.chosen.bound.value / answer.found["caesura"].bound.value
    assert moved < 0.8 if rough_in_sample else moved > 1.5
    back = caesura.codec.decompress(caesura.codec.compress(field, answer.chosen.bound))
    assert gradient(field, back) == pytest.approx(answer.chosen.quality)
    assert 0.025 < answer.chosen.quality <= 0.03


def test_a_goal_that_only_lossless_meets_is_said_and_ends_with_1(tmp_path):
    noise = np.random.default_rng(SEED).uniform(0, 1, (32, 32, 8)).astype(np.float32)
    path = save(tmp_path / "noise.h5", noise=noise)
    told = command(path, "-q", "psnr=200", "--json")
    assert told.exit_code == 1
    document = json.loads(told.stdout)
    assert document["chosen"] is None
    assert not document["met"]
    assert "lossless()" in document["configuration"]["python"]
    assert tomllib.loads(document["configuration"]["toml"])["dataset"][0] == {
        "path": "/noise", "bound_kind": "lossless",
    }  # fmt: skip


def test_people_see_a_table_a_curve_the_lines_to_paste_and_a_picture(two_dumps, tmp_path):
    drawn = tmp_path / "rho.svg"
    told = command(two_dumps, "-f", "rho", "-q", "psnr=60", "--picture", drawn,
                   "--codec", "caesura", "--codec", "caesura:planes")  # fmt: skip
    assert told.exit_code == 0, told.stderr
    for words in ("goal: PSNR at least 60.00 dB", "caesura:planes", "* █", "[[dataset]]",
                  "caesura::relative(", "measured on all values of 2 dumps"):  # fmt: skip
        assert words in told.stdout
    text = drawn.read_text()
    assert text.count("<polyline") == 2
    assert 'class="ring"' in text
    assert ">goal<" in text


def test_a_narrow_terminal_cuts_nothing_off(two_dumps, monkeypatch):
    monkeypatch.setattr(common.out, "width", 40)
    told = command(two_dumps, "-f", "rho", "-q", "psnr=60", "--codec", "caesura").stdout
    assert "…" not in told
    beside_the_lines_to_paste = told[: told.index("C++")].splitlines()
    assert max(len(line) for line in beside_the_lines_to_paste) <= 40
    assert told.count("█") > told.count(" █")


def test_better_qualities_lie_to_the_right_and_exact_ones_nowhere():
    for name, values in {"psnr": (20, 80), "ssim": (0.9, 0.999), "gradient": (0.1, 1e-4)}.items():
        worse, better = (picture.place_of(goals.QUALITIES[name], value) for value in values)
        assert worse < better
        assert picture.place_of(goals.QUALITIES[name], goals.QUALITIES[name].exact) is None


# ------------------------------------------------------------------------------------------ errors


@pytest.fixture(scope="module")
def odd(tmp_path_factory) -> Path:
    gap, pair = smooth((12, 12, 12)), np.zeros(9, [("rho", "f4"), ("vx", "f4")])
    gap[1, 2, 3] = np.nan
    return save(
        tmp_path_factory.mktemp("odd") / "odd.h5",
        pair=pair, flat=np.full((8, 9), 4.5, np.float32), gap=gap,
        empty=h5py.Empty("f4"), text="hello", wide=np.array([-1.7e308, 1.7e308]),
        ids=np.arange(50), nothing=np.full((4, 4), np.nan), one=np.float64(3),
        a__rho=smooth((24, 24)), b__rho=smooth((24, 24)), wave=np.exp(1j * np.arange(9)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("field", "quality", "code", "words"),
    [
        ("flat", "psnr=80", 3, "is constant (4.5)"),
        ("empty", "psnr=80", 3, "holds no numbers; name another field"),
        ("text", "psnr=80", 3, "holds no numbers; name another field"),
        ("wide", "psnr=80", 3, "a range that no float64 can say"),
        ("gap", "ssim=0.9", 0, ""),
        ("gap", "gradient=1%", 0, ""),
        ("gap", "spectrum=1%", 3, "ask for psnr, ssim or gradient, which leave them out"),
        ("gap", "psnr=60", 0, ""),
        ("ids", "psnr=80", 3, "integers and bool are stored without loss"),
        ("nothing", "psnr=80", 3, "has no finite value"),
        ("wave", "psnr=80", 3, "complex numbers"),
        ("one", "psnr=80", 3, "too few values"),
        ("pair", "psnr=80", 3, "holds several quantities (rho, vx)"),
        ("density", "psnr=80", 3, "there is no field 'density'; there are /a/rho, /b/rho, /flat"),
        ("rho", "psnr=80", 3, "is the end of several names; there are /a/rho, /b/rho"),
        ("/a/rho", "psnr=50", 0, ""),
        ("*/rho", "psnr=50", 0, ""),
        ("gap", "vmaf=90", 2, "one of psnr, ssim, spectrum, gradient"),
    ],
)
def test_a_field_with_nothing_to_choose_is_an_error_in_a_sentence(field, quality, code, words, odd):
    told = command(odd, "-f", field, "-q", quality, "--json", "--codec", "caesura")
    document = json.loads(told.stdout)
    assert told.exit_code == code, told.stderr
    if code:
        assert words in document["error"]
        assert words.split(";")[0] in told.stderr.replace("\n", " ")
    else:
        assert document["met"]


def test_wrong_options_say_what_is_right(odd, tmp_path):
    for arguments, code, words in (
        (["--kind", "loose"], 2, "known are relative, absolute, pointwise_relative"),
        (["--wavenumbers", "1:4"], 2, "belong to --quality spectrum"),
        (["--picture", "x.pdf"], 2, "name it .svg or .png"),
        (["--picture", tmp_path / "none" / "x.svg"], 3, "there is no directory"),
        (["--picture", tmp_path], 2, "name it .svg or .png"),
        (["--codec", "gzip"], 3, "gzip"),
        (["--codec", "zstd"], 2, "zstd loses nothing"),
    ):
        told = command(odd, "-f", "a/rho", "-q", "psnr=60", "--json", *arguments)
        assert told.exit_code == code, (arguments, told.stderr)
        assert words in json.loads(told.stdout)["error"]
    told = command(odd, "-f", "a/rho", "-q", "spectrum=1%", "--wavenumbers", "1:99", "--json")
    assert told.exit_code == 3
    assert "wave numbers up to 12" in json.loads(told.stdout)["error"]
    text = tmp_path / "text.h5"
    text.write_text("no file of HDF5")
    told = command(text, "-q", "psnr=60")
    assert told.exit_code == 3
    assert "is no HDF5 file" in told.stderr


@pytest.mark.parametrize("damage", ["cut off", "a chunk overwritten"])
def test_a_damaged_file_is_named(damage, tmp_path):
    path = tmp_path / "damaged.h5"
    with h5py.File(path, "w") as file:
        rho = file.create_dataset("rho", data=smooth((64, 64)), compression="gzip")
        chunk = rho.id.get_chunk_info(0)
    content = bytearray(path.read_bytes())
    content[chunk.byte_offset + 100 : chunk.byte_offset + 200] = bytes(100)
    path.write_bytes(content[: len(content) // 2] if damage == "cut off" else content)
    told = command(path, "-q", "psnr=60", "--json")
    assert told.exit_code == 3
    assert json.loads(told.stdout)["error"].startswith(f"{path}")
    assert "cannot be read" in told.stderr


def test_a_field_for_which_memory_is_out_is_an_error_in_a_sentence(odd, monkeypatch):
    def none(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(qualities, "power_spectrum", none)
    told = command(odd, "-f", "a/rho", "-q", "spectrum=1%", "--json")
    assert told.exit_code == 3
    assert "memory is out: the largest dump has 2304 bytes" in json.loads(told.stdout)["error"]


def test_data_that_were_lossy_before_are_said_to_be(tmp_path):
    path = tmp_path / "lossy.h5"
    with caesura.Writer(path) as writer:
        rho = writer.define_field("rho", np.float32, (16, 16, 16), absolute=0.01)
        with writer.iteration(0) as iteration:
            iteration.begin_dump(time=0).put(rho, smooth((16, 16, 16)))
    told = command(path, "-q", "psnr=60", "--codec", "caesura")
    assert told.exit_code == 0, told.stderr
    assert "stored with a bound of 0.01 before" in told.stdout


def test_another_codec_than_the_default_is_in_all_lines_to_paste():
    bound = caesura.relative(2.5e-4)
    plain = configuration.lines(
        configuration.Recommended("rho", "/rho", np.dtype("f4"), 3, bound, "caesura")
    )
    named = configuration.lines(
        configuration.Recommended("v/x", "/v/x", np.dtype("f8"), 1, bound, "caesura:strong")
    )
    assert not any("codec" in text for text in plain.values())
    assert 'v_x_options.codec = caesura::CodecSpec{"caesura:strong"};' in named["c++"]
    assert (
        '"v/x", caesura::float64, {nx}, caesura::relative(0.00025), v_x_options);' in named["c++"]
    )
    assert 'codec="caesura:strong"' in named["python"]
    assert "(nx,)" in named["python"]
    assert tomllib.loads(named["toml"])["dataset"][0]["codec"] == "caesura:strong"


def test_a_rule_of_the_connector_names_what_dumps_have_in_common():
    pattern_of = configuration.pattern_of
    assert pattern_of(["/data/7/meshes/rho"]) == "/data/*/meshes/rho"
    assert pattern_of(["/step_1/rho", "/step_2/rho"]) == "/*/rho"
    assert pattern_of(["/rho"]) == "/rho"
    assert pattern_of(["/a/rho", "/b/c/rho"]) == "**/rho"
