"""Build trees with sanitizers: how they are configured, and the environment in which they run.

    address, thread           everything but MPI and Python, whose own reports would drown ours
    address-vol, thread-vol   what runs under the VOL connector, with MPI and parallel HDF5

Invariants:
  - MPI and HDF5 are not instrumented: what they do to memory is not seen.
  - A finding ends the process with a status of its own (66 of the thread sanitizer), which mpirun
    hands on, so that the test fails. No finding is suppressed.
  - Findings are kept in files, one a process: a test of what happens when a service dies does not
    mind that a finding has ended it.
"""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

from stages import LOGS

ROOMS = ("address", "thread")
VOL = tuple(f"{name}-vol" for name in ROOMS)
EVERY = ROOMS + VOL
# All that runs under the connector, and the tests of it.
VOL_TARGET, VOL_TESTS = "vol_programs", "^vol[._]"


def of_rooms(sanitize: str) -> list[str]:
    """What CMake is told."""
    return [f"-DCAESURA_SANITIZE={sanitize}", "-DCAESURA_MPI=OFF", "-DCAESURA_PYTHON=OFF"]


def of_vol(
    sanitize: str, parallel_hdf5: Path | None, archive: Path | None, stock_filters: Path
) -> list[str]:
    """What CMake is told. Stock tools are not instrumented and load `stock_filters`."""
    return [
        f"-DCAESURA_SANITIZE={sanitize.removesuffix('-vol')}",
        "-DCAESURA_MPI=ON",
        f"-DHDF5_VOL_ROOT={parallel_hdf5 or ''}",
        f"-DHDF5_HIDDEN_ROOT={archive or ''}",
        f"-DCAESURA_STOCK_FILTERS={stock_filters}",
        # The codec's kernels for one instruction set: its own tests look at the others, and
        # compiling them takes longer than all the rest.
        "-DCMAKE_CXX_FLAGS=-DHWY_COMPILE_ONLY_STATIC",
        # A third of the time that -O2 -g takes to compile, and its files are small.
        "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-Og -g1 -DNDEBUG",
    ]


# What filter plugins do that is not ours to change: a broken Zstd stream makes its filter ask
# malloc for more than there is, and SZ3's hands out `new[]` memory that HDF5's convention has us
# `free`, as HDF5 itself does.
PLUGINS_ALLOCATE = "allocator_may_return_null=1"
PLUGINS_FREE = "alloc_dealloc_mismatch=0"
# UCX watches memory by hooks in libc's calls, among them the last one of a thread that ends. Its
# hook takes a lock there, after the thread sanitizer has let go of the thread, and that crashes.
WITHOUT_HOOKS = {"UCX_MEM_MMAP_HOOK_MODE": "none"}


# The beginning of their names; a process's number follows.
FINDINGS = LOGS / "finding"


def findings() -> list[Path]:
    """What has been found since they were removed."""
    return sorted(LOGS.glob(f"{FINDINGS.name}.*"))


def environment(sanitize: str) -> dict[str, str]:
    """The sanitizers' options, as variables. Programs run outside `dev.py` need them too."""
    kept = f"log_path={FINDINGS}"
    address = f"{PLUGINS_FREE}:{PLUGINS_ALLOCATE}:{kept}"
    thread = f"halt_on_error=1:second_deadlock_stack=1:{PLUGINS_ALLOCATE}:{kept}"
    return {
        "": {},
        "address": {
            "ASAN_OPTIONS": f"detect_stack_use_after_return=1:strict_string_checks=1:{address}",
            "UBSAN_OPTIONS": f"print_stacktrace=1:{kept}",
        },
        "thread": {"TSAN_OPTIONS": thread, **WITHOUT_HOOKS},
        # MPI leaks. libvol_delays.so is preloaded, and so comes before the sanitizer's library.
        "address-vol": {
            "ASAN_OPTIONS": f"detect_leaks=0:verify_asan_link_order=0:{address}",
            "UBSAN_OPTIONS": f"print_stacktrace=1:{kept}",
        },
        "thread-vol": {
            "TSAN_OPTIONS": f"{thread}:ignore_noninstrumented_modules=1",
            **WITHOUT_HOOKS,
        },
    }[sanitize]


def launcher(sanitize: str) -> list[str]:
    """What a command is started with. GCC 12's thread sanitizer refuses the address layouts of
    newer kernels' randomisation. Containers may forbid personality(2): then it takes its chances.
    """
    if not sanitize.startswith("thread"):
        return []
    command = ["setarch", platform.machine(), "-R"]
    allowed = subprocess.run([*command, "true"], capture_output=True).returncode == 0
    return command if allowed else []
