"""All code on the pages runs: tools/pages/page_code.py has the rules, tests/pages the frames.

Starts programs of MPI by mpirun.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import caesura
import pytest
from user_program import BUILD, ROOT, compiled

PACKAGE = Path(caesura.__file__).absolute().parent.parent
sys.path[:0] = [str(ROOT / "tools" / "pages"), str(ROOT / "python" / "tests")]

import command_line  # noqa: E402
import forked  # noqa: E402
import page_code  # noqa: E402
import tutorial  # noqa: E402

PAGES = page_code.pages()
FRAMES = [(page, frame) for page in PAGES for frame in page_code.frames_of(page)]
TUTORIAL = "docs/guide/tutorial.md"  # it has a test of its own, which looks at what it made
TYPED = [page for page in PAGES if page_code.as_typed(page, PAGES[page]) and page != TUTORIAL]
# Shorter for every change: pauses, and the codecs that the search tries.
SHORTER = {
    "time.sleep(0.1)": "time.sleep(0.01)",
    "--picture bound.svg": "--picture bound.svg --codec caesura",
}
SKIP = 77
PLACES = {
    "PYTHONPATH": str(PACKAGE),
    "CAESURA_BUILD": str(BUILD),
    "CAESURA_SOURCES": str(ROOT),
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


@pytest.fixture(scope="module", autouse=True)
def commands_by_forks():
    """`caesura` on the PATH: a process that forks does it. The nightly run starts each."""
    with pytest.MonkeyPatch.context() as patch:
        if not command_line.NIGHTLY:
            words = ["-IS", forked.__file__, command_line.forking({**os.environ, **PLACES})]
            patch.setattr(page_code, "CAESURA", shlex.join(words) + " ")
        yield


def run(command: list[str], folder: Path, **more: str) -> str:
    """What a program prints. Exit code 77 skips the test, with the last line that it said."""
    try:
        return page_code.execute(command, folder, **{**PLACES, **more})
    except RuntimeError as error:
        if f"exit code {SKIP}" in str(error).splitlines()[0]:
            pytest.skip(str(error).splitlines()[-1])
        raise


def test_every_block_runs_or_says_why_not():
    said = [line for page, blocks in PAGES.items() for line in page_code.complaints(page, blocks)]
    assert not said, "\n".join(said)
    assert sum(map(len, PAGES.values())) > 70


def test_every_frame_belongs_to_a_page_and_has_some_of_its_code():
    known = {frame for _, frame in FRAMES}
    for path in page_code.FRAMES.iterdir():
        assert path.name == "README.md" or path in known, f"{path.name} is no frame of a page"
    for page, frame in FRAMES:
        text = frame.read_text(encoding="utf-8")
        assert list(page_code.marks_in(frame, text)), f"{frame.name} has no block of {page}"


def as_one(frames: list[tuple[str, Path]]) -> str:
    """A program of all of them: its first argument says which is run."""
    includes, others, calls = [], [], []
    for number, (page, frame) in enumerate(frames):
        text = page_code.filled(frame, PAGES[page])
        found = re.findall(r"^#include .*$", text, re.MULTILINE)
        includes += found
        others.append(f"namespace page_{number} {{")
        others.append(re.sub(r"^#include .*$", "", text, flags=re.MULTILINE) + "}")
        given = "argc - 1, argv + 1" if "main(int argc" in text else ""
        calls.append(f"if (page == {number}) return page_{number}::main({given});")
    dispatch = ["int main(int argc, char** argv) {", "const int page = std::atoi(argv[1]);"]
    dispatch += ["(void)argc;", *calls, "return 99;", "}"]
    return "\n".join(["#include <cstdlib>", *includes, *others, *dispatch, ""])


@pytest.fixture(scope="module")
def cpp_programs(tmp_path_factory) -> dict[Path, list[str]]:
    """How frames of C++ are run that were compiled at once: the headers take most of the time.
    Those that do not compile so, and all in the nightly run, are compiled by themselves."""
    frames = [(page, frame) for page, frame in FRAMES if frame.suffix == ".cpp"]
    source = tmp_path_factory.mktemp("pages") / "pages.cpp"
    source.write_text(as_one(frames), encoding="utf-8")
    try:
        program = None if command_line.NIGHTLY else compiled(source, run)
    except RuntimeError:
        program = None
    names = [frame for _, frame in frames] if program else []
    return {frame: [str(program), str(number)] for number, frame in enumerate(names)}


@pytest.mark.parametrize(("page", "frame"), FRAMES, ids=[frame.name for _, frame in FRAMES])
def test_code_runs_in_its_frame(tmp_path, request, page, frame):
    program = tmp_path / f"page{frame.suffix}"
    program.write_text(page_code.filled(frame, PAGES[page]), encoding="utf-8")
    place = tmp_path / "empty"
    place.mkdir()
    if frame.suffix == ".sh":
        run(["bash", "-e", "-o", "pipefail", str(program)], place)
    elif frame.suffix == ".py":
        run([sys.executable, str(program)], place)
    else:
        known = request.getfixturevalue("cpp_programs") if frame.suffix == ".cpp" else {}
        command = known.get(frame) or [str(compiled(program, run))]
        run(command, place, HDF5_PLUGIN_PATH=caesura.plugin_path())


@pytest.mark.parametrize("page", TYPED)
def test_code_runs_as_it_is_typed(tmp_path, page):
    page_code.run_as_typed(page, PAGES[page], tmp_path, **PLACES)


def test_the_tutorial_says_what_its_page_and_pictures_say(tmp_path):
    said = tutorial.run(tmp_path, PACKAGE, {} if command_line.NIGHTLY else SHORTER)
    ((bound, largest),) = re.findall(r"^ +heat +4,423,680 +(\S+) +(\S+)", said, re.MULTILINE)
    assert 0 < float(largest) <= float(bound)
    assert "after iteration 16" in said
    with caesura.open(tmp_path / "run.h5") as file:
        assert sorted(file["data"], key=int) == [str(4 * n) for n in range(8)]
    for made in ("report.html", "bound.svg", "timeline.svg"):
        assert (tmp_path / made).stat().st_size > 1000
    assert tutorial.error_picture(tmp_path).count("<image") == 3
    for picture in re.findall(r"\]\(\.\./pictures/(\S+)\)", tutorial.PAGE.read_text()):
        assert (ROOT / "docs" / "pictures" / picture).exists()


SYNOPSIS = re.compile(r"^caesura ([a-z]+(?: (?:prediction|where|check|status|drain|stop))?)\b")


def synopses() -> dict[str, str]:
    """Command and what the page says of its arguments."""
    found: dict[str, str] = {}
    command = ""
    for block in PAGES["docs/reference/command_line.md"]:
        if block.language != "text":
            continue
        for line in block.text.splitlines():
            if begins := SYNOPSIS.match(line):
                command = begins.group(1)
            found[command] = found.get(command, "") + line + "\n"
    return found


@pytest.mark.parametrize("command", sorted(synopses()))
def test_a_synopsis_has_the_options_that_the_command_has(command):
    """Those that it names are known. Where it does not end with `...` it names all."""
    text = synopses()[command]
    env = {**os.environ, **PLACES, "COLUMNS": "200", "NO_COLOR": "1"}
    done = command_line.caesura(*command.split(), "--help", env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    named = set(re.findall(r"--[a-z][\w-]+", text))
    # An option stands at the left of its line; help texts name those of others.
    known = set(re.findall(r"^[ │*]*(--[a-z][\w-]+)", done.stdout, re.MULTILINE)) - {"--help"}
    assert named <= known, f"{sorted(named - known)} are not in the help"
    if not text.rstrip().endswith("..."):
        assert known <= named, f"{sorted(known - named)} are not on the page"


NONE = "docs/guide/" + "none.md"  # a page that there is not


def block(text: str, page: str = NONE) -> list[str]:
    """What is said of a page."""
    return page_code.complaints(page, page_code.blocks_of(page, text))


def test_a_block_that_nothing_runs_is_told_by_its_line():
    (said,) = block("# A\n\n```cpp\nint x;\n```\n")
    assert said.startswith(f"{NONE}:3 (cpp 1): nothing runs it")


def test_a_block_without_a_language_is_told():
    (said,) = block("```\nmake test\n```\n")
    assert "its language is none of" in said


def test_a_command_cannot_hide_as_text():
    (said,) = block("```text\nmpirun -n 2 ./a\n```\n")
    assert "a command is there" in said


def test_a_reason_excuses_the_next_block_only():
    text = "<!-- not run: needs Slurm -->\n```cpp\na\n```\n\n```cpp\nb\n```\n"
    (said,) = block(text)
    assert "none.md:6" in said


def test_a_test_that_does_not_name_the_page_runs_nothing_of_it():
    (said,) = block("<!-- run by: tests/test_site.py -->\n```cpp\na\n```\n")
    assert f"tests/test_site.py is no test that names {NONE}" in said


def test_python_and_shell_run_without_a_frame(tmp_path):
    page, text = NONE, "```python\nopen('a', 'w')\n```\n\n```sh\ntest -e a\n```\n"
    blocks = page_code.blocks_of(page, text)
    assert block(text) == []
    page_code.run_as_typed(page, blocks, tmp_path)
    with pytest.raises(RuntimeError, match="exit code 1"):
        (tmp_path / "a").unlink()
        page_code.run_as_typed(page, blocks[1:], tmp_path)
