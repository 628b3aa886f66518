"""What the suites of others are made of: sources, and the programs compiled from them.

Sources come from Debian's source packages or from a path that the user names; they and what is
made of them lie in the user's cache and are never committed. What lies there under its final name
is complete: it is made beside it and renamed at the end.

Standard library only.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import hdf5
import parallel_python
from stages import LOGS, ROOT, run_stage

HERE = ROOT / "tests" / "stand_in" / "suites"
REQUIREMENTS = ROOT / "tools" / "requirements-suites.txt"
NETCDF = "4.9.3"
# Tests that remove links of a group to itself, at which HDF5 1.14.5 damages its memory where the
# file has the format of 1.8 or newer.
ENDS_HDF5 = (
    *("delete_link", "delete_link_reset_grp_max_crt_order"),
    *("move_link", "move_link_reset_grp_max_crt_order"),
)
# Groups of the API tests whose tests can run singly, so that one that ends the process hides no
# other, and those of ENDS_HDF5 part by part: the sources, and the list in them.
SINGLY = {
    "h5_api_test": ("link", "test/API/H5_api_link_test.c", "link_tests"),
    "h5_api_test_parallel": (
        *("dataset", "testpar/API/H5_api_dataset_test_parallel.c", "par_dataset_tests"),
    ),
}
# Variables that ask for one test, by its number, and for one part of each test.
ONE, PART = "CAESURA_SUITES_TEST", "CAESURA_SUITES_PART"
GROUPS = ("attribute", "dataset", "datatype", "file", "group", "link", "misc", "object")
TESTPHDF5 = [
    *("testphdf5", "t_dset", "t_file", "t_file_image", "t_mdset", "t_ph5basic", "t_coll_chunk"),
    *("t_span_tree", "t_chunk_alloc", "t_filter_read", "t_prop", "t_coll_md", "t_oflush"),
]
SINGLE = ("t_pread", "t_shapesame", "t_filters_parallel", "t_pmulti_dset", "t_pshutdown")
NETCDF_OPTIONS = {
    "CMAKE_BUILD_TYPE": "None",
    "CMAKE_C_FLAGS": "-O1 -w",
    "NETCDF_ENABLE_DAP": "OFF",
    "NETCDF_ENABLE_NCZARR": "OFF",
    "NETCDF_ENABLE_BYTERANGE": "OFF",
    "NETCDF_ENABLE_PLUGINS": "OFF",
    "NETCDF_ENABLE_EXAMPLES": "OFF",
    "NETCDF_ENABLE_LIBXML2": "OFF",
    "NETCDF_ENABLE_TESTS": "ON",
}


class Unavailable(Exception):
    """A suite cannot be had on this machine; the text says why."""


def root() -> Path:
    """The connector's HDF5."""
    found = hdf5.ensure()
    if found is None:
        raise Unavailable("there is no parallel HDF5 for the connector")
    return found


def kept(name: str, parts: list[str], make: Callable[[Path], None]) -> Path:
    """The directory in the cache that `make` has filled, made if need be."""
    digest = hashlib.sha256("\n".join([name, str(root()), hdf5.build_key(), *parts]).encode())
    target = hdf5.cache() / f"suites-{name}-{digest.hexdigest()[:16]}"
    with hdf5.locked(target.name, f"suite {name}"):
        if not (target / "caesura-stamp").exists():
            shutil.rmtree(target, ignore_errors=True)  # what a killed run left
            target.mkdir(parents=True)
            make(target)
            (target / "caesura-stamp").touch()
    return target


def debian_source(package: str, place: Path, *options: str) -> None:
    """Debian's source package into `place`; with --tar-only the archive of its authors alone."""
    LOGS.mkdir(parents=True, exist_ok=True)
    apt = place / "apt"
    apt.mkdir()
    try:
        settings = hdf5.apt_options(apt)
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        raise Unavailable(f"{package}'s sources cannot be had: {error}") from None
    with (LOGS / f"suite-{package}-source.log").open("w") as log:
        for command in (["update"], ["source", *options, package]):
            done = subprocess.run(
                ["apt-get", *settings, *command],
                cwd=place,
                env={**os.environ, "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            if done.returncode != 0:
                raise Unavailable(
                    f"{package}'s source package cannot be had, see "
                    f"out/logs/suite-{package}-source.log"
                )
    shutil.rmtree(apt)


def named_source(variable: str) -> Path | None:
    """The unpacked sources that the user names."""
    named = os.environ.get(variable)
    if named and not Path(named).is_dir():
        raise Unavailable(f"{variable}={named} is no directory")
    return Path(named).resolve() if named else None


def with_mpi(place: Path) -> None:
    """with_mpi.so in `place`."""
    made = [hdf5.mpicc(), "-O1", "-shared", "-fPIC", str(HERE / "with_mpi.c")]
    run_stage("suites: with_mpi.so", [*made, "-o", str(place / "with_mpi.so")], log="suite-mpi")


# ------------------------------------------------------------------------------------------ Python


def python() -> Path:
    """An interpreter that finds parallel h5py and pytest. Raises Unavailable."""
    given = os.environ.get("CAESURA_PARALLEL_PYTHON")
    parallel = Path(given) if given else parallel_python.ensure()
    if parallel is None:
        raise Unavailable("there is no Python with parallel h5py (PyPI cannot be reached?)")
    # A child of mpirun finds h5py by a .pth file: what is in that environment stays as it is.
    ask = "import site; print(site.getsitepackages()[0])"

    def make(place: Path) -> None:
        run_stage("suites: venv", [sys.executable, "-m", "venv", str(place)], log="suite-venv")
        answer = subprocess.run([parallel, "-c", ask], capture_output=True, text=True, check=True)
        inside = place / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
        (inside / "site-packages" / "parallel.pth").write_text(answer.stdout)
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--no-input"]
        pip += ["--disable-pip-version-check", "-r", str(REQUIREMENTS)]
        run_stage("suites: pytest", pip, log="suite-pip", hint="Is the network up?")

    parts = [sys.version, str(parallel), REQUIREMENTS.read_text()]
    return kept("python", parts, make) / "bin" / "python"


# ------------------------------------------------------------------------------------ HDF5's tests


def with_choice(text: str, tests: str) -> tuple[str, list[str]]:
    """Sources of API tests that run one test alone where ONE is set, and one part of it alone where
    PART is; and each run: a number, a test, perhaps a part."""
    listed = re.search(rf"\(\*{tests}\[\]\)\(void\) = {{(.*?)}};", text, re.DOTALL)
    call = f"(*{tests}[i])()"
    if listed is None or text.count(call) != 1:
        raise Unavailable(f"HDF5's sources have no list {tests}")
    runs = []
    for number, test in enumerate(re.findall(r"\btest_(\w+)", listed[1])):
        body = re.search(rf"^test_{test}\(void\)\n{{(.*?)^}}", text, re.DOTALL | re.MULTILINE)
        parts = re.findall(r"PART_BEGIN\((\w+)\)", body[1]) if body else []
        runs += [f"{number} {test} {part}" for part in parts if test in ENDS_HDF5]
        runs += [f"{number} {test}"] if test not in ENDS_HDF5 else []
    chosen = f'(!getenv("{ONE}") || (size_t)atoi(getenv("{ONE}")) == (size_t)i)'
    text = text.replace(call, f"({chosen} && {call})")
    asks = f'getenv("{PART}") && strcmp(getenv("{PART}"), #part)'
    begin = f"#undef PART_BEGIN\n#define PART_BEGIN(part) {{ if ({asks}) goto part_##part##_end;\n"
    first = text.index("\nstatic ") + 1
    return text[:first] + begin + text[first:], runs


def hdf5_rules(source: Path, installed: Path, own: dict[str, Path]) -> str:
    """build.ninja for the programs: HDF5's tests compiled against the installed library.

    `own` holds sources that take the place of HDF5's; "rest" those of links without ENDS_HDF5."""
    where = ("src", "src/H5FDsubfiling", "test", "testpar", "test/API", "testpar/API")
    include = (".", installed / "include", *map(source.joinpath, where))
    flags = " ".join(["-O1 -w -DH5_BUILT_AS_DYNAMIC_LIB", *(f"-I{path}" for path in include)])
    launcher = "ccache " if shutil.which("ccache") else ""
    lines = [
        "rule cc",
        f"  command = {launcher}{hdf5.mpicc()} {flags} -c $in -o $out",
        "rule ld",
        # Some programs define what the common code of the tests defines too.
        f"  command = {hdf5.mpicc()} $in -o $out -L{installed}/lib -Wl,-rpath,{installed}/lib "
        "-Wl,-z,muldefs -lhdf5 -lm",
    ]
    compiled: set[str] = set()

    def objects(paths: list[str]) -> list[str]:
        made = []
        for path in paths:
            name = f"obj/{path.replace('/', '_')}.o"
            if name not in compiled:
                compiled.add(name)
                lines.append(f"build {name}: cc {own.get(path, source / path)}")
            made.append(name)
        return made

    common = ("h5test", "testframe", "cache_common", "external_common", "swmr_common")
    shared = objects([f"test/{name}.c" for name in common])
    programs = {
        "h5_api_test": ["test/API/H5_api_test.c", "test/API/H5_api_test_util.c"]
        + [f"test/API/H5_api_{group}_test.c" for group in GROUPS],
        "h5_api_test_rest": ["test/API/H5_api_test.c", "test/API/H5_api_test_util.c"]
        + [f"test/API/H5_api_{group}_test.c" for group in GROUPS if group != "link"]
        + [str(own["rest"])],
        "h5_api_test_parallel": [
            "testpar/API/H5_api_test_parallel.c",
            "test/API/H5_api_test_util.c",
            *(f"testpar/API/H5_api_{group}_test_parallel.c" for group in GROUPS),
        ],
        "testphdf5": [f"testpar/{name}.c" for name in TESTPHDF5],
    }
    programs |= {name: [f"testpar/{name}.c"] for name in SINGLE}
    for program, paths in programs.items():
        lines.append(f"build {program}: ld {' '.join(objects(paths) + shared)}")
    return "\n".join(lines) + "\n"


def hdf5_tests() -> Path:
    """The directory of HDF5's test programs. Raises Unavailable."""
    own = named_source("CAESURA_SUITES_HDF5")
    installed = root()

    def make(place: Path) -> None:
        source = own
        if source is None:
            debian_source("hdf5", place)
            source = next(path for path in place.glob("hdf5-*") if path.is_dir())
        header = (source / "src" / "H5public.h").read_text()
        found = re.search(r'H5_VERS_INFO\s+"HDF5 library version:? ([\d.]+)', header)
        version = found[1] if found else "unknown"
        if not installed_is(installed, version):
            raise Unavailable(f"these are HDF5 {version}'s tests, and the connector's is another")
        empty = '#include "hdf5.h"\n'  # what CMake would fill in is for asynchronous connectors
        (place / "H5_api_test_config.h").write_text(empty)
        (place / "H5srcdir_str.h").write_text(f'#define config_srcdir "{source / "test"}"\n')
        links = (source / "test" / "API" / "H5_api_link_test.c").read_text()
        rest = place / "H5_api_link_test_rest.c"
        for test in ENDS_HDF5:
            links = links.replace(f"    test_{test},\n", "")
        rest.write_text(links)
        sources = {"rest": rest}
        for program, (_, path, tests) in SINGLY.items():
            text, runs = with_choice((source / path).read_text(), tests)
            sources[path] = place / Path(path).name
            sources[path].write_text(text)
            (place / f"{program}.tests").write_text("\n".join(runs))
        (place / "build.ninja").write_text(hdf5_rules(source, installed, sources))
        (place / "version").write_text(version)
        jobs = os.environ.get("JOBS", "1")
        run_stage("suites: HDF5's tests", ["ninja", "-C", str(place), "-j", jobs], log="suite-hdf5")
        with_mpi(place)

    return kept("hdf5", [str(own), *ENDS_HDF5, *SINGLY, ONE, PART], make)


def installed_is(installed: Path, version: str) -> bool:
    """Whether that HDF5 is of this version: the tests use the insides of their own."""
    return f'#define H5_VERSION "{version}' in (installed / "include" / "H5pubconf.h").read_text()


# ------------------------------------------------------------------------------------------ netCDF


def netcdf() -> Path:
    """netCDF-C's build tree, compiled with the connector's HDF5. Raises Unavailable."""
    own = named_source("CAESURA_SUITES_NETCDF")
    installed = root()

    def make(place: Path) -> None:
        source = own
        if source is None:
            debian_source("netcdf", place, "--tar-only")
            archive = next(place.glob("netcdf_*.orig.tar.*"))
            subprocess.run(["tar", "xf", str(archive), "-C", str(place)], check=True)
            source = next(path for path in place.glob("netcdf-c-*") if path.is_dir())
        settings = NETCDF_OPTIONS | {
            "CMAKE_C_COMPILER": hdf5.mpicc(),
            "HDF5_ROOT": str(installed),
            "CMAKE_PREFIX_PATH": str(installed),
        }
        if shutil.which("ccache"):
            settings["CMAKE_C_COMPILER_LAUNCHER"] = "ccache"
        tree = place / "build"
        options = [f"-D{name}={value}" for name, value in settings.items()]
        configure = ["cmake", "-G", "Ninja", "-S", str(source), "-B", str(tree), *options]
        run_stage("suites: configure netCDF", configure, log="suite-netcdf-configure")
        jobs = os.environ.get("JOBS", "1")
        run_stage("suites: netCDF", ["ninja", "-C", str(tree), "-j", jobs], log="suite-netcdf")
        for name in ("nc_test4", "h5_test"):  # programs read files beside them
            for path in (source / name).glob("*.[nch5]*"):
                if path.suffix in (".nc", ".h5", ".cdl"):
                    shutil.copy(path, tree / name)
        (place / "version").write_text(source.name.removeprefix("netcdf-c-"))
        with_mpi(place)

    return kept("netcdf", [str(own), *map("=".join, sorted(NETCDF_OPTIONS.items()))], make)
