#!/usr/bin/env python3
"""Run real programs natively and under the connector, interleaved, and compare their files.

Each program runs natively, without loss and with a bound. Files without loss must be equal for
h5diff. Files with a bound must keep it at every value. Results go to out/bench/programs.json;
`--table` prints them as Markdown. `--bandwidth` emulates the write bandwidth of a parallel file
system (bench/pfs); such results stand beside the others, and the same option tables them.
README.md says how the programs are built. A program whose place is not given is skipped and named.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [
    str(HERE.parent / "vol"),
    str(HERE.parent / "codec"),
    str(ROOT / "python"),
    str(ROOT / "lab" / "python"),
]

from caesura_lab.demo.runner import children_cpu_s, find_build  # noqa: E402
from conditions import conditions  # noqa: E402
from plain import MPI, connector_variables, h5diff_of, program  # noqa: E402
from results import OUT  # noqa: E402

TARGET = OUT / "programs.json"
BOUND = 1e-4  # relative to the range of each dataset
LOSSY = f'bound = {BOUND}\nbound_kind = "relative"\n'
WRITERS = ("native", "lossless", "lossy")
DIRECTORY = "DIRECTORY"  # stands for the folder of the run
# Threads of libraries would take the cores of the other rank.
ALONE = ("OMP_NUM_THREADS=1", "NUMBA_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1")


@dataclass(frozen=True)
class Program:
    """A program of the table. An empty command means that its place was not given."""

    label: str
    needs: str  # the option that names its place
    command: list[str]
    variables: tuple[str, ...] = ()
    settings: str = ""  # further lines of the connector's configuration
    volatile: tuple[str, ...] = ()  # attributes that differ between native runs, as h5diff says
    note: str = ""


def programs(options: argparse.Namespace) -> dict[str, Program]:
    """All programs by name."""
    stamped = ("date of </>",)  # of openPMD: the time at which the file was made

    def script(label: str, name: str, *rest: str, **more: object) -> Program:
        command = [str(options.python), str(HERE / name), DIRECTORY, *rest]
        return Program(label, "--python", command if options.python else [], **more)

    def openpmd(label: str, name: str, *rest: str, **more: object) -> Program:
        command = [str(options.openpmd / "bin" / name), *rest] if options.openpmd else []
        return Program(label, "--openpmd", command, volatile=stamped, **more)

    def binary(label: str, needs: str, path: Path | None) -> Program:
        return Program(label, needs, [str(path), DIRECTORY] if path else [])

    layout = str(HERE / "openpmd_8a.txt")
    return {
        "fbpic": script("FBPIC, its own diagnostics", "fbpic_wakefield.py", "10", volatile=stamped),
        "openpmd_5": openpmd(
            "openPMD-api, `5_write_parallel`", "5_write_parallel",
            settings="threshold_bytes = 4096\n", note="`threshold_bytes = 4096`",
        ),
        "openpmd_8a": openpmd(
            "openPMD-api, `8a_benchmark_write_parallel`", "8a_benchmark_write_parallel", layout
        ),
        "openpmd_8a_collective": openpmd(
            "the same, collective writes", "8a_benchmark_write_parallel", layout,
            variables=("OPENPMD_HDF5_INDEPENDENT=OFF",),
        ),
        "h5netcdf": script("h5netcdf, MPI-IO", "h5netcdf_write.py"),
        "xarray": script("xarray, `to_netcdf`, then mode `a`", "xarray_to_netcdf.py"),
        "petsc_viewer": binary("PETSc, HDF5 viewer", "--petsc", options.petsc),
        "fortran": binary("Fortran, module `HDF5`", "--fortran", options.fortran),
        "append_many_small": script(
            "append: 3 files of 100 datasets of 0.5 kB", "appending.py", "100", "0", "0.2"
        ),
        "append_1_mb": script(
            "append: 3 files of 100 datasets of 1 MB", "appending.py", "100", "1", "1.5"
        ),
        "append_8_mb": script(
            "append: 3 files of 20 datasets of 8 MB", "appending.py", "20", "8", "2"
        ),
        "append_50_mb": script(
            "append: 3 files of 4 datasets of 50 MB", "appending.py", "4", "50", "2.5"
        ),
    }  # fmt: skip


def files_of(folder: Path) -> list[Path]:
    """The HDF5 files that a run has written, relative to its folder."""
    found = [path for kind in ("*.h5", "*.nc") for path in folder.rglob(kind)]
    return sorted(path.relative_to(folder) for path in found)


def told_by(report: Path) -> dict:
    """What the connector's report says of files and datasets; rank 0 writes it."""
    told = json.loads(report.read_text())
    opened: dict[str, set[str]] = {}
    for entry in told["files"]:
        if "No such file" in entry.get("why", ""):
            continue  # mode "a" asks first whether the file is there
        opened.setdefault(entry["path"], set()).add(
            "" if entry["handled_by"] == "caesura" else entry.get("why", "native")
        )
    # Openings for reading are native by design.
    writing = {path: whys - {"opened for reading only"} for path, whys in opened.items()}
    datasets = {(entry["file"], entry["path"]): entry["blocks"] for entry in told["datasets"]}
    return {
        "captured": sum(whys == {""} for whys in writing.values()),
        "captured_in_part": sum("" in whys and len(whys) > 1 for whys in writing.values()),
        "native_because": sorted(set().union(*writing.values()) - {""}),
        "datasets_of_blocks": sum(datasets.values()),
        "datasets": len(datasets),
        "entries_left_out": told["entries_left_out"],
    }


class FailedError(Exception):
    """A program that ended with an error, or not in time."""


@dataclass
class Bench:
    """The runs of one program, in a folder of their own."""

    folder: Path
    program: Program
    options: argparse.Namespace
    build: Path = field(default_factory=find_build)

    def command(self, writer: str, place: Path) -> list[str]:
        """The line that starts it; `env` sets what the ranks alone may see."""
        config, report = self.folder / f"{writer}.toml", self.folder / f"{writer}.json"
        config.write_text(
            f'report = "{report}"\n{self.program.settings}' + (LOSSY if writer == "lossy" else "")
        )
        variables = [] if writer == "native" else connector_variables(self.build, config)
        words = [str(place) if word == DIRECTORY else word for word in self.program.command]
        line = ["timeout", str(self.options.limit_s), "mpirun", "-n", str(self.options.ranks)]
        line += ["env", "-u", "HDF5_VOL_CONNECTOR", *ALONE, *self.program.variables]
        line += self.slow_file_system()
        return [*line, *variables, *words]

    def slow_file_system(self) -> list[str]:
        """What makes writes below the folder as slow as asked for; all processes share the link."""
        if not self.options.bandwidth:
            return []
        return [
            f"LD_PRELOAD={program(self.build, 'bench/pfs/libpfs.so')}",
            f"PFS_ROOT={self.folder}",
            f"PFS_BANDWIDTH={self.options.bandwidth:.0f}",
            f"PFS_BUCKET={self.folder.name}",
        ]

    def idle_link(self) -> None:
        """The emulated link lives in shared memory: removed before and after each run."""
        if self.options.bandwidth:
            subprocess.run(
                [str(program(self.build, "bench/pfs/pfs_stat")), "--remove"],
                env={**os.environ, "PFS_BUCKET": self.folder.name},
                capture_output=True,
                check=False,
            )

    def run(self, writer: str) -> dict:
        """One run in an empty folder, which stays until the next run of the same writer."""
        place, report = self.folder / writer, self.folder / f"{writer}.json"
        shutil.rmtree(place, ignore_errors=True)
        (place / "work").mkdir(parents=True)  # openPMD-api's examples write to ../samples
        report.unlink(missing_ok=True)
        command = self.command(writer, place)
        self.idle_link()
        begin_s, cpu_s = time.perf_counter(), children_cpu_s()
        answer = subprocess.run(
            command, cwd=place / "work", capture_output=True, text=True, env={**MPI, **os.environ}
        )
        wall_s, cpu_s = time.perf_counter() - begin_s, children_cpu_s() - cpu_s
        self.idle_link()
        # openPMD-api's benchmark prints an error and ends with 0.
        if answer.returncode != 0 or "Error:" in answer.stdout:
            how = "no end in time" if answer.returncode == 124 else f"code {answer.returncode}"
            tail = (answer.stdout + answer.stderr)[-3000:]
            raise FailedError(f"{writer}, {how}: {' '.join(command)}\n{tail}")
        files = files_of(place)
        if not files:
            raise FailedError(f"{writer} has written no file: {' '.join(command)}")
        sizes = [(place / path).stat().st_size for path in files]
        out = {"wall_s": wall_s, "cpu_s": cpu_s, "bytes": sum(sizes), "files": len(files)}
        said = [row.split() for row in answer.stdout.splitlines() if row.startswith("in calls")]
        if said:
            out["in_calls_s"] = float(said[0][2])
        if writer != "native":
            if not report.exists():
                raise FailedError(f"{writer} has no report: {answer.stdout}{answer.stderr}")
            out |= told_by(report)
        return out

    def differences(self) -> list[str]:
        """What h5diff says of the native files and those without loss."""
        native, exact = self.folder / "native", self.folder / "lossless"
        env = {**os.environ, "HDF5_PLUGIN_PATH": str(self.build / "plugins")}
        wrong = [] if files_of(native) == files_of(exact) else ["not the same files"]
        for path in files_of(native):
            call = [h5diff_of(self.build), "-c", str(native / path), str(exact / path)]
            answer = subprocess.run(call, capture_output=True, text=True, env=env)
            said = [row for row in answer.stdout.splitlines() if row and not self.is_expected(row)]
            if answer.returncode > 1 or said or answer.stderr:
                wrong.append(f"{path}: {' '.join(said)[:500]}{answer.stderr[:500]}")
        return wrong

    def is_expected(self, row: str) -> bool:
        """Whether a line of h5diff names no difference, or one that native runs have as well.

        h5diff can leave out all attributes of an object, and not one of them.
        """
        if "empty dataset" in row:  # a null dataspace, which it does not compare with itself either
            return True
        volatile = {f"attribute: <{name}> and <{name}>" for name in self.program.volatile}
        return row.strip() in volatile or row.endswith("differences found")

    def farthest(self) -> dict:
        """How far values of the files with a bound are from the native ones."""
        env = {**os.environ, "HDF5_PLUGIN_PATH": str(self.build / "plugins")}
        call = [sys.executable, str(HERE / "farthest.py"), str(self.folder / "native")]
        call += [str(self.folder / "lossy"), str(BOUND)]
        answer = subprocess.run(call, capture_output=True, text=True, env=env)
        if answer.returncode != 0:
            raise FailedError(f"the files with a bound cannot be compared: {answer.stderr}")
        return json.loads(answer.stdout)


def summary(runs: list[dict]) -> dict:
    """Median and range of the times; everything else of the last run."""
    out = {key: runs[-1][key] for key in runs[-1] if not key.endswith("_s")}
    for key in (key for key in runs[0] if key.endswith("_s")):
        values = [run[key] for run in runs]
        out[key] = {"median": statistics.median(values), "low": min(values), "high": max(values)}
    return out


def measure(name: str, program: Program, options: argparse.Namespace) -> dict:
    """All runs of a program, and what the files say; the order turns round from repeat to repeat.

    Raises FailedError.
    """
    runs: dict[str, list[dict]] = {writer: [] for writer in WRITERS}
    with tempfile.TemporaryDirectory(prefix="programs-", dir=OUT) as folder:
        bench = Bench(Path(folder), program, options)
        for repeat in range(options.repeats):
            for writer in WRITERS if repeat % 2 == 0 else WRITERS[::-1]:
                runs[writer].append(bench.run(writer))
                wall_s = runs[writer][-1]["wall_s"]
                print(f"  {name} {writer:9} {repeat}: {wall_s:.2f} s", flush=True)
        found = {"differences": bench.differences(), "farthest": bench.farthest()}
    return {writer: summary(of) for writer, of in runs.items()} | found


def is_good(entry: dict) -> bool:
    """Whether files are equal without loss and within bounds; nothing to compare is not good."""
    if "failed" in entry:
        return False
    farthest = entry["farthest"]
    return not entry["differences"] and farthest["datasets"] > 0 and farthest["worst_of_bound"] <= 1


def say(name: str, entry: dict) -> None:
    """One program on the terminal."""
    if "failed" in entry:
        print(f"{name}: FAILED\n{entry['failed']}")
        return
    print(f"{name}: {'equal, and within bounds' if is_good(entry) else 'DIFFERENT'}")
    for writer in WRITERS:
        of = entry[writer]
        text = ", ".join(
            f"{key} {of[key]['median']:.3f} ({of[key]['low']:.3f} to {of[key]['high']:.3f})"
            for key in ("wall_s", "cpu_s", "in_calls_s")
            if key in of
        )
        print(f"  {writer:9} {of['bytes'] / 1e6:9.2f} MB  {text}", flush=True)
    for line in entry["differences"]:
        print(line)


def spread(of: dict, digits: int = 2) -> str:
    """Median, and the range where there are several runs."""
    text = f"{of['median']:.{digits}f}"
    if of["low"] != of["high"]:
        text += f" ({of['low']:.{digits}f} to {of['high']:.{digits}f})"
    return text


def processor_seconds(entry: dict) -> str:
    """Medians of all three writers, of all ranks and threads together."""
    return " / ".join(f"{entry[writer]['cpu_s']['median']:.1f}" for writer in WRITERS)


def megabytes(entry: dict) -> str:
    """Of all three writers."""
    return " / ".join(
        f"{size:.1f}" if size >= 1 else f"{size:.3f}"
        for size in (entry[writer]["bytes"] / 1e6 for writer in WRITERS)
    )


def row_of(entry: dict) -> list[str]:
    """The cells of one program."""
    label = entry["label"] + (f" ({entry['note']})" if entry["note"] else "")
    if "failed" in entry:
        return [label, *[""] * (len(HEAD) - 3), "failed", ""]
    lossless, farthest = entry["lossless"], entry["farthest"]
    captured = str(lossless["captured"])
    if lossless["captured_in_part"]:
        captured += f", {lossless['captured_in_part']} in part"
    # The report leaves entries out beyond its limit.
    more = "at least " if lossless["entries_left_out"] else ""
    return [
        label, str(entry["native"]["files"]),
        *(spread(entry[writer]["wall_s"]) for writer in WRITERS),
        processor_seconds(entry), megabytes(entry), captured,
        f"{more}{lossless['datasets_of_blocks']} of {lossless['datasets']}",
        "no" if entry["differences"] else "yes", f"{100 * farthest['worst_of_bound']:.1f} %",
    ]  # fmt: skip


HEAD = (
    "program", "files", "native, s", "lossless, s", "bound, s", "CPU s", "MB",
    "captured", "datasets of blocks", "equal", "worst error, of the bound",
)  # fmt: skip


def table(results: dict[str, dict]) -> str:
    """Markdown, a row for each program. Below it stands why openings were left to native HDF5.

    CPU s and MB are native / lossless / with a bound.
    """
    rows = [list(HEAD), ["---"] * len(HEAD), *(row_of(entry) for entry in results.values())]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    timed = [entry for entry in results.values() if "in_calls_s" in entry.get("native", {})]
    if timed:
        head = ["seconds in calls of HDF5", *WRITERS]
        rows = [head, ["---"] * len(head)]
        for entry in timed:
            rows.append([entry["label"], *(spread(entry[w]["in_calls_s"], 3) for w in WRITERS)])
        lines += ["", *("| " + " | ".join(row) + " |" for row in rows)]
    whys: dict[str, list[str]] = {}
    for name, entry in results.items():
        for why in entry.get("lossless", {}).get("native_because", []):
            whys.setdefault(why, []).append(name)
    if whys:
        lines += ["", "Openings that went to the native connector, and why:", ""]
        lines += [f"- {why}: {', '.join(f'`{n}`' for n in names)}" for why, names in whys.items()]
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="programs, by the begin of their names")
    parser.add_argument("--table", action="store_true", help="print the last results as Markdown")
    parser.add_argument("--python", type=Path, help="with parallel h5py, fbpic, h5netcdf, xarray")
    parser.add_argument("--openpmd", type=Path, help="build folder of openPMD-api")
    parser.add_argument("--petsc", type=Path, help="petsc_viewer, built")
    parser.add_argument("--fortran", type=Path, help="fortran_write, built")
    parser.add_argument("--bandwidth", type=float, default=0, help="bytes/s, emulated; 0: the disk")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit-s", type=int, default=600, help="of one run; longer is a failure")
    options = parser.parse_args()
    for name in ("python", "openpmd", "petsc", "fortran"):
        if place := getattr(options, name):
            if not place.exists():
                parser.error(f"--{name}: {place} is not there")
            setattr(options, name, place.absolute())
    return options


def key_of(name: str, options: argparse.Namespace) -> str:
    """Of a program's results: one for each file system."""
    return f"{name} at {options.bandwidth / 1e6:g} MB/s" if options.bandwidth else name


def main() -> int:
    """Measure, say, save after each program."""
    options = arguments()
    OUT.mkdir(parents=True, exist_ok=True)
    results = json.loads(TARGET.read_text()) if TARGET.exists() else {}
    everything = programs(options)
    if options.table:
        keys = [key_of(name, options) for name in everything]
        print(table({key: results[key] for key in keys if key in results}))
        return 0
    bad = 0
    for name, wanted in everything.items():
        if options.names and not any(name.startswith(word) for word in options.names):
            continue
        if not wanted.command:
            print(f"{name}: skipped, {wanted.needs} does not name its place", flush=True)
            continue
        try:
            entry = measure(name, wanted, options)
        except FailedError as failure:
            entry = {"failed": str(failure)}
        say(name, entry)
        bad += not is_good(entry)
        about = {"label": wanted.label, "note": wanted.note, "ranks": options.ranks}
        about |= {"conditions": conditions(), "bandwidth": options.bandwidth}
        results[key_of(name, options)] = {"repeats": options.repeats, **about, **entry}
        TARGET.write_text(json.dumps(results, indent=1) + "\n")
    print(TARGET)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
