#!/usr/bin/env python3
"""Rules that say the durability of files by their names, in either direction.

Standard library only. Exit status: 0 or 1.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from running import options_of_cases, run_in, try_cases

CASES = {
    "one kind of file is complete": '[[file]]\npath = "check*"\ndurability = "complete"\n',
    "one kind of file is not": 'durability = "complete"\n'
    '[[file]]\npath = "**/plot*.h5"\ndurability = "close"\n',
}


def main() -> int:
    """Every case on two ranks."""
    options = options_of_cases(__doc__.splitlines()[0])

    def faults_of(name: str, place: Path) -> list[str]:
        command = [options.program, str(place)]
        said = run_in(place, command, options, 2, CASES[name], again=True)
        return [said] if said else []

    return try_cases(CASES, options.out, faults_of)


if __name__ == "__main__":
    raise SystemExit(main())
