"""Which HDF5 the connector gets, and that looking for one leaves the system alone."""

import os
import shutil
import subprocess
from pathlib import Path

import hdf5
import parallel_python
import pytest


def prefix(place: Path, version: str, parallel: bool = True) -> Path:
    """A prefix whose header says this."""
    (place / "include").mkdir(parents=True)
    has = "#define H5_HAVE_PARALLEL 1" if parallel else "/* #undef H5_HAVE_PARALLEL */"
    text = f'{has}\n#define H5_VERSION "{version}"\n'
    (place / "include" / "H5pubconf.h").write_text(text)
    return place


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    """A cache of its own, and nothing remembered."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HDF5_ROOT", raising=False)
    monkeypatch.setattr(hdf5, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(hdf5, "system_root", lambda: None)
    hdf5.ensure.cache_clear()
    yield
    hdf5.ensure.cache_clear()


@pytest.mark.parametrize("version", ["1.14.0", "1.14.5-2", "2.0.0", "1.100.1"])
def test_the_users_own_is_taken(tmp_path, monkeypatch, version):
    """HDF5_ROOT wins where it is parallel and new enough."""
    own = prefix(tmp_path / "own", version)
    monkeypatch.setenv("HDF5_ROOT", str(own))
    assert hdf5.ensure() == own


@pytest.mark.parametrize(
    ("version", "parallel", "word"),
    [("1.12.3", True, "needs 1.14"), ("1.14.5", False, "no parallel")],
)
def test_the_users_own_is_refused_with_the_reason(
    tmp_path, monkeypatch, capsys, version, parallel, word
):
    """Too old, or serial: said, not silently replaced by another."""
    monkeypatch.setenv("HDF5_ROOT", str(prefix(tmp_path / "own", version, parallel)))
    with pytest.raises(SystemExit):
        hdf5.ensure()
    assert word in capsys.readouterr().err


def test_without_a_source_the_connector_is_skipped_in_one_line(monkeypatch, capsys):
    """No network: the build goes on without the connector and says so; CI does not."""

    def nothing(_):
        raise RuntimeError("no network")

    monkeypatch.setattr(hdf5, "build_key", lambda *_: "key")
    monkeypatch.setattr(hdf5, "fetch", nothing)
    monkeypatch.delenv("CI", raising=False)
    assert hdf5.ensure() is None
    said = capsys.readouterr().out.strip()
    assert "skipped: no network" in said and "HDF5_ROOT" in said and "\n" not in said
    hdf5.ensure.cache_clear()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(SystemExit):
        hdf5.ensure()


def test_what_is_in_the_cache_is_not_fetched_again(monkeypatch):
    """A finished build is found by its key; another key's is not taken for it."""
    monkeypatch.setattr(hdf5, "build_key", lambda *_: "key")
    monkeypatch.setattr(hdf5, "fetch", lambda _: pytest.fail("fetched"))
    (hdf5.cache() / "hdf5-1.14.5-other").mkdir(parents=True)
    assert hdf5.kept("key") is None
    (hdf5.cache() / "hdf5-1.14.5-key").mkdir()
    assert hdf5.ensure() == hdf5.cache() / "hdf5-1.14.5-key"


@pytest.mark.skipif(not shutil.which("mpicc"), reason="no MPI")
def test_another_option_is_another_build(monkeypatch):
    """The key covers the options and repeats."""
    first = hdf5.build_key()
    assert hdf5.build_key() == first
    monkeypatch.setitem(hdf5.OPTIONS, "HDF5_ENABLE_THREADSAFE", "OFF")
    assert hdf5.build_key() != first


@pytest.mark.skipif(not shutil.which("mpicc"), reason="no MPI")
def test_another_mpi_is_another_build_by_its_own_programs(tmp_path, monkeypatch):
    """MPICC chooses the MPI: its header decides on the build, its programs are named to CMake."""
    monkeypatch.delenv("MPICC", raising=False)
    assert hdf5.mpi_settings() == {}
    first = hdf5.build_key()
    other = tmp_path / "bin" / "mpicc.other"
    other.parent.mkdir()
    other.write_text(f'#!/bin/sh\nexec {shutil.which("mpicc")} -DMPI_OF_ANOTHER "$@"\n')
    other.chmod(0o755)
    monkeypatch.setenv("MPICC", str(other))
    assert hdf5.build_key() != first
    settings = hdf5.mpi_settings()
    assert settings["MPI_HOME"] == str(tmp_path)
    assert settings["MPI_EXECUTABLE_SUFFIX"] == ".other"
    monkeypatch.setenv("MPICC", "mpicc-that-is-not-there")
    with pytest.raises(SystemExit):
        hdf5.mpi_settings()


def test_the_library_alone_is_a_build_of_its_own_and_more_will_do(monkeypatch):
    """What has tools and the high-level interface has the library, too."""
    monkeypatch.setattr(
        hdf5, "build_key", lambda options=hdf5.OPTIONS: "tools-" + options["HDF5_BUILD_TOOLS"]
    )
    monkeypatch.setattr(hdf5, "build", lambda key, options: hdf5.cache() / key)
    assert hdf5.ensure(library=True).name.endswith("OFF")
    assert hdf5.ensure().name.endswith("ON")
    hdf5.ensure.cache_clear()
    more = hdf5.cache() / f"hdf5-1.14.5-{hdf5.build_key()}"
    more.mkdir(parents=True)
    assert hdf5.ensure(library=True) == more


@pytest.mark.skipif(not shutil.which("apt-get"), reason="no apt")
def test_apts_own_files_stay_untouched(tmp_path):
    """Everything that the private apt writes lies in its place; its only source is ours."""
    try:
        options = hdf5.apt_options(tmp_path)
    except RuntimeError as reason:
        pytest.skip(str(reason))
    asked = {
        "state": "Dir::State::lists/d",
        "cache": "Dir::Cache::archives/d",
        "list": "Dir::Etc::sourcelist/f",
        "parts": "Dir::Etc::sourceparts/d",
    }
    words = [word for pair in asked.items() for word in pair]
    shown = subprocess.run(
        ["apt-config", *options, "shell", *words], capture_output=True, text=True, check=True
    ).stdout
    places = [line.split("=")[1].strip("'") for line in shown.splitlines()]
    assert len(places) == 4
    assert all(os.path.commonpath([p, tmp_path]) == str(tmp_path) for p in places), places
    sources = (tmp_path / "etc" / "sources.list").read_text().splitlines()
    assert len(sources) == 1
    assert sources[0].startswith("deb-src ")


def test_what_is_known_is_found_without_building(tmp_path, monkeypatch):
    """The demonstration needs no connector: it takes the HDF5 that is there, and builds none."""

    def refuse(*_):
        raise AssertionError("nothing may be built")

    monkeypatch.setattr(hdf5, "build", refuse)
    monkeypatch.setattr(hdf5, "build_key", lambda *_: "key")
    assert hdf5.known() is None
    assert parallel_python.there() is None  # every environment() asks
    kept = tmp_path / "cache" / "caesura" / "hdf5-1.14.5-key"
    kept.mkdir(parents=True)
    if shutil.which("mpicc"):
        assert hdf5.known() == hdf5.ensure() == kept
    own = prefix(tmp_path / "own", "1.14.0")
    monkeypatch.setenv("HDF5_ROOT", str(own))
    assert hdf5.known() == own
