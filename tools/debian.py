"""`make deb`: Debian's packages of this checkout, checked by lintian, installed and tested.

The files of packaging/debian go to the root of a copy of the checkout, as dpkg-buildpackage wants
them. With --test the packages are installed into a fresh system of this release, in a directory,
where debian/tests use them; the machine's own system gets what building needs and nothing else.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import machine
from stages import OUT, ROOT, cores, fail, note, run_stage
from tree import setup

PLACE = OUT / "debian"
PACKAGING = ROOT / "packaging" / "debian"
SYSTEM = OUT / "debian-system"
# Debian's Python, whatever else the PATH begins with: the packages are for it.
PYTHON = "/usr/bin/python3"


def version() -> str:
    """The version of the checkout, as CMake has it."""
    found = re.search(r"project\(caesura VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    if found is None:
        fail("CMakeLists.txt does not say `project(caesura VERSION ...`.")
    return found[1]


def copy_sources() -> Path:
    """What git knows of the checkout, with debian/ at its root."""
    target = PLACE / f"caesura-{version()}"
    shutil.rmtree(PLACE, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name, follow_symlinks=False)
    shutil.copytree(PACKAGING, target / "debian")
    return target


def environment() -> dict[str, str]:
    """That of a build: Debian's programs first, and a nanobind where the release has none."""
    env = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    env["PATH"] = f"/usr/sbin:/usr/bin:/sbin:/bin:{env['PATH']}"
    env.update(LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1")
    env.setdefault("DEB_BUILD_OPTIONS", f"parallel={os.environ.get('JOBS', cores())}")
    # debhelper hides the home directory; the compiler's cache may be there all the same.
    env.setdefault("CCACHE_DIR", str(Path.home() / ".cache" / "ccache"))
    own = subprocess.run([PYTHON, "-c", "import nanobind"], env=env, capture_output=True)
    if own.returncode != 0:
        place = PLACE / "python"
        place.mkdir()
        where = machine.ask_python("import nanobind; print(nanobind.__path__[0])")
        (place / "nanobind").symlink_to(where)
        env["PYTHONPATH"] = str(place)
        note("nanobind", "from .venv")
    return env


def ensure_packages(sources: Path) -> None:
    """What building and testing need, by apt; or the line that installs it."""
    missing = machine.missing_packages(machine.PACKAGES.with_name("packages-debian.txt"))
    if missing and os.geteuid() != 0:
        fail(f"Type:  sudo apt-get install -y {' '.join(missing)}")
    if missing:
        machine.install_packages("packages to package with", missing)
    lacking = subprocess.run(["dpkg-checkbuilddeps"], cwd=sources, capture_output=True, text=True)
    if lacking.returncode != 0 and os.geteuid() != 0:
        fail(f"{lacking.stderr.strip()}\nType:  sudo apt-get build-dep {sources}")
    if lacking.returncode != 0:
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        command = ["apt-get", "build-dep", "-y", "--no-install-recommends", str(sources)]
        run_stage("packages to build with", command, log="debian-build-dep", env=env)


def in_directory(directory: Path, *command: str) -> list[str]:
    """The command, run there: stages run in the checkout's root."""
    return ["sh", "-c", 'cd "$0" && exec "$@"', str(directory), *command]


def run_tests(sources: Path) -> None:
    """A fresh system of this release in a directory, into which debian/tests' packages go."""
    if os.geteuid() != 0:
        fail("--test installs packages into a system of its own, which needs root.")
    release = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    shutil.rmtree(SYSTEM, ignore_errors=True)
    fresh = ["mmdebstrap", "--variant=apt", "--include=ca-certificates", release, str(SYSTEM)]
    run_stage(f"a fresh {release}", fresh, log="debian-system")
    packages = sorted(str(path) for path in PLACE.glob("*.deb") if "-dbgsym_" not in path.name)
    command = ["autopkgtest", *packages, str(sources), "--no-built-binaries", "--apt-upgrade"]
    command += ["--output-dir", str(PLACE / "tests")]
    # autopkgtest's chroot has no /proc, through which a program shares memory with a service.
    # Its exit status 2: one test was skipped, as that of a package which this release lacks.
    mount = 'mount -t proc proc "$0/proc" || exit; "$@"; code=$?; [ $code -eq 2 ] || exit $code'
    with_processes = ["unshare", "--mount", "sh", "-c", mount, str(SYSTEM)]
    try:
        run_stage(
            "packages installed and tested",
            [*with_processes, *command, "--", "chroot", str(SYSTEM)],
            log="debian-tests",
            env=environment_of_tests(),
        )
    finally:
        shutil.rmtree(SYSTEM, ignore_errors=True)


def environment_of_tests() -> dict[str, str]:
    """Nothing of the checkout reaches the tests."""
    hidden = ("PYTHONPATH", "HDF5_PLUGIN_PATH", "LD_LIBRARY_PATH", "CAESURA_BUILD")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def packages(options: argparse.Namespace) -> int:
    """Build into out/debian, ask lintian, and test on demand."""
    setup()
    sources = copy_sources()
    ensure_packages(sources)
    build = in_directory(sources, "dpkg-buildpackage", "-us", "-uc", "-b")
    run_stage("Debian's packages", build, log="debian", env=environment())
    (changes,) = PLACE.glob("*.changes")
    check = ["lintian", "--fail-on", "error,warning", "--info", "--allow-root", str(changes)]
    run_stage("lintian", check, log="lintian")
    if options.test:
        run_tests(sources)
    for path in sorted(PLACE.glob("*.deb")):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1024:,.0f} KiB")
    return 0
