"""Every analysis against numpy and scipy on random data; chains come back."""

from __future__ import annotations

import os

import numpy as np
import pytest
from caesura import lambdas
from scipy import ndimage, stats

SEED = 20250117
TYPES = [np.float32, np.float64]


def cut(shape, parts, random):
    """Boxes (offset, extent) that cover the shape, in random order."""
    boxes = [((0,) * len(shape), tuple(shape))]
    for _ in range(20 * parts):
        if len(boxes) >= parts:
            break
        which = random.integers(len(boxes))
        offset, extent = boxes[which]
        axis = random.integers(len(shape))
        if extent[axis] < 2:
            continue
        length = int(random.integers(1, extent[axis]))
        first, second, start = list(extent), list(extent), list(offset)
        first[axis], second[axis], start[axis] = (
            length,
            extent[axis] - length,
            offset[axis] + length,
        )
        boxes[which] = (offset, tuple(first))
        boxes.append((tuple(start), tuple(second)))
    return [boxes[i] for i in random.permutation(len(boxes))]


def in_parts(call, array, random, servers=3):
    """As servers do: regions dealt out, states sent as bytes and merged in any order."""
    boxes = cut(array.shape, int(random.integers(1, 14)), random)
    start = lambdas.Analysis(call).bytes()
    while True:
        states = [lambdas.Analysis.from_bytes(start) for _ in range(servers)]
        for offset, extent in boxes:
            part = array[tuple(slice(o, o + e) for o, e in zip(offset, extent, strict=True))]
            states[random.integers(servers)].add(part, offset, array.shape)
        while len(states) > 1:
            random.shuffle(states)
            sent = lambdas.Analysis.from_bytes(states.pop().bytes())
            states[-1].merge(sent)
        if states[0].passes_left == 0:
            return states[0].finish()
        states[0].next_pass()
        start = states[0].bytes()


def arrays(dtype):
    """Random arrays of 1 to 4 axes: smooth, noisy, of few values, with NaN and infinities, of one
    value, empty."""
    random = np.random.default_rng(SEED)
    yield np.empty((0, 3), dtype)
    yield np.array([2.5], dtype)
    yield np.array([[np.nan, np.inf], [-np.inf, np.nan]], dtype)
    for axes in (1, 2, 3, 4):
        shape = tuple(int(n) for n in random.integers(2, (2000, 60, 18, 8)[axes - 1], axes))
        noise = random.normal(size=shape)
        yield noise.astype(dtype)
        yield np.exp(3 * noise).astype(dtype)
        yield np.round(2 * noise).astype(dtype)
        wild = noise.astype(dtype)
        wild[random.random(shape) < 0.1] = np.nan
        wild[random.random(shape) < 0.1] = np.inf
        wild[random.random(shape) < 0.1] = -np.inf
        yield wild


@pytest.mark.parametrize("dtype", TYPES)
def test_statistics_are_numpys(dtype):
    random = np.random.default_rng(SEED + 1)
    for array in arrays(dtype):
        finite = array[np.isfinite(array)].astype(np.float64)
        for found in (lambdas.run("stats", array), in_parts("stats", array, random)):
            assert found["count"] == finite.size
            assert found["nan"] == np.isnan(array).sum()
            assert found["infinite"] == np.isinf(array).sum()
            if finite.size == 0:
                assert all(np.isnan(found[name]) for name in ("min", "max", "mean", "variance"))
                continue
            assert (found["min"], found["max"]) == (finite.min(), finite.max())
            scale = np.abs(finite).max()
            assert found["mean"] == pytest.approx(finite.mean(), rel=1e-12, abs=1e-14 * scale)
            assert found["variance"] == pytest.approx(finite.var(), rel=1e-11)
        if finite.size > 1:
            unbiased = lambdas.run("variance(ddof=1)", array)["variance"]
            assert unbiased == pytest.approx(finite.var(ddof=1), rel=1e-11)
        for name, reference in (("min", np.min), ("max", np.max), ("mean", np.mean)):
            if finite.size > 0:
                assert lambdas.run(name, array)[name] == pytest.approx(reference(finite), rel=1e-9)


@pytest.mark.parametrize("dtype", TYPES)
def test_histograms_are_numpys_count_by_count(dtype):
    random = np.random.default_rng(SEED + 2)
    for array in arrays(dtype):
        finite = array[np.isfinite(array)].astype(np.float64)
        for bins in (1, 7, 64):
            counts, edges = np.histogram(finite, bins)
            found = in_parts(f"histogram(bins={bins})", array, random)
            assert found["counts"] == counts.tolist()
            assert (found["low"], found["high"]) == (edges[0], edges[-1])
            counts, _ = np.histogram(finite, bins, (-0.5, 1.0))
            found = in_parts(f"histogram(bins={bins}, low=-0.5, high=1)", array, random)
            assert found["counts"] == counts.tolist()
            assert found["below"] == (finite < -0.5).sum()
            assert found["above"] == (finite > 1.0).sum()
            assert found == lambdas.run(f"histogram(bins={bins}, low=-0.5, high=1)", array)


@pytest.mark.parametrize("dtype", TYPES)
def test_entropy_is_scipys_of_the_bit_patterns(dtype):
    random = np.random.default_rng(SEED + 3)
    for array in arrays(dtype):
        bits = array.ravel().view(np.uint32 if dtype == np.float32 else np.uint64)
        counts = np.unique(bits, return_counts=True)[1]
        wanted = stats.entropy(counts, base=2) if counts.size else 0.0
        for found in (lambdas.run("entropy", array), in_parts("entropy", array, random)):
            assert found["exact"] == 1
            assert found["patterns"] == counts.size
            assert found["entropy_bits"] == pytest.approx(wanted, abs=1e-11)


@pytest.mark.parametrize("dtype", TYPES)
def test_quantiles_are_numpys_within_the_stated_rank(dtype):
    random = np.random.default_rng(SEED + 4)
    shares = [0.0, 0.1, 0.25, 0.5, 0.9, 1.0]
    call = f"quantiles(at={shares})"
    for array in arrays(dtype):
        finite = array[np.isfinite(array)].astype(np.float64)
        found = in_parts(call, array, random)
        assert found["count"] == finite.size
        if finite.size == 0:
            assert np.isnan(found["values"]).all()
            continue
        assert found["exact"] == (finite.size <= 2048)
        if found["exact"]:
            assert found["values"] == np.quantile(finite, shares, method="inverted_cdf").tolist()
    large = random.normal(size=300_000).astype(dtype)
    found = in_parts(call, large, random)
    assert found["exact"] == 0
    ordered = np.sort(large)
    for share, value in zip(shares, found["values"], strict=True):
        below, above = (np.searchsorted(ordered, value, side) for side in ("left", "right"))
        assert below / large.size - share <= found["rank_error"]
        assert share - above / large.size <= found["rank_error"]


def numpy_spectrum(array):
    """Power by round(|f| * longest axis), of all modes of numpy's FFT."""
    longest = max(array.shape)
    power = np.abs(np.fft.fftn(array.astype(np.float64)) / array.size) ** 2
    axes = np.meshgrid(*(np.fft.fftfreq(n) for n in array.shape), indexing="ij")
    number = np.sqrt(sum(f**2 for f in axes)) * longest
    bins = np.floor(number + 0.5).astype(int).ravel()
    inside = bins < longest // 2 + 1
    modes = np.bincount(bins[inside], minlength=longest // 2 + 1)
    total = np.bincount(bins[inside], power.ravel()[inside], longest // 2 + 1)
    return total[modes > 0] / modes[modes > 0], modes[modes > 0], power.ravel()[~inside].sum()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "shape", [(64,), (77,), (1,), (16, 16), (12, 35), (16, 16, 16), (9, 10, 14), (1, 8, 6)]
)
def test_power_spectra_are_numpys(dtype, shape):
    random = np.random.default_rng(SEED + 5)
    array = random.normal(2.0, 1.0, shape).astype(dtype)
    power, modes, beyond = numpy_spectrum(array)
    for found in (lambdas.run("spectrum", array), in_parts("spectrum", array, random)):
        assert found["modes"] == modes.tolist()
        np.testing.assert_allclose(found["power"], power, rtol=1e-9, atol=1e-15)
        assert found["beyond_power"] == pytest.approx(beyond, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("dtype", TYPES)
def test_clusters_are_scipys(dtype):
    random = np.random.default_rng(SEED + 6)
    for array in arrays(dtype):
        if array.ndim > 3:
            continue
        for above in (-0.5, 0.3, 1.0):
            labels, n = ndimage.label(array > above)
            sizes = sorted(np.bincount(labels.ravel())[1:].tolist(), reverse=True)
            found = in_parts(f"clusters(above={above})", array, random)
            assert found["clusters"] == n
            assert found["largest"] == sizes[:10]
            assert found["cells"] == (array > above).sum()
            assert found["complete"] == 1
            few = in_parts(f"clusters(above={above}, least_cells=3)", array, random)
            assert few["clusters"] == sum(size >= 3 for size in sizes)


def test_periodic_clusters_are_those_of_the_repeated_field():
    # A field that is moved round has the same clusters if its borders touch.
    random = np.random.default_rng(SEED + 7)
    field = ndimage.gaussian_filter(random.normal(size=(24, 20, 18)), 1.5, mode="wrap")
    wanted = lambdas.run("clusters(above=0.08, periodic=true)", field)
    assert wanted["clusters"] > 3
    for _ in range(5):
        moved = np.roll(field, random.integers(0, 18, 3), (0, 1, 2))
        assert in_parts("clusters(above=0.08, periodic=true)", moved, random) == wanted


@pytest.mark.parametrize("dtype", TYPES)
def test_chains_come_back(dtype, tmp_path):
    key_file = tmp_path / "key"
    key_file.write_bytes(os.urandom(32))
    key_file.chmod(0o600)
    for array in arrays(dtype):
        for chain in ("shuffle | zstd", "caesura | aead", "caesura@deflate", "lossless"):
            data = lambdas.apply(chain, array, name="rho", key_file=str(key_file))
            back = lambdas.restore(data, dtype, array.shape, name="rho", key_file=str(key_file))
            assert back.tobytes() == array.tobytes()
        finite = array[np.isfinite(array)]
        if finite.size > 0:
            data = lambdas.apply("caesura(bound=0.01)", finite)
            off = np.abs(lambdas.restore(data, dtype, finite.shape) - finite)
            assert off.max() <= 0.01


def test_integers_are_analysed_as_float64():
    array = np.random.default_rng(3).integers(-500, 2**40, (6, 50), np.int64)
    for call in ("stats", "histogram(bins=8)", "quantiles(size=262144)", "clusters(above=1000)"):
        assert lambdas.run(call, array) == lambdas.run(call, array.astype(np.float64)), call


def test_mistakes_are_named():
    array = np.zeros((4, 4), np.float32)
    with pytest.raises(ValueError, match="no function 'median'; there is: min, max"):
        lambdas.run("median", array)
    with pytest.raises(ValueError, match="use one of float32, float64"):
        lambdas.run("stats", np.zeros(3, np.longdouble))
    with pytest.raises(ValueError, match="values of int16; float32 and float64 are possible"):
        lambdas.apply("zstd", np.zeros(3, np.int16))
    with pytest.raises(ValueError, match="no key"):
        lambdas.apply("aead", array)
    from caesura import CorruptError

    with pytest.raises(CorruptError):
        lambdas.restore(b"nothing", np.float32, (4, 4))
    names = [function["name"] for function in lambdas.functions()]
    assert "spectrum" in names and "spectrum" in lambdas.help()
