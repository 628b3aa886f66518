"""Golden bytes are as the list of hashes says, and golden.py notices whatever is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import golden

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
    return tmp_path


def test_no_golden_bytes_have_changed_in_this_tree():
    said = golden.differences(Path(__file__).resolve().parent.parent)
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
