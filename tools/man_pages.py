#!/usr/bin/env python3
"""The man pages of the command line, docs/man, made of the commands' own help.

One page for `caesura` and one for each of its commands; those of the lab have none, because they
are not installed. tools/man_pages_test.py fails where pages and help differ.

    tools/man_pages.py             say which pages are not as the help says
    tools/man_pages.py --update    write them anew

It imports the package: PYTHONPATH=build/python.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import typer

FOLDER = Path("docs/man")
WHY = "The help has changed. Run 'PYTHONPATH=build/python tools/man_pages.py --update'."
# `caesura serve` and the program share a name, and so a page.
SERVE = r""".SH THE PROGRAM
\fBcaesura\-serve\fR \fICONFIG.toml\fR is what
.B caesura serve run
starts. It prints the addresses to connect to, one a line, and runs until SIGTERM or SIGINT. Then
it takes nobody new, tells its clients, and ends when the last has gone. SIGQUIT or a second SIGINT
ends it at once.
"""


def roff(text: str) -> str:
    """Words as roff wants them: markup of rich removed, nothing that begins a request."""
    text = re.sub(r"\[/?(?:bold|italic|dim|code)[^\]]*\]", "", text)
    text = text.replace(r"\[", "[").replace("\\", r"\e").replace("-", r"\-").replace("`", "")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def paragraphs(text: str) -> str:
    """A help text: empty lines part paragraphs, indented lines stay as they are."""
    said = []
    for block in re.split(r"\n\s*\n", text.replace("\b", "").strip()):
        if re.match(r"\s{2,}", block):
            said.append(f".nf\n{roff(block)}\n.fi")
        else:
            said.append(roff(" ".join(block.split())))
    return "\n.PP\n".join(said)


def context_of(command: Any, names: list[str]) -> Any:
    """What click asks for; Typer brings a click of its own."""
    return command.context_class(command, info_name=" ".join(names))


def options(command: Any, context: Any) -> list[str]:
    """Arguments, then options: what each is called, and what its help says."""
    said = []
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            head, text = (" ".join(part.split()) for part in record)
            said += [".TP", rf"\fB{roff(head)}\fR", roff(text) or r"\&"]
    return said


def synopsis(command: Any, names: list[str]) -> str:
    """How it is called."""
    context = context_of(command, names)
    usage = " ".join(command.collect_usage_pieces(context))
    return rf"\fB{roff(' '.join(names))}\fR {roff(usage)}"


def body(command: Any, names: list[str]) -> list[str]:
    """What it does and its options; a command inside a group has this much of the group's page."""
    context = context_of(command, names)
    said = [paragraphs(command.help or "")]
    if described := options(command, context):
        said += [".PP", "Arguments and options:", *described]
    return said


def page(command: Any, names: list[str]) -> str:
    """The page of one command."""
    name = "-".join(names)
    first = re.split(r"[.:;](?=\s|$)", (command.help or "").strip(), maxsplit=1)[0]
    first = " ".join(first.split())
    if first[1:2].islower():  # no abbreviation, as HDF5
        first = first[:1].lower() + first[1:]
    said = [
        f'.TH {roff(name.upper())} 1 "" "Caesura"',
        ".SH NAME",
        rf"{roff(name)} \- {roff(first)}",
        ".SH SYNOPSIS",
        synopsis(command, names),
        ".SH DESCRIPTION",
        *body(command, names),
    ]
    if len(names) == 1:
        said += [".SH COMMANDS"]
        for part, one in subcommands(command).items():
            first = (one.help or "").strip().split("\n\n")[0]
            said += [".TP", rf"\fB{roff(f'{name}-{part}')}\fR(1)", roff(" ".join(first.split()))]
        return "\n".join(said) + "\n"
    for part, one in subcommands(command).items():
        deeper = [*names, part]
        said += [rf'.SH "{roff(" ".join(deeper))}"', synopsis(one, deeper), ".PP"]
        said += body(one, deeper)
    if name == "caesura-serve":
        said.append(SERVE.rstrip())
    said += [".SH SEE ALSO", r"\fBcaesura\fR(1)"]
    return "\n".join(said) + "\n"


def is_of_the_lab(command: Any) -> bool:
    """Does caesura_lab have it? It is not installed, so a page would promise too much."""
    inner = getattr(command, "commands", {}).values()
    if inner:
        return all(is_of_the_lab(one) for one in inner)
    module = getattr(command.callback, "__module__", "")
    return module.startswith("caesura_lab") or module == "caesura.cli.lab"


def subcommands(command: Any) -> dict[str, Any]:
    """Those that are installed, by name."""
    found = sorted(getattr(command, "commands", {}).items())
    return {name: one for name, one in found if not one.hidden and not is_of_the_lab(one)}


def pages() -> dict[str, str]:
    """Every page by its file's name."""
    from caesura.cli import app

    top = typer.main.get_command(app)
    found = {"caesura.1": page(top, ["caesura"])}
    for name, one in subcommands(top).items():
        found[f"caesura-{name}.1"] = page(one, ["caesura", name])
    return found


def differences(root: Path) -> list[str]:
    """A sentence for each page that is missing, too much, or not as the help says."""
    wanted = pages()
    there = {path.name: path.read_text() for path in (root / FOLDER).glob("*.1")}
    said = [f"{FOLDER}/{name} is missing" for name in sorted(wanted.keys() - there.keys())]
    said += [f"{FOLDER}/{name} has no command" for name in sorted(there.keys() - wanted.keys())]
    both = sorted(wanted.keys() & there.keys())
    return said + [f"{FOLDER}/{name} is outdated" for name in both if wanted[name] != there[name]]


def write_pages(root: Path) -> None:
    """All pages anew; those of commands that are gone are removed."""
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.1"):
        old.unlink()
    for name, text in pages().items():
        (folder / name).write_text(text)


def main() -> int:
    """Compare or update."""
    root = Path(__file__).resolve().parent.parent
    if sys.argv[1:] == ["--update"]:
        write_pages(root)
    elif said := differences(root):
        print("\n".join([*said, WHY]))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
