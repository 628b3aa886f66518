"""The README's C++ and the C of its guide compile, commands are ones that there are, and what pages
show of Python and TOML is Python and TOML."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")

# What the example takes for granted: an array, its place, and what the program does with errors.
AROUND = """{includes}
int fail(const caesura::Status&);
void compute();
int example(std::uint64_t nz, std::uint64_t ny, std::uint64_t nx, std::uint64_t steps, double time,
            const caesura::Shape& offset, const caesura::Shape& extent, const float* data) {{
{body}
return 0;
}}
"""


def compile_without_a_warning(source: Path, text: str, compiler: str, *options: str) -> None:
    """Check the text of a program; where there is no such compiler, skip."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    source.write_text(text)
    command = [compiler, *options, "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    command += [f"-I{ROOT / 'include'}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_cpp_example_compiles_without_a_warning(tmp_path):
    (example,) = re.findall(r"```cpp\n(.*?)```", README, re.DOTALL)
    includes = "\n".join(re.findall(r"^#include .*$", example, re.MULTILINE))
    body = re.sub(r"^#include .*\n", "", example, flags=re.MULTILINE)
    text = AROUND.format(includes=includes, body=body)
    options = ("-std=c++20", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")
    compile_without_a_warning(tmp_path / "example.cpp", text, "mpicxx", *options)


def test_its_make_targets_are_there():
    targets = set(re.findall(r"^make (\w+)", README, re.MULTILINE))
    assert {"demo", "test"} <= targets
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in targets | {"help"}:
        assert re.search(rf"^[\w ]*\b{target}\b[\w ]*:", makefile, re.MULTILINE), target


C_AROUND = """#include <caesura/caesura.h>
#include <caesura/mpi.h>
int example(caesura_writer* writer);
int example(caesura_writer* writer) {{
{body}
return 0;
}}
"""


def test_the_c_of_the_guide_compiles_without_a_warning(tmp_path):
    page = (ROOT / "docs" / "guide" / "c.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```c\n(.*?)```", page, re.DOTALL)
    text = C_AROUND.format(body=example)
    options = ("-std=c99", "-Wno-unused-function")
    compile_without_a_warning(tmp_path / "example.c", text, "mpicc", *options)


READS = {"python": ast.parse, "toml": tomllib.loads}


def test_python_and_toml_on_pages_are_python_and_toml():
    seen = 0
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for language, block in re.findall(r"^```(python|toml)\n(.*?)^```", text, re.M | re.DOTALL):
            try:
                READS[language](block)
            except (SyntaxError, tomllib.TOMLDecodeError) as error:
                pytest.fail(f"{page.relative_to(ROOT)}: {error}\n{block}")
            seen += 1
    assert seen > 10
