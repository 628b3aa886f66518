"""Which HDF5 a wheel gets: built of named or fetched sources, once; without any it is said."""

import tarfile
from pathlib import Path

import hdf5
import hdf5_archive
import pytest


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    """A cache of its own, no sources of the user's, and no real compiling."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HDF5_SOURCE", raising=False)
    monkeypatch.setattr(hdf5, "LOGS", tmp_path / "logs")


def sources(place: Path) -> Path:
    (place / "src").mkdir(parents=True)
    (place / "src" / "H5public.h").write_text("// HDF5\n")
    return place


def compiled(monkeypatch) -> list[str]:
    """What would be run; the stage leaves what `ninja install` would."""
    ran = []

    def stage(label, command, **_):
        ran.append(command[-1])
        target = command[-1].split("-DCMAKE_INSTALL_PREFIX='")[1].split("'")[0]
        root = Path(command[-1].split("DESTDIR='")[1].split("'")[0])
        (root / target[1:] / "lib").mkdir(parents=True)

    monkeypatch.setattr(hdf5_archive, "run_stage", stage)
    return ran


def test_named_sources_are_built_once(tmp_path, monkeypatch):
    """Goal: a directory does, and stays as it is; the second call compiles nothing."""
    own = sources(tmp_path / "own")
    monkeypatch.setenv("HDF5_SOURCE", str(own))
    monkeypatch.setattr(hdf5, "fetch", lambda _: pytest.fail("fetched"))
    ran = compiled(monkeypatch)
    first = hdf5_archive.ensure()
    assert first is not None and (first / "lib").is_dir()
    assert hdf5_archive.ensure() == first
    assert len(ran) == 1 and "BUILD_SHARED_LIBS='OFF'" in ran[0]
    assert f"SZIP_SUPPORT='{'ON' if hdf5_archive.szip() else 'OFF'}'" in ran[0]
    assert sorted(path.name for path in own.rglob("*")) == ["H5public.h", "src"]
    assert [path.name for path in hdf5.cache().iterdir() if path.is_dir()] == [first.name]


def test_an_archive_of_sources_does_too(tmp_path, monkeypatch):
    with tarfile.open(tmp_path / "hdf5.tar.gz", "w:gz") as archive:
        archive.add(sources(tmp_path / "hdf5-1.14.9"), "hdf5-1.14.9")
    monkeypatch.setenv("HDF5_SOURCE", str(tmp_path / "hdf5.tar.gz"))
    place = tmp_path / "place"
    place.mkdir()
    assert (hdf5_archive.unpacked(place) / "src" / "H5public.h").exists()


def test_other_sources_and_options_are_another_build(tmp_path, monkeypatch):
    first = hdf5_archive.build_key()
    assert hdf5_archive.build_key() == first
    monkeypatch.setenv("HDF5_SOURCE", str(tmp_path))
    second = hdf5_archive.build_key()
    monkeypatch.setitem(hdf5_archive.OPTIONS, "HDF5_ENABLE_THREADSAFE", "OFF")
    assert len({first, second, hdf5_archive.build_key()}) == 3


def test_without_sources_it_says_what_to_name(tmp_path, monkeypatch, capsys):
    """Goal: no network, or a wrong directory: a wheel of this machine's HDF5 can still be built."""

    def nothing(_):
        raise RuntimeError("no network")

    monkeypatch.setattr(hdf5, "fetch", nothing)
    assert hdf5_archive.ensure() is None
    said = capsys.readouterr().out
    assert "no network" in said and "HDF5_SOURCE" in said and "HDF5_ROOT" in said
    monkeypatch.setenv("HDF5_SOURCE", str(tmp_path))
    assert hdf5_archive.ensure() is None
    assert "no src/H5public.h" in capsys.readouterr().out
    assert not list(hdf5.cache().glob("building-*"))
