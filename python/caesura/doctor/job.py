"""A job script to paste, from what was found. No batch system has run one of them yet."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from caesura.doctor.cores import usable, whole_cores
from caesura.doctor.finding import MUST_SET, Ask, Finding
from caesura.doctor.libraries import MPICH, launcher

SYSTEMS = ("slurm", "pbs")


def layout(ask: Ask) -> tuple[int, int]:
    """Ranks on a node, and cores for each: its threads and one for compressing, if there are."""
    have = whole_cores(ask)
    ranks = ask.ranks or max(1, have // (ask.threads + 1))
    return ranks, max(1, min(ask.threads + 1, have // ranks))


def script(system: str, ask: Ask, findings: Sequence[Finding]) -> str:
    """For one node like this one. Whatever runs is set; what people are to do is a comment."""
    ranks, cores = layout(ask)
    head = _slurm if system == "slurm" else _pbs
    lines = ["#!/bin/bash", *head(ranks, cores, ask.threads)]
    crowded = ranks > whole_cores(ask)
    if system == "slurm":
        lines += ["#SBATCH --hint=nomultithread"] * (whole_cores(ask) < usable(ask) and not crowded)
        lines += ["#SBATCH --overcommit"] * crowded
    lines += [""]
    variables: dict[str, str] = {"OMP_NUM_THREADS": str(ask.threads)}
    for finding in findings:
        variables.update(finding.variables)
        if finding.state == MUST_SET:
            lines += [f"# {finding.name}: {finding.found}."]
            lines += [f"# {finding.do}"] * (not finding.variables and not finding.commands)
        elif finding.do:
            lines += [f"# {finding.name}: {finding.do}"]
        lines += [f"export {name}={shlex.quote(value)}"
                  for name, value in finding.variables.items()]  # fmt: skip
        lines += finding.commands
    lines += [f"export OMP_NUM_THREADS={ask.threads}", ""]
    lines += _start(system, ranks, 0 if crowded else cores, variables)
    return "\n".join(lines) + "\n"


def _slurm(ranks: int, cores: int, threads: int) -> list[str]:
    return [
        "#SBATCH --nodes=1",
        f"#SBATCH --ntasks-per-node={ranks}",
        f"#SBATCH --cpus-per-task={cores}",
        "#SBATCH --time=01:00:00",
    ]


def _pbs(ranks: int, cores: int, threads: int) -> list[str]:
    return [
        f"#PBS -l select=1:ncpus={ranks * cores}:mpiprocs={ranks}:ompthreads={threads}",
        "#PBS -l walltime=01:00:00",
    ]


def _start(system: str, ranks: int, cores: int, variables: dict[str, str]) -> list[str]:
    """cores: to bind each rank to; 0: there are more ranks than cores."""
    if system == "slurm" and not cores:
        return ["srun --overcommit --cpu-bind=none ./application"]
    if system == "slurm":
        return [
            "# Slurm from 22.05 on does not hand --cpus-per-task to srun.",
            f"srun --cpus-per-task={cores} --cpu-bind=cores ./application",
        ]
    start = ['cd "$PBS_O_WORKDIR" || exit 1']
    if launcher()[0] == MPICH:
        bind = f"core:{cores}" if cores else "none"
        return [*start, f"mpiexec -n {ranks} -bind-to {bind} ./application"]
    bind = f"slot:PE={cores}" if cores else ":OVERSUBSCRIBE --bind-to none"
    # Open MPI hands its own OMPI_ variables on by itself, all others by name only.
    handed = " ".join(f"-x {name}" for name in variables if not name.startswith("OMPI_"))
    return [*start, f"mpirun -n {ranks} --map-by {bind} {handed} ./application"]
