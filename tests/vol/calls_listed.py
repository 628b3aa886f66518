#!/usr/bin/env python3
"""Does docs/reference/connector_calls.md name every operation on files that HDF5's headers have?

A name that the page has and the headers have not is an error too. Standard library only.
Exit status: 0 or 1.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/connector_calls.md"
# In the headers' own spelling; a name that only wraps others is no operation.
NATIVE = re.compile(r"#define (H5VL_NATIVE_FILE_\w+)\s+\d+")
CALLBACK = re.compile(r"^\s+(H5VL_FILE_\w+),?\s*/\*", re.MULTILINE)


def main() -> int:
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", required=True, help="where HDF5's headers are")
    options = parser.parse_args()
    include = next(
        path
        for name in options.include.split(";")
        if (path := Path(name) / "H5VLnative.h").exists()
    ).parent
    wanted = set(NATIVE.findall((include / "H5VLnative.h").read_text()))
    wanted |= set(CALLBACK.findall((include / "H5VLconnector.h").read_text()))
    listed = set(re.findall(r"`(H5VL_(?:NATIVE_)?FILE_\w+)`", PAGE.read_text()))
    missing, unknown = sorted(wanted - listed), sorted(listed - wanted)
    for name in missing:
        print(f"{PAGE.name} does not say what becomes of {name}")
    for name in unknown:
        print(f"{PAGE.name} names {name}, which HDF5 does not have")
    print(f"{len(wanted)} operations")
    return 1 if missing or unknown or len(wanted) < 40 else 0


if __name__ == "__main__":
    raise SystemExit(main())
