"""Golden bytes are as the list of hashes says, and golden.py notices whatever is not."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import golden

ROOT = Path(__file__).resolve().parent.parent
# Of the list as it stood on the day of the freeze: so many lines, and their SHA-256. Who changes a
# frozen file would have to change this too, and nothing may.
FREEZE_LINES = 174
FREEZE_SHA256 = "ec0bcaea3114d5c7bf7600a0c0eb810f11d54985ebc828f499a123fc825137d0"
PINNED = "TEST(Format, header_bytes_are_pinned) {\n    EXPECT_EQ(a(), 1);\n}\n"


@pytest.fixture
def tree(tmp_path):
    """Two golden files, a pinned test, and their list."""
    for name, text in {
        "tests/golden/a.cae": "one",
        "tests/golden/deep/b.bin": "two",
        "src/store/format_test.cpp": f"// A.\n{PINNED}TEST(Format, other) {{\n}}\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    golden.write_list(tmp_path)
    (tmp_path / golden.FROZEN).write_text("# Frozen.\n")
    golden.freeze(tmp_path)
    return tmp_path


def test_no_golden_bytes_have_changed_in_this_tree():
    said = golden.differences(ROOT)
    assert not said, "\n".join([*said, golden.WHY])


def test_the_list_covers_files_and_pinned_tests(tree):
    assert list(golden.listed_hashes(tree)) == [
        "Format.header_bytes_are_pinned",
        "tests/golden/a.cae",
        "tests/golden/deep/b.bin",
    ]
    assert golden.differences(tree) == []


def test_a_changed_file_is_noticed(tree):
    (tree / "tests/golden/a.cae").write_text("two")
    (said,) = golden.differences(tree)
    assert said.startswith("tests/golden/a.cae has changed")


def test_a_missing_file_is_noticed(tree):
    (tree / "tests/golden/deep/b.bin").unlink()
    assert golden.differences(tree) == ["tests/golden/deep/b.bin is missing"]


def test_a_file_that_is_not_listed_is_noticed(tree):
    (tree / "tests/golden/c.cae").write_text("three")
    assert golden.differences(tree) == ["tests/golden/c.cae is not in tests/golden.sha256"]


def test_changed_and_missing_pinned_bytes_are_noticed(tree):
    path = tree / "src/store/format_test.cpp"
    path.write_text(path.read_text().replace("1);", "2);"))
    (said,) = golden.differences(tree)
    assert said.startswith("Format.header_bytes_are_pinned has changed")
    path.write_text("// A.\n")
    assert golden.differences(tree) == ["Format.header_bytes_are_pinned is missing"]


def test_pinned_bytes_may_move_to_another_room(tree):
    (tree / "src/ledger").mkdir()
    (tree / "src/store/format_test.cpp").rename(tree / "src/ledger/format_test.cpp")
    assert golden.differences(tree) == []


def test_no_frozen_file_has_changed_in_this_tree():
    assert golden.thawed(ROOT) == []


def test_the_list_of_the_day_of_the_freeze_stands_as_it_was():
    lines = (ROOT / golden.FROZEN).read_text(encoding="utf-8").splitlines(keepends=True)
    assert len(lines) >= FREEZE_LINES
    frozen = "".join(lines[:FREEZE_LINES])
    assert hashlib.sha256(frozen.encode()).hexdigest() == FREEZE_SHA256


def test_an_update_does_not_excuse_a_frozen_file(tree):
    (tree / "tests/golden/a.cae").write_text("two")
    golden.write_list(tree)
    golden.freeze(tree)
    assert golden.differences(tree) == []
    assert golden.thawed(tree) == ["tests/golden/a.cae is frozen and has changed"]


def test_a_frozen_file_cannot_go(tree):
    (tree / "tests/golden/a.cae").unlink()
    golden.write_list(tree)
    assert golden.thawed(tree) == ["tests/golden/a.cae is frozen and missing"]


def test_what_is_new_is_frozen_behind_what_was(tree):
    before = (tree / golden.FROZEN).read_text()
    (tree / "tests/golden/c.cae").write_text("three")
    (said,) = golden.thawed(tree)
    assert said.startswith("tests/golden/c.cae is new")
    golden.freeze(tree)
    assert golden.thawed(tree) == []
    assert (tree / golden.FROZEN).read_text().startswith(before)


def test_lines_of_the_list_of_frames_may_be_added_and_not_changed(tree):
    lines = tree / golden.LINES
    lines.write_text("a 1\n")
    golden.freeze(tree)
    lines.write_text("a 1\nb 2\n")
    golden.freeze(tree)
    assert golden.thawed(tree) == []
    lines.write_text("a 3\nb 2\n")
    assert golden.thawed(tree) == [f"{golden.LINES} a is frozen and has changed"]
