"""caesura vol: the VOL connector that writes unmodified HDF5 applications' files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from caesura import vol
from caesura.cli.common import (
    FINDING,
    JSON_HELP,
    OK,
    UNREADABLE,
    USAGE,
    expected_errors,
    need_core,
    out,
    phase_progress,
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
    rules: Annotated[
        Path | None, typer.Option("--rules", help="Write a rule for each quantity: OUT.toml.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Say whether HDF5 really loads the connector, and what it would do with a file's datasets.

    Asks in a process of its own, with HDF5_PLUGIN_PATH and HDF5_VOL_CONNECTOR as they are set, or
    as they should be. HDF5 goes on without a connector that it cannot load only if nobody asked for
    it; a plugin path that is wrong shows here.

    Of each quantity of a dataset it says the range, the bound in units, and from a sample which
    ratio and PSNR to expect; it reads all values once, however long that takes. A bound above 1 %
    of the range, or below the values' own precision, is marked, and so is a rule that no dataset
    meets. A bound that no rule gives a path is one of fields: what looks like coordinates is kept
    exact, and so is what holds several quantities; it says why.

    --rules writes the configuration as a whole, with one rule for each quantity of the file, its
    range and its ratio beside it: read and edit it, and give it as --config.

    Exit codes: 0 the connector is loaded; 1 another one is, or a dataset could not be made, or no
    service is where transport says; 2 usage; 3 plugin, configuration or file cannot be read.
    """
    if rules is not None and file is None:
        stop("--rules needs FILE, whose quantities the rules are for", as_json, USAGE)
    if rules is not None:
        need_core(as_json)
    with expected_errors(as_json), phase_progress(as_json) as progress:
        answer = vol.check(
            str(file.absolute()) if file else "",
            str(config.absolute()) if config else "",
            progress,
        )
    if "error" in answer:
        stop(answer["error"], as_json, UNREADABLE)
    if rules is not None:
        with expected_errors(as_json):
            write_rules(answer, file, rules)
    if as_json:
        print_json(answer)
    else:
        show(answer)
        if rules is not None:
            out.print(f"rules  {rules}", markup=False, soft_wrap=True)
    refused = any("error" in dataset for dataset in answer.get("datasets", []))
    found = refused or not answer["loaded"] or "transport_problem" in answer
    raise typer.Exit(FINDING if found else OK)


def write_rules(answer: dict[str, Any], file: Path, target: Path) -> None:
    """Raises OSError."""
    from caesura.tuning import rules

    first = f"What the connector would do with {file.name}, by caesura vol check."
    target.write_text(rules.text_of(answer, rules.as_checked(answer), first))


def show(answer: dict[str, Any]) -> None:
    """The answer for people."""
    for name, value in answer["environment"].items():
        out.print(f"{name}={value!r}", markup=False, soft_wrap=True)
    threads = "with" if answer["threadsafe"] else "without"
    out.print(f"plugin  {answer['plugin']}", markup=False, soft_wrap=True)
    hdf5 = f"{answer['hdf5']}, {threads} thread safety"
    if answer["hdf5_root"]:
        hdf5 += f", in {answer['hdf5_root']}"
    out.print(f"HDF5    {hdf5}", markup=False, soft_wrap=True)
    if answer["loaded"]:
        out.print("loaded  yes: a new file's connector is caesura")
    else:
        other = answer["connector"] or "HDF5 did not start"
        out.print(f"loaded  NO: {other}", markup=False)
        out.print(answer["messages"], markup=False, soft_wrap=True)
    out.print("\n" + answer["configuration"].rstrip(), markup=False)
    if "transport_problem" in answer:
        out.print(f"[red]{escape(answer['transport_problem'])}[/red]", soft_wrap=True)
    if "datasets" in answer:
        out.print(datasets_table(answer["datasets"]))
        if any("components" in dataset for dataset in answer["datasets"]):
            out.print(quantities_table(answer["datasets"]))
        for rule in answer["rules_without_use"]:
            out.print(f"[yellow]no dataset meets the rule {escape(rule)}[/yellow]", soft_wrap=True)
        for dataset in answer["datasets"]:
            if "error" in dataset:
                out.print(f"[red]H5Dcreate would fail:[/red] {escape(dataset['error'])}",
                          soft_wrap=True)  # fmt: skip
            for one in dataset.get("components", []):
                name = " ".join(filter(None, [dataset["path"], one["name"]]))
                left_out = [f"{x:g}" for x in one.get("missing", []) if x is not None]
                if left_out:
                    out.print(f"{escape(name)}: missing, exact and in no range: "
                              f"{', '.join(left_out)}", soft_wrap=True)  # fmt: skip
                for warning in one["warnings"]:
                    out.print(f"[yellow]{escape(name)}: {warning}[/yellow]", soft_wrap=True)


def datasets_table(datasets: list[dict[str, Any]]) -> Table:
    """One row per dataset."""
    table = Table("dataset", "bytes", "qualifies", "as")
    for dataset in datasets:
        if "error" in dataset:
            how = "an error, see below"
        elif "kept_exact" in dataset:
            how = f"{dataset['codec']}, kept exact: {dataset['kept_exact']}"
        elif dataset.get("by_part"):
            how = f"{dataset['codec']}, each part of its complex numbers by itself"
        elif len(dataset.get("components", [])) > 1:
            how = f"{dataset['codec']}, each component by itself"
        elif dataset["qualifies"]:
            number = "" if dataset["bound_kind"] == "lossless" else f" {dataset['bound']:g}"
            mapped = any("bound_map" in one for one in dataset.get("components", []))
            how = f"{dataset['codec']}, {dataset['bound_kind']}{number}"
            how += ", by a map" if mapped else ""
        else:
            how = dataset["why"]
        table.add_row(
            dataset["path"], str(dataset["bytes"]), "yes" if dataset["qualifies"] else "no", how
        )
    return table


def quantities_table(datasets: list[dict[str, Any]]) -> Table:
    """One row per quantity of a dataset that qualifies."""
    table = Table("dataset", "component", "smallest", "largest", "bound", "in units", "ratio",
                  "PSNR")  # fmt: skip
    for dataset in datasets:
        for one in dataset.get("components", []):
            number = "" if one["bound_kind"] in ("lossless", "as it is") else f" {one['bound']:g}"
            table.add_row(
                dataset["path"],
                one["name"],
                *(shown(one[key]) for key in ("min", "max")),
                one["bound_kind"] + number,
                in_units(one),
                shown(one["ratio"]),
                shown(one["psnr"], " dB"),
            )
    return table


def in_units(one: dict[str, Any]) -> str:
    """The bound of a quantity, or by a map the tightest and the loosest."""
    if "bound_map" not in one:
        return shown(one["in_units"] or None)
    rules = one["bound_map"]
    bounds = [rule["bound"] for kind in ("boxes", "values", "steep") for rule in rules[kind]]
    bounds.append(rules["elsewhere"])
    return " to ".join("exact" if bound == 0 else shown(bound) for bound in
                       sorted({min(bounds), max(bounds)}))  # fmt: skip


def shown(value: float | None, unit: str = "") -> str:
    """Three or four figures; nothing where nothing is known."""
    return "" if value is None else f"{value:.4g}{unit}"
