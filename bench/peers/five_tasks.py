"""Five tasks of a scientist with h5py, ADIOS2, openPMD-api, Zarr and Caesura: what each needs.

    five_tasks.py --install DIR     an environment for each peer in DIR, timed
    five_tasks.py --peers DIR       run the tasks with them, check every result, print the table

Caesura is that of this Python. Lines are those of the scripts in bench/peers/tasks, without blanks,
comments and docstrings; commands are what a user types to run them. Each script is run in an empty
folder, and what it made is read back and compared with the field. Results: five_tasks.json
and .md in out/bench.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import resource
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TASKS = HERE / "tasks"
OUT = Path(os.environ.get("CAESURA_OUT", ROOT / "out")) / "bench"
sys.path.insert(0, str(TASKS / "simulated"))

import field as simulated  # noqa: E402

TITLES = {
    "write": "write a field with an error bound",
    "slice": "read a slice without the writer's package",
    "overlap": "six dumps of two ranks while they compute",
    "kill": "be killed, and say what is whole",
    "quality": "choose the bound for 60 dB, check the error",
}
RANKS = 2


@dataclass(frozen=True)
class Peer:
    """What is installed and typed, what cannot be done, and what is to be said of the rest."""

    packages: tuple[str, ...] = ()
    typed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)


def usual(**other: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """A script each; other words where a peer needs them."""
    return {
        "write": ("python write.py",),
        "slice": ("python slice.py",),
        "overlap": (f"mpirun -n {RANKS} python overlap.py",),
        "kill": ("python kill.py", "python whole.py"),
        "quality": ("python quality.py",),
        **other,
    }


NO_FILTER = (
    "in the wheel no lossy filter of hdf5plugin works (SZ3 and ZFP were tried: its HDF5 is hidden "
    "from them); a build with a shared HDF5 takes filters by number"
)
NO_COMPRESSOR = "the wheel has no compressor; a build with ZFP, SZ or MGARD has one"
PEERS = {
    "h5py": Peer(
        ("h5py==3.16.0", "hdf5plugin==7.1.0", "mpi4py==4.1.2"),
        usual(),
        notes={
            "slice": "any HDF5 tool with hdf5plugin's filters",
            "overlap": "a file a rank and a thread of one's own; the wheel knows no MPI",
            "kill": "a file a dump, renamed when it is whole",
        },
    ),
    "adios2": Peer(
        ("adios2==2.12.1.1001", "mpi4py==4.1.2"),
        usual(),
        missing={"write": NO_COMPRESSOR, "quality": NO_COMPRESSOR},
        notes={
            "slice": "of a field that is not compressed; ADIOS2 alone reads it",
            "overlap": "a file a rank, not compressed; the wheel knows no MPI, a build with it "
            "writes one file",
            "kill": "one file, and no more than opening it",
        },
    ),
    "openpmd": Peer(
        ("openPMD-api==0.17.1.post4", "h5py==3.16.0", "mpi4py==4.1.2"),
        usual(),
        missing={"write": NO_FILTER, "quality": NO_FILTER},
        notes={
            "slice": "of a field that is not compressed, by any HDF5 tool",
            "overlap": "a file a rank and dump, not compressed; the wheel knows no MPI",
            "kill": "a file a dump, not compressed",
        },
    ),
    "zarr": Peer(
        ("zarr==3.1.6", "numcodecs==0.16.6", "zfpy==1.0.1", "mpi4py==4.1.2"),
        usual(),
        notes={
            "slice": "Zarr reads; the codec is numcodecs' own and not in Zarr's standard",
            "overlap": "one store for all ranks; a thread of one's own",
            "kill": "chunks that are missing read as zeros, so an attribute says what is whole",
        },
    ),
    "caesura": Peer(
        (),
        usual(
            slice=("export HDF5_PLUGIN_PATH=PLUGINS", "python slice.py"),
            kill=("python kill.py", "caesura recover run.h5", "caesura info run.h5 --json"),
            quality=(
                "python exact.py",
                "caesura tune exact.h5 --field rho --quality psnr=60",
                "python bounded.py BOUND",
                "caesura verify run.h5 --against exact.h5",
            ),
        ),
        notes={
            "slice": "any HDF5 tool with our filter; with a codec of hdf5plugin's nothing of ours",
            "overlap": "one file for all ranks; no thread in the program",
            "kill": "one file",
        },
    ),
}


def cpu_of_children_s() -> float:
    """CPU time of all programs that have ended: what a busy machine does not stretch much."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def added(first: dict, second: dict) -> dict:
    """Times of two parts together."""
    return {key: first[key] + second[key] for key in first}


def lines_of(path: Path) -> int:
    """Lines of a script without blanks, comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and at not in skipped
        for at, line in enumerate(text.splitlines(), 1)
    )


def scripts_of(peer: str, task: str) -> list[Path]:
    """What a user writes for a task."""
    words = [word for command in PEERS[peer].typed[task] for word in shlex.split(command)]
    return [TASKS / peer / word for word in words if word.endswith(".py")]


class Bench:
    """Runs the commands of one peer, each task in an empty folder."""

    def __init__(self, peer: str, python: Path, folder: Path) -> None:
        self.peer, self._python, self._folder = peer, python, folder
        self.plugins = ""
        commands = folder / f".{peer}"
        commands.mkdir()
        for name, words in (("python", "-P"), ("caesura", "-P -m caesura")):
            (commands / name).write_text(f'#!/bin/sh\nexec "{python}" {words} "$@"\n')
            (commands / name).chmod(0o755)
        hidden = ("HDF5_PLUGIN_PATH", "PYTHONPATH")
        env = {name: text for name, text in os.environ.items() if name not in hidden}
        path = [str(TASKS / "simulated")]
        if peer == "caesura":
            import caesura

            path.append(str(Path(caesura.__file__).absolute().parent.parent))
            self.plugins = caesura.plugin_path()
        self._env = {
            **env,
            "PATH": f"{commands}:{env['PATH']}",
            "PYTHONPATH": ":".join(path),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
        }

    def place(self, task: str) -> Path:
        """The task's folder, with the peer's scripts in it."""
        place = Path(tempfile.mkdtemp(dir=self._folder, prefix=f"{self.peer}-{task}-"))
        for script in (TASKS / self.peer).glob("*.py"):
            (place / script.name).write_text(script.read_text(encoding="utf-8"), encoding="utf-8")
        return place

    def type(self, command: str, place: Path) -> str:
        """Type it; what it prints on standard output."""
        done = subprocess.run(["bash", "-c", command], cwd=place, env=self._env,
                              capture_output=True, text=True, check=False)  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"{self.peer}: {command}: {done.stdout}{done.stderr}")
        return done.stdout

    def timed(self, commands: tuple[str, ...], place: Path, **words: str) -> tuple[dict, str]:
        """Type them into one shell; seconds of the clock and of CPUs, and what they printed."""
        text = "\n".join(commands)
        for word, value in words.items():
            text = text.replace(word, value)
        begin_s, cpu_s = time.perf_counter(), cpu_of_children_s()
        said = self.type("set -e\n" + text, place)
        took = {"run_s": time.perf_counter() - begin_s, "cpu_s": cpu_of_children_s() - cpu_s}
        return took, said

    def error(self, place: Path, task: str, step: int) -> float:
        """The largest error of a dump that is said to be whole."""
        self.type(f"python proof.py {task} {step}", place)
        true = simulated.field(step).astype(np.float64)
        return float(np.abs(np.load(place / "proof.npy") - true).max())

    def killed(self, place: Path, at: float) -> int:
        """Kill the program after so many steps; how many it had begun."""
        command = ["bash", "-c", "exec python kill.py >/dev/null 2>&1"]
        program = subprocess.Popen(command, cwd=place, env=self._env)
        steps = place / "steps"
        while not steps.exists() or steps.read_text().count("\n") < int(at):
            if program.poll() is not None:
                raise SystemExit(f"{self.peer}: kill.py ended before it was killed")
            time.sleep(0.002)
        time.sleep((at - int(at)) * (simulated.WORK_S + simulated.WAIT_S))
        program.send_signal(signal.SIGKILL)
        program.wait()
        return steps.read_text().count("\n")


def held(value: float, bound: float, what: str) -> None:
    """A result that is wrong ends the bench."""
    if not value <= bound:
        raise SystemExit(f"{what}: {value} instead of at most {bound}")


def write_and_slice(bench: Bench, peer: Peer) -> dict[str, dict]:
    """The two tasks that share a file."""
    place, found = bench.place("write"), {}
    written, _ = bench.timed(peer.typed["write"], place)
    read, said = bench.timed(peer.typed["slice"], place, PLUGINS=bench.plugins)
    true = simulated.field(0)[48].astype(np.float64)
    held(abs(float(said) - true.sum()), simulated.BOUND * true.size, f"{bench.peer}: the slice")
    if "write" not in peer.missing:
        found["write"] = written
    found["slice"] = read
    return found


def overlap(bench: Bench, peer: Peer) -> dict:
    """Two ranks; the last dump is looked at."""
    place = bench.place("overlap")
    took, _ = bench.timed(peer.typed["overlap"], place)
    last = simulated.STEPS - 1
    held(bench.error(place, "overlap", last), simulated.BOUND, f"{bench.peer}: the last dump")
    return {**took, "computing_s": simulated.STEPS * (simulated.WORK_S + simulated.WAIT_S)}


def kill(bench: Bench, peer: Peer, times: int, seed: int) -> dict:
    """Kills at random instants, the same for every peer: how many dumps are whole, all right?"""
    random_ = random.Random(seed)
    whole, asked = [], []
    for _ in range(times):
        place, at = bench.place("kill"), random_.uniform(3, simulated.STEPS)
        begun = bench.killed(place, at)
        if bench.peer == "caesura":
            asks, _ = bench.timed((f"{peer.typed['kill'][1]} || [ $? = 1 ]",), place)
            more, said = bench.timed(peer.typed["kill"][2:], place)
            asks = added(asks, more)
            dumps = sorted({d["iteration"] for d in json.loads(said)["datasets"]})
        else:
            asks, said = bench.timed(peer.typed["kill"][1:], place)
            dumps = [int(word) for word in said.split()]
        for step in dumps:
            held(bench.error(place, "kill", step), simulated.BOUND, f"{bench.peer}: dump {step}")
        whole.append([len(dumps), begun])
        asked.append(asks)
    median = {key: statistics.median(one[key] for one in asked) for key in asked[0]}
    return {**median, "whole_of_begun": whole}


def quality(bench: Bench, peer: Peer) -> dict:
    """A bound that keeps 60 dB, its error, and the PSNR that came out."""
    place, typed = bench.place("quality"), peer.typed["quality"]
    if bench.peer == "caesura":
        took, _ = bench.timed(typed[:2], place)
        answer = json.loads(bench.type(f"{typed[1]} --json", place))["chosen"]
        more, said = bench.timed(typed[2:], place, BOUND=repr(answer["bound"]))
        took = added(took, more)
        reached = float(answer["quality"])
        row = next(line for line in said.splitlines() if line.split()[:1] == ["rho"])
        bound, error = (float(word) for word in row.split()[2:4])
    else:
        took, said = bench.timed(typed, place)
        bound, error, reached = map(float, said.split()[-3:])
    held(simulated.PSNR, reached, f"{bench.peer}: the PSNR")
    held(error, bound * 1.001, f"{bench.peer}: the error")
    return {**took, "bound": bound, "error": error, "psnr": reached}


def measure(name: str, python: Path, folder: Path, options: argparse.Namespace) -> dict:
    """All tasks of one peer."""
    peer, bench = PEERS[name], Bench(name, python, folder)
    found = write_and_slice(bench, peer)
    found["overlap"] = overlap(bench, peer)
    found["kill"] = kill(bench, peer, options.kills, options.seed)
    if "quality" not in peer.missing:
        found["quality"] = quality(bench, peer)
    for task, result in found.items():
        result["lines"] = sum(map(lines_of, scripts_of(name, task)))
        result["commands"] = len(peer.typed[task])
        result["note"] = peer.notes.get(task, "")
    for task, why in peer.missing.items():
        found[task] = {"missing": why}
    return found


def cell(result: dict) -> str:
    """Of the table: lines, commands, seconds of the clock and of CPUs."""
    if "missing" in result:
        return "no"
    text = f"{result['lines']} / {result['commands']} / {result['run_s']:.1f} s"
    text += f" ({result['cpu_s']:.1f})"
    if "whole_of_begun" in result:
        text += ", " + " ".join(f"{dumps}:{begun}" for dumps, begun in result["whole_of_begun"])
    return text


def table(results: dict) -> str:
    """Markdown: a row a task; then what is to be said."""
    names = list(results["peers"])
    lines = ["| task | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for task, title in TITLES.items():
        cells = [cell(results["peers"][name]["tasks"][task]) for name in names]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    seconds = [results["peers"][name].get("install_s") for name in names]
    words = [f"1 / {s:.0f} s" if s else "not measured" for s in seconds]
    lines += ["| install: commands, time | " + " | ".join(words) + " |", ""]
    for name in names:
        for task, result in results["peers"][name]["tasks"].items():
            if said := result.get("missing") or result["note"]:
                lines.append(f"- {name}, {TITLES[task]}: {said}.")
    return "\n".join(lines) + "\n"


def install(folder: Path) -> None:
    """An environment for each peer; the seconds lie beside it."""
    for name, peer in PEERS.items():
        if not peer.packages:
            continue
        begin_s = time.perf_counter()
        subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
        pip = [str(folder / name / "bin" / "python"), "-m", "pip", "install", "-q"]
        subprocess.run([*pip, "numpy==2.4.6", *peer.packages], check=True)
        (folder / f"{name}.install_s").write_text(f"{time.perf_counter() - begin_s:.1f}\n")


def main() -> None:
    """Install, or measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", type=Path, metavar="DIR")
    parser.add_argument("--peers", type=Path, metavar="DIR", help="environments of --install")
    parser.add_argument("--only", nargs="*", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    if options.install:
        install(options.install.absolute())
        return
    results: dict = {"steps": simulated.STEPS, "ranks": RANKS, "seed": options.seed, "peers": {}}
    with tempfile.TemporaryDirectory() as made:
        for name in options.only:
            own = options.peers.absolute() if options.peers and PEERS[name].packages else None
            python = own / name / "bin" / "python" if own else Path(sys.executable)
            entry = {"packages": PEERS[name].packages,
                     "tasks": measure(name, python, Path(made), options)}  # fmt: skip
            if own and (own / f"{name}.install_s").exists():
                entry["install_s"] = float((own / f"{name}.install_s").read_text())
            results["peers"][name] = entry
            print(f"{name}: done", file=sys.stderr, flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "five_tasks.json").write_text(json.dumps(results, indent=1) + "\n")
    (options.out / "five_tasks.md").write_text(table(results))
    print(table(results), end="")


if __name__ == "__main__":
    main()
