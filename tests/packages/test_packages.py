"""The packages agree with the project: versions, dependencies, options, and the files that
`cmake --install` writes. Whoever adds one of these and forgets the packages fails here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import recipes
from recipes import CONDA, DEBIAN, PACKAGING, ROOT, TRIPLET

sys.path.insert(0, str(ROOT / "tools"))
import machine

BUILD = Path(os.environ.get("CAESURA_BUILD", ROOT / "build"))
BIN = Path(sys.executable).parent
SCRIPTS = [
    *(path for path in sorted((DEBIAN / "tests").iterdir()) if path.name != "control"),
    *sorted(CONDA.glob("*.sh")),
]
# Of tools/packages.txt what the packages need: names in Spack and in conda.
NEEDED = {
    "cmake": ("cmake", "cmake"),
    "gfortran": ("fortran", None),
    "ninja-build": ("ninja", "ninja"),
    "pkg-config": ("pkgconfig", "pkg-config"),
    "libhdf5-dev": ("hdf5", "hdf5"),
    "libhdf5-openmpi-dev": ("hdf5", "hdf5"),
    "libopenmpi-dev": ("mpi", "mpi"),
    "libfmt-dev": ("fmt", "fmt"),
    "libtomlplusplus-dev": ("tomlplusplus", "tomlplusplus"),
    "libhwy-dev": ("highway", "libhwy"),
    "libxxhash-dev": ("xxhash", "xxhash"),
    "libzstd-dev": ("zstd", "zstd"),
    "libdeflate-dev": ("libdeflate", "libdeflate"),
    "libkissfft-dev": ("kissfft", None),  # conda: a second source
    "libsodium-dev": ("libsodium", "libsodium"),
    "nlohmann-json3-dev": ("nlohmann-json", "nlohmann_json"),
    "libpmix-dev": ("pmix", None),  # conda: without
    "libucx-dev": ("ucx", "ucx"),
    "python3-dev": ("python", None),
}
# The rest: in every Debian that builds packages, or for tests, benchmarks and mini-apps.
NOT_NEEDED = {
    *("g++", "make", "git", "ccache", "dpkg-dev", "hdf5-tools", "zlib1g-dev", "openmpi-bin"),
    *("libfftw3-dev", "libfftw3-mpi-dev", "libgtest-dev", "libgmock-dev", "libbenchmark-dev"),
    *("python3", "python3-venv"),
}
# What Debian's build has beside tools/packages.txt.
DEBIAN_ALONE = {
    *("chrpath", "debhelper-compat", "dh-python", "nanobind-dev", "python3-nanobind"),
}
# What CMake asks for by name, and Debian's package that has it.
FOUND_BY_CMAKE = {
    "MPI": "libopenmpi-dev",
    "Python": "python3-dev",
    "PkgConfig": "pkg-config",
    "fmt": "libfmt-dev",
    "fmt/format.h": "libfmt-dev",
    "libdeflate": "libdeflate-dev",
    "libhwy": "libhwy-dev",
    "libsodium": "libsodium-dev",
    "libxxhash": "libxxhash-dev",
    "libzstd": "libzstd-dev",
    "nanobind": "nanobind-dev",
    "nlohmann_json": "nlohmann-json3-dev",
    "pmix": "libpmix-dev",
    "ucx": "libucx-dev",
    "ucx-ucs": "libucx-dev",
    "kissfft/kissfft.hh": "libkissfft-dev",
    "toml++/toml.h": "libtomlplusplus-dev",
}
# What stands beside the names in pkg_check_modules.
PKG_CHECK_MODULES_WORDS = {"REQUIRED", "QUIET", "IMPORTED_TARGET", "GLOBAL"}
OPTIONAL_FINDS = {
    "ADIOS2",
    "AMReX",
    "benchmark",
    "ZLIB",
    "GTest",
    "Threads",
    "CUDAToolkit",
    "cuda_runtime_api.h",
}


def run(*command, **options) -> str:
    """What a program prints; the whole of it, where it fails."""
    done = subprocess.run(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}"
    return done.stdout


# --------------------------------------------------------------------------------------- versions


def test_all_recipes_have_the_project_s_version():
    version = recipes.project_version()
    first = (DEBIAN / "changelog").read_text().splitlines()[0]
    assert re.match(rf"caesura \({re.escape(version)}-\d+\) ", first), first
    assert str(recipes.conda()["context"]["version"]) == version
    assert [version] in recipes.spack_calls("version")
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == version


def test_debian_packages_are_named_by_the_soname():
    text = (ROOT / "cmake" / "CaesuraShared.cmake").read_text()
    abi = re.search(r"set\(CAESURA_ABI (\d+)\)", text)[1]
    names = [name for name in recipes.binary_packages() if re.match(r"libcaesura[a-z-]*\d", name)]
    assert names == [f"libcaesura{abi}", f"libcaesura-parallel{abi}", f"libcaesura-pmpi{abi}"]


# ----------------------------------------------------------------------------------- dependencies


def test_each_system_package_is_in_every_recipe_or_said_to_be_needless():
    depends, spack = recipes.build_depends(), recipes.spack_depends()
    conda = {
        name
        for kind in ("build", "host")
        for name in recipes.conda_requirements("libcaesura", kind)
    }
    for name in machine.listed_packages():
        assert (name in NEEDED) != (name in NOT_NEEDED), (
            f"{name} of tools/packages.txt: say in {Path(__file__).name} whether packages need it"
        )
        if name in NEEDED:
            in_spack, in_conda = NEEDED[name]
            assert name in depends, f"packaging/debian/control lacks Build-Depends: {name}"
            assert in_spack in spack, f"packaging/spack lacks depends_on: {in_spack}"
            assert in_conda is None or in_conda in conda, f"packaging/conda lacks {in_conda}"
    assert set(depends) == set(NEEDED) | DEBIAN_ALONE


def found_by_cmake() -> set[str]:
    """Names in find_package, pkg_check_modules and find_path of what can be installed."""
    names: set[str] = set()
    for place in ("src", "cmake", "python", "programs", "fortran"):
        for path in [*(ROOT / place).rglob("CMakeLists.txt"), *(ROOT / place).glob("*.cmake")]:
            text = re.sub(r"#.*", "", path.read_text())
            names.update(re.findall(r"find_package\((\w+)", text))
            names.update(re.findall(r"find_path\(\w+ ([\w+/.]+)", text))
            for modules in re.findall(r"pkg_check_modules\(\w+ ([^)]*)\)", text):
                words = set(modules.split()) - PKG_CHECK_MODULES_WORDS
                names.update(re.split(r"[<>=]", word)[0] for word in words if "$" not in word)
    return names


def test_what_cmake_looks_for_is_known_to_the_packages():
    depends = recipes.build_depends()
    found = found_by_cmake()
    assert {"fmt", "libzstd", "ucx", "toml++/toml.h"} <= found
    for name in found - OPTIONAL_FINDS:
        assert name in FOUND_BY_CMAKE, f"CMake looks for {name}: which package has it?"
        assert FOUND_BY_CMAKE[name] in depends


def test_oldest_versions_are_the_project_s():
    hdf5 = re.search(r"VERSION_LESS ([\d.]+)", (ROOT / "cmake" / "CaesuraHdf5.cmake").read_text())[
        1
    ]
    port = (ROOT / "src" / "transit" / "port" / "CMakeLists.txt").read_text()
    ucx = re.search(r"ucx>=([\d.]+)", port)[1]
    cmake = re.search(r"VERSION ([\d.]+)\)", (ROOT / "CMakeLists.txt").read_text())[1]
    depends, spack = recipes.build_depends(), recipes.spack_depends()
    host = recipes.conda_requirements("libcaesura", "host")
    assert depends["libhdf5-dev"] == depends["libhdf5-openmpi-dev"] == f">= {hdf5}"
    assert f"@{hdf5}:" in spack["hdf5"]
    assert depends["libucx-dev"] == f">= {ucx}" and f"@{ucx}:" in spack["ucx"]
    assert host["ucx"] == f">={ucx}"
    assert depends["cmake"] == f">= {cmake}" and f"@{cmake}:" in spack["cmake"]
    assert recipes.conda_requirements("libcaesura", "build")["cmake"] == f">={cmake}"


def test_python_s_dependencies_are_those_of_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = dict(
        re.match(r"([\w-]+)>=(.*)", one).groups() for one in project["project"]["dependencies"]
    )
    builds = dict(
        re.match(r"([\w-]+)>=(.*)", one).groups() for one in project["build-system"]["requires"]
    )
    spack = recipes.spack_depends()
    run_of_conda = recipes.conda_requirements("caesura", "run")
    host = recipes.conda_requirements("caesura", "host")
    control = {one["Package"]: one for one in recipes.paragraphs(DEBIAN / "control")[1:]}
    debian = {
        **recipes.relations(control["python3-caesura"]["Depends"]),
        **recipes.relations(control["caesura"]["Depends"]),
    }
    for name, oldest in wanted.items():
        assert f"@{oldest}:" in spack[f"py-{name}"], name
        assert run_of_conda[name].split()[0] == f">={oldest}", name
        assert f"python3-{name}" in debian, name
    for name, oldest in builds.items():
        assert host[name] == f">={oldest}", name
    assert f"@{builds['nanobind']}:" in spack["py-nanobind"]
    extras = set(run_of_conda) - set(wanted) - {"python"}
    assert not extras, f"conda alone has {extras}"


# ---------------------------------------------------------------------------------- CMake's options


def test_options_in_recipes_exist():
    """A misspelt -D is no error of CMake's."""
    known = {"HDF5_ROOT", "HDF5_PARALLEL_ROOT", "HDF5_VOL_ROOT", "KISSFFT_INCLUDE_DIR"}
    known.add("HDF5_PLUGIN_PATH")  # a variable of the environment
    for path in [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]:
        known.update(re.findall(r"(?:option\(|set\()(CAESURA_\w+)", path.read_text()))
    used: dict[str, str] = {}
    for path in [p for p in PACKAGING.rglob("*") if p.is_file()]:
        text = path.read_text()
        for pattern in (r"-D(CAESURA_\w+|\w*HDF5\w*|KISS\w+)=", r'"((?:CAESURA|HDF5)_[A-Z0-9_]+)"'):
            used.update(dict.fromkeys(re.findall(pattern, text), str(path)))
    assert {"CAESURA_TESTS", "CAESURA_SERVICE", "HDF5_VOL_ROOT"} <= set(used)
    for name, path in used.items():
        assert name in known, f"{path}: CMake knows no {name}"


# -------------------------------------------------------------------------------- files of Debian


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> set[str]:
    """Paths that Debian's build would install, made of those of this build."""
    prefix = tmp_path_factory.mktemp("install")
    run("cmake", "--install", BUILD, "--prefix", prefix)
    settings = recipes.rule_settings()
    cache = (BUILD / "CMakeCache.txt").read_text()
    moved = []
    for name in ("PLUGIN", "VOL", "FORTRAN", "PYTHON"):
        setting = f"CAESURA_{name}_DIR"
        if here := re.search(rf"^{setting}:\w+=(.*)$", cache, re.MULTILINE):
            moved.append((here[1], settings[setting]))
    lib = re.search(r"^CMAKE_INSTALL_LIBDIR:\w+=(.*)$", cache, re.MULTILINE)[1]
    moved.append((lib, f"lib/{TRIPLET}"))
    found = set()
    for path in prefix.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            continue
        name = str(path.relative_to(prefix))
        for here, there in moved:
            if name.startswith(f"{here}/"):
                name = there + name.removeprefix(here)
                break
        found.add(f"usr/{name}")
    return found


def test_each_installed_file_is_in_one_debian_package(installed):
    lists = recipes.listed_files()
    for path in sorted(installed):
        takers = {one.package for one in lists if one.takes(path)}
        assert takers, f"no list in packaging/debian takes {path}"
        assert len(takers) == 1, f"{path} is in {' and '.join(sorted(takers))}"


def test_debian_lists_no_file_that_is_not_installed(installed):
    has_connector = any("libcaesura_vol" in path for path in installed)
    names = recipes.binary_packages()
    for one in recipes.listed_files():
        assert one.package in {"", *names}, f"packaging/debian lists files of {one.package}"
        if one.package == "caesura-hdf5-connector" and not has_connector:
            continue
        assert any(one.takes(path) for path in installed), f"nothing is installed as {one.pattern}"


def test_links_of_debian_lead_to_installed_files(installed):
    settings = {"${DEB_HOST_MULTIARCH}": TRIPLET}
    has_connector = any("libcaesura_vol" in path for path in installed)
    for path in DEBIAN.glob("*.links"):
        if path.name.startswith("caesura-hdf5-connector") and not has_connector:
            continue
        for line in path.read_text().splitlines():
            target = line.split()[0]
            for name, value in settings.items():
                target = target.replace(name, value)
            assert any(f"{one}/".startswith(f"{target}/") for one in installed), line


# ------------------------------------------------------------------------------ recipes themselves


def test_conda_s_recipe_renders_for_each_mpi_and_python():
    from rattler_build import PlatformConfig, RenderConfig, Stage0Recipe, VariantConfig

    recipe = Stage0Recipe.from_file(str(CONDA / "recipe.yaml"))
    variants = VariantConfig.from_file(str(CONDA / "variants.yaml"))
    config = RenderConfig(PlatformConfig(target_platform="linux-64"))
    outputs: dict[tuple, object] = {}
    for one in recipe.render(variants, config):
        variant = {name: str(value) for name, value in one.variant.items()}
        key = (one.recipe.package.name, variant["mpi"], variant.get("python", "").split(".*")[0])
        outputs[key] = one.recipe
    mpis = ("nompi", "mpich", "openmpi")
    pythons = ("3.11", "3.12", "3.13")
    wanted = {("libcaesura", mpi, "") for mpi in mpis}
    wanted |= {("caesura", mpi, python) for mpi in mpis for python in pythons}
    assert set(outputs) == wanted
    for (_, mpi, _), recipe in outputs.items():
        text = str(recipe.requirements.to_dict())
        assert ("hdf5 >=1.14 mpi_" in text) == (mpi != "nompi")
        assert recipe.build.to_dict()["number"] == (100 if mpi == "nompi" else 0)


def test_hadolint_finds_nothing_in_the_dockerfile():
    run(BIN / "hadolint", "--failure-threshold", "info", PACKAGING / "docker" / "Dockerfile")


def run_lines(text: str) -> list[str]:
    """Commands of a Dockerfile's RUN lines, or of a definition's %post, each as one line."""
    lines = [" ".join(one.split()) for one in text.replace("\\\n", " ").splitlines()]
    return [line.removeprefix("RUN ") for line in lines if line and not line.startswith("#")]


def test_apptainer_s_definition_runs_what_the_dockerfile_runs():
    dockerfile = (PACKAGING / "docker" / "Dockerfile").read_text()
    docker = [line for line in run_lines(dockerfile) if line.startswith(("apt-get", "dpkg-"))]
    definition = (PACKAGING / "apptainer" / "caesura.def").read_text()
    posts = "\n".join(re.findall(r"^%post\n((?:[ \t].*\n|\n)*)", definition, re.MULTILINE))
    apptainer = [line for line in run_lines(posts) if line.startswith(("apt-get", "dpkg-"))]
    assert len(docker) == 4
    assert apptainer == docker
    base = re.search(r"^ARG DEBIAN=(.*)$", (PACKAGING / "docker" / "Dockerfile").read_text(), re.M)[
        1
    ]
    assert re.findall(r"^From: (.*)$", definition, re.MULTILINE) == [base, base]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_parse(script):
    shell = script.read_text().splitlines()[0].split("/")[-1].split()[-1]
    run(shutil.which(shell), "-n", script)
    assert os.access(script, os.X_OK), f"{script} is not executable"


def test_each_debian_test_is_declared_and_there():
    declared = []
    for one in recipes.paragraphs(DEBIAN / "tests" / "control"):
        declared += one["Tests"].split()
        for name in recipes.relations(one["Depends"]):
            ours = name.startswith(("caesura", "libcaesura", "python3-caesura"))
            assert not ours or name in recipes.binary_packages(), name
    there = {path.name for path in (DEBIAN / "tests").iterdir()} - {"control"}
    assert set(declared) == there
