"""Each rule of tidy.py on a small tree that breaks it, and on one that does not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import tidy
import tidy_cpp

ROOMS = """# The rooms.
[base]
headers = base.hpp mpi.hpp
does = errors

[codec]
knows = base
headers = codec.hpp
does = bounds

[plan]
knows = base
does = orders

[store]
knows = base
sees = HDF5
does = bytes

[store/file]
knows = store
does = files

[run]
knows = plan (codec)
does = lanes

[writer]
knows = base codec
headers = writer.hpp
does = the facade
"""
PAGE = """# Architecture

| room | what it does | may know |
|---|---|---|
| `src/base` | errors | nobody |
| `src/codec` | bounds | base |
| `src/plan` | orders | base |
| `src/store` | bytes | base (HDF5 here) |
| `src/store/file` | files | store |
| `src/run` | lanes | plan, codec (headers only) |
| `src/writer` | the facade | base, codec |
"""
GOOD = {
    "CHANGELOG.md": "# Changelog\n\n## Unreleased\n",
    tidy.ARCHITECTURE: PAGE,
    tidy.ROOMS_FILE: ROOMS,
    "include/caesura/base.hpp": "// Base.\n#pragma once\n#include <string>\n",
    "include/caesura/codec.hpp": '// Codec.\n#pragma once\n#include "caesura/base.hpp"\n',
    "include/caesura/writer.hpp": '// Writer.\n#pragma once\n#include "caesura/base.hpp"\n',
    "include/caesura/mpi.hpp": "// MPI.\n#pragma once\n#include <mpi.h>\n",
    "src/base/file.hpp": "// Files.\n#pragma once\n",
    "src/codec/bound.hpp": '// Bounds.\n#pragma once\n#include "base/file.hpp"\n',
    "src/store/tree.hpp": "// Trees.\n#pragma once\n",
    "lab/simulate/world.hpp": '// A world.\n#pragma once\n#include "codec/bound.hpp"\n',
    "src/codec/bound.cpp": '#include "codec/bound.hpp"\n\n#include "caesura/codec.hpp"\n',
    "src/plan/when.hpp": '// When.\n#pragma once\n#include "caesura/base.hpp"\n',
    "src/store/region.hpp": '// Regions.\n#pragma once\n#include "base/file.hpp"\n',
    "src/store/file/host.hpp": '// Host.\n#pragma once\n#include "store/region.hpp"\n',
    "src/run/lane.cpp": '// Lane.\n#include "codec/bound.hpp"\n#include "plan/when.hpp"\n',
    "src/writer/put.cpp": '// Put.\n#include "caesura/codec.hpp"\n',
}


@pytest.fixture
def check(tmp_path):
    """check(files) -> the violations of GOOD overlaid with `files`; None deletes a file."""

    def run(files=None):
        for name, text in {**GOOD, **(files or {})}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink(missing_ok=True)
            else:
                path.write_text(text)
        return [str(violation) for violation in tidy.check(tmp_path)]

    return run


def only(violations, path, line, rule):
    """Assert that there is one violation, this one, and give its message."""
    assert len(violations) == 1, violations
    start = f"{path}:{line}: {rule}: "
    assert violations[0].startswith(start)
    return violations[0][len(start) :]


def test_a_tree_that_keeps_the_rules_is_silent(check):
    assert check() == []


@pytest.mark.parametrize(
    ("path", "include"),
    [
        ("src/codec/a.cpp", '"caesura/writer.hpp"'),  # a room above
        ("src/store/a.cpp", '"store/file/host.hpp"'),  # the room inside it
        ("src/store/file/a.cpp", '"base/file.hpp"'),  # known only to the room around it
        ("src/base/a.cpp", '"codec/bound.hpp"'),
        ("src/plan/a.cpp", '"caesura/codec.hpp"'),  # a neighbour
        ("src/codec/a.cpp", '"bound.hpp"'),  # not written with its room
        ("src/codec/a.cpp", '"caesura/none.hpp"'),  # no such header
        ("src/unknown/a.cpp", '"caesura/base.hpp"'),
        ("include/caesura/base.hpp", '"caesura/codec.hpp"'),
        ("include/caesura/codec.hpp", '"codec/bound.hpp"'),  # private in public
        ("include/caesura/codec.hpp", "<fmt/format.h>"),
        ("miniapps/a.cpp", '"base/file.hpp"'),
        ("tools/a.cpp", '"codec/bound.hpp"'),
        ("src/codec/a.cpp", "<hdf5.h>"),
        ("python/a.cpp", "<H5Zpublic.h>"),
        ("src/writer/a.cpp", "<mpi.h>"),
        ("src/writer/a.cpp", '"caesura/mpi.hpp"'),
        ("src/codec/a.cpp", '"simulate/world.hpp"'),  # nobody knows the lab
        ("tests/a.cpp", '"simulate/world.hpp"'),
        ("lab/simulate/a.cpp", '"store/tree.hpp"'),  # and it does not know everybody
    ],
)
def test_includes_keep_to_the_table_of_rooms(check, path, include):
    only(check({path: f"// A.\n#include {include}\n"}), path, 2, "include")


@pytest.mark.parametrize(
    ("path", "include"),
    [
        ("src/writer/a.cpp", '"codec/bound.hpp"'),
        ("src/store/a.cpp", "<hdf5.h>"),
        ("src/codec/a_test.cpp", "<hdf5.h>"),
        ("src/run/a.cpp", '"codec/bound.hpp"'),  # headers only
        ("miniapps/a.cpp", "<mpi.h>"),
        ("miniapps/a.cpp", '"caesura/mpi.hpp"'),
        ("tests/a.cpp", '"codec/bound.hpp"'),
        ("bench/a.cpp", '"codec/bound.hpp"'),
        ("python/bindings/a.cpp", '"codec/bound.hpp"'),
        ("lab/a/a.cpp", '"codec/bound.hpp"'),
        ("bench/a.cpp", '"neighbour.hpp"'),
        ("src/codec/a.cpp", "<fmt/format.h>"),
        ("lab/simulate/a.cpp", '"simulate/world.hpp"'),
        ("lab/simulate/a.cpp", '"caesura/writer.hpp"'),
    ],
)
def test_what_the_table_allows_is_allowed(check, path, include):
    assert check({path: f"// A.\n#include {include}\n"}) == []


def test_an_include_in_a_comment_is_none(check):
    text = "// A.\n/*\n#include <mpi.h>\n*/\n// #include <hdf5.h>\n"
    assert check({"src/base/a.cpp": text}) == []


def test_the_graph_has_no_edge_that_nobody_uses(check):
    empty = "// Nothing.\n"
    names = ("src/run/lane.cpp", "src/writer/put.cpp", "include/caesura/writer.hpp")
    found = check(dict.fromkeys(names, empty))
    line = {name: ROOMS[: ROOMS.index(f"[{name}]")].count("\n") + 1 for name in ("run", "writer")}
    assert found == [
        f"{tidy.ROOMS_FILE}:{line[room]}: rooms: {room} includes nothing of {known}"
        for room, known in (
            ("run", "codec"),
            ("run", "plan"),
            ("writer", "base"),
            ("writer", "codec"),
        )
    ]


def test_the_graph_goes_from_low_to_high_and_names_what_is_there(check):
    above = ROOMS.replace("[plan]\nknows = base", "[plan]\nknows = base writer")
    page = PAGE.replace("| orders | base |", "| orders | base, writer |")
    found = check({tidy.ROOMS_FILE: above, tidy.ARCHITECTURE: page})
    assert only(found, tidy.ROOMS_FILE, 11, "rooms") == "writer is no room below plan"
    gone = ROOMS.replace("codec.hpp", "codec.hpp none.hpp")
    found = check({tidy.ROOMS_FILE: gone, tidy.ARCHITECTURE: PAGE})
    assert only(found, tidy.ROOMS_FILE, 6, "rooms") == "there is no include/caesura/none.hpp"


def test_a_public_header_belongs_to_a_room(check):
    found = check({"include/caesura/more.hpp": '// More.\n#include "caesura/base.hpp"\n'})
    only(found, "include/caesura/more.hpp", 2, "include")
    more = '// A.\n#include "caesura/more.hpp"\n'
    found = check({"include/caesura/more.hpp": "// More.\n", "tests/a.cpp": more})
    assert "whose header" in only(found, "tests/a.cpp", 2, "include")


@pytest.mark.parametrize(
    ("row", "instead", "line"),
    [
        ("| `src/plan` | orders | base |", "| `src/plan` | orders | base, codec |", 7),
        ("| `src/plan` | orders | base |", "| `src/plan` | order | base |", 7),
        ("| `src/plan` | orders | base |\n", "", 1),
        ("| nobody |\n", "| nobody |\n| `src/other` | other | base |\n", 6),
    ],
)
def test_the_architecture_page_says_what_the_graph_says(check, row, instead, line):
    only(check({tidy.ARCHITECTURE: PAGE.replace(row, instead)}), tidy.ARCHITECTURE, line, "rooms")


def test_the_lab_knows_some_rooms(check):
    text = '// A world.\n#pragma once\n#include "store/region.hpp"\n'
    only(check({"lab/simulate/world.hpp": text}), "lab/simulate/world.hpp", 3, "include")
    text = '// A lane.\n#include "codec/bound.hpp"\n#include "plan/when.hpp"\n'
    found = check({"src/run/lane.cpp": text + '#include "simulate/world.hpp"\n'})
    assert "nobody outside" in only(found, "src/run/lane.cpp", 4, "include")


def test_the_lab_shares_headers_with_benches(check):
    header, user = "// A series.\n#pragma once\n", '// A bench.\n#include "codec/series.hpp"\n'
    files = {"bench/codec/series.hpp": header, "lab/huffman/a.cpp": user}
    assert check(files) == []
    files["bench/codec/series.hpp"] = None
    only(check(files), "lab/huffman/a.cpp", 2, "include")


def test_only_the_command_line_asks_for_the_lab_and_by_name(check):
    text = '"""A."""\n\nfrom caesura_lab import simulation\n'
    only(check({"python/caesura/a.py": text}), "python/caesura/a.py", 3, "lab")
    assert check({"python/caesura/a.py": None, "bench/a.py": text, "lab/python/a.py": text}) == []


@pytest.mark.parametrize("name", ["src/base/a.cpp", "tools/a.py"])
def test_files_are_short(check, name):
    opening = "// A.\n" if name.endswith("cpp") else '"""A."""\n'
    assert check({name: opening + "\n" * 599}) == []
    only(check({name: opening + "\n" * 600}), name, 1, "file-length")


@pytest.mark.parametrize("name", ["src/base/a.hpp", "tools/a.py"])
def test_lines_are_short(check, name):
    opening = "// A.\n" if name.endswith("hpp") else '"""A."""\n'
    comment = "//" if name.endswith("hpp") else "# "
    assert check({name: opening + comment + "é" * 98 + "\n"}) == []
    only(check({name: opening + comment + "é" * 99 + "\n"}), name, 2, "line-length")


def test_python_functions_are_short(check):
    body = "    x = 1\n" * 69
    assert check({"tools/a.py": '"""A."""\ndef f():\n' + body}) == []
    found = check({"tools/a.py": '"""A."""\ndef f():\n' + body + "    return x\n"})
    assert only(found, "tools/a.py", 2, "function-length") == "f: 71 lines, at most 70"


HEADS = [
    "void f() {",
    "int A::f(int a = 1, B b = {}) const noexcept override {",
    "template <typename T = int>\nauto f(T t) -> int {",
    "A::A(int a) : a_(a), b_{a}, c_{1, 2} {",
    "bool operator==(const A& a, const A& b) {",
    "A& A::operator=(const A& a) {",
    "TEST(Suite, does_this) {",
    "static Result<int>\nf(std::function<void()> g) {",
]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(
    ("before", "after"), [("", ""), ("namespace a {\nstruct B {\n  public:\n", "};\n}\n")]
)
def test_the_length_of_a_cpp_function_is_from_its_head_to_its_end(head, before, after):
    noise = "// A.\n#include <a>\n#define F(x) { \\\n  x\nint k = 3;\n"
    body = "    if (x) { y({1}); }\n" * 5
    (found,) = tidy_cpp.functions(noise + before + head + "\n" + body + "}\n" + after)
    assert found.n_lines == head.count("\n") + 7
    assert found.line == (noise + before).count("\n") + 1


def test_cpp_functions_are_short(check):
    body = "    x();\n" * 68
    assert check({"src/base/a.cpp": "// A.\nvoid f() {\n" + body + "}\n"}) == []
    found = check({"src/base/a.cpp": "// A.\nvoid f() {\n" + body + "    y();\n}\n"})
    assert only(found, "src/base/a.cpp", 2, "function-length") == "f: 71 lines, at most 70"


def test_cpp_functions_are_found_one_by_one():
    text = """// f() {
struct A : B {
    A() : a_{1} { g(); }
    int f() const { return '{' + 1'000; }
    int a_ = h({1, 2});
};
enum class E { x, y };
constexpr int k_table[] = {1, 2, 3};
const auto k_f = [](int x) { return x; };
extern "C" {
void g(void) {
    for (;;) { }
}
}
const char* h() { return R"({{{)" "}"; }
"""
    found = [(f.name, f.line, f.n_lines) for f in tidy_cpp.functions(text)]
    assert found == [("A", 3, 1), ("f", 4, 1), ("g", 11, 3), ("h", 15, 1)]


@pytest.mark.parametrize("word", ["TO" + "DO", "FIX" + "ME", "X" + "XX", "Simplified" + " for now"])
@pytest.mark.parametrize("name", ["src/base/a.cpp", "docs/a.md", "tools/a.py"])
def test_nothing_is_unfinished(check, word, name):
    comment = "#" if name.endswith("py") else "//"
    only(check({name: f"{comment} A.\n{comment} {word}: later\n"}), name, 2, "unfinished")
    part_of_a_word = word.replace(" ", "") + "S"
    assert check({name: f"{comment} {part_of_a_word}\n"}) == []


@pytest.mark.parametrize("place", ["/ho" + "me/me/x", "/wo" + "rk/x", "py" + "pi.org/simple"])
def test_no_place_of_one_machine(check, place):
    only(check({"docs/a.md": f"# A\nsee {place}\n"}), "docs/a.md", 2, "machine")
    assert check({"docs/a.md": "/tmp/a /usr/lib b/work/a /dev/null\n"}) == []


@pytest.mark.parametrize(
    "call", ['printf("x")', "std::cout << 1", "std::cerr << 1", "abort()", 'fmt::print("x")']
)
def test_libraries_do_not_print_or_abort(check, call):
    text = f"// A.\nvoid f() {{ {call}; }}\n"
    only(check({"src/base/a.cpp": text}), "src/base/a.cpp", 2, "printing")
    assert check({"src/base/a.cpp": None, "src/base/a_test.cpp": text, "bench/a.cpp": text}) == []


def test_a_comment_or_a_string_does_not_print(check):
    text = '// A. printf(x)\nconst char* k_a = "abort()"; void f(char* s) { snprintf(s, 1, ""); }\n'
    assert check({"src/base/a.cpp": text}) == []


def test_files_open_by_saying_what_they_are(check):
    only(check({"src/base/a.hpp": "#pragma once\n"}), "src/base/a.hpp", 1, "opening")
    own = '#include "base/a.hpp"\n'
    assert check({"src/base/a.hpp": "// A.\n", "src/base/a.cpp": own}) == []
    assert check({"tools/a.py": '#!/usr/bin/env python3\n"""A."""\n'}) == []
    only(check({"tools/a.py": "import os\n"}), "tools/a.py", 1, "opening")


MAP = "docs/evidence/papers.md"
PAPERS = {
    "src/base/a.cpp": "// A. Source: S0 §3.3.1 Johnson, S1-Eq1.\nint order() { return 1; }\n",
    "src/base/a_test.cpp": "// A.\nTEST(Order, keeps_it) {}\nTEST_F(Place, holds) {}\n",
    "tests/test_a.py": '"""A."""\ndef test_b():\n    pass\n',
    MAP: "S0 §3.3.1 `src/base/a.cpp:order` `Order.keeps_it` `Place.holds`\n"
    "S1-Eq1 `test_a.test_b` `tests/test_a.py:test_b` `CHANGELOG.md`\n",
}


def test_the_map_of_papers_is_complete(check):
    assert check(PAPERS) == []


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("src/base/b.cpp:order", "src/base/b.cpp does not exist"),
        ("src/base/a.cpp:orders", "src/base/a.cpp has no orders"),
        ("Order.keeps_them", "no *_test.cpp has TEST(Order, keeps_them)"),
        ("test_a.test_c", "no test_a.py has test_c"),
    ],
)
def test_the_map_of_papers_leads_somewhere(check, reference, message):
    longer = PAPERS[MAP] + f"`{reference}`\n"
    found = check({**PAPERS, MAP: longer})
    assert only(found, MAP, 3, "papers") == message


def test_every_source_in_the_code_is_in_the_map(check):
    source = PAPERS["src/base/a.cpp"].replace("S1-Eq1", "S1-Eq12")
    found = check({**PAPERS, "src/base/a.cpp": source})
    assert only(found, "src/base/a.cpp", 1, "papers") == "S1-Eq12 is not in docs/evidence/papers.md"
    found = check({**PAPERS, MAP: None})
    assert "missing" in only(found, MAP, 1, "papers")


@pytest.mark.parametrize(
    "text",
    [
        "see [a](b.md)",
        "see [a](../docs/b.md)",
        "see [a](a.md#nothing)",
        "see [a](#nothing)",
        "![a](a.svg)",
        "docs/b.md says it",
        "decision D2 says it",
        "design D1 says it",
    ],
)
def test_links_pages_and_decisions_lead_somewhere(check, text):
    decisions = {"docs/how/decisions.md": "# Decisions\n\n### D1. One file\n"}
    only(check({**decisions, "docs/a.md": f"# A\n{text}\n"}), "docs/a.md", 2, "link")


def test_good_links_are_silent_and_code_is_not_read_for_links(check):
    text = (
        "# A `b` (c), d\n[itself](#a-b-c-d) [other](how/decisions.md#d1-one-file) docs/a.md\n"
        "[elsewhere](https://example.org/x.md) decision D1\n```\n# not a heading\n[a](b)\n```\n"
    )
    decisions = "# Decisions\n\n### D1. One file\n"
    assert check({"docs/how/decisions.md": decisions, "docs/a.md": text}) == []
    within = text + "[it](#not-a-heading)\n"
    only(check({"docs/a.md": within}), "docs/a.md", 8, "link")


def test_a_page_that_code_names_is_there(check):
    assert check({"docs/a.md": "# A\n", "src/base/a.cpp": "// A, see docs/a.md.\n"}) == []
    only(check({"src/base/a.cpp": "// A, see docs/b.md.\n"}), "src/base/a.cpp", 1, "link")


def test_the_readme_is_short_and_names_no_paper(check):
    assert check({"README.md": "# A\n" * 120}) == []
    only(check({"README.md": "# A\n" * 121}), "README.md", 1, "readme")
    only(check({"README.md": "# A\nas in S1 and AS10\n"}), "README.md", 2, "readme")


@pytest.mark.parametrize("place", ["src/base/b.cpp", "src/base/a.cpp:orders", "tools/b.py"])
def test_files_and_functions_that_pages_name_are_there(check, place):
    code = {"src/base/a.cpp": "// A.\nint order() { return 1; }\n"}
    good = "# A\n`src/base/a.cpp` and `src/base/a.cpp:order`, `a.cpp`, `out/bench/a.json`\n"
    assert check({**code, "docs/a.md": good, "docs/records/a.md": f"`{place}`\n"}) == []
    only(check({**code, "docs/a.md": f"# A\n`{place}`\n"}), "docs/a.md", 2, "place")


@pytest.mark.parametrize("text", [None, "# Changelog\n## 1.0\n"])
def test_the_changelog_has_room_for_the_next_release(check, text):
    only(check({"CHANGELOG.md": text}), "CHANGELOG.md", 1, "changelog")


def test_the_program_prints_what_it_finds_and_fails(check, tmp_path, monkeypatch, capsys):
    check({"CHANGELOG.md": None})
    monkeypatch.setattr(tidy, "__file__", str(tmp_path / "tools" / "tidy.py"))
    assert tidy.main() == 1
    assert capsys.readouterr().out.splitlines()[-1] == "tidy: 1 violations"
    check()
    assert tidy.main() == 0
