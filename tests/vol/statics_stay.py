#!/usr/bin/env python3
"""No static of the connector is destroyed when the process ends: HDF5, which is loaded before it,
closes files after the destructors of newer libraries, and calls the connector for each of them.

Looks for functions that register a destructor (__cxa_atexit). Standard library only. Exit status:
0 or 1.
"""

from __future__ import annotations

import argparse
import re
import subprocess

# The CUDA runtime's own, linked statically, and atexit() itself, by which the connector hears of
# the end of the process.
OTHERS = re.compile(r"libcudart_static|^atexit$|__cxa_atexit@plt")


def main() -> int:
    """Name every function that does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objdump", required=True)
    parser.add_argument("--library", required=True)
    options = parser.parse_args()
    command = [options.objdump, "-d", "-C", "--no-show-raw-insn", options.library]
    callers, seen, name = set(), 0, ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as lines:
        for line in lines.stdout:
            if line.endswith(">:\n"):
                name = line[line.index("<") + 1 : -3]
                seen += 1
            elif "<__cxa_atexit@plt>" in line:
                callers.add(name)
    ours = sorted(caller for caller in callers if not OTHERS.search(caller))
    for caller in ours:
        print(f"{caller}: has a static with a destructor; let it be one that is never destroyed")
    print(f"{seen} functions, {len(ours)} with such statics")
    return 1 if ours or not seen else 0


if __name__ == "__main__":
    raise SystemExit(main())
