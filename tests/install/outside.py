"""Commands as a user runs them who has no checkout."""

from __future__ import annotations

import os
import subprocess

# Nothing of the checkout reaches what runs; HDF5's paths are set where they are wanted.
HIDDEN = ("PYTHONPATH", "HDF5_PLUGIN_PATH", "LD_LIBRARY_PATH", "CAESURA_BUILD", "CAESURA_ROOT",
          "CMAKE_PREFIX_PATH")  # fmt: skip


def run(*command, cwd=None, **environment) -> str:
    """What a program prints; the whole of it, where it fails."""
    env = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**env, **{name: str(value) for name, value in environment.items()}},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}"
    return done.stdout
