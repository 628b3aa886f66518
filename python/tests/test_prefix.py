"""What a wheel lacks is found in an installed Caesura, and said where it is not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from caesura import __version__, prefix, serving, vol
from caesura.doctor import libraries
from caesura.doctor.finding import ABSENT, MUST_SET, NOTE, OK, Ask


@pytest.fixture(autouse=True)
def nothing_around(monkeypatch, tmp_path):
    """No build tree, and no pkg-config that knows one."""
    for name in ("CAESURA_BUILD", "CAESURA_ROOT", "CMAKE_PREFIX_PATH", "HDF5_PLUGIN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PKG_CONFIG_LIBDIR", str(tmp_path / "none"))
    monkeypatch.setenv("PKG_CONFIG_PATH", "")
    package = tmp_path / "tree" / "package" / "caesura"
    monkeypatch.setattr(prefix, "__file__", str(package / "prefix.py"))


def installed(
    place: Path, libraries: str = "lib", version: str = __version__, mpi: bool = True
) -> Path:
    """What `cmake --install` leaves of pkg-config's files, and files where they lead."""
    lib = place / libraries
    (lib / "pkgconfig").mkdir(parents=True)
    up = "/".join([".."] * (len(Path(libraries).parts) + 1))
    head = f"prefix=${{pcfiledir}}/{up}\nlibdir=${{prefix}}/{libraries}\n"
    tail = f"\nName: caesura\nDescription: it\nVersion: {version}\nLibs: -L${{libdir}} -lcaesura\n"
    (lib / "pkgconfig" / "caesura.pc").write_text(head + tail)
    if mpi:
        plugins = f"plugindir=${{prefix}}/{libraries}/elsewhere\n"
        (lib / "pkgconfig" / "caesura_vol.pc").write_text(head + plugins + tail)
        (lib / "elsewhere").mkdir()
        (lib / "elsewhere" / vol.LIBRARY).touch()
        (lib / prefix.PMPI).touch()
    (place / "bin").mkdir()
    (place / "bin" / serving.PROGRAM).touch(mode=0o755)
    return place


def test_a_build_tree_around_the_package_has_the_rest(tmp_path):
    tree = tmp_path / "tree"
    (tree / "vol").mkdir(parents=True)
    (tree / "vol" / vol.LIBRARY).touch()
    (tree / "src" / "pmpi").mkdir(parents=True)
    (tree / "src" / "pmpi" / prefix.PMPI).touch()
    with pytest.raises(RuntimeError):
        vol.connector_path()  # a folder that only looks like one
    (tree / "bin").mkdir()
    (tree / "bin" / serving.PROGRAM).touch(mode=0o755)
    with pytest.raises(RuntimeError):
        serving.program_path()
    (tree / "CMakeCache.txt").touch()
    assert serving.program_path() == str(tree / "bin" / serving.PROGRAM)
    assert vol.connector_path() == str(tree / "vol")
    assert prefix.pmpi_path() == str(tree / "src" / "pmpi" / prefix.PMPI)


def test_a_tree_that_is_named_wins_over_a_prefix_and_that_over_the_tree_around(
    tmp_path, monkeypatch
):
    around, named = tmp_path / "tree", tmp_path / "named"
    for tree in (around, named):
        (tree / "bin").mkdir(parents=True)
        (tree / "bin" / serving.PROGRAM).touch(mode=0o755)
        (tree / "CMakeCache.txt").touch()
    place = installed(tmp_path / "there")
    assert serving.program_path() == str(around / "bin" / serving.PROGRAM)
    monkeypatch.setenv("CAESURA_ROOT", str(place))
    assert serving.program_path() == str(place / "bin" / serving.PROGRAM)
    monkeypatch.setenv("CAESURA_BUILD", str(named))
    assert serving.program_path() == str(named / "bin" / serving.PROGRAM)


def test_the_hdf5_of_a_connector_is_the_one_that_was_configured(tmp_path):
    """Installed, by its pkg-config file; in a build tree, by CMake's cache."""
    tree = tmp_path / "tree"
    (tree / "vol").mkdir(parents=True)
    assert prefix.hdf5_of(tree / "vol") is None
    (tree / "CMakeCache.txt").write_text("A:PATH=/b\nHDF5_VOL_ROOT:UNINITIALIZED=/opt/hdf5\n")
    assert prefix.hdf5_of(tree / "vol") == Path("/opt/hdf5")
    place = installed(tmp_path / "there", "lib64")
    connector = place / "lib64" / "elsewhere"
    assert prefix.hdf5_of(connector) is None  # of a version that did not say it
    with (place / "lib64" / "pkgconfig" / "caesura_vol.pc").open("a") as said:
        said.write("hdf5root=/opt/other\n")
    assert prefix.hdf5_of(connector) == Path("/opt/other")


@pytest.mark.parametrize("libraries", ["lib", "lib64", "lib/x86_64-linux-gnu"])
@pytest.mark.parametrize("variable", ["CAESURA_ROOT", "CMAKE_PREFIX_PATH"])
def test_a_prefix_that_is_named_has_the_rest(tmp_path, monkeypatch, variable, libraries):
    """Goal: connector, PMPI library and program are those of its pkg-config files."""
    place = installed(tmp_path / "there", libraries)
    monkeypatch.setenv(variable, str(place))
    assert vol.connector_path() == str(place / libraries / "elsewhere")
    assert prefix.pmpi_path() == str(place / libraries / prefix.PMPI)
    assert serving.program_path() == str(place / "bin" / serving.PROGRAM)
    found = prefix.find()
    assert (found.path, found.named_by, found.version) == (place, variable, __version__)


def test_pkg_config_leads_to_one(tmp_path, monkeypatch):
    place = installed(tmp_path / "there")
    monkeypatch.setenv("PKG_CONFIG_PATH", str(place / "lib" / "pkgconfig"))
    found = prefix.find()
    assert (found.path, found.named_by) == (place, "pkg-config")


def test_the_name_wins_over_paths(tmp_path, monkeypatch):
    first, second = installed(tmp_path / "first"), installed(tmp_path / "second")
    monkeypatch.setenv("CMAKE_PREFIX_PATH", f"{tmp_path / 'gone'}:{first}:{second}")
    assert prefix.find().path == first
    monkeypatch.setenv("CAESURA_ROOT", str(second))
    assert prefix.find().path == second


def test_what_is_missing_is_said_with_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(RuntimeError, match="CAESURA_ROOT is not set"):
        prefix.pmpi_path()
    with pytest.raises(RuntimeError, match=r"one MPI.*CAESURA_ROOT"):
        vol.connector_path()
    monkeypatch.setenv("CAESURA_ROOT", str(installed(tmp_path / "serial", mpi=False)))
    with pytest.raises(RuntimeError, match="serial was built without MPI"):
        prefix.pmpi_path()
    monkeypatch.setenv("CAESURA_ROOT", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"no lib/pkgconfig/caesura\.pc"):
        prefix.find()


def test_the_doctor_says_which_and_of_what_version(tmp_path, monkeypatch):
    ask = Ask(tmp_path)
    finding = libraries.mpi_libraries(ask)
    assert (finding.state, "mpi4py alone" in finding.found) == (ABSENT, True)
    monkeypatch.setenv("CAESURA_ROOT", str(installed(tmp_path / "same")))
    finding = libraries.mpi_libraries(ask)
    assert finding.state == OK
    assert all(word in finding.found for word in ("connector", prefix.PMPI, "CAESURA_ROOT"))
    monkeypatch.setenv("CAESURA_ROOT", str(installed(tmp_path / "old", version="0.0.9")))
    assert libraries.mpi_libraries(ask).state == NOTE
    monkeypatch.setenv("CAESURA_ROOT", str(tmp_path / "gone"))
    assert libraries.mpi_libraries(ask).state == MUST_SET


def test_the_command_prints_one_path_or_all(tmp_path, monkeypatch):
    """Goal: a shell takes the one as it is; what is missing is null, and an error if asked for."""
    place = installed(tmp_path / "there")
    command = [sys.executable, "-m", "caesura", "path"]

    def said(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *words], capture_output=True, text=True, cwd=tmp_path)

    assert json.loads(said("--json").stdout)["prefix"] is None
    assert said("prefix").returncode == 3
    monkeypatch.setenv("CAESURA_ROOT", str(place))
    assert said("connector").stdout == f"{place / 'lib' / 'elsewhere'}\n"
    assert json.loads(said("pmpi", "--json").stdout) == {"pmpi": str(place / "lib" / prefix.PMPI)}
    assert json.loads(said("--json").stdout)["prefix"] == str(place)
