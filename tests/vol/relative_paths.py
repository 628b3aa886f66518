#!/usr/bin/env python3
"""Do relative paths of configuration and report mean the directory in which a program was started,
wherever it goes afterwards?

Standard library only. Exit status: 0 or 1.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

TIME_LIMIT_S = 60

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from launching import environment, on_ranks  # noqa: E402


def main() -> int:
    """One run on two ranks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--connector", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    out = options.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / "run.toml").write_text('threshold_bytes = 2048\nreport = "report.json"\n')
    variables = {
        "HDF5_PLUGIN_PATH": str(options.connector),
        "HDF5_VOL_CONNECTOR": "caesura config=run.toml",
        "VOL_TEST_CONNECTOR": "caesura",
    }
    done = subprocess.run(
        [options.mpirun, *on_ranks(2, options.program, out, variables=variables)],
        cwd=out,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
    )
    print(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
    report = out / "report.json"
    if done.returncode != 0 or not report.exists():
        print(f"{report}: {'there' if report.exists() else 'missing'}")
        return 1
    captured = [one for one in json.loads(report.read_text())["files"] if "blocks" in one]
    print(f"{len(captured)} files with blocks")
    return 0 if captured else 1


if __name__ == "__main__":
    raise SystemExit(main())
