"""Starting ranks by the launcher of any MPI: Open MPI's mpirun, MPICH's mpiexec (hydra).

What the program alone is to find in its environment is set by `env`, which every launcher can
start: each has an option of its own for that (-x, -genv), which the others refuse.

Part of the tests below; no test by itself. Standard library only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

# The full form of tests that have a shorter one for every change (.ci/nightly).
NIGHTLY = "CAESURA_NIGHTLY" in os.environ

# What Open MPI wants to be told before it starts root's ranks, and more than there are cores;
# spinning ranks starve each other there, and containers forbid cross-memory attach. MPICH asks for
# none of this and knows none of these.
DEFAULTS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


def environment(place: Path | None = None) -> dict[str, str]:
    """The launcher's: the caller's own goes first, and HDF5's variables are for programs alone.

    @param place: where what a killed launcher leaves behind goes away with everything else.
    """
    own = {name: text for name, text in os.environ.items() if not name.startswith("HDF5_")}
    env = {**DEFAULTS, **own}
    if place is not None:
        env["OMPI_MCA_orte_tmpdir_base"] = str(place)
        env["OMPI_MCA_btl_vader_backing_directory"] = str(place)
    return env


def on_ranks(ranks: int, *command: object, variables: Mapping[str, str] | None = None) -> list[str]:
    """What follows the launcher's name: `command` on so many ranks with these variables."""
    given = [f"{name}={text}" for name, text in (variables or {}).items()]
    return ["-n", str(ranks), *(["env", *given] if given else []), *map(str, command)]


def rank_counts(given: list[int]) -> list[int]:
    """All of them in the nightly run; the last alone for every change."""
    return given if NIGHTLY else given[-1:]
