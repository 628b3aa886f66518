"""caesura path: where what other programs load lies, for scripts and shells."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from caesura.cli.common import JSON_HELP, expected_errors, out, print_json


class What(StrEnum):
    filter = "filter"
    connector = "connector"
    hdf5 = "hdf5"
    pmpi = "pmpi"
    serve = "serve"
    prefix = "prefix"


MEANING = {
    What.filter: "directory of libh5caesura.so, for HDF5_PLUGIN_PATH of whatever reads our files",
    What.connector: "directory of libcaesura_vol.so, for HDF5_PLUGIN_PATH of an unmodified program",
    What.hdf5: "prefix of the parallel HDF5 that the connector is for: programs under it use that",
    What.pmpi: "libcaesura_pmpi.so, for LD_PRELOAD of ranks",
    What.serve: "the service's program",
    What.prefix: "the installed Caesura that has what is made for one MPI",
}


def path(
    what: Annotated[
        What | None, typer.Argument(help="One of them, alone on its line; left out: all.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Say where the filter plugin, the VOL connector and its HDF5, libcaesura_pmpi.so and the
    service lie.

    A wheel brings the filter plugin. The others are made for one MPI: they come from the prefix of
    `cmake --install`, which CAESURA_ROOT names, or CMAKE_PREFIX_PATH or pkg-config leads to.

      HDF5_PLUGIN_PATH=$(caesura path filter) h5dump run.h5

    Exit codes: 0; 2 usage; 3 what was asked for is not there.
    """
    with expected_errors(as_json):
        if what is not None:
            found = where(what)
            print_json({what.value: found}) if as_json else typer.echo(found)
            return
        said: dict[str, str | None] = {}
        for one in What:
            try:
                said[one.value] = where(one)
            except RuntimeError:
                said[one.value] = None
    if as_json:
        print_json(said)
        return
    for one in What:
        out.print(f"{one.value:9}  {said[one.value] or '-'}", soft_wrap=True)
        out.print(f"           [dim]{MEANING[one]}[/dim]", soft_wrap=True)


def where(what: What) -> str:
    """Raises RuntimeError, with what to do, if it is not there."""
    from caesura import hdf5, prefix, serving, vol

    if what is What.filter:
        return hdf5.plugin_path()
    if what is What.connector:
        return vol.connector_path()
    if what is What.hdf5:
        return vol.hdf5_root()
    if what is What.serve:
        return serving.program_path()
    if what is What.pmpi:
        return prefix.pmpi_path()
    found = prefix.find()
    if found is None:
        raise RuntimeError(prefix.NONE)
    return str(found.path)
