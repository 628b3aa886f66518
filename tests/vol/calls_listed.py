#!/usr/bin/env python3
"""Does docs/reference/connector_calls.md name every operation that HDF5's headers have?

A name that the page has and the headers have not is an error too. Standard library only.
Exit status: 0 or 1.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/connector_calls.md"
# In the headers' own spelling; a name that only wraps others is no operation.
CLASSES = "(?:ATTR|BLOB|DATASET|DATATYPE|FILE|GROUP|LINK|OBJECT|REQUEST)"
NATIVE = re.compile(rf"#define (H5VL_NATIVE_{CLASSES}_\w+)\s+\d+")
CALLBACK = re.compile(rf"^\s+(H5VL_{CLASSES}_\w+),?\s*/\*", re.MULTILINE)
# How objects are named, and how requests end: no operations.
OTHERS = re.compile(r"H5VL_OBJECT_BY_|H5VL_REQUEST_STATUS_")


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
    wanted = {name for name in wanted if not OTHERS.match(name)}
    listed = set(re.findall(rf"`(H5VL_(?:NATIVE_)?{CLASSES}_\w+)`", PAGE.read_text()))
    missing, unknown = sorted(wanted - listed), sorted(listed - wanted)
    for name in missing:
        print(f"{PAGE.name} does not say what becomes of {name}")
    for name in unknown:
        print(f"{PAGE.name} names {name}, which HDF5 does not have")
    print(f"{len(wanted)} operations")
    return 1 if missing or unknown or len(wanted) < 90 else 0


if __name__ == "__main__":
    raise SystemExit(main())
