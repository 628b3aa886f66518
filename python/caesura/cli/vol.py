"""caesura vol: the VOL connector that writes unmodified HDF5 applications' files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from caesura import vol
from caesura.cli.common import (
    FINDING,
    JSON_HELP,
    OK,
    UNREADABLE,
    expected_errors,
    out,
    print_json,
    stop,
)

app = typer.Typer(no_args_is_help=True, help="HDF5's VOL connector: does it load, and what for?")


@app.callback()
def group() -> None:
    """HDF5's VOL connector: does it load, what would it do?"""


@app.command("check")
def check(
    file: Annotated[
        Path | None, typer.Argument(help="An HDF5 file such as the application writes.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="The configuration, instead of the default.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Say whether HDF5 really loads the connector, and what it would do with a file's datasets.

    Asks in a process of its own, with HDF5_PLUGIN_PATH and HDF5_VOL_CONNECTOR as they are set, or
    as they should be. HDF5 goes on without a connector that it cannot load only if nobody asked for
    it; a plugin path that is wrong shows here.

    Exit codes: 0 the connector is loaded; 1 another one is; 2 usage; 3 plugin, configuration or
    file cannot be read.
    """
    with expected_errors(as_json):
        answer = vol.check(
            str(file.absolute()) if file else "", str(config.absolute()) if config else ""
        )
    if "error" in answer:
        stop(answer["error"], as_json, UNREADABLE)
    if as_json:
        print_json(answer)
    else:
        show(answer)
    raise typer.Exit(OK if answer["loaded"] else FINDING)


def show(answer: dict[str, Any]) -> None:
    """The answer for people."""
    for name, value in answer["environment"].items():
        out.print(f"{name}={value!r}", markup=False, soft_wrap=True)
    threads = "with" if answer["threadsafe"] else "without"
    out.print(f"plugin  {answer['plugin']}", markup=False, soft_wrap=True)
    out.print(f"HDF5    {answer['hdf5']}, {threads} thread safety", markup=False)
    if answer["loaded"]:
        out.print("loaded  yes: a new file's connector is caesura")
    else:
        other = answer["connector"] or "HDF5 did not start"
        out.print(f"loaded  NO: {other}", markup=False)
        out.print(answer["messages"], markup=False, soft_wrap=True)
    out.print("\n" + answer["configuration"].rstrip(), markup=False)
    if "datasets" in answer:
        out.print(datasets_table(answer["datasets"]))


def datasets_table(datasets: list[dict[str, Any]]) -> Table:
    """One row per dataset."""
    table = Table("dataset", "bytes", "qualifies", "as")
    for dataset in datasets:
        if dataset["qualifies"]:
            number = "" if dataset["bound_kind"] == "lossless" else f" {dataset['bound']:g}"
            how = f"{dataset['codec']}, {dataset['bound_kind']}{number}"
        else:
            how = dataset["why"]
        table.add_row(
            dataset["path"], str(dataset["bytes"]), "yes" if dataset["qualifies"] else "no", how
        )
    return table
