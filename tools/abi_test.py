"""The shared libraries export what tests/abi lists, and abi.py notices whatever differs."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import abi

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("CAESURA_BUILD", ROOT / "build"))
NO_CODE = {"amrex.hpp", "cuda.hpp", "mpi.hpp", "wait.hpp"}  # all of them is in the header


def built(name):
    """The library; without MPI, UCX or an HDF5 for the connector some are not there, or smaller."""
    path = BUILD / abi.LIBRARIES[name]
    if not path.exists():
        pytest.skip(f"{path} is not built")
    return path


@pytest.mark.parametrize("name", abi.LIBRARIES)
def test_exports_are_as_the_list_says(name):
    built(name)
    said = [line for line in abi.differences(ROOT, BUILD) if line.startswith(abi.LIBRARIES[name])]
    assert not said, "\n".join([*said, abi.WHY])


def test_a_symbol_that_comes_or_goes_and_a_soname_are_noticed(tmp_path):
    built("libcaesura")
    shutil.copytree(ROOT / abi.FOLDER, tmp_path / abi.FOLDER)
    path = tmp_path / abi.FOLDER / "libcaesura.txt"
    lines = path.read_text().splitlines()
    gone = lines.pop(lines.index("caesura_put"))
    path.write_text("\n".join(["# libcaesura.so.7", *lines[1:], "caesura_sing"]) + "\n")
    said = [line for line in abi.differences(tmp_path, BUILD) if "lib/libcaesura.so:" in line]
    assert said == [
        f"lib/libcaesura.so: the soname is {abi.dynamic(built('libcaesura'), 'SONAME')[0]}, "
        "the list has libcaesura.so.7",
        "lib/libcaesura.so: has no more caesura_sing",
        f"lib/libcaesura.so: new is {gone}",
    ]


@pytest.mark.parametrize("name", ["libcaesura", "libcaesura_parallel"])
def test_nothing_of_others_and_nothing_internal_is_exported(name):
    for symbol in abi.symbols(built(name)):
        plain = symbol.removeprefix("vtable for ").removeprefix("typeinfo ")
        plain = plain.removeprefix("for ").removeprefix("name for ")
        assert plain.startswith(("caesura_", "caesura::")), symbol
        assert "::Impl::" not in symbol and "(anonymous namespace)" not in symbol, symbol


def test_every_public_header_exports_what_it_declares():
    headers = (ROOT / "include" / "caesura").glob("*.hpp")
    without = {
        path.name
        for path in headers
        if "#pragma GCC visibility push(default)" not in path.read_text()
        or not path.read_text().endswith("\n#pragma GCC visibility pop\n")
    }
    assert without == NO_CODE
