"""An installed Caesura, by itself: moved elsewhere, its examples are built from it outside the
checkout and run, and stock h5py reads what they wrote through the installed filter alone."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from outside import run

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from launching import DEFAULTS, NIGHTLY, on_ranks

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CAESURA_BUILD", ROOT / "build"))
READ = """
import json, sys, h5py, numpy
assert "caesura" not in sys.modules
with h5py.File(sys.argv[1]) as file:
    data = file["data"]
    said = {number: float(data[number]["meshes/temperature"][...].sum()) for number in data}
    print(json.dumps(said))
"""


FORTRAN_WITH_MPI = """
program ranks
  use, intrinsic :: iso_fortran_env, only: real32
  use mpi
  use caesura
  use caesura_mpi
  implicit none
  type(caesura_writer) :: writer
  type(caesura_field) :: field
  integer :: code, rank
  real(real32) :: values(8)
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  values = 1.0 + rank
  call caesura_create_mpi(writer, 'ranks.h5', MPI_COMM_WORLD)
  call caesura_define_field(writer, 'temperature', caesura_float32, [16], field)
  call caesura_begin_iteration(writer, 0)
  call caesura_begin_dump(writer, time=0d0, dt=1d0)
  call caesura_put(writer, field, values, offset=[8 * rank])
  call caesura_end_iteration(writer)
  call caesura_close(writer)
  if (writer%code /= caesura_ok) then
    print *, writer%message
    call MPI_Abort(MPI_COMM_WORLD, 1, code)
  end if
  call MPI_Finalize(code)
end program
"""


ADIOS2_ENGINE = """
<adios-config><io name="output"><engine type="plugin">
  <parameter key="PluginName" value="caesura"/>
  <parameter key="PluginLibrary" value="caesura_adios2"/>
  <parameter key="FileName" value="run.h5"/>
</engine></io></adios-config>
"""
ADIOS2_PROGRAM = """
import adios2, numpy
io = adios2.Adios("adios2.xml").declare_io("output")
values = numpy.full(16, 3, numpy.float32)
variable = io.define_variable("temperature", values, [16], [0], [16])
with adios2.Stream(io, "ignored", "w") as stream:
    for _ in stream.steps(1):
        stream.write(variable, values)
"""


ASK_FOR_A_SERVICE = """
#include <caesura/caesura.h>
#include <stdio.h>
int main(void) {
    caesura_options options = CAESURA_OPTIONS_DEFAULT;
    caesura_writer* writer = NULL;
    options.transport = "service:unix:/nobody-listens.sock";
    if (caesura_writer_create("a.h5", NULL, &options, &writer) == CAESURA_OK) return 1;
    puts(caesura_last_error());
    return 0;
}
"""


SMALL = """
#include <caesura/caesura.h>
int main(void) {
    caesura_options options = CAESURA_OPTIONS_DEFAULT;
    caesura_writer* writer = NULL;
    return caesura_writer_create("a.h5", NULL, &options, &writer) == CAESURA_OK ? 0 : 1;
}
"""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory) -> Path:
    """Where it was not installed: a prefix can be moved."""
    place = tmp_path_factory.mktemp("install")
    run("cmake", "--install", BUILD, "--prefix", place / "first")
    (place / "first").rename(place / "moved")
    return place / "moved"


@pytest.fixture(scope="module")
def lib(prefix) -> Path:
    """lib, lib64 or another, as the system has it."""
    (found,) = prefix.rglob("libcaesura.so")
    return found.parent


@pytest.fixture
def example(prefix, tmp_path):
    """A copy of an example's folder, outside the checkout."""

    def copy(language: str) -> Path:
        source = prefix / "share" / "doc" / "caesura" / "examples" / language
        return Path(shutil.copytree(source, tmp_path / language))

    return copy


def cmake_build(prefix: Path, folder: Path, *targets: str) -> Path:
    """Configured with what the prefix has, and these targets built, or all."""
    build = folder / "build"
    run("cmake", "-S", folder, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build, "-j", "2", *(("--target", *targets) if targets else ()))
    return build


def sums(lib: Path, path: Path) -> dict[str, float]:
    """Each dump's sum of the field, by an h5py that knows the installed filter and nothing else."""
    return json.loads(run(sys.executable, "-c", READ, path, HDF5_PLUGIN_PATH=lib / "hdf5/plugin"))


def test_cplusplus_finds_targets_of_each_component(prefix, lib, example, tmp_path):
    """For every change one program is compiled; CMake still asks for the targets of all three."""
    build = cmake_build(prefix, example("cpp"), *(() if NIGHTLY else ("heat",)))
    run(build / "heat", tmp_path / "heat.h5")
    written = sums(lib, tmp_path / "heat.h5")
    assert list(written) == ["0", "10", "20"]
    assert all(value != 0 for value in written.values())
    if not NIGHTLY:
        return
    assert "at most" in run(build / "frame")
    if (lib / "libcaesura_parallel.so").exists():
        run(build / "heat_parallel", tmp_path / "parallel.h5")
        assert sums(lib, tmp_path / "parallel.h5") == written
        needs_parallel_alone(build / "heat_parallel")


def needs_parallel_alone(program: Path) -> None:
    """Of our libraries."""
    needed = run("readelf", "-d", program)
    assert "libcaesura_parallel.so.0" in needed and "libcaesura.so" not in needed


def test_c_by_pkg_config(prefix, lib, example, tmp_path):
    folder = example("c")
    run("make", cwd=folder, PKG_CONFIG_PATH=lib / "pkgconfig")
    run(folder / "heat", tmp_path / "heat.h5")
    assert len(sums(lib, tmp_path / "heat.h5")) == 10


def test_the_client_of_a_service_is_in_the_library(prefix, lib, tmp_path):
    """Nobody calls it by name, so a linker might leave it out: transports would be unknown."""
    if not (prefix / "bin" / "caesura-serve").exists():
        pytest.skip("this build has no service")
    (tmp_path / "ask.c").write_text(ASK_FOR_A_SERVICE)
    flags = run("pkg-config", "--cflags", "--libs", "caesura", PKG_CONFIG_PATH=lib / "pkgconfig")
    run("cc", "ask.c", "-o", "ask", *flags.split(), f"-Wl,-rpath,{lib}", cwd=tmp_path)
    assert "nobody-listens.sock: cannot connect" in run(tmp_path / "ask", cwd=tmp_path)


def test_what_is_installed_is_what_caesura_installed_builds(prefix):
    asked = run("ninja", "-C", BUILD, "-t", "query", "caesura_installed")
    made = {(BUILD / line.strip()).resolve().name for line in asked.splitlines()}
    binaries = (b"\x7fELF", b"!<ar")
    for path in prefix.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] in binaries:
            assert path.name in made, f"`ninja caesura_installed` does not build {path.name}"


@pytest.mark.skipif(not shutil.which("gfortran"), reason="no gfortran here")
def test_fortran(prefix, lib, example, tmp_path):
    build = cmake_build(prefix, example("fortran"))
    assert run(build / "heat", cwd=tmp_path) == ""  # it prints what went wrong
    assert len(sums(lib, tmp_path / "heat.h5")) == 10


@pytest.mark.skipif(not NIGHTLY, reason="CAESURA_NIGHTLY is not set: see .ci/nightly")
@pytest.mark.skipif(not shutil.which("mpifort"), reason="no mpifort here")
def test_fortran_with_mpi(prefix, lib, tmp_path):
    if not (lib / "libcaesura_fortran_mpi.a").exists():
        pytest.skip("this build has no MPI")
    (tmp_path / "ranks.f90").write_text(FORTRAN_WITH_MPI)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(ranks LANGUAGES C Fortran)\n"
        "find_package(MPI REQUIRED COMPONENTS C Fortran)\n"
        "find_package(Caesura REQUIRED COMPONENTS fortran)\n"
        "add_executable(ranks ranks.f90)\n"
        "target_link_libraries(ranks PRIVATE Caesura::fortran_mpi MPI::MPI_Fortran MPI::MPI_C)\n"
    )
    build = cmake_build(prefix, tmp_path)
    run("mpirun", *on_ranks(2, build / "ranks"), cwd=tmp_path, **DEFAULTS)
    assert sums(lib, tmp_path / "ranks.h5") == {"0": 1.0 * 8 + 2.0 * 8}


def test_adios2_loads_the_installed_engine(prefix, lib, tmp_path):
    plugins = lib / "caesura" / "adios2"
    if not plugins.exists():
        pytest.skip("this build found no ADIOS2")
    if importlib.util.find_spec("adios2") is None:
        pytest.skip("no adios2 in this Python")
    (tmp_path / "adios2.xml").write_text(ADIOS2_ENGINE)
    run(sys.executable, "-c", ADIOS2_PROGRAM, cwd=tmp_path, ADIOS2_PLUGIN_PATH=plugins)
    assert sums(lib, tmp_path / "run.h5") == {"0": 3.0 * 16}


def test_python_and_its_command_line(prefix, lib, example, tmp_path):
    (packages,) = lib.glob("python*/site-packages")
    place = "import caesura; print(caesura.__file__)"
    shown = run(sys.executable, "-P", "-c", place, cwd=tmp_path, PYTHONPATH=packages)
    assert Path(shown.strip()).is_relative_to(prefix)
    script = example("python") / "heat.py"
    run(sys.executable, script, tmp_path / "heat.h5", PYTHONPATH=packages)
    assert len(sums(lib, tmp_path / "heat.h5")) == 10
    # Its first line asks for pythonX.Y of the PATH.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    said = run(prefix / "bin" / "caesura", "info", tmp_path / "heat.h5", "--json", PATH=path)
    assert json.loads(said)
    ask = "import caesura.serving, caesura.vol as v; print(caesura.serving.program_path())"
    if (lib / "hdf5" / "vol").exists():
        ask += "; print(v.connector_path())"
    for found in run(sys.executable, "-P", "-c", ask, PYTHONPATH=packages).split():
        assert Path(found).is_relative_to(prefix)


def test_hdf5_loads_the_installed_connector(prefix, lib):
    plugin = lib / "hdf5" / "vol" / "libcaesura_vol.so"
    if not plugin.exists():
        pytest.skip("this build has no connector")
    # Nothing in the prefix but caesura_vol.pc says where its HDF5 is.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    caesura = prefix / "bin" / "caesura"
    said = json.loads(run(caesura, "vol", "check", "--json", PATH=path))
    assert (said["loaded"], said["plugin"]) == (True, str(plugin))
    pc = ("pkg-config", "--variable=hdf5root", "caesura_vol")
    root = run(*pc, PKG_CONFIG_PATH=lib / "pkgconfig").strip()
    assert said["hdf5_root"] == root
    if NIGHTLY:  # the same place is where the check above has it from
        assert root == run(caesura, "path", "hdf5", PATH=path).strip()
    assert (Path(root) / "include" / "hdf5.h").exists()


def test_an_unknown_component_is_an_error_that_names_it(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(x LANGUAGES C)\n"
        "find_package(Caesura QUIET COMPONENTS writer)\n"
        "if(NOT Caesura_FOUND)\nmessage(FATAL_ERROR no)\nendif()\n"
        "find_package(Caesura QUIET COMPONENTS writer sing)\n"
        "if(Caesura_sing_FOUND)\nmessage(FATAL_ERROR found)\nendif()\n"
        "find_package(Caesura 99 QUIET)\n"
        "if(Caesura_FOUND)\nmessage(FATAL_ERROR version)\nendif()\n"
    )
    run("cmake", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={prefix}")


def test_nothing_names_the_build_or_the_first_prefix(prefix):
    """RUNPATHs, scripts and packages. A system's library may ask for its own directory (PMIx)."""
    first = prefix.parent / "first"
    names = [str(BUILD).encode(), str(ROOT / "src").encode(), str(first).encode()]
    for path in prefix.rglob("*"):
        if path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()
        if content[:4] == b"\x7fELF":
            dynamic = run("readelf", "-dW", path)
            for paths in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic):
                known = [one.startswith(("$ORIGIN", "/usr/lib")) for one in paths.split(":")]
                assert all(known), (path, paths)
        elif path.suffix != ".a":  # those have debug information, as the libraries do
            assert not [name for name in names if name in content], path


def test_what_is_there(prefix, lib):
    """Each plugin lies alone in its directory, because HDF5 opens whatever it finds there."""
    assert (prefix / "include" / "caesura" / "writer.hpp").exists()
    assert [path.name for path in (lib / "hdf5/plugin").iterdir()] == ["libh5caesura.so"]
    assert (lib / "libcaesura.so").resolve().name.startswith("libcaesura.so.0.")
    assert (prefix / "share" / "man" / "man1" / "caesura-info.1").exists()
    vol = lib / "hdf5" / "vol"
    if vol.exists():
        # HDF5 does not look into a directory below.
        below = [path.name for path in vol.glob("caesura/*")]
        assert below in ([], ["libcaesura_completion.so"])
        assert [path.name for path in vol.iterdir() if path.is_file()] == ["libcaesura_vol.so"]


def cmake_of(page: str) -> list[str]:
    """The lines of CMake that a page shows: one that finds us, and those that link."""
    text = (ROOT / "docs" / "guide" / page).read_text(encoding="utf-8")
    (block,) = re.findall(r"```cmake\n(.*?)```", text, re.DOTALL)
    return block.splitlines()


# docs/guide/c.md shows how examples/c is built: test_c_by_pkg_config does that. For every change a
# small program stands for the page's own, and the pages share a project.
PAGES = [("install.md", "program", "frame.cpp"), ("writer.md", "app", "heat.cpp")]


@pytest.mark.parametrize("pages", [[page] for page in PAGES] if NIGHTLY else [PAGES])
def test_the_cmake_of_the_guides_builds_a_program(prefix, lib, tmp_path, pages):
    """Of docs/guide/install.md and docs/guide/writer.md; a target for each line that links."""
    project = ["cmake_minimum_required(VERSION 3.25)", "project(pages LANGUAGES C CXX)"]
    programs = []
    for page, target, source in pages:
        folder = tmp_path / target
        folder.mkdir()
        if NIGHTLY:
            shutil.copy(ROOT / "examples" / "cpp" / source, folder)
        else:
            source = "small.c"
            (folder / source).write_text(SMALL)
        found, *links = cmake_of(page)
        lines = [found]
        for number, link in enumerate(links):
            if "parallel" in link and not (lib / "libcaesura_parallel.so").exists():
                continue
            assert f"({target} " in link
            name = f"{target}{number}"
            lines += [f"add_executable({name} {source})", link.replace(f"({target} ", f"({name} ")]
            programs.append((Path(target) / name, "parallel" in link))
        (folder / "CMakeLists.txt").write_text("\n".join([*lines, ""]))
        project.append(f"add_subdirectory({target})")
    (tmp_path / "CMakeLists.txt").write_text("\n".join([*project, ""]))
    build = cmake_build(prefix, tmp_path)
    assert programs
    for program, is_parallel in programs:
        run(build / program, cwd=tmp_path)
        if is_parallel:
            needs_parallel_alone(build / program)
