"""What a machine needs before anything is built: system packages and Python environments.

Invariants: nothing is installed that is there already; each environment carries a stamp with the
hash of what it was made from, so that a second run costs milliseconds; a missing thing ends with
one sentence that says what to type.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from stages import ROOT, fail, note, run_stage

PACKAGES = ROOT / "tools" / "packages.txt"
CROSS_PACKAGES = PACKAGES.with_name("packages-aarch64.txt")
BROWSER_PACKAGES = PACKAGES.with_name("packages-browser.txt")
MPICH_PACKAGES = PACKAGES.with_name("packages-mpich.txt")
CLANG_PACKAGES = PACKAGES.with_name("packages-clang.txt")
DOCS_PACKAGES = PACKAGES.with_name("packages-docs.txt")
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
READERS = ROOT / ".venv-readers"
READERS_PYTHON = READERS / "bin" / "python"
DOCS = ROOT / ".venv-docs"
DOCS_PYTHON = DOCS / "bin" / "python"
BENCH = ROOT / ".venv-bench"
BENCH_PYTHON = BENCH / "bin" / "python"
SKIP = "CAESURA_SKIP_PACKAGES"


def listed_packages(listing: Path = PACKAGES) -> list[str]:
    """The names in packages.txt, or another list."""
    lines = (line.split("#")[0].strip() for line in listing.read_text().splitlines())
    return [line for line in lines if line]


def missing_packages(listing: Path = PACKAGES) -> list[str]:
    """Those of a list that dpkg does not have installed."""
    native = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True)
    query = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status} ${binary:Package}\\n"],
        capture_output=True,
        text=True,
        check=True,
    )
    present = set()
    for line in query.stdout.splitlines():
        status, _, name = line.partition(" ")
        if status == "installed":
            present.update((name, name.removesuffix(":" + native.stdout.strip())))
    return [name for name in listed_packages(listing) if name not in present]


def ensure_packages() -> None:
    """Install missing system packages by apt, or end with the line that does it."""
    label = "system packages"
    if os.environ.get(SKIP):
        note(label, "skipped")
        return
    if not shutil.which("dpkg-query") or not shutil.which("apt-get"):
        fail(
            f"This machine has no apt. Install the equivalents of: {' '.join(listed_packages())}; "
            f"then set {SKIP}=1."
        )
    missing = missing_packages()
    if not missing:
        note(label, "there")
        return
    if os.geteuid() != 0:
        fail(
            f"System packages are missing. Type:  sudo apt-get install -y {' '.join(missing)}\n"
            f"(or set {SKIP}=1 if their equivalents are installed in another way)"
        )
    install_packages("system packages", missing)


def may_install() -> bool:
    """Packages that only some tests need are not asked for."""
    return not os.environ.get(SKIP) and os.geteuid() == 0 and bool(shutil.which("apt-get"))


def ensure_test_packages() -> list[str]:
    """What single tests need, where it can be had: a browser, another MPI, another compiler, an
    emulated processor. They skip without: the answer names those tests."""
    without = []
    for label, listed, test in (
        ("packages for a browser", BROWSER_PACKAGES, "test_report_browser"),
        ("packages of MPICH", MPICH_PACKAGES, "test_other_mpi"),
        ("packages of Clang", CLANG_PACKAGES, "compiles_with_clang"),
        ("packages to emulate ARM", CROSS_PACKAGES, "codec_on_aarch64"),
    ):
        if not have_packages(label, listed):
            note(label, f"not to be had: {test} skips")
            without.append(test)
    return without


def have_packages(label: str, listed: Path) -> bool:
    """Whether they are there now: installed if need be, where that is possible."""
    missing = missing_packages(listed)
    if not missing or not may_install():
        return not missing
    if listed == CROSS_PACKAGES:
        subprocess.run(["dpkg", "--add-architecture", "arm64"], check=False)
    try:
        install_packages(label, missing)
    except SystemExit:
        return False
    return True


def install_packages(label: str, names: list[str]) -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    run_stage(
        "package lists", ["apt-get", "update"], log="apt-update", env=env, hint="Is the network up?"
    )
    install = ["apt-get", "install", "-y", "--no-install-recommends", *names]
    run_stage(f"{len(names)} {label}", install, log="apt-install", env=env)


def base_python() -> str:
    """The Python that environments are made with, and not one of theirs: set-up that runs in an
    activated environment would take that for outdated, and remove the Python that it runs."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def _stamp_of(requirements: Path) -> str:
    digest = hashlib.sha256(requirements.read_bytes())
    digest.update(sys.version.encode() + base_python().encode())
    return digest.hexdigest()


def _ensure_environment(where: Path, requirements: Path) -> None:
    label = f"Python environment {where.name}"
    stamp = where / "caesura-stamp"
    wanted = _stamp_of(requirements)
    if stamp.exists() and stamp.read_text() == wanted:
        note(label, "there")
        return
    shutil.rmtree(where, ignore_errors=True)
    run_stage(
        f"{label}: create",
        [base_python(), "-m", "venv", str(where)],
        log=f"venv{where.name}",
        hint="On Debian: apt-get install -y python3-venv",
    )
    # No input and no questions; pip's own configuration (mirrors, certificates) is respected.
    pip = [
        str(where / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--no-input",
        "--disable-pip-version-check",
        "-r",
        str(requirements),
    ]
    run_stage(f"{label}: pip", pip, log=f"pip{where.name}", hint="Is the network up?")
    stamp.write_text(wanted)


def ensure_python() -> None:
    """.venv: what builds, tests and runs Caesura's Python."""
    if sys.version_info < (3, 11):  # noqa: UP036 - an older Python is to say so, not to break
        fail(
            f"Caesura needs Python 3.11 or newer; {sys.executable} is "
            f"{platform.python_version()}. Name another: make PYTHON=python3.11 ..."
        )
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    if not header.exists():
        fail(
            f"{header} is missing, the module cannot be compiled. "
            "On Debian: apt-get install -y python3-dev"
        )
    _ensure_environment(VENV, ROOT / "tools" / "requirements.txt")


COMMAND = """#!{python}
# The command line of this checkout. tools/dev.py makes this file at every set-up.
import sys

try:
    from caesura.__main__ import main
except ModuleNotFoundError as error:
    if error.name != "caesura":
        raise
    sys.exit("caesura is not built yet: type `make build` or `make demo` in {root}")
main()
"""


def ensure_command(package: Path) -> None:
    """.venv/bin/caesura, and for the environment's Python the package in the build tree.

    Both lead to what was built last, so that they never need to be installed again. PYTHONPATH,
    which tests set, comes before.
    """
    script = VENV / "bin" / "caesura"
    text = COMMAND.format(python=VENV_PYTHON, root=ROOT)
    path = VENV / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    link = path / "site-packages" / "caesura-checkout.pth"
    for place, wanted in ((script, text), (link, f"{package}\n")):
        if not place.exists() or place.read_text() != wanted:
            place.write_text(wanted)
    script.chmod(0o755)


def ensure_readers() -> None:
    """.venv-readers: other people's readers without our package, for interoperability tests."""
    _ensure_environment(READERS, ROOT / "tools" / "requirements-readers.txt")


def ensure_docs_for_tests() -> None:
    """As below for the site's test, which skips without; in continuous integration it must not."""
    try:
        ensure_docs()
    except SystemExit:
        if os.environ.get("CI"):
            raise
        note("documentation site", "its test skips")


def ensure_docs() -> None:
    """.venv-docs and doxygen: what makes the documentation site."""
    if missing := missing_packages(DOCS_PACKAGES):
        if os.environ.get(SKIP) or os.geteuid() != 0 or not shutil.which("apt-get"):
            fail(f"the site needs {' '.join(missing)}. On Debian: apt-get install -y {missing[0]}")
        install_packages("packages for the site", missing)
    _ensure_environment(DOCS, ROOT / "tools" / "requirements-docs.txt")


def ensure_bench() -> Path:
    """.venv-bench: the codec's peers. The Python to measure with; .venv's where pip fails."""
    try:
        _ensure_environment(BENCH, ROOT / "tools" / "requirements-bench.txt")
    except SystemExit:
        note("peers of the codec", "missing")
        return VENV_PYTHON
    return BENCH_PYTHON


def ask_python(code: str) -> str:
    """What .venv's Python prints for `code`."""
    answer = subprocess.run([str(VENV_PYTHON), "-c", code], capture_output=True, text=True)
    if answer.returncode != 0:
        fail(
            f"{VENV_PYTHON.relative_to(ROOT)} cannot run '{code}': {answer.stderr.strip()}\n"
            "Remove .venv and try again."
        )
    return answer.stdout.strip()
