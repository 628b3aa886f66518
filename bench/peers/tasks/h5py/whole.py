"""Which dumps are whole."""

from pathlib import Path

print(*sorted(int(path.stem[4:]) for path in Path().glob("run_*.h5")))
