#!/usr/bin/env python3
"""What a user can get wrong before a program has begun: each mistake is an error on all ranks that
says why, whether one rank makes it or all, and no program goes on without the connector.

Standard library only. Exit status: 0 or 1.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from launching import environment, on_ranks

TIME_LIMIT_S = 60
# What stands behind the connector's name, the text of run.toml, and what has to be said of it.
MISTAKES = {
    "no such file": ("config=absent.toml", "", "absent.toml: the configuration"),
    "no path": ("config=", "", "is not config=PATH"),
    "another word": ("configuration=run.toml", "", "is not config=PATH"),
    "unknown key": ("config=run.toml", "bounds = 1e-3", "'bounds'"),
    "not TOML": ("config=run.toml", "bound = = 3", "run.toml, line 1"),
    "a value of another kind": ("config=run.toml", 'chunk_bytes = "large"', "'chunk_bytes'"),
    "a bound below zero": ("config=run.toml", "bound = -1.0", "run.toml, line 1"),
}


def run(options: argparse.Namespace, infos: list[str]) -> tuple[int, str]:
    """The program with one of the infos on each rank: exit status and output."""
    command = [options.mpirun]
    for info in infos:
        command += [":"] if len(command) > 1 else []
        variables = {
            "HDF5_PLUGIN_PATH": str(options.connector),
            "HDF5_VOL_CONNECTOR": f"caesura {info}".strip(),
            "VOL_TEST_CONNECTOR": "caesura",
        }
        command += on_ranks(1, options.program, options.out, variables=variables)
    done = subprocess.run(
        command,
        cwd=options.out,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
    )
    return done.returncode, done.stdout + done.stderr


def main() -> int:
    """Every mistake on both ranks, then on one, and a run without any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--connector", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    bad = 0
    for name, (info, text, words) in MISTAKES.items():
        (options.out / "run.toml").write_text(text)
        for infos in ([info, info], ["", info]):
            code, said = run(options, infos)
            good = code != 0 and words in said and "Caesura-DIAG" in said
            good = good and not list(options.out.glob("*.h5"))
            where = "all ranks" if infos[0] else "one rank"
            print(f"{name}, {where}: {'said' if good else f'NOT said (exit status {code})'}")
            if not good:
                print(said)
            bad += not good
    code, said = run(options, ["", ""])
    print(f"no mistake: exit status {code}\n{said}")
    return 1 if bad or code != 0 else 0


if __name__ == "__main__":
    raise SystemExit(main())
